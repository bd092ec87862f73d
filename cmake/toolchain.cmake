# Compiler flags, ccache and mold: what every target is built with.

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fno-omit-frame-pointer)

find_program(SKEIN_CCACHE ccache)
if(SKEIN_CCACHE)
  # Without this sloppiness ccache refuses every file that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SKEIN_CCACHE})
  if(SKEIN_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  elseif(SKEIN_PCH)
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

find_program(SKEIN_MOLD mold)
if(SKEIN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(SKEIN_SANITIZE)
  add_compile_options(-fsanitize=${SKEIN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SKEIN_SANITIZE})
endif()

set(SKEIN_PCH_HEADERS
    <algorithm> <array> <atomic> <chrono> <coroutine> <cstdint> <deque> <expected> <functional> <map> <memory> <mutex>
    <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# Gives a target the precompiled headers, plus those named after it, unless SKEIN_PCH is off.
function(skein_precompile target)
  if(SKEIN_PCH)
    target_precompile_headers(${target} PRIVATE ${SKEIN_PCH_HEADERS} ${ARGN})
  endif()
endfunction()

# The same for a target built with the library's flags: it takes the library's precompiled header as it is.
function(skein_share_precompiled target)
  if(SKEIN_PCH)
    target_precompile_headers(${target} REUSE_FROM skein)
  endif()
endfunction()

# Compiles the sources of a target some at a time: those of one folder, eight to a group, tests apart from the rest. It
# takes a third of the time. Names in unnamed namespaces of one folder must differ then; the compiler says when not.
set(SKEIN_UNITY_GROUP 8)
if(SKEIN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes the sources of a group for headers, where a type that others cannot name would be a mistake.
  add_compile_options(-Wno-subobject-linkage)
endif()
# Puts sources into groups; those that are in one already stay there.
function(skein_unity_groups prefix)
  set(sources ${ARGN})
  list(SORT sources)
  set(last_place "")
  foreach(source IN LISTS sources)
    get_source_file_property(known ${source} UNITY_GROUP)
    if(known)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE whole)
    cmake_path(GET whole PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE place)
    if(NOT place STREQUAL last_place)
      set(count 0)
      set(last_place ${place})
    endif()
    math(EXPR group "${count} / ${SKEIN_UNITY_GROUP}")
    math(EXPR count "${count} + 1")
    string(REPLACE "/" "_" name ${place})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${prefix}${name}_${group})
  endforeach()
endfunction()

function(skein_unity target)
  if(SKEIN_UNITY)
    get_target_property(sources ${target} SOURCES)
    skein_unity_groups("" ${sources})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()
