# Recording whole programs: `strobe run`, `strobe top`, `strobe doctor`, driven as a user would.
add_executable(recorded ${CMAKE_SOURCE_DIR}/tests/tools/recorded.c)
target_link_libraries(recorded PRIVATE everything)
set_target_properties(recorded PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

find_package(Python COMPONENTS Interpreter QUIET)
execute_process(COMMAND ${Python_EXECUTABLE} -c "import pytest" RESULT_VARIABLE no_pytest OUTPUT_QUIET ERROR_QUIET)
if(no_pytest)
  message(NOTICE "strobe: no pytest here: the tests of run, top and doctor are switched off")
else()
  file(GLOB run_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/run/test_*.py)
  foreach(source ${run_tests})
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME run/${name} COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${source})
    set_tests_properties(run/${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 5
      ENVIRONMENT "STROBE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
