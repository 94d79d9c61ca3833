# The reports of recordings of every shape, read by readers that are not ours.
foreach(tool make_recordings make_random)
  add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/report/${tool}.c)
  set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${tool} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${tool} PRIVATE everything)
endforeach()
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT STROBE_HAVE_ZLIB) # it reads .json.gz
  strobe_left_out(report "this build has no ZLIB")
else()
  add_test(NAME report/schema COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/report/check_reports.py
    --strobe $<TARGET_FILE:strobe> --make $<TARGET_FILE:make_recordings> --ranks $<TARGET_FILE:make_ranks>
    --source ${CMAKE_SOURCE_DIR})
  set_tests_properties(report/schema PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
add_test(NAME report/faces COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/report/check_faces.py
  $<TARGET_FILE:strobe> $<TARGET_FILE:make_random>)
set_tests_properties(report/faces PROPERTIES TIMEOUT 120)
