# skein-tests, and what ctest runs: the unit tests in parts, and every tests/*/run script.

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS skein/*_test.cpp sim/*_test.cpp cli/*_test.cpp)
add_executable(skein-tests ${test_sources})
target_link_libraries(skein-tests PRIVATE skein-sim-objects GTest::gtest_main GTest::gmock rapidcheck)
target_compile_options(skein-tests PRIVATE ${SKEIN_TEST_OPTIMIZE})
skein_precompile(skein-tests <gtest/gtest.h> <gmock/gmock.h>)
skein_unity(skein-tests)

# One ctest test per GoogleTest test would start the program thousands of times; a part runs many in one go. The results
# go to files, where scripts/run-tests counts them.
math(EXPR last_shard "${SKEIN_TEST_SHARDS} - 1")
foreach(shard RANGE ${last_shard})
  add_test(NAME unit-${shard} COMMAND skein-tests WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(report ${CMAKE_BINARY_DIR}/test-results/unit-${shard}.json)
  set_tests_properties(unit-${shard} PROPERTIES LABELS unit TIMEOUT ${SKEIN_SHARD_LIMIT_S} ENVIRONMENT
    "GTEST_TOTAL_SHARDS=${SKEIN_TEST_SHARDS};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=json:${report}")
endforeach()

file(GLOB scripts CONFIGURE_DEPENDS tests/*/run)
foreach(script IN LISTS scripts)
  cmake_path(GET script PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  add_test(NAME ${name} COMMAND ${script} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS script TIMEOUT ${SKEIN_SCRIPT_LIMIT_S}
                       ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR}")
endforeach()
