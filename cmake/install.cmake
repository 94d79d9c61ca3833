include(GNUInstallDirs)

# Man pages and completion come from the same table as --help.
set(pages ${CMAKE_BINARY_DIR}/man)
# Where the build is for another kind of machine: a tool of the same source that runs here.
set(STROBE_TOOL_HERE $<TARGET_FILE:strobe> CACHE STRING "the tool that writes the man pages")
add_custom_command(OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_SOURCE_DIR}/tools/generate-pages ${STROBE_TOOL_HERE} ${pages}
  DEPENDS strobe ${CMAKE_SOURCE_DIR}/tools/generate-pages VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages}/stamp)

configure_file(cmake/strobe.pc.in ${CMAKE_BINARY_DIR}/strobe.pc @ONLY)

install(TARGETS strobe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS strobe_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/libstrobe.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/strobe.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/strobe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${pages}/strobe.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME strobe)
# The pages of docs/ name the examples, and the guides' pages run them.
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/strobe/examples
  PATTERN __pycache__ EXCLUDE PATTERN CMakeLists.txt EXCLUDE)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/strobe/docs)
# README's link to the header leads to where that is installed.
if(EXISTS ${CMAKE_SOURCE_DIR}/README.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS README.md)
  file(READ README.md readme)
  string(REPLACE "](include/strobe.h)" "](../../../include/strobe.h)" readme "${readme}")
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/installed/README.md CONTENT "${readme}")
  install(FILES ${CMAKE_BINARY_DIR}/installed/README.md CHANGELOG.md CONTRIBUTING.md LICENSE
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/strobe)
endif()
install(FILES ${pages}/_strobe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
