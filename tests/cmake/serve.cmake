# The server against curl, strangers, slow clients, promtool and a real Prometheus.
if(STROBE_HAVE_EVENT)
  add_executable(live_recorder ${CMAKE_SOURCE_DIR}/tests/serve/live_recorder.c)
  set_target_properties(live_recorder PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(live_recorder PRIVATE strobe_shared)
  add_test(NAME serve COMMAND /usr/bin/env python3 ${CMAKE_SOURCE_DIR}/tests/serve/run.py ${CMAKE_BINARY_DIR})
  set_tests_properties(serve PROPERTIES TIMEOUT 300)
endif()
