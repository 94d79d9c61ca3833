# libFuzzer on the readers: a bounded run here, a long one by `make fuzz MINUTES=60`.
add_test(NAME fuzz/tool COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/fuzz/check_tool.py ${CMAKE_SOURCE_DIR})
find_program(FUZZ_CLANG NAMES clang clang-14 clang-15 clang-16)
if(FUZZ_CLANG)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "int LLVMFuzzerTestOneInput(const char *d, unsigned long n){return 0;}"
    COMMAND ${FUZZ_CLANG} -fsanitize=fuzzer,address -x c - -o ${CMAKE_BINARY_DIR}/fuzz_probe
    RESULT_VARIABLE no_fuzzer OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT FUZZ_CLANG OR no_fuzzer)
  strobe_left_out(fuzz "no clang with libFuzzer here")
else()
  add_executable(make_corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/make_corpus.c)
  set_target_properties(make_corpus PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(make_corpus PRIVATE everything)

  # Everything that takes part is compiled anew by clang, with the sanitizers.
  set(fuzz_sources ${sources_base} ${reading_sources})
  set(fuzz_flags -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
    -fno-strict-aliasing -fwrapv -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/cli)
  foreach(definition ${STROBE_FEATURE_DEFINITIONS})
    list(APPEND fuzz_flags -D${definition})
  endforeach()
  function(fuzz_objects_of result)
    set(objects)
    foreach(source ${ARGN})
      string(REPLACE ${CMAKE_SOURCE_DIR}/ "" name ${source})
      string(REPLACE "/" "_" name ${name})
      set(object ${CMAKE_BINARY_DIR}/fuzz/${name}.o)
      add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${FUZZ_CLANG} ${fuzz_flags} -MD -MF ${object}.d -c ${source} -o ${object}
        DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
      list(APPEND objects ${object})
    endforeach()
    set(${result} ${objects} PARENT_SCOPE)
  endfunction()
  fuzz_objects_of(reading ${fuzz_sources})
  set(fuzz_archive ${CMAKE_BINARY_DIR}/fuzz/libreading.a)
  add_custom_command(OUTPUT ${fuzz_archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${fuzz_archive}
    COMMAND ${CMAKE_AR} rcs ${fuzz_archive} ${reading}
    DEPENDS ${reading} VERBATIM)

  # fuzzer(NAME SOURCE...): a target, what else it needs, and its bounded run as a test.
  set(fuzzers)
  function(fuzzer name)
    fuzz_objects_of(own ${ARGN})
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/tests/${name}_fuzz
      COMMAND ${FUZZ_CLANG} -fsanitize=fuzzer,address,undefined ${own} ${fuzz_archive} -o ${CMAKE_BINARY_DIR}/tests/${name}_fuzz
        ${STROBE_FEATURE_LIBRARIES} -lm -lpthread -ldl
      DEPENDS ${own} ${fuzz_archive} VERBATIM)
    add_test(NAME fuzz/${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/fuzz/run-bounded ${CMAKE_BINARY_DIR} ${name})
    set_tests_properties(fuzz/${name} PROPERTIES FIXTURES_REQUIRED fuzzers TIMEOUT 240)
    set(fuzzers ${fuzzers} ${name} PARENT_SCOPE)
  endfunction()

  set(fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz)
  foreach(name recording export compare scrape)
    fuzzer(${name} ${fuzz}/${name}_fuzz.c ${fuzz}/recording_mutator.c)
  endforeach()
  if(STROBE_HAVE_ZSTD)
    fuzzer(packed ${fuzz}/recording_fuzz.c ${fuzz}/packed_mutator.c)
  endif()
  fuzzer(job ${fuzz}/job_fuzz.c ${fuzz}/job_mutator.c)
  foreach(name import jsonin mcp picture report request)
    fuzzer(${name} ${fuzz}/${name}_fuzz.c)
  endforeach()
  file(GLOB settings_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/record/settings*.c)
  file(GLOB yaml_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/record/yaml*.c)
  set(setting ${settings_sources} ${yaml_sources} ${CMAKE_SOURCE_DIR}/src/record/trace_spec.c)
  fuzzer(settings ${fuzz}/settings_fuzz.c ${setting})
  # The option parser, which asks the settings for the nearest name.
  fuzzer(args ${fuzz}/args_fuzz.c ${CMAKE_SOURCE_DIR}/cli/args.c ${setting})

  # Built by the tests, not by every build: half the sources a second time.
  list(TRANSFORM fuzzers APPEND _fuzz OUTPUT_VARIABLE fuzzer_programs)
  list(TRANSFORM fuzzer_programs PREPEND ${CMAKE_BINARY_DIR}/tests/)
  add_custom_target(fuzzers DEPENDS ${fuzzer_programs} make_corpus)
  add_test(NAME fuzz/build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target fuzzers)
  set_tests_properties(fuzz/build PROPERTIES FIXTURES_SETUP fuzzers RESOURCE_LOCK build TIMEOUT 900)
  string(REPLACE ";" "\n" fuzzer_lines "${fuzzers}")
  file(WRITE ${CMAKE_BINARY_DIR}/fuzz/targets "${fuzzer_lines}\n") # for `make fuzz`
endif()
