# What this machine has. Each missing library switches one thing off, with one line.
find_package(PkgConfig)
set(STROBE_FEATURE_DEFINITIONS)
set(STROBE_FEATURE_INCLUDES)
set(STROBE_FEATURE_LIBRARIES)
set(STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/no-such-file)

# For wheels and tarballs: everything but the C library linked in, where there are archives.
option(STROBE_STATIC_DEPENDENCIES "link the tool's libraries into it" OFF)

# Each shared library's archive beside it, where there is one.
function(strobe_archives libraries out)
  set(result)
  foreach(library ${libraries})
    string(REGEX REPLACE "\\.so$" ".a" archive "${library}")
    if(STROBE_STATIC_DEPENDENCIES AND EXISTS "${archive}")
      list(APPEND result ${archive})
    else()
      list(APPEND result ${library})
    endif()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# strobe_feature(NAME pkg-config-module what-is-switched-off): defines STROBE_HAVE_NAME.
function(strobe_feature name module loss)
  option(STROBE_WITH_${name} "use ${module}" ON)
  set(found FALSE)
  if(STROBE_WITH_${name} AND PKG_CONFIG_FOUND)
    pkg_check_modules(${name} QUIET ${module})
    set(found ${${name}_FOUND})
  endif()
  if(found)
    set(STROBE_FEATURE_DEFINITIONS ${STROBE_FEATURE_DEFINITIONS} STROBE_HAVE_${name}=1 PARENT_SCOPE)
    set(STROBE_FEATURE_INCLUDES ${STROBE_FEATURE_INCLUDES} ${${name}_INCLUDE_DIRS} PARENT_SCOPE)
    strobe_archives("${${name}_LINK_LIBRARIES}" libraries)
    set(STROBE_FEATURE_LIBRARIES ${STROBE_FEATURE_LIBRARIES} ${libraries} PARENT_SCOPE)
  else()
    message(NOTICE "strobe: no ${module} here: ${loss} switched off")
  endif()
  set(STROBE_HAVE_${name} ${found} PARENT_SCOPE)
endfunction()

strobe_feature(ZLIB zlib "reading .json.gz and PNG, and compressed pages are")
strobe_feature(ZSTD libzstd "packed recordings are")
strobe_feature(FYAML libfyaml "YAML without libfyaml.so.0 at run time is")
strobe_feature(EVENT libevent "'strobe serve' is")
strobe_feature(SQLITE sqlite3 "'strobe history' is")
strobe_feature(NCURSES ncursesw "'strobe top' is")

if(NOT STROBE_HAVE_FYAML)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/cli/yaml_libfyaml.c)
endif()
if(STROBE_HAVE_ZLIB)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/report/page/no_gzip.c ${CMAKE_SOURCE_DIR}/src/picture/no_png.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/report/page/gzip.c ${CMAKE_SOURCE_DIR}/src/picture/png.c)
endif()
# The page is taken into page.c as it is.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/report/page/page.c PROPERTIES
  OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/report/page/page.html)

# A missing feature is another file.
if(STROBE_HAVE_SQLITE)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/store/no_history.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/store/history.c
    ${CMAKE_SOURCE_DIR}/src/store/history_ranks.c ${CMAKE_SOURCE_DIR}/src/store/history_read.c
    ${CMAKE_SOURCE_DIR}/src/store/history_sizes.c)
endif()

# Without zlib the same calls answer with a message.
if(STROBE_HAVE_ZLIB)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/exchange/no_inflate.c ${CMAKE_SOURCE_DIR}/src/exchange/no_deflate.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/exchange/inflate.c ${CMAKE_SOURCE_DIR}/src/exchange/deflate.c)
endif()
if(STROBE_HAVE_NCURSES)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/cli/no_top_screen.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/cli/top_screen.c)
endif()
if(STROBE_HAVE_EVENT)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/cli/no_cmd_serve.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/cli/cmd_serve.c ${CMAKE_SOURCE_DIR}/src/serve/server.c
    ${CMAKE_SOURCE_DIR}/src/serve/answers.c ${CMAKE_SOURCE_DIR}/src/serve/stream.c
    ${CMAKE_SOURCE_DIR}/src/serve/connection.c)
endif()
if(STROBE_HAVE_ZSTD)
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/format/no_packed.c)
else()
  list(APPEND STROBE_EXCLUDED_SOURCES ${CMAKE_SOURCE_DIR}/src/format/packed.c
    ${CMAKE_SOURCE_DIR}/src/format/packed_write.c ${CMAKE_SOURCE_DIR}/src/format/packed_columns.c)
endif()
