# import and export: the commands, against independent readers.
foreach(tool json_echo make_zones)
  add_executable(${tool} ${CMAKE_SOURCE_DIR}/tests/exchange/${tool}.c)
  set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${tool} PRIVATE everything)
endforeach()
foreach(what jsonin import collectives stagelog guide_stages guide_generation guide_session guide_encoder guide_json written_texts prof snapshot export export_tools share speedscope)
  strobe_pytest(exchange/${what} exchange/test_${what}.py 300 ZLIB ZSTD)
endforeach()
