# diff, bench, aggregate, history: the commands as a user types them.
add_executable(make_ranks ${CMAKE_SOURCE_DIR}/tests/compare/make_ranks.c)
target_link_libraries(make_ranks PRIVATE everything)
add_executable(marked ${CMAKE_SOURCE_DIR}/tests/compare/marked.c)
target_link_libraries(marked PRIVATE strobe_shared)
set_target_properties(make_ranks marked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
  foreach(name compare warehouse)
    add_test(NAME compare/${name} COMMAND ${SYSTEM_PYTHON} -m pytest -q -p no:cacheprovider
      ${CMAKE_SOURCE_DIR}/tests/compare/test_${name}.py)
    set_tests_properties(compare/${name} PROPERTIES TIMEOUT 300
      ENVIRONMENT "STROBE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
