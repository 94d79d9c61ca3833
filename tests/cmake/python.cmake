# tests/python: pytest with the interpreter the extension was built for.
if(NOT TARGET strobe_python)
  strobe_left_out(python "no Python headers here")
else()
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import pytest" RESULT_VARIABLE no_pytest OUTPUT_QUIET ERROR_QUIET)
  if(no_pytest)
    strobe_left_out(python "no pytest here")
  else()
    file(GLOB python_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/python/test_*.py)
    foreach(source ${python_tests})
      get_filename_component(name ${source} NAME_WE)
      set(group python)
      if(name STREQUAL test_compile_and_cuda)
        set(group gpu) # it needs a device and a torch for it
      endif()
      add_test(NAME ${group}/${name} COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider
        --confcutdir ${CMAKE_SOURCE_DIR}/tests ${source})
      set_tests_properties(${group}/${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 5
        ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;STROBE_TOOL=${CMAKE_BINARY_DIR}/strobe;PYTHONDONTWRITEBYTECODE=1")
    endforeach()
  endif()
endif()
