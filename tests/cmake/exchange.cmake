# import and export: the commands, against independent readers; and the fuzzers.
foreach(tool json_echo make_zones)
  add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/exchange/${tool}.c)
  set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${tool} PRIVATE everything)
endforeach()
foreach(what jsonin import stagelog guide_texts prof export)
  strobe_pytest(exchange/${what} exchange/test_${what}.py 300 ZLIB ZSTD)
endforeach()

# Bounded fuzzing of everything here that reads a file, where clang has libFuzzer.
find_program(FUZZ_CLANG NAMES clang clang-14)
set(fuzz_probe ${CMAKE_BINARY_DIR}/tests/fuzz_probe)
if(FUZZ_CLANG AND NOT STROBE_FUZZER) # what was not there may be there now
  file(WRITE ${fuzz_probe}.c
    "#include <stddef.h>\n#include <stdint.h>\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return d == NULL && n; }\n")
  execute_process(COMMAND ${FUZZ_CLANG} -fsanitize=fuzzer,address ${fuzz_probe}.c -o ${fuzz_probe}
    RESULT_VARIABLE fuzz_result OUTPUT_QUIET ERROR_QUIET)
  if(fuzz_result EQUAL 0)
    set(STROBE_FUZZER TRUE CACHE INTERNAL "clang has libFuzzer")
  else()
    set(STROBE_FUZZER FALSE CACHE INTERNAL "clang has libFuzzer")
  endif()
endif()
if(STROBE_FUZZER)
  file(GLOB fuzz_base CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.c)
  set(fuzz_exchange)
  set(fuzz_inflate no_inflate)
  set(fuzz_libraries -lm -lpthread -ldl)
  if(STROBE_HAVE_ZLIB)
    set(fuzz_inflate inflate)
    list(APPEND fuzz_libraries -lz)
  endif()
  foreach(source import source blobs ${fuzz_inflate} trace_event trace_in trace_store trace_write text_in text_clean textlog textlog_write stagelog stagelog_line summary_text
    iteration_text memory_text layers_text metrics_text prof_in marshal)
    list(APPEND fuzz_exchange ${CMAKE_SOURCE_DIR}/src/exchange/${source}.c)
  endforeach()
  foreach(part builder builder_lane builder_records reader no_packed)
    list(APPEND fuzz_exchange ${CMAKE_SOURCE_DIR}/src/format/${part}.c)
  endforeach()
  foreach(fuzzer jsonin import)
    set(fuzz_sources ${CMAKE_SOURCE_DIR}/tests/fuzz/${fuzzer}_fuzz.c ${fuzz_base})
    if(fuzzer STREQUAL import)
      list(APPEND fuzz_sources ${fuzz_exchange})
    endif()
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/tests/${fuzzer}_fuzz
      COMMAND ${FUZZ_CLANG} -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE
        -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src ${fuzz_sources} ${fuzz_libraries}
        -o ${CMAKE_BINARY_DIR}/tests/${fuzzer}_fuzz
      DEPENDS ${fuzz_sources} VERBATIM)
    # Built when it is tested: nobody else waits for it.
    add_custom_target(build_${fuzzer}_fuzz DEPENDS ${CMAKE_BINARY_DIR}/tests/${fuzzer}_fuzz)
    add_test(NAME fuzz/build_${fuzzer} COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target build_${fuzzer}_fuzz)
    set_tests_properties(fuzz/build_${fuzzer} PROPERTIES FIXTURES_SETUP ${fuzzer}_fuzz RESOURCE_LOCK build TIMEOUT 600)
    add_test(NAME fuzz/${fuzzer} COMMAND ${CMAKE_SOURCE_DIR}/tests/fuzz/run-bounded ${CMAKE_BINARY_DIR} ${fuzzer})
    set_tests_properties(fuzz/${fuzzer} PROPERTIES FIXTURES_REQUIRED ${fuzzer}_fuzz TIMEOUT 120)
  endforeach()
endif()
