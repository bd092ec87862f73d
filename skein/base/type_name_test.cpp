#include "skein/base/type_name.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skein {

struct NamedForTest {};

namespace {

struct Hidden {};

TEST(TypeName, is_what_the_author_wrote) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<NamedForTest*>().substr(0, 7), "skein::");
  EXPECT_NE(type_name<NamedForTest>().find("NamedForTest"), std::string_view::npos);
}

TEST(TypeName, has_nothing_of_the_function_it_was_found_in) {
  for (const std::string_view name :
       {type_name<int>(), type_name<Hidden>(), type_name<NamedForTest>(), type_name<std::vector<std::vector<int>>>()}) {
    EXPECT_EQ(name.find('='), std::string_view::npos) << name;
    EXPECT_EQ(name.find("string_view"), std::string_view::npos) << name;
    EXPECT_EQ(name.find("]"), std::string_view::npos) << name;
  }
}

TEST(TypeName, ends_with_a_hidden_type_s_own_name) {
  EXPECT_TRUE(type_name<Hidden>().ends_with("Hidden")) << type_name<Hidden>();
}

TEST(TypeName, tells_types_apart) {
  EXPECT_NE(type_name<std::vector<int>>(), type_name<std::vector<long>>());
  EXPECT_NE(type_name<int>(), type_name<int*>());
}

}  // namespace
}  // namespace skein
