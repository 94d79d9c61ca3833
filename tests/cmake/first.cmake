# First contact: what a fresh machine gets from the README's first lines.
strobe_pytest(first/configure first/test_configure.py 300)
add_test(NAME first/demo COMMAND ${CMAKE_SOURCE_DIR}/tools/demo ${CMAKE_BINARY_DIR})
set_tests_properties(first/demo PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION "denoise.*report: /")
