# Stand-ins for NVIDIA's libraries, and the unit tests that run against them.
foreach(fake cuda cupti)
  add_library(fake_${fake} SHARED ${CMAKE_SOURCE_DIR}/tests/fake/lib${fake}.c)
  set_target_properties(fake_${fake} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake)
  target_include_directories(fake_${fake} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_options(fake_${fake} PRIVATE -Wno-missing-prototypes)
  if(STROBE_SANITIZE STREQUAL "thread") # what is looked for are races of strobe's, not of the stand-ins
    target_compile_options(fake_${fake} PRIVATE -fno-sanitize=thread)
  endif()
endforeach()

target_sources(fake_cupti PRIVATE ${CMAKE_SOURCE_DIR}/tests/fake/libcupti_pm.c)

# A driver from before stream capture.
add_library(fake_cuda_old SHARED ${CMAKE_SOURCE_DIR}/tests/fake/libcuda.c)
set_target_properties(fake_cuda_old PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake)
target_include_directories(fake_cuda_old PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_options(fake_cuda_old PRIVATE -Wno-missing-prototypes -DcuStreamIsCapturing=cuNotYetKnown)

# They look at what would be written instead of at a file.
foreach(test gpu_zone_test gpu_driver_test marker_test gpu_activity_test gpu_activity_loss_test slow_test slow_behind_test slow_pause_test slow_row_test)
  if(TARGET ${test})
    target_link_options(${test} PRIVATE -Wl,--wrap=sb_put,--wrap=sb_lost,--wrap=sb_keep_missing
      -Wl,--wrap=sb_session_epoch,--wrap=sb_session_active)
    add_dependencies(${test} fake_cuda fake_cuda_old fake_cupti)
  endif()
endforeach()

if(TARGET gpu_driver_test)
  target_link_options(gpu_driver_test PRIVATE -Wl,--wrap=sb_dynlib_from_environment)
endif()

if(TARGET pm_session_test)
  add_dependencies(pm_session_test fake_cupti)
endif()
foreach(test slow_test slow_behind_test slow_pause_test slow_row_test)
  if(TARGET ${test})
    target_link_options(${test} PRIVATE -Wl,--wrap=sb_keep_meta_string,--wrap=sb_keep_meta_int,--wrap=sb_keep_meta_float)
  endif()
endforeach()

if(TARGET dynlib_test)
  add_dependencies(dynlib_test fake_cuda)
endif()

# Where there is a CUDA toolkit, its header judges our description of CUPTI.
find_path(STROBE_CUPTI_INCLUDE cupti.h PATHS /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include
  NO_DEFAULT_PATH)
set(cupti_includes ${STROBE_CUPTI_INCLUDE} /usr/local/cuda/include)
if(NOT STROBE_CUPTI_INCLUDE) # the packages of the real torch bring it, in two parts
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/real-env --find OUTPUT_VARIABLE real OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(GLOB cupti_header ${real}/lib/python*/site-packages/nvidia/cu13/include/cupti_pmsampling.h)
  file(GLOB crt_header ${real}/lib/python*/site-packages/triton/backends/nvidia/include/crt/host_defines.h)
  if(real AND cupti_header AND crt_header)
    get_filename_component(cupti_folder ${cupti_header} DIRECTORY)
    get_filename_component(crt_folder ${crt_header}/../.. ABSOLUTE)
    set(cupti_includes ${cupti_folder} ${crt_folder})
  else()
    set(cupti_includes)
  endif()
endif()
if(TARGET cupti_layout_test AND cupti_includes)
  target_include_directories(cupti_layout_test SYSTEM PRIVATE ${cupti_includes} ${CMAKE_SOURCE_DIR}/tests/fake/cxx)
  target_compile_definitions(cupti_layout_test PRIVATE STROBE_HAVE_CUPTI_H=1)
endif()
if(TARGET nvtx_test)
  target_link_options(nvtx_test PRIVATE -Wl,--wrap=strobe_name,--wrap=strobe_zone_begin_id,--wrap=strobe_zone_end_id
    -Wl,--wrap=strobe_attr_int,--wrap=strobe_attr_float,--wrap=strobe_span_begin,--wrap=strobe_span_end
    -Wl,--wrap=strobe_event,--wrap=sb_put_text,--wrap=sb_put_duration)
endif()

find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
  foreach(name session_with_fakes counters_with_fakes counted_with_fakes captures_with_fakes signal_with_fakes watch_with_fakes)
    add_test(NAME gpu/${name} COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/gpu/${name}.py ${CMAKE_BINARY_DIR})
    set_tests_properties(gpu/${name} PROPERTIES TIMEOUT 300 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  endforeach()
endif()

# Skipped where there is no GPU; where there is one, this is its quickest check.
if(SYSTEM_PYTHON)
  add_test(NAME gpu/prove
    COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/gpu/prove.py --build ${CMAKE_BINARY_DIR} between_zones)
  set_tests_properties(gpu/prove PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()
