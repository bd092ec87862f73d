# Compiler flags, ccache and mold: what every target is built with.

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fno-omit-frame-pointer)

# A second clone finds in ccache what the first one compiled: no output may hold the path of its clone.
find_program(SKEIN_CCACHE ccache)
if(SKEIN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/scripts/compile ${CMAKE_SOURCE_DIR})
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
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
    target_precompile_headers(${target} REUSE_FROM skein-core)
  endif()
endfunction()

# Compiles the sources of a target some at a time: those of one folder, eight to a group, tests apart from the rest. It
# takes a third of the time. Names in unnamed namespaces of one folder must differ then; the compiler says when not.
# CMake's own unity build does the same with absolute paths, which a second clone could not find in ccache.
set(SKEIN_UNITY_GROUP 8)
if(SKEIN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes the sources of a group for headers, where a type that others cannot name would be a mistake.
  add_compile_options(-Wno-subobject-linkage)
endif()

# These are compiled alone: they use whole namespaces, or need definitions of their own.
function(skein_alone)
  set_property(SOURCE ${ARGN} PROPERTY SKEIN_ALONE ON)
endfunction()

# Puts sources into groups; those that are in one already stay there.
function(skein_unity_groups prefix)
  set(sources ${ARGN})
  list(SORT sources)
  set(last_place "")
  foreach(source IN LISTS sources)
    get_property(known SOURCE ${source} PROPERTY SKEIN_GROUP)
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
    set_property(SOURCE ${source} PROPERTY SKEIN_GROUP ${prefix}${name}_${group})
  endforeach()
endfunction()

# Replaces the sources of a target by one file per group that includes them.
function(skein_unity target)
  if(NOT SKEIN_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  skein_unity_groups("" ${sources})
  set(compiled "")
  set(groups "")
  foreach(source IN LISTS sources)
    get_property(alone SOURCE ${source} PROPERTY SKEIN_ALONE)
    if(alone)
      list(APPEND compiled ${source})
      continue()
    endif()
    get_property(group SOURCE ${source} PROPERTY SKEIN_GROUP)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE place)
    list(APPEND groups ${group})
    string(APPEND text_${group} "#include \"${place}\"\n")
    # A source made at build time: without this the group is compiled anew only by the build after the one that made it.
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} is_made)
    if(is_made)
      list(APPEND made_${group} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    set(file ${CMAKE_BINARY_DIR}/unity/${target}/${group}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${group}}")
    set_property(SOURCE ${file} PROPERTY OBJECT_DEPENDS "${made_${group}}")
    list(APPEND compiled ${file})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${compiled})
endfunction()
