#include "skein/rest/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <optional>
#include <utility>

namespace skein::inline v0::rest {
namespace {

using operations::Error;

std::string_view text_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

std::optional<Error> take_count(json::object& params, std::string_view name, std::uint64_t most, std::uint64_t& place) {
  const json::value* found = params.if_contains(name);
  if (found == nullptr) return std::nullopt;
  const auto number = found->to_number<std::uint64_t>();
  if (number == 0 || number > most) return operations::invalid(fmt::format("{} must be from 1 to {}", name, most));
  place = number;
  params.erase(name);
  return std::nullopt;
}

void take_text(json::object& params, std::string_view name, std::string& place) {
  place = text_at(params, name);
  params.erase(name);
}

// By the order of their names: whoever comes or goes meanwhile, the others are seen once.
json::value page_of(const Page& page, const Shown& shown, json::value answer) {
  std::vector<json::object*> items;
  for (json::value& each : answer.as_object()[page.list].as_array()) {
    json::object& item = each.as_object();
    if (shown.swarm.empty() || text_at(item, "swarm") == shown.swarm) items.push_back(&item);
  }
  const auto name_of = [&](const json::object* item) { return text_at(*item, page.by); };
  std::ranges::sort(items, {}, name_of);
  json::object out{{"total", items.size()}};
  json::array list;
  for (json::object* each : items) {
    if (!shown.cursor.empty() && name_of(each) <= shown.cursor) continue;
    if (list.size() == shown.limit) {
      out["cursor"] = text_at(list.back().as_object(), page.by);
      break;
    }
    list.emplace_back(std::move(*each));
  }
  out[page.list] = std::move(list);
  return out;
}

void cut_tree(json::object& entry, std::uint64_t depth, std::uint64_t most) {
  json::value* children = entry.if_contains("children");
  if (children == nullptr) return;
  json::array& all = children->as_array();
  const std::size_t there = all.size();
  if (depth <= 1) all.clear();
  if (all.size() > most) all.resize(static_cast<std::size_t>(most));
  for (json::value& each : all) cut_tree(each.as_object(), depth - 1, most);
  if (all.size() < there) entry["children_not_shown"] = there - entry.at("children").as_array().size();
}

}  // namespace

std::expected<Shown, Error> take_shown(const Route& route, json::object& params) {
  Shown shown;
  std::optional<Error> fault;
  if (!route.page.list.empty()) {
    fault = take_count(params, "limit", k_page_max, shown.limit);
    take_text(params, "cursor", shown.cursor);
    take_text(params, "swarm", shown.swarm);
  } else if (route.op == "tree") {
    fault = take_count(params, "depth", k_tree_depth_max, shown.depth);
    if (!fault) fault = take_count(params, "children", k_tree_children_max, shown.children);
  }
  if (fault) return std::unexpected(std::move(*fault));
  return shown;
}

json::value shown_of(const Route& route, const Shown& shown, json::value answer) {
  if (!route.page.list.empty()) return page_of(route.page, shown, std::move(answer));
  if (route.op == "tree") cut_tree(answer.as_object(), shown.depth, shown.children);
  if (answer.is_string()) return {{"id", answer}};
  return answer;
}

}  // namespace skein::inline v0::rest
