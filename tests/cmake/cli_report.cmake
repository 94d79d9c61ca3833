# `strobe report` as a user types it.
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
  add_test(NAME cli/report COMMAND ${SYSTEM_PYTHON} -m pytest -q -p no:cacheprovider
    ${CMAKE_SOURCE_DIR}/tests/cli/test_report.py)
  set_tests_properties(cli/report PROPERTIES TIMEOUT 120
    ENVIRONMENT "STROBE_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()
