# tests/planted: programs with one planted problem each, and whether strobe names it. Those that need neither torch nor a GPU.
if(TARGET strobe_python)
  add_test(NAME planted/plain COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/planted/run.py --needs none --variants plain
    --strobe ${CMAKE_BINARY_DIR}/strobe --least 0.75)
  set_tests_properties(planted/plain PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python")
  # The same programs without their problem: each is silent about it.
  add_test(NAME planted/memory_fixed COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/planted/run.py --family memory --variants fixed
    --strobe ${CMAKE_BINARY_DIR}/strobe --least 0)
  set_tests_properties(planted/memory_fixed PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python")
  add_test(NAME planted/between_fixed COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/planted/run.py --family between --variants fixed
    --strobe ${CMAKE_BINARY_DIR}/strobe --least 0)
  set_tests_properties(planted/between_fixed PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python")
endif()
