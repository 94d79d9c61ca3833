# Harm: programs that treat the recorder badly, and must not be harmed by it.
function(harm_program name)
  add_executable(harm_${name} ${CMAKE_SOURCE_DIR}/tests/harm/${name}.c)
  target_link_libraries(harm_${name} PRIVATE everything)
  set_target_properties(harm_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
foreach(name descriptors talk silent threads cut chance gpu)
  harm_program(${name})
endforeach()
target_include_directories(harm_gpu PRIVATE ${CMAKE_SOURCE_DIR}/tests)
add_dependencies(harm_gpu fake_cuda fake_cupti)
# The collectors' threads beside the program's: tests/sanitize/run takes it under the thread sanitizer.
add_test(NAME harm/gpu_collected COMMAND harm_gpu collect 3)
set_tests_properties(harm/gpu_collected PROPERTIES TIMEOUT 300 ENVIRONMENT
  "STROBE_CUDA_PATH=$<TARGET_FILE:fake_cuda>;STROBE_CUPTI_PATH=$<TARGET_FILE:fake_cupti>;STROBE_MONITOR=0;STROBE_OUTPUT_DIR=${CMAKE_BINARY_DIR}/tests/gpu-collected")

# Preloaded: systems that refuse what the recorder asks for.
add_library(harm_refuse MODULE ${CMAKE_SOURCE_DIR}/tests/harm/refuse.c)
set_target_properties(harm_refuse PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
  C_VISIBILITY_PRESET default COMPILE_OPTIONS "-Wno-missing-prototypes")

# The recorder alone, compiled anew: with its threads scheduled at random (tests/harm/schedule.h), and
# under the thread sanitizer.
set(alone_sources ${sources_base} ${sources_record} ${sources_format})
list(REMOVE_ITEM alone_sources ${STROBE_EXCLUDED_SOURCES})
list(FILTER alone_sources EXCLUDE REGEX "base/(csv|json|jsonin|jsondom|extsort|scratch)|format/builder")
function(harm_threads_alone name)
  add_executable(harm_threads_${name} ${CMAKE_SOURCE_DIR}/tests/harm/threads.c ${alone_sources})
  target_compile_options(harm_threads_${name} PRIVATE ${ARGN} -Wno-unused-function)
  target_compile_definitions(harm_threads_${name} PRIVATE RECORDER_TEST_SMALL=1 ${STROBE_FEATURE_DEFINITIONS})
  target_include_directories(harm_threads_${name} PRIVATE ${STROBE_FEATURE_INCLUDES})
  target_link_libraries(harm_threads_${name} PRIVATE ${STROBE_FEATURE_LIBRARIES} ${CMAKE_DL_LIBS} m pthread)
  set_target_properties(harm_threads_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
harm_threads_alone(scheduled -include ${CMAKE_SOURCE_DIR}/tests/harm/schedule.h)

# All of libstrobe, scheduled at random: with monitors and GPU zones.
set(scheduled_sources ${recording_sources} ${sources_format})
list(REMOVE_ITEM scheduled_sources ${STROBE_EXCLUDED_SOURCES})
list(FILTER scheduled_sources EXCLUDE REGEX "format/builder")
add_library(scheduled_recorder STATIC ${scheduled_sources})
target_compile_options(scheduled_recorder PRIVATE -include ${CMAKE_SOURCE_DIR}/tests/harm/schedule.h -Wno-unused-function)
target_compile_definitions(scheduled_recorder PRIVATE ${STROBE_FEATURE_DEFINITIONS})
target_include_directories(scheduled_recorder PRIVATE ${STROBE_FEATURE_INCLUDES})
foreach(name chance gpu)
  add_executable(harm_${name}_scheduled ${CMAKE_SOURCE_DIR}/tests/harm/${name}.c)
  target_include_directories(harm_${name}_scheduled PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(harm_${name}_scheduled PRIVATE scheduled_recorder ${STROBE_FEATURE_LIBRARIES} ${CMAKE_DL_LIBS} m pthread)
  set_target_properties(harm_${name}_scheduled PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
if(NOT STROBE_SANITIZE)
  harm_threads_alone(under_thread -fsanitize=thread -O1 -Wno-tsan -Wno-maybe-uninitialized)
  target_link_options(harm_threads_under_thread PRIVATE -fsanitize=thread)
endif()

file(GLOB harm_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/harm/test_*.py)
foreach(source ${harm_tests})
  get_filename_component(name ${source} NAME_WE)
  strobe_pytest(harm/${name} harm/${name}.py 600)
endforeach()
