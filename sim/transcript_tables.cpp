#include "sim/transcript_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/transcript_world.hpp"
#include "skein/consensus/quorum.hpp"

namespace skein::sim {
namespace {

std::vector<std::string> values_of(const TranscriptCommand& command, const std::string& key) {
  const auto found = command.settings.find(key);
  return found == command.settings.end() ? std::vector<std::string>{} : found->second;
}

std::string committed(const TranscriptCommand& command) {
  std::vector<std::uint64_t> reached;
  for (const auto& value : values_of(command, "idx")) reached.push_back(transcript_number(value).value_or(0));
  const std::uint64_t position = consensus::reached_by_majority(reached);
  if (position == std::numeric_limits<std::uint64_t>::max()) return "<empty majority quorum>∞";
  return std::to_string(position);
}

std::string vote(const TranscriptCommand& command) {
  std::vector<std::optional<bool>> votes;
  for (const auto& value : values_of(command, "votes")) {
    votes.push_back(value == "_" ? std::nullopt : std::optional(value == "y"));
  }
  switch (consensus::result_of(votes)) {
    case consensus::VoteResult::won:
      return "VoteWon";
    case consensus::VoteResult::lost:
      return "VoteLost";
    case consensus::VoteResult::pending:
      return "VotePending";
  }
  return "VoteUnknown";
}

// Their words for the refusals that we have too.
std::string refusal_text(const std::string& ours) {
  if (ours.starts_with("the last voter")) return "removed all voters";
  if (ours.starts_with("more than one voter")) return "more than one voter changed without entering joint config";
  return ours;
}

}  // namespace

bool TranscriptTables::knows(std::string_view command) {
  return command == "simple" || command == "committed" || command == "vote";
}

std::expected<std::vector<std::string>, std::string> TranscriptTables::run(const TranscriptCommand& command) {
  try {
    if (command.name == "committed") return std::vector{committed(command)};
    if (command.name == "vote") return std::vector{vote(command)};
    return change(command);
  } catch (const BadCommand& bad) {
    return std::unexpected(bad.what());
  }
}

std::vector<std::string> TranscriptTables::change(const TranscriptCommand& command) {
  const auto changes = member_changes_of(command.input);
  const consensus::Position position = std::max<consensus::Position>(last_++, 1);
  const auto next = membership_.changed(changes);
  if (!next) return {refusal_text(next.error())};
  membership_ = *next;
  std::erase_if(progress_, [&](const auto& each) { return !membership_.contains(each.first); });
  std::vector<std::string> lines{transcript_text(membership_)};
  for (const auto member : membership_.members()) {
    const auto at = progress_.try_emplace(member, consensus::MemberProgress(position, consensus::Inflight(1, 1))).first;
    at->second.is_active = true;
    lines.push_back(fmt::format("{}: {}", member, transcript_text(at->second, membership_.is_learner(member))));
  }
  return lines;
}

}  // namespace skein::sim
