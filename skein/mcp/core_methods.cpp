#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <utility>

#include "skein/mcp/core.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_page_items = 200;
constexpr std::array<std::string_view, 3> k_used_capabilities{"elicitation", "sampling", "roots"};

RpcError bad_params(std::string why) { return {k_invalid_params, std::move(why), nullptr}; }

// The name that an argument of an earlier version has now, to be put behind it; or nothing.
std::string name_today(std::string_view tool, std::string_view argument) {
  const operations::Operation* operation = operations::find_operation(tool);
  if (operation == nullptr) return {};
  for (const operations::Param& each : operation->params) {
    const bool is_meant = std::ranges::find(each.older, argument) != each.older.end();
    if (is_meant) return fmt::format(" (did you mean '{}'?)", each.name);
  }
  return {};
}

// An argument of a tools/call with its numbers as they stand in the text.
std::optional<json::value> written_argument(std::string_view text, std::string_view name, std::size_t depth_max) {
  auto whole = operations::exact_json(text, depth_max);
  json::value* at = whole ? &*whole : nullptr;
  for (const std::string_view key : {std::string_view("params"), std::string_view("arguments"), name}) {
    json::object* object = at != nullptr ? at->if_object() : nullptr;
    at = object != nullptr ? object->if_contains(key) : nullptr;
  }
  if (at == nullptr) return std::nullopt;
  return std::move(*at);
}

}  // namespace

json::object McpCore::server_info() const {
  const Catalog& catalog = *setup_.catalog;
  return {{"name", catalog.server_name}, {"title", catalog.server_title}, {"version", catalog.server_version}};
}

json::object McpCore::capabilities() const {
  const Catalog& catalog = *setup_.catalog;
  const bool changes = catalog.lists_change;
  json::object all{{"logging", json::object()}, {"completions", json::object()}};
  if (!catalog.tools().empty()) all["tools"] = {{"listChanged", changes}};
  if (!catalog.prompts().empty()) all["prompts"] = {{"listChanged", changes}};
  if (!catalog.resources().empty()) all["resources"] = {{"subscribe", true}, {"listChanged", changes}};
  return all;
}

std::optional<LegacySession> negotiate(const json::object& params) {
  const json::string* asked = string_in(params, "protocolVersion");
  if (asked == nullptr) return std::nullopt;
  const bool is_known = std::ranges::find(k_legacy_versions, std::string_view(*asked)) != k_legacy_versions.end();
  LegacySession session{is_known ? std::string(*asked) : std::string(k_legacy_version), {}, {}};
  if (const json::object* client = object_in(params, "capabilities")) {
    for (const std::string_view each : k_used_capabilities) {
      if (client->contains(each)) session.capabilities.emplace(each);
    }
  }
  return session;
}

void McpCore::initialize(Exchange& exchange, const json::object& params) {
  session_ = negotiate(params);
  if (!session_) return exchange.fail(bad_params("initialize needs a protocolVersion"));
  json::object result{
      {"protocolVersion", session_->version}, {"capabilities", capabilities()}, {"serverInfo", server_info()}};
  if (!setup_.catalog->instructions.empty()) result["instructions"] = setup_.catalog->instructions;
  exchange.finish(std::move(result));
}

void McpCore::ping(Exchange& exchange, const json::object&) { exchange.finish({}); }

void McpCore::set_level(Exchange& exchange, const json::object& params) {
  const auto found = std::ranges::find(k_log_levels, text_in(params, "level"));
  if (found == k_log_levels.end()) {
    return exchange.fail(
        bad_params("level must be one of debug, info, notice, warning, error, critical, alert, "
                   "emergency"));
  }
  log_level_ = static_cast<std::size_t>(found - k_log_levels.begin());
  exchange.finish({});
}

void McpCore::discover(Exchange& exchange, const json::object&) {
  json::array versions{json::value(k_modern_version)};
  for (const std::string_view each : k_legacy_versions) versions.emplace_back(each);
  json::object result{{"supportedVersions", std::move(versions)}, {"capabilities", capabilities()}};
  if (setup_.catalog->has_tasks()) {
    result["capabilities"].as_object()["extensions"] = json::object{{k_tasks_extension, json::object()}};
  }
  if (!setup_.catalog->instructions.empty()) result["instructions"] = setup_.catalog->instructions;
  exchange.finish(std::move(result));
}

// A cursor is the number of the first item that has not been seen.
template <class Item, class Fits>
void McpCore::list(Exchange& exchange, const json::object& params, const char* name, const std::vector<Item>& all,
                   Fits fits) {
  std::size_t from = 0;
  if (const json::value* cursor = params.if_contains("cursor")) {
    const json::string* text = cursor->if_string();
    const char* const end = text != nullptr ? text->data() + text->size() : nullptr;
    const bool is_number = text != nullptr && std::from_chars(text->data(), end, from).ptr == end && !text->empty();
    if (!is_number || from == 0 || from >= all.size()) {
      return exchange.fail(bad_params("this cursor is not valid; start again without one"));
    }
  }
  json::array page;
  std::size_t at = from;
  for (; at < all.size() && page.size() < k_page_items; ++at) {
    if (fits(all[at])) page.push_back(all[at].listed);
  }
  json::object result{{name, std::move(page)}};
  if (at < all.size()) result["nextCursor"] = std::to_string(at);
  exchange.finish(std::move(result));
}

void McpCore::list_tools(Exchange& exchange, const json::object& params) {
  list(exchange, params, "tools", setup_.catalog->tools(),
       [this](const Catalog::ListedTool& each) { return operations::may_ever(*setup_.who, each.tool.name); });
}

bool McpCore::may_read(const Resource& resource) const {
  return resource.source.operation.empty() || operations::may_ever(*setup_.who, resource.source.operation);
}

std::optional<operations::Error> McpCore::refused(const Prompt& prompt) const {
  for (const std::string& each : prompt.uses) {
    if (auto no = operations::never(*setup_.who, each)) return no;
  }
  return std::nullopt;
}

void McpCore::list_prompts(Exchange& exchange, const json::object& params) {
  list(exchange, params, "prompts", setup_.catalog->prompts(),
       [this](const Catalog::ListedPrompt& each) { return !refused(each.prompt); });
}

void McpCore::list_resources(Exchange& exchange, const json::object& params) {
  list(exchange, params, "resources", setup_.catalog->resources(),
       [this](const Catalog::ListedResource& each) { return !each.is_template && may_read(each.resource); });
}

void McpCore::list_templates(Exchange& exchange, const json::object& params) {
  list(exchange, params, "resourceTemplates", setup_.catalog->resources(),
       [this](const Catalog::ListedResource& each) { return each.is_template && may_read(each.resource); });
}

namespace {

// Null counts as absent, as it does for a single optional argument: some clients write it for no arguments.
const json::value* arguments_in(const json::object& params) {
  const json::value* found = params.if_contains("arguments");
  return found != nullptr && !found->is_null() ? found : nullptr;
}

}  // namespace

void McpCore::call_tool(Exchange& exchange, const json::object& params) {
  const json::string* name = string_in(params, "name");
  if (name == nullptr) return exchange.fail(bad_params("tools/call needs the name of a tool"));
  const Catalog::ListedTool* found = setup_.catalog->tool(*name);
  if (found == nullptr) {
    return exchange.fail(
        bad_params(fmt::format("there is no tool '{}'; tools/list names them all", std::string_view(*name))));
  }
  if (const auto no = operations::never(*setup_.who, found->tool.name)) {
    return exchange.finish_error(fmt::format("{} [{}]", no->describe(), operations::name_of(no->code)));
  }
  const json::value* arguments = arguments_in(params);
  if (arguments != nullptr && !arguments->is_object()) return exchange.fail(bad_params("arguments must be an object"));
  exchange.name_ = *name;
  if (arguments != nullptr) exchange.arguments_ = arguments->get_object();
  exchange.ignored_ = tidy_arguments(found->tool.input_schema.as_object(), exchange.arguments_);
  for (std::string& each : exchange.ignored_) each += name_today(found->tool.name, each);
  const std::string& needed = found->tool.needs;
  if (!needed.empty() && !exchange.client_can(needed)) return missing_capability(exchange, needed);
  if (found->tool.task.mode == TaskSupport::Mode::required && !exchange.can_task()) return missing_tasks(exchange);
  if (const auto fault = found->input.check(exchange.arguments_)) {
    return exchange.finish_error(fault->describe("arguments"));
  }
  if (!found->tool.as_written.empty() && !exchange.written_.empty()) {
    // Only now: to a schema such a number would look like a string.
    if (auto exact = written_argument(exchange.written_, found->tool.as_written, setup_.limits.depth)) {
      exchange.arguments_[found->tool.as_written] = std::move(*exact);
    }
  }
  exchange.handler_ = found->tool.call;
  if (take_inputs(exchange, params)) run(exchange);
}

void McpCore::get_prompt(Exchange& exchange, const json::object& params) {
  const json::string* name = string_in(params, "name");
  const Catalog::ListedPrompt* found = name != nullptr ? setup_.catalog->prompt(*name) : nullptr;
  if (found == nullptr) return exchange.fail(bad_params("there is no such prompt; prompts/list names them all"));
  const json::value* arguments = arguments_in(params);
  if (arguments != nullptr && !arguments->is_object()) return exchange.fail(bad_params("arguments must be an object"));
  exchange.name_ = *name;
  if (arguments != nullptr) exchange.arguments_ = arguments->get_object();
  for (const auto& each : exchange.arguments_) {
    if (each.value().is_string()) continue;
    return exchange.fail(bad_params(fmt::format("the argument '{}' must be a string", std::string_view(each.key()))));
  }
  for (const Prompt::Argument& each : found->prompt.arguments) {
    if (!each.is_required || exchange.arguments_.contains(each.name)) continue;
    return exchange.fail(bad_params(fmt::format("the prompt needs the argument '{}'", each.name)));
  }
  if (const auto no = refused(found->prompt)) {
    return exchange.fail(bad_params(fmt::format("{} [{}]", no->describe(), operations::name_of(no->code))));
  }
  exchange.handler_ = found->prompt.get;
  if (take_inputs(exchange, params)) run(exchange);
}

void McpCore::read_resource(Exchange& exchange, const json::object& params) {
  const json::string* uri = string_in(params, "uri");
  if (uri == nullptr) return exchange.fail(bad_params("resources/read needs a uri"));
  const Catalog::Found found = setup_.catalog->resource(*uri);
  if (found.resource == nullptr) {
    const int code = exchange.caller_.era == Era::modern ? k_invalid_params : k_resource_not_found;
    return exchange.fail({code, "there is no such resource; resources/list names them", json::object{{"uri", *uri}}});
  }
  exchange.name_ = *uri;
  exchange.variable_ = found.variable;
  exchange.handler_ = found.resource->resource.read;
  if (take_inputs(exchange, params)) run(exchange);
}

void McpCore::complete(Exchange& exchange, const json::object& params) {
  const json::object* ref = object_in(params, "ref");
  const json::object* argument = object_in(params, "argument");
  if (ref == nullptr || argument == nullptr || string_in(*argument, "name") == nullptr ||
      string_in(*argument, "value") == nullptr) {
    return exchange.fail(bad_params("completion/complete needs a ref, and an argument with its name and value"));
  }
  const std::string type = text_in(*ref, "type");
  const Handler* handler = nullptr;
  if (type == "ref/prompt") {
    const auto* prompt = setup_.catalog->prompt(text_in(*ref, "name"));
    if (prompt == nullptr) return exchange.fail(bad_params("there is no such prompt"));
    handler = &prompt->prompt.complete;
  } else if (type == "ref/resource") {
    const std::string uri = text_in(*ref, "uri");
    const auto* resource = setup_.catalog->uri_template(uri);
    if (resource == nullptr && setup_.catalog->resource(uri).resource == nullptr) {
      return exchange.fail(bad_params("there is no such resource or template"));
    }
    if (resource != nullptr) handler = &resource->resource.complete;
  } else {
    return exchange.fail(bad_params("ref.type must be ref/prompt or ref/resource"));
  }
  exchange.name_ = text_in(*argument, "name");
  exchange.arguments_ = *argument;
  if (handler == nullptr || !*handler) {
    return exchange.finish({{"completion", {{"values", json::array()}, {"total", 0}, {"hasMore", false}}}});
  }
  (*handler)(exchange);
}

}  // namespace skein::inline v0::mcp
