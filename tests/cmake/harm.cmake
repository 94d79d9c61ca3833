# Harm: programs that treat the recorder badly, and must not be harmed by it.
function(harm_program name)
  add_executable(harm_${name} ${CMAKE_SOURCE_DIR}/tests/harm/${name}.c)
  target_link_libraries(harm_${name} PRIVATE everything)
  set_target_properties(harm_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
foreach(name descriptors talk threads cut)
  harm_program(${name})
endforeach()

# Preloaded: systems that refuse what the recorder asks for.
add_library(harm_refuse MODULE ${CMAKE_SOURCE_DIR}/tests/harm/refuse.c)
set_target_properties(harm_refuse PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
  C_VISIBILITY_PRESET default COMPILE_OPTIONS "-Wno-missing-prototypes")

# The recorder alone, compiled anew: with its threads scheduled at random (tests/harm/schedule.h), and
# under the thread sanitizer.
set(alone_sources ${sources_base} ${sources_record} ${sources_format})
list(REMOVE_ITEM alone_sources ${STROBE_EXCLUDED_SOURCES})
list(FILTER alone_sources EXCLUDE REGEX "base/(json|jsonin|jsondom|extsort)|format/builder")
function(harm_threads_alone name)
  add_executable(harm_threads_${name} ${CMAKE_SOURCE_DIR}/tests/harm/threads.c ${alone_sources})
  target_compile_options(harm_threads_${name} PRIVATE ${ARGN} -Wno-unused-function)
  target_compile_definitions(harm_threads_${name} PRIVATE RECORDER_TEST_SMALL=1 ${STROBE_FEATURE_DEFINITIONS})
  target_include_directories(harm_threads_${name} PRIVATE ${STROBE_FEATURE_INCLUDES})
  target_link_libraries(harm_threads_${name} PRIVATE ${STROBE_FEATURE_LIBRARIES} ${CMAKE_DL_LIBS} m pthread)
  set_target_properties(harm_threads_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
harm_threads_alone(scheduled -include ${CMAKE_SOURCE_DIR}/tests/harm/schedule.h)
if(NOT STROBE_SANITIZE)
  harm_threads_alone(under_thread -fsanitize=thread -O1 -Wno-tsan -Wno-maybe-uninitialized)
  target_link_options(harm_threads_under_thread PRIVATE -fsanitize=thread)
endif()

file(GLOB harm_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/harm/test_*.py)
foreach(source ${harm_tests})
  get_filename_component(name ${source} NAME_WE)
  strobe_pytest(harm/${name} harm/${name}.py 600)
endforeach()
