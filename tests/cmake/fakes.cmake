# tests/fake/lib<name>.c: stand-ins for libraries that are found at run time.
file(GLOB fakes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fake/libnvidia-ml.c)
foreach(source ${fakes})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^lib" "" name ${name})
  add_library(fake_${name} SHARED ${source})
  target_compile_options(fake_${name} PRIVATE -Wno-missing-prototypes)
  set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake)
endforeach()
