// Answers cut to a size that people, models and programs can use: pages of a list that is known whole, and parts of the
// supervision tree. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::operations {

struct PageOf {
  std::string_view list;    // the member that has the items
  std::string_view by;      // the member of an item that orders them
  std::uint64_t limit = 0;  // 0: all
  std::string cursor{};     // items after this one; empty: from the beginning
};
// {"total": all of them, LIST: the page, "cursor": there is more}. In the order of names: whatever comes or goes
// between two pages, every item that stays is seen once.
[[nodiscard]] boost::json::object page_of(std::vector<boost::json::object> items, const PageOf& page);

// A tree of entries with "children" cut to so many levels and so many children of each; what is left out is counted in
// "children_not_shown". 0: no limit.
void cut_tree(boost::json::object& entry, std::uint64_t depth, std::uint64_t children);

}  // namespace skein::inline v0::operations
