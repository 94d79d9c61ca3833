# tests/fake/lib<name>.c: stand-ins for libraries that are found at run time. Those of CUDA are in gpu.cmake.
file(GLOB fakes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fake/lib*.c)
list(FILTER fakes EXCLUDE REGEX "/lib(cuda|cupti)")
foreach(source ${fakes})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^lib" "" name ${name})
  add_library(fake_${name} SHARED ${source})
  target_compile_options(fake_${name} PRIVATE -Wno-missing-prototypes)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake
    C_VISIBILITY_PRESET default)
  # Whoever builds one test alone tests against the stand-ins of the same sources.
  foreach(test ${unit_tests})
    get_filename_component(test ${test} NAME_WE)
    add_dependencies(${test} fake_${name})
  endforeach()
endforeach()
