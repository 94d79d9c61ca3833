# diff, bench, aggregate, history: the commands as a user types them.
add_executable(make_ranks ${CMAKE_SOURCE_DIR}/tests/compare/make_ranks.c)
target_link_libraries(make_ranks PRIVATE everything)
add_executable(marked ${CMAKE_SOURCE_DIR}/tests/compare/marked.c)
target_link_libraries(marked PRIVATE strobe_shared)
set_target_properties(make_ranks marked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(name diff bench bench_pair ci aggregate history jobs job_copies nodes warehouse https whatif fit outputs)
  strobe_pytest(compare/${name} compare/test_${name}.py 300 FYAML SQLITE ZLIB ZSTD)
endforeach()
