# import and export: the commands, against independent readers; and the fuzzers.
foreach(tool json_echo make_zones)
  add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/exchange/${tool}.c)
  set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${tool} PRIVATE everything)
endforeach()
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
  foreach(what jsonin import stagelog export)
    add_test(NAME exchange/${what} COMMAND ${SYSTEM_PYTHON} -m pytest -q -p no:cacheprovider
      ${CMAKE_SOURCE_DIR}/tests/exchange/test_${what}.py)
    set_tests_properties(exchange/${what} PROPERTIES TIMEOUT 300
      ENVIRONMENT "STROBE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
