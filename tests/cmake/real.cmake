# tests/real: the frameworks people run, in an environment of their own (tools/real-env); skipped where it is not there.
if(TARGET strobe_python)
  file(GLOB real_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/real/test_*.py)
  foreach(source ${real_tests})
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME real/${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/real-test ${CMAKE_BINARY_DIR} ${source})
    set_tests_properties(real/${name} PROPERTIES TIMEOUT 1800 SKIP_RETURN_CODE 77 LABELS real)
    list(APPEND real_names real/${name})
  endforeach()
  # tests/real_tools: clients and tools of others, in a small environment of their own.
  file(GLOB tool_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/real_tools/test_*.py)
  foreach(source ${tool_tests})
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME real/tools_${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/real-test ${CMAKE_BINARY_DIR} ${source})
    set_tests_properties(real/tools_${name} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 LABELS real)
  endforeach()
  list(REMOVE_ITEM real_names real/test_written_table)
  set_tests_properties(real/test_written_table PROPERTIES DEPENDS "${real_names}") # it reads what they found
endif()
