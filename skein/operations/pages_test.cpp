#include "skein/operations/pages.hpp"

#include <gtest/gtest.h>

#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::operations {
namespace {

std::vector<json::object> agents() { return {{{"id", "c"}}, {{"id", "a"}}, {{"id", "d"}}}; }

TEST(Pages, come_in_the_order_of_names) {
  EXPECT_EQ(json_text(page_of(agents(), {"agents", "id", 2, ""})),
            R"({"total":3,"cursor":"c","agents":[{"id":"a"},{"id":"c"}]})");
  EXPECT_EQ(json_text(page_of(agents(), {"agents", "id", 2, "c"})), R"({"total":3,"agents":[{"id":"d"}]})");
  EXPECT_EQ(page_of(agents(), {"agents", "id", 0, ""}).at("agents").as_array().size(), 3U) << "no limit";
}

TEST(Pages, show_as_much_of_a_tree_as_was_asked_for) {
  const json::value leaf{{"id", "x"}};
  const json::value branch{{"id", "b"}, {"children", {leaf, leaf, leaf}}};
  const json::value root{{"id", "r"}, {"children", {branch, branch}}};
  json::value cut = root;
  cut_tree(cut.as_object(), 2, 1);
  EXPECT_EQ(json_text(cut),
            R"({"id":"r","children":[{"id":"b","children":[],"children_not_shown":3}],"children_not_shown":1})");
  json::value whole = root;
  cut_tree(whole.as_object(), 0, 0);
  EXPECT_EQ(whole, root);
}

}  // namespace
}  // namespace skein::inline v0::operations
