#include "sim/transcript_world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace skein::sim {
namespace {

constexpr Duration k_tick = std::chrono::milliseconds(10);
constexpr int k_election_ticks = 3;
constexpr std::size_t k_nodes_max = 100;

std::uint64_t number_of(std::string_view word) {
  const auto value = transcript_number(word);
  if (!value) throw BadCommand(value.error());
  return *value;
}

const std::string& word_of(const TranscriptCommand& command, std::size_t at) {
  if (command.words.size() <= at) throw BadCommand(fmt::format("'{}' needs more words", command.name));
  return command.words[at];
}

const std::string* setting_of(const TranscriptCommand& command, const std::string& key) {
  const auto found = command.settings.find(key);
  if (found == command.settings.end()) return nullptr;
  if (found->second.size() != 1) throw BadCommand(fmt::format("'{}' needs one value", key));
  return &found->second.front();
}

bool is_set(const TranscriptCommand& command, const std::string& key) {
  const std::string* value = setting_of(command, key);
  return value != nullptr && *value == "true";
}

consensus::MemberChange member_change_of(std::string_view word) {
  using Kind = consensus::MemberChange::Kind;
  if (word.size() < 2) throw BadCommand(fmt::format("'{}' is no change", word));
  const consensus::MemberId id = number_of(word.substr(1));
  switch (word.front()) {
    case 'v':
      return {Kind::add_voter, id};
    case 'l':
      return {Kind::add_learner, id};
    case 'r':
      return {Kind::remove, id};
    default:
      throw BadCommand(fmt::format("'{}' is none of vN, lN and rN", word));
  }
}

}  // namespace

std::vector<consensus::MemberChange> member_changes_of(const std::vector<std::string>& lines) {
  std::vector<consensus::MemberChange> changes;
  for (const auto& line : lines) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (!word.starts_with('u')) changes.push_back(member_change_of(word));
    }
  }
  return changes;
}

std::expected<std::vector<std::string>, std::string> TranscriptWorld::run(const TranscriptCommand& command) {
  const std::string& name = command.name;
  out_.clear();
  try {
    if (name == "log-level") {
      is_silent_ = word_of(command, 0) == "none";
    } else if (name == "add-nodes") {
      add_nodes(command);
    } else if (name == "campaign") {
      member(word_of(command, 0)).core->campaign();
    } else if (name == "propose") {
      propose(command);
    } else if (name == "propose-conf-change") {
      propose_change(command);
    } else if (name == "transfer-leadership") {
      transfer(command);
    } else if (name == "read") {
      member(word_of(command, 0)).core->read(number_of(word_of(command, 1)));
    } else if (name == "restart") {
      start(number_of(word_of(command, 0)), member(word_of(command, 0)));
    } else if (name == "tick-heartbeat") {
      tick(member(word_of(command, 0)), 1);
    } else if (name == "tick-election") {
      tick(member(word_of(command, 0)), k_election_ticks);
    } else if (name == "process-ready") {
      for_each(command, "handling Ready", &TranscriptWorld::process_ready);
    } else if (name == "process-append-thread") {
      for_each(command, "processing append thread", &TranscriptWorld::process_append);
    } else if (name == "process-apply-thread") {
      for_each(command, "processing apply thread", &TranscriptWorld::process_apply);
    } else if (name == "deliver-msgs") {
      for (const Id id : command.words.empty() ? std::vector<Id>{} : ids_of(command.words)) deliver(id, false);
      if (const auto again = command.settings.find("twice"); again != command.settings.end()) {
        for (const Id id : ids_of(again->second)) deliver_twice(id);
      }
      const auto dropped = command.settings.find("drop");
      for (const Id id : dropped == command.settings.end() ? std::vector<Id>{} : ids_of(dropped->second)) {
        deliver(id, true);
      }
    } else if (name == "stabilize") {
      stabilize(ids_of(command.words));
    } else if (name == "compact") {
      compact(number_of(word_of(command, 0)), number_of(word_of(command, 1)));
    } else if (name == "raft-state") {
      raft_state();
    } else if (name == "raft-log") {
      raft_log(member(word_of(command, 0)));
    } else if (name == "status") {
      status(member(word_of(command, 0)));
    } else {
      return std::unexpected(fmt::format("unknown command '{}'", name));
    }
  } catch (const BadCommand& bad) {
    return std::unexpected(bad.what());
  }
  if (out_.empty() || is_silent_) return std::vector<std::string>{"ok"};
  return std::exchange(out_, {});
}

void TranscriptWorld::print(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out_.push_back(indent_ + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

TranscriptWorld::Member& TranscriptWorld::member(std::string_view word) {
  const auto found = members_.find(number_of(word));
  if (found == members_.end()) throw BadCommand(fmt::format("there is no node {}", word));
  return found->second;
}

// All of them when none is named. A message may be for one that is not there yet.
std::vector<consensus::MemberId> TranscriptWorld::ids_of(const std::vector<std::string>& words) const {
  std::vector<Id> ids;
  ids.reserve(std::max(words.size(), members_.size()));
  for (const auto& word : words) ids.push_back(number_of(word));
  if (!words.empty()) return ids;
  for (const auto& [id, member] : members_) ids.push_back(id);
  return ids;
}

void TranscriptWorld::add_nodes(const TranscriptCommand& command) {
  const std::uint64_t count = number_of(word_of(command, 0));
  if (members_.size() + count > k_nodes_max) throw BadCommand(fmt::format("more than {} nodes", k_nodes_max));
  std::vector<Id> voters;
  std::vector<Id> learners;
  Member proto;
  proto.limits.heartbeat = k_tick;
  proto.limits.election_min = proto.limits.election_max = k_election_ticks * k_tick;
  proto.limits.has_pre_vote = is_set(command, "prevote");
  proto.limits.has_check_quorum = is_set(command, "checkquorum");
  proto.is_async = is_set(command, "async-storage-writes");
  proto.snapshot_bytes = "state";
  for (const auto& [key, values] : command.settings) {
    if (key == "voters") {
      voters = ids_of(values);
    } else if (key == "learners") {
      learners = ids_of(values);
    } else if (key == "index") {
      proto.base = number_of(*setting_of(command, key));
    } else if (key == "inflight") {
      proto.limits.inflight_messages = number_of(*setting_of(command, key));
    } else if (key == "message-bytes") {
      proto.limits.message_bytes = number_of(*setting_of(command, key));
    } else if (key == "chunk-bytes") {
      proto.limits.chunk_bytes = number_of(*setting_of(command, key));
    } else if (key == "snapshot-bytes") {
      proto.snapshot_bytes = std::string(number_of(*setting_of(command, key)), 's');
    } else if (key != "prevote" && key != "checkquorum" && key != "async-storage-writes" &&
               key != "step-down-on-removal") {
      throw BadCommand(fmt::format("unknown setting '{}'", key));
    }
  }
  if (proto.base > 0) words_.set_bootstrapped(proto.base);
  proto.hard.commit = proto.base;
  proto.applied_membership = consensus::Membership(voters, learners);
  proto.snapshot = {.position = proto.base,
                    .term = 0,
                    .membership = proto.applied_membership,
                    .total_bytes = proto.snapshot_bytes.size()};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Id id = members_.empty() ? 1 : std::prev(members_.end())->first + 1;
    Member& member = members_[id];
    member.limits = proto.limits;
    member.is_async = proto.is_async;
    member.snapshot_bytes = proto.snapshot_bytes;
    member.hard = proto.hard;
    member.snapshot = proto.snapshot;
    member.base = proto.base;
    member.applied_membership = proto.applied_membership;
    start(id, member);
  }
}

// With what its disk holds; all else is lost.
void TranscriptWorld::start(Id id, Member& member) {
  consensus::StartState state;
  state.self = id;
  state.hard = member.hard;
  state.terms = consensus::TermMap(member.base, member.base_term);
  state.membership = member.applied_membership;
  for (const auto& entry : member.log) {
    state.terms.append(entry.term);
    if (entry.kind == consensus::EntryKind::membership && entry.position > member.snapshot.position) {
      state.memberships.emplace_back(entry.position, *consensus::Membership::decode(entry.bytes));
    }
  }
  if (member.snapshot.position > 0) state.snapshot = member.snapshot;
  state.applied = member.snapshot.position;
  auto core = consensus::Consensus::start(std::move(state), member.limits, member.now, id + 100 * ++member.starts);
  if (!core) throw BadCommand(core.error());
  member.core = std::make_unique<consensus::Consensus>(std::move(*core));
  member.handed_out_hard = member.hard;
  member.pending = {};
  member.to_store.reset();
  member.append_work.clear();
  member.apply_work.clear();
}

void TranscriptWorld::tick(Member& member, int ticks) {
  for (int i = 0; i < ticks; ++i) {
    member.now += k_tick;
    member.core->tick(member.now);
  }
}

void TranscriptWorld::propose(const TranscriptCommand& command) {
  const auto owner = std::make_shared<const std::string>(word_of(command, 1));
  consensus::Entry entry;
  entry.bytes = *owner;
  entry.owner = owner;
  if (!member(word_of(command, 0)).core->propose({std::move(entry)})) print("raft proposal dropped");
}

void TranscriptWorld::propose_change(const TranscriptCommand& command) {
  const auto changes = member_changes_of(command.input);
  const auto proposed = member(word_of(command, 0)).core->propose_change(changes);
  if (proposed) {
    words_.note_change(*proposed, fmt::format("{} {}", is_set(command, "v1") ? "EntryConfChange" : "EntryConfChangeV2",
                                              fmt::join(command.input, " ")));
  } else {
    print("refused: " + proposed.error().why);
  }
}

void TranscriptWorld::transfer(const TranscriptCommand& command) {
  const std::string* from = setting_of(command, "from");
  const std::string* to = setting_of(command, "to");
  if (from == nullptr || to == nullptr) throw BadCommand("expected 'transfer-leadership from=NODE to=NODE'");
  const auto done = member(*from).core->transfer_to(number_of(*to));
  if (!done) print("refused: " + done.error().why);
}

void TranscriptWorld::compact(Id id, consensus::Position position) {
  Member& member = members_.at(id);
  if (position > member.snapshot.position) throw BadCommand("no snapshot covers that");
  if (position > member.base) {
    member.base_term = member.core->log().term_at(position).value_or(0);
    member.base = position;
  }
  std::erase_if(member.log, [&](const auto& each) { return each.position <= position; });
  member.core->log_trimmed(position);
  raft_log(member);
}

void TranscriptWorld::raft_state() {
  for (const auto& [id, member] : members_) {
    const consensus::Consensus& core = *member.core;
    print(fmt::format("{}: {} ({}) Term:{} Lead:{}", id, transcript_name_of(core.role()),
                      core.membership().is_voter(id) ? "Voter" : "Non-Voter", core.term(), core.leader()));
  }
}

void TranscriptWorld::raft_log(const Member& member) {
  for (const auto& entry : member.log) print(words_.entry(entry));
}

void TranscriptWorld::status(const Member& member) {
  for (const auto& [id, progress] : member.core->progress()) {
    print(fmt::format("{}: {}", id, transcript_text(progress, member.core->membership().is_learner(id))));
  }
}

}  // namespace skein::sim
