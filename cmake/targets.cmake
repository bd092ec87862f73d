# The library and the programs. Sources are found by name, so a new file needs no edit here.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

# Sets `out` to the sources that match the patterns, tests left out.
function(skein_sources out)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${ARGN})
  list(FILTER found EXCLUDE REGEX "_test\\.cpp$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# What the simulator plants bugs in, by the patches in sim/planted. The library compiles these sources in groups of
# their own, which the simulator's copies replace whole.
file(GLOB patch_lists CONFIGURE_DEPENDS sim/planted/*.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch_lists})
set(planted_sources "")
set(planted_copies "")
foreach(patches IN LISTS patch_lists)
  file(STRINGS ${patches} names REGEX "^== ")
  foreach(line IN LISTS names)
    string(SUBSTRING ${line} 3 -1 source)
    set(copy ${CMAKE_BINARY_DIR}/planted/${source})
    add_custom_command(OUTPUT ${copy} COMMAND ${CMAKE_SOURCE_DIR}/scripts/plant ${patches} ${source} ${copy}
                       DEPENDS ${patches} ${CMAKE_SOURCE_DIR}/${source} ${CMAKE_SOURCE_DIR}/scripts/plant VERBATIM)
    list(APPEND planted_copies ${copy})
    if(source MATCHES "\\.cpp$")
      list(APPEND planted_sources ${CMAKE_SOURCE_DIR}/${source})
    endif()
  endforeach()
endforeach()
add_custom_target(planted DEPENDS ${planted_copies})
skein_unity_groups(planted_ ${planted_sources})

# The library, in two parts (docs/library.md). skein-core has the layers that need neither SQLite nor OpenSSL, and the
# whole of skein/base but for what hashes; skein-node has the rest. `skein` is both.
set(SKEIN_CORE_LAYERS base runtime supervision registry resilience routing launcher)
list(TRANSFORM SKEIN_CORE_LAYERS REPLACE "(.+)" "skein/\\1/*.cpp" OUTPUT_VARIABLE core_patterns)
skein_sources(core_sources ${core_patterns})
list(FILTER core_sources EXCLUDE REGEX "/skein/base/(secret|sha256)\\.cpp$")
skein_sources(node_sources skein/*.cpp)
list(REMOVE_ITEM node_sources ${core_sources})

add_library(skein-core STATIC ${core_sources})
target_include_directories(skein-core PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(skein-core PUBLIC cxx_std_23)
target_link_libraries(skein-core PUBLIC fmt::fmt Threads::Threads)
set_target_properties(skein-core PROPERTIES EXPORT_NAME core)
set_source_files_properties(skein/base/version.cpp PROPERTIES
                            COMPILE_DEFINITIONS "SKEIN_VERSION=\"${PROJECT_VERSION}\"")
skein_alone(${CMAKE_SOURCE_DIR}/skein/base/version.cpp)
skein_precompile(skein-core)
skein_unity(skein-core)

add_library(skein-node STATIC ${node_sources})
target_link_libraries(skein-node PUBLIC skein-core OpenSSL::SSL OpenSSL::Crypto SQLite::SQLite3)
set_target_properties(skein-node PROPERTIES EXPORT_NAME node)
skein_share_precompiled(skein-node)
skein_unity(skein-node)

add_library(skein INTERFACE)
target_link_libraries(skein INTERFACE skein-node)

skein_sources(cli_sources cli/*.cpp)
add_executable(skein-cli ${cli_sources})
set_target_properties(skein-cli PROPERTIES OUTPUT_NAME skein)
target_link_libraries(skein-cli PRIVATE skein CLI11::CLI11)
target_compile_options(skein-cli PRIVATE ${SKEIN_TOOL_OPTIMIZE})
skein_share_precompiled(skein-cli)
skein_unity(skein-cli)

file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cpp)
# In a group of their own: the groups of the others stay as they are, whose names would meet otherwise.
file(GLOB mcp_bench_sources CONFIGURE_DEPENDS bench/mcp_*.cpp)
skein_unity_groups(mcp_ ${mcp_bench_sources})
add_executable(skein-bench ${bench_sources})
target_link_libraries(skein-bench PRIVATE skein)
skein_share_precompiled(skein-bench)
skein_unity(skein-bench)

# Everything of the simulator but its main and the planted bugs is shared with the tests.
skein_sources(sim_sources sim/*.cpp)
list(FILTER sim_sources EXCLUDE REGEX "/sim/(main|.*mutants)\\.cpp$")
add_library(skein-sim-objects OBJECT ${sim_sources})
target_link_libraries(skein-sim-objects PUBLIC skein)
target_compile_options(skein-sim-objects PRIVATE ${SKEIN_TOOL_OPTIMIZE})
skein_share_precompiled(skein-sim-objects)
# These use whole namespaces, or words of the script they read, which others use for something else.
file(GLOB alone CONFIGURE_DEPENDS sim/tree_*.cpp sim/ledger_*.cpp sim/dispatch_*.cpp)
skein_alone(${alone})
skein_unity(skein-sim-objects)

# The simulator's copies come before the library's sources, which have no bugs planted.
file(GLOB mutant_sources CONFIGURE_DEPENDS sim/*mutants.cpp)
set(planted_units ${planted_copies})
list(FILTER planted_units INCLUDE REGEX "\\.cpp$")
add_executable(skein-sim sim/main.cpp ${mutant_sources} ${planted_units})
add_dependencies(skein-sim planted)
target_include_directories(skein-sim BEFORE PRIVATE ${CMAKE_BINARY_DIR}/planted)
target_link_libraries(skein-sim PRIVATE skein-sim-objects)
target_compile_options(skein-sim PRIVATE ${SKEIN_TOOL_OPTIMIZE})
skein_precompile(skein-sim)
skein_alone(sim/main.cpp ${mutant_sources})
skein_unity(skein-sim)
set(planted_headers ${planted_copies})
list(FILTER planted_headers INCLUDE REGEX "\\.hpp$")
get_target_property(planted_groups skein-sim SOURCES)
list(FILTER planted_groups INCLUDE REGEX "/unity/skein-sim/.*planted")
set_property(SOURCE ${planted_groups} APPEND PROPERTY OBJECT_DEPENDS ${planted_headers})

# What reads bytes is compiled again, with what guides the fuzzer; it comes before the library's, which has the rest and
# is built for the sanitizers anyway. Both have some of it when a group of the library's is needed for another source.
if(SKEIN_FUZZ)
  file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*.cpp)
  skein_sources(fuzzed_sources skein/base/boost_json.cpp skein/base/json_text.cpp skein/base/utf8.cpp
                skein/net/http.cpp skein/net/websocket.cpp skein/operations/arguments.cpp skein/rest/params.cpp
                skein/rest/routes.cpp skein/mcp/core*.cpp skein/mcp/catalog.cpp skein/mcp/exchange.cpp
                skein/mcp/json_rpc.cpp skein/mcp/schema.cpp skein/agent/stdio_protocol.cpp
                skein/journal/log_*.cpp skein/journal/segment_file.cpp skein/journal/snapshot_file.cpp
                skein/journal/hard_state.cpp skein/ledger/*.cpp skein/node/config*.cpp
                skein/supervision/tree_toml.cpp skein/routing/adaptive_retry.cpp skein/routing/q_learning.cpp
                skein/base/trace_context.cpp)
  add_library(fuzzed OBJECT EXCLUDE_FROM_ALL ${fuzzed_sources})
  target_link_libraries(fuzzed PUBLIC skein)
  target_compile_options(fuzzed PRIVATE -fsanitize=fuzzer-no-link)
  skein_precompile(fuzzed)
  skein_unity(fuzzed)
  foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(fuzz-${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(fuzz-${name} PRIVATE fuzzed)
    target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer -Wl,-z,muldefs)
  endforeach()
endif()

# Each header alone in a file of its own: one that leans on another's includes fails to compile. Part of `make check`.
# A header with a source or test of its name is the first thing that includes, and clang-tidy compiles those one by one.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} skein/*.hpp cli/*.hpp sim/*.hpp bench/*.hpp)
set(header_sources "")
foreach(header IN LISTS headers)
  cmake_path(REMOVE_EXTENSION header OUTPUT_VARIABLE stem)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${stem}.cpp OR EXISTS ${CMAKE_SOURCE_DIR}/${stem}_test.cpp)
    continue()
  endif()
  set(alone ${CMAKE_BINARY_DIR}/headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${alone} CONTENT "#include \"${header}\"\n")
  list(APPEND header_sources ${alone})
endforeach()
add_library(headers OBJECT EXCLUDE_FROM_ALL ${header_sources})
target_link_libraries(headers PRIVATE skein CLI11::CLI11 GTest::gmock rapidcheck)
target_compile_options(headers PRIVATE -O0 -g0)

# Small programs that the tests run: one per file, linked as a user's would be. Only embed has a node in it.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.cpp)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  add_executable(example-${name} ${source})
  target_link_libraries(example-${name} PRIVATE $<IF:$<STREQUAL:${name},embed>,skein-node,skein-core>)
  set_target_properties(example-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  skein_share_precompiled(example-${name})
endforeach()
