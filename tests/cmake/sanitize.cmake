# Everything compiled anew with the sanitizers (mixing sanitized and plain objects hides races), once for all
# the tests that use it: see tests/sanitize/run for which they are.
if(NOT CMOCKA_FOUND)
  strobe_left_out(sanitize "no cmocka here")
elseif(NOT STROBE_PYTEST)
  strobe_left_out(sanitize "no pytest here")
elseif(NOT STROBE_SANITIZE)
  foreach(kind address thread)
    add_test(NAME sanitize/build_${kind} COMMAND ${CMAKE_SOURCE_DIR}/tests/sanitize/run build ${kind} ${CMAKE_SOURCE_DIR}
      ${CMAKE_BINARY_DIR} ${CMAKE_GENERATOR})
    add_test(NAME sanitize/${kind} COMMAND ${CMAKE_SOURCE_DIR}/tests/sanitize/run test ${kind} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    set_tests_properties(sanitize/build_${kind} PROPERTIES FIXTURES_SETUP sanitized_${kind} PROCESSORS 2 TIMEOUT 900)
    set_tests_properties(sanitize/${kind} PROPERTIES FIXTURES_REQUIRED sanitized_${kind} PROCESSORS 2 TIMEOUT 1500)
  endforeach()
endif()
