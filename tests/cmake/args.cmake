# The option parser's test, with the parser: cli/ is in no library.
if(TARGET args_test)
  target_sources(args_test PRIVATE ${CMAKE_SOURCE_DIR}/cli/args.c)
  target_include_directories(args_test PRIVATE ${CMAKE_SOURCE_DIR}/cli)
endif()
