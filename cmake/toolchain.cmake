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
