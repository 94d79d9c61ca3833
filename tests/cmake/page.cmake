# The page: rebuilt and compared with what is committed, then tried in Chromium.
foreach(what install build browser)
  add_test(NAME page/${what} COMMAND ${CMAKE_SOURCE_DIR}/tests/page/run ${what} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(page/${what} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
set_tests_properties(page/install PROPERTIES FIXTURES_SETUP page_packages)
set_tests_properties(page/build page/browser PROPERTIES FIXTURES_REQUIRED page_packages)
