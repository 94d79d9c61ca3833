# Several instances of the library in one process.
add_executable(recount ${CMAKE_SOURCE_DIR}/tests/instances/recount_main.c)
target_include_directories(recount PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(recount PRIVATE everything)
foreach(which a b)
  add_library(copy_${which} MODULE ${CMAKE_SOURCE_DIR}/tests/instances/plugin.c)
  target_link_libraries(copy_${which} PRIVATE strobe_static)
endforeach()
add_executable(instances_test ${CMAKE_SOURCE_DIR}/tests/instances/instances_test.c)
target_link_libraries(instances_test PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(recount copy_a copy_b instances_test PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME record/instances COMMAND instances_test $<TARGET_FILE:copy_a> $<TARGET_FILE:copy_b> $<TARGET_FILE:recount>)
