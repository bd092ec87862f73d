#include "skein/operations/pages.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

namespace skein::inline v0::operations {

namespace json = boost::json;

json::object page_of(std::vector<json::object> items, const PageOf& page) {
  const auto name_of_item = [&](const json::object& item) { return std::string_view(item.at(page.by).as_string()); };
  std::ranges::sort(items, {}, name_of_item);
  json::object out{{"total", items.size()}};
  json::array list;
  for (json::object& each : items) {
    if (!page.cursor.empty() && name_of_item(each) <= page.cursor) continue;
    if (page.limit != 0 && list.size() == page.limit) {
      out["cursor"] = name_of_item(list.back().as_object());
      break;
    }
    list.emplace_back(std::move(each));
  }
  out[page.list] = std::move(list);
  return out;
}

void cut_tree(json::object& entry, std::uint64_t depth, std::uint64_t children) {
  json::value* below = entry.if_contains("children");
  if (below == nullptr) return;
  json::array& all = below->as_array();
  const std::size_t there = all.size();
  if (depth == 1) all.clear();
  if (children != 0 && all.size() > children) all.resize(static_cast<std::size_t>(children));
  for (json::value& each : all) cut_tree(each.as_object(), depth == 0 ? 0 : depth - 1, children);
  const std::size_t left = all.size();
  if (left < there) entry["children_not_shown"] = there - left;
}

}  // namespace skein::inline v0::operations
