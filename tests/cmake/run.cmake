# Recording whole programs: `strobe run`, `strobe top`, `strobe doctor`, driven as a user would.
add_executable(recorded ${CMAKE_SOURCE_DIR}/tests/tools/recorded.c)
target_link_libraries(recorded PRIVATE everything)
set_target_properties(recorded PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

file(GLOB run_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/run/test_*.py)
set(test_config_needs FYAML)
set(test_files_needs SQLITE ZSTD)
set(test_top_needs NCURSES)
foreach(source ${run_tests})
  get_filename_component(name ${source} NAME_WE)
  strobe_pytest(run/${name} run/${name}.py 300 ${${name}_needs})
endforeach()
