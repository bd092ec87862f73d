#include "skein/mcp/http_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "skein/mcp/seal.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_encoded_begin = "=?base64?";
constexpr std::string_view k_encoded_end = "?=";

// The text a header means; nothing when it says that it is encoded and is not.
std::optional<std::string> meant(std::string_view value) {
  if (!value.starts_with(k_encoded_begin) || !value.ends_with(k_encoded_end) ||
      value.size() < k_encoded_begin.size() + k_encoded_end.size()) {
    return std::string(value);
  }
  const std::string_view text =
      value.substr(k_encoded_begin.size(), value.size() - k_encoded_begin.size() - k_encoded_end.size());
  if (text.size() % 4 != 0) return std::nullopt;
  return from_base64(text);
}

RpcError mismatch(std::string why) { return {k_header_mismatch, std::move(why), nullptr}; }

// Nothing when the header is there and means `said`.
std::optional<RpcError> must_say(const net::HttpRequest& request, const std::string& header, std::string_view said) {
  const std::string* found = request.header(header);
  if (found == nullptr) return mismatch(fmt::format("the header {} is missing", header));
  const auto means = meant(*found);
  if (!means) return mismatch(fmt::format("the header {} is not valid base64", header));
  if (*means != said) return mismatch(fmt::format("the header {} does not match the body", header));
  return std::nullopt;
}

// The member of params that Mcp-Name repeats.
std::string_view name_member(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  return method.starts_with("tasks/") ? "taskId" : "";
}

std::string small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
  return out;
}

// `host` has small letters; people write names as they like.
bool is_listed(const std::vector<std::string>& names, std::string_view host) {
  return std::ranges::any_of(names, [&](const std::string& each) { return small_letters(each) == host; });
}

std::optional<RpcError> param_fault(const net::HttpRequest& request, const json::object& schema,
                                    const json::object& arguments) {
  const json::object* properties = object_in(schema, "properties");
  if (properties == nullptr) return std::nullopt;
  for (const auto& each : *properties) {
    const json::object* property = each.value().if_object();
    const std::string name = property != nullptr ? text_in(*property, "x-mcp-header") : "";
    const json::value* value = arguments.if_contains(each.key());
    if (name.empty() || value == nullptr || value->is_null()) continue;
    const std::string said = value->is_string() ? std::string(value->get_string()) : operations::json_text(*value);
    if (auto fault = must_say(request, "mcp-param-" + small_letters(name), said)) return fault;
  }
  return std::nullopt;
}

}  // namespace

bool is_host_allowed(std::string_view authority, const std::vector<std::string>& names) {
  const std::string host = net::host_of(authority);
  if (!net::is_port_sound(authority)) return false;
  return host == "localhost" || net::is_address(host) || is_listed(names, host);
}

bool is_origin_allowed(std::string_view origin, const std::vector<std::string>& names) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string_view authority = origin.substr(scheme.size());
    // A page of another machine has an address too: only this machine's own are good unasked.
    const std::string host = net::host_of(authority);
    if (!net::is_port_sound(authority)) return false;
    return net::is_loopback(host) || is_listed(names, host);
  }
  return false;
}

std::optional<RpcError> header_fault(const net::HttpRequest& request, const RpcMessage& message,
                                     const Catalog& catalog) {
  if (message.kind == RpcMessage::Kind::response) return std::nullopt;
  // 2026-07-28 asks requests for headers and says nothing of notifications, which clients send without.
  if (message.kind == RpcMessage::Kind::notification) {
    return request.header("mcp-method") != nullptr ? must_say(request, "mcp-method", message.method) : std::nullopt;
  }
  // That it says what _meta says is looked at with _meta.
  if (request.header("mcp-protocol-version") == nullptr) {
    return mismatch("the header mcp-protocol-version is missing");
  }
  if (auto fault = must_say(request, "mcp-method", message.method)) return fault;
  const std::string_view member = name_member(message.method);
  const std::string name = text_in(message.params, member);
  if (!member.empty() && !name.empty()) {
    if (auto fault = must_say(request, "mcp-name", name)) return fault;
  }
  const Catalog::ListedTool* tool = message.method == "tools/call" ? catalog.tool(name) : nullptr;
  const json::object* arguments = object_in(message.params, "arguments");
  if (tool == nullptr || arguments == nullptr) return std::nullopt;
  return param_fault(request, tool->tool.input_schema.as_object(), *arguments);
}

bool is_oauth_path(std::string_view path) {
  constexpr std::array k_paths{"/register", "/authorize", "/token"};
  constexpr std::array k_metadata{"/.well-known/oauth-", "/.well-known/openid-configuration"};
  return std::ranges::any_of(k_paths, [&](std::string_view each) { return path == each; }) ||
         std::ranges::any_of(k_metadata, [&](std::string_view each) { return path.starts_with(each); });
}

bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return small_letters(type) == "application/json";
}

bool accepts(const net::HttpRequest& request, std::string_view type) {
  const std::string* accept = request.header("accept");
  if (accept == nullptr) return true;
  const std::string all = small_letters(*accept);
  const std::string family = std::string(type.substr(0, type.find('/'))) + "/*";
  return all.find(type) != std::string::npos || all.find("*/*") != std::string::npos ||
         all.find(family) != std::string::npos;
}

}  // namespace skein::inline v0::mcp
