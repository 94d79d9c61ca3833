# diff, bench, aggregate, history: the commands as a user types them.
add_executable(make_ranks ${CMAKE_SOURCE_DIR}/tests/compare/make_ranks.c)
set_target_properties(make_ranks PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(make_ranks PRIVATE everything)
