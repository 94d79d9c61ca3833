# House rules: see tools/check.
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT SYSTEM_PYTHON)
  find_program(SYSTEM_PYTHON NAMES python3)
endif()
foreach(rule include print symbols api threads header format)
  add_test(NAME check/${rule} COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tools/check ${rule} --build ${CMAKE_BINARY_DIR})
endforeach()
