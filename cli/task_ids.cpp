#include "cli/task_ids.hpp"

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace skein::cli {
namespace {

constexpr std::size_t k_id_length = 36;
constexpr std::size_t k_short_id_length = 18;  // the time, and twelve bits of what is random in it
constexpr std::size_t k_wide_enough = 130;     // for a list with whole ids

control::ClientError refusal(std::string code, std::string message, std::string advice) {
  return {control::ClientError::Kind::refused, std::move(code), std::move(message), std::move(advice), 0};
}

}  // namespace

control::ClientResult<std::string> whole_id(control::Client& client, const Session& session, const std::string& given) {
  if (given.size() >= k_id_length) return given;  // the node says what is wrong with it, if anything
  const auto page =
      client.ask("task_list", {{"id_prefix", given}, {"limit", k_candidates_shown + 1}}, session.timeout());
  if (!page) return std::unexpected(page.error());
  const json::array& found = list_of(*page, "tasks");
  if (found.empty()) {
    return std::unexpected(
        refusal("task_not_found", fmt::format("no task has an id that begins with '{}'", given), ""));
  }
  if (found.size() == 1) return raw_text_of(found.front(), "id");
  std::string candidates;
  for (std::size_t i = 0; i < found.size() && i < k_candidates_shown; ++i) {
    candidates +=
        fmt::format("\n  {}  {} {}", text_of(found[i], "id"), text_of(found[i], "state"), text_of(found[i], "type"));
  }
  if (found.size() > k_candidates_shown) candidates += "\n  and more";
  return std::unexpected(
      refusal("invalid", fmt::format("'{}' could be more than one task", given), "give more of the id:" + candidates));
}

std::string shown_id(const std::string& id) {
  const bool is_narrow = is_terminal(stdout) && terminal_width() < k_wide_enough;
  return is_narrow ? id.substr(0, k_short_id_length) : id;
}

}  // namespace skein::cli
