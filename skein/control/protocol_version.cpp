#include "skein/control/protocol_version.hpp"

#include <fmt/format.h>

#include <charconv>

namespace skein::inline v0::control {
namespace {

// The member of the answer that was all of it.
std::string_view first_member(std::string_view op) {
  if (op == "agent_spawn") return "id";
  if (op == "dump") return "path";
  if (op == "backup") return "copied";
  if (op == "log_level") return "level";
  return {};
}

}  // namespace

bool has_first_form(std::string_view op) { return !first_member(op).empty(); }

boost::json::value first_form(std::string_view op, boost::json::value answer) {
  const std::string_view member = first_member(op);
  const boost::json::object* object = answer.if_object();
  const boost::json::value* found = object != nullptr && !member.empty() ? object->if_contains(member) : nullptr;
  return found != nullptr ? boost::json::value(*found) : answer;
}

operations::Error other_version(const ProtocolSide& program, const ProtocolSide& node) {
  const bool is_node_older = node.version < program.version;
  const ProtocolSide& older = is_node_older ? node : program;
  const ProtocolSide& newer = is_node_older ? program : node;
  return operations::invalid(
      fmt::format("{} is older than {}: they speak versions {} and {} of the protocol", older.who, newer.who,
                  older.version, newer.version),
      is_node_older ? "restart the node with the skein program that is installed now; 'skein stop' of the node's own "
                      "release, a SIGTERM or its service manager stops it"
                    : "use the skein program of the node's release: 'skein version' shows which one this is");
}

std::string older_program_notice(std::uint64_t version) {
  return fmt::format(
      "a skein program of an earlier release is connected: it speaks version {} of the protocol, this node version {}; "
      "it is served in its own form, and lacks what is new since: use the skein program of the node's release",
      version, k_protocol_version);
}

std::optional<std::uint64_t> version_in_refusal(std::string_view message) {
  constexpr std::string_view k_before = "this node speaks version ";
  constexpr std::string_view k_behind = " of the protocol";
  if (!message.starts_with(k_before)) return std::nullopt;
  message.remove_prefix(k_before.size());
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), version);
  if (error != std::errc()) return std::nullopt;
  message.remove_prefix(static_cast<std::size_t>(end - message.data()));
  return message.starts_with(k_behind) ? std::optional(version) : std::nullopt;
}

}  // namespace skein::inline v0::control
