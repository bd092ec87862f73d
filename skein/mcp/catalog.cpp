#include "skein/mcp/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_name_max = 64;

void check_name(std::string_view name) {
  const auto is_good = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
           each == '_' || each == '-';
  };
  if (name.empty() || name.size() > k_name_max || !std::ranges::all_of(name, is_good)) {
    throw std::invalid_argument(fmt::format("'{}' is not a name that every client accepts", name));
  }
}

template <class List, class Same>
void check_new(const List& list, Same is_same, std::string_view name) {
  if (std::ranges::any_of(list, is_same)) throw std::invalid_argument(fmt::format("'{}' is there already", name));
}

Schema compiled(const json::value& schema, std::string_view of) {
  auto made = Schema::compile(schema);
  if (!made) throw std::invalid_argument(fmt::format("the schema of '{}': {}", of, made.error()));
  return std::move(*made);
}

json::object titled(std::string_view name, std::string_view title, std::string_view description) {
  json::object listed{{"name", name}};
  if (!title.empty()) listed["title"] = title;
  listed["description"] = description;
  return listed;
}

}  // namespace

void Catalog::add(Tool tool) {
  check_name(tool.name);
  check_new(tools_, [&](const ListedTool& each) { return each.tool.name == tool.name; }, tool.name);
  Schema input = compiled(tool.input_schema, tool.name);
  const json::object* object = tool.input_schema.if_object();
  const json::value* type = object != nullptr ? object->if_contains("type") : nullptr;
  if (type == nullptr || *type != "object") {
    throw std::invalid_argument(fmt::format("the input schema of '{}' must be of type object", tool.name));
  }
  if (tool.task.mode != TaskSupport::Mode::none && !tool.task.outcome) {
    throw std::invalid_argument(fmt::format("the tasks of '{}' need an outcome", tool.name));
  }
  json::object listed = titled(tool.name, tool.title, tool.description);
  listed["inputSchema"] = tool.input_schema;
  if (!tool.output_schema.is_null()) {
    (void)compiled(tool.output_schema, tool.name);
    listed["outputSchema"] = tool.output_schema;
  }
  if (!tool.annotations.empty()) listed["annotations"] = tool.annotations;
  tools_.push_back({std::move(tool), std::move(input), std::move(listed)});
}

void Catalog::add(Prompt prompt) {
  check_name(prompt.name);
  check_new(prompts_, [&](const ListedPrompt& each) { return each.prompt.name == prompt.name; }, prompt.name);
  json::object listed = titled(prompt.name, prompt.title, prompt.description);
  if (!prompt.arguments.empty()) {
    json::array arguments;
    for (const Prompt::Argument& each : prompt.arguments) {
      arguments.push_back({{"name", each.name}, {"description", each.description}, {"required", each.is_required}});
    }
    listed["arguments"] = std::move(arguments);
  }
  prompts_.push_back({std::move(prompt), std::move(listed)});
}

void Catalog::add(Resource resource) {
  check_new(resources_, [&](const ListedResource& each) { return each.resource.uri == resource.uri; }, resource.uri);
  const bool is_template = resource.uri.find('{') != std::string::npos;
  json::object listed{{is_template ? "uriTemplate" : "uri", resource.uri}};
  for (auto& each : titled(resource.name, resource.title, resource.description)) {
    listed[each.key()] = std::move(each.value());
  }
  listed["mimeType"] = resource.mime;
  resources_.push_back({std::move(resource), std::move(listed), is_template});
}

const Catalog::ListedTool* Catalog::tool(std::string_view name) const {
  const auto found = std::ranges::find_if(tools_, [&](const ListedTool& each) { return each.tool.name == name; });
  return found != tools_.end() ? &*found : nullptr;
}

bool Catalog::has_tasks() const {
  return std::ranges::any_of(tools_,
                             [](const ListedTool& each) { return each.tool.task.mode != TaskSupport::Mode::none; });
}

const Catalog::ListedPrompt* Catalog::prompt(std::string_view name) const {
  const auto found = std::ranges::find_if(prompts_, [&](const ListedPrompt& each) { return each.prompt.name == name; });
  return found != prompts_.end() ? &*found : nullptr;
}

const Catalog::ListedResource* Catalog::uri_template(std::string_view text) const {
  const auto is_it = [&](const ListedResource& each) { return each.is_template && each.resource.uri == text; };
  const auto found = std::ranges::find_if(resources_, is_it);
  return found != resources_.end() ? &*found : nullptr;
}

Catalog::Found Catalog::resource(std::string_view uri) const {
  for (const ListedResource& each : resources_) {
    if (!each.is_template && each.resource.uri == uri) return {&each};
  }
  for (const ListedResource& each : resources_) {
    if (!each.is_template) continue;
    const std::string_view whole = each.resource.uri;
    const std::string_view before = whole.substr(0, whole.find('{'));
    const std::string_view after = whole.substr(whole.find('}') + 1);
    if (uri.size() <= before.size() + after.size() || !uri.starts_with(before) || !uri.ends_with(after)) continue;
    const std::string_view variable = uri.substr(before.size(), uri.size() - before.size() - after.size());
    if (variable.find('/') == std::string_view::npos) return {&each, std::string(variable)};
  }
  return {};
}

}  // namespace skein::inline v0::mcp
