# Recording whole programs: `strobe run`, `strobe top`, `strobe doctor`, driven as a user would.
add_executable(recorded ${CMAKE_SOURCE_DIR}/tests/tools/recorded.c)
target_link_libraries(recorded PRIVATE everything)
set_target_properties(recorded PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
