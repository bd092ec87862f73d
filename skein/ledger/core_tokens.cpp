// What operations on tokens do, and which tasks may be the parent of a task.
#include <algorithm>
#include <array>
#include <utility>

#include "skein/ledger/core.hpp"

namespace skein::inline v0::ledger {
namespace {

constexpr std::array<std::pair<Rank, std::string_view>, 3> k_ranks{
    {{Rank::read, "read"}, {Rank::operate, "operate"}, {Rank::administer, "administer"}}};

}  // namespace

std::string_view name_of(Rank rank) {
  const auto found = std::ranges::find(k_ranks, rank, [](const auto& each) { return each.first; });
  return found != k_ranks.end() ? found->second : "unknown";
}

std::optional<Rank> rank_named(std::string_view name) {
  const auto found = std::ranges::find(k_ranks, name, [](const auto& each) { return each.second; });
  if (found == k_ranks.end()) return std::nullopt;
  return found->first;
}

OpResult LedgerCore::on(const TokenPut& op) {
  if (head_.version < k_tokens_version) return refuse(Verdict::old_version, head_.version);
  if (auto bad = check_name(op.token.name)) return *bad;
  const auto limit = head_.limits.name_bytes;
  if (op.token.bounds.swarm.size() > limit) return refuse(Verdict::too_large, limit);
  const auto at = tokens_.find(op.token.name);
  if (at == tokens_.end()) {
    if (op.was != Digest{}) return refuse(Verdict::no_such_token);
    if (tokens_.size() >= k_tokens_max) return refuse(Verdict::ledger_full, k_tokens_max);
  } else if (op.was != at->second->secret) {
    return refuse(Verdict::name_taken);
  }
  tokens_.insert_or_assign(op.token.name, std::make_shared<const Token>(op.token));
  if (listening_) tell(TokenChanged{op.token});
  return {};
}

OpResult LedgerCore::on(const TokenRevoke& op) {
  if (head_.version < k_tokens_version) return refuse(Verdict::old_version, head_.version);
  if (tokens_.erase(op.name) == 0) return refuse(Verdict::no_such_token);
  if (listening_) tell(TokenRevoked{op.name});
  return {};
}

std::vector<Token> LedgerCore::tokens() const {
  std::vector<Token> out;
  out.reserve(tokens_.size());
  for (const auto& [name, token] : tokens_) out.push_back(*token);
  return out;
}

LedgerCore::Found LedgerCore::parent_of(const ChildOf& child) const {
  if (head_.version < k_tokens_version) return {0, refuse(Verdict::old_version, head_.version)};
  return child.fence != 0 ? running(child.task, child.fence) : open(child.task);
}

std::optional<OpResult> LedgerCore::check_child(const ChildOf& child, Slot parent) const {
  const Task& task = tasks_[parent];
  const std::uint32_t depth_max = std::min(child.depth_max, k_child_depth_max);
  if (task.more().depth >= depth_max) return refuse(Verdict::too_deep, depth_max);
  const std::uint32_t children_max = std::min(child.children_max, k_children_max);
  if (task.children >= children_max) return refuse(Verdict::too_many_children, children_max);
  return std::nullopt;
}

}  // namespace skein::inline v0::ledger
