// For tests: some Consensus values, a network that delivers in order, and disks that store at once or when told to.
// Everything on virtual time, one thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/consensus/consensus.hpp"

namespace skein::inline v0::consensus::testing {

[[nodiscard]] inline Entry command(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  Entry entry;
  entry.bytes = *owner;
  entry.owner = owner;
  return entry;
}

class Group {
 public:
  struct Member {
    std::unique_ptr<Consensus> core;
    // What its disk holds, and what it was asked to store and has not.
    std::vector<Entry> log;  // after `base`
    Position base = 0;
    Term base_term = 0;
    HardState hard;
    std::deque<ToStore> unstored;
    std::vector<Entry> applied;
    Position restored = 0;
    std::vector<ReadReady> reads;
    std::vector<ConsensusEvent> events;
    bool is_disk_held = false;
  };

  explicit Group(std::size_t voters, ConsensusLimits limits = {}) : limits_(limits) {
    std::vector<MemberId> ids;
    for (MemberId id = 1; id <= voters; ++id) ids.push_back(id);
    membership = Membership(ids, {});
    for (const MemberId id : ids) start(id);
  }

  // A member starts, or starts again, with what its disk holds.
  void start(MemberId id) {
    Member& member = members[id];
    StartState state;
    state.self = id;
    state.hard = member.hard;
    state.membership = membership;
    state.terms = TermMap(member.base, member.base_term);
    for (const auto& entry : member.log) {
      state.terms.append(entry.term);
      if (entry.kind == EntryKind::membership) {
        state.memberships.emplace_back(entry.position, *Membership::decode(entry.bytes));
      }
    }
    auto core = Consensus::start(std::move(state), limits_, now, 1000 + id + 10 * ++starts_);
    member.core = std::make_unique<Consensus>(std::move(*core));
    member.unstored.clear();
    member.applied.clear();
    stopped.erase(id);
  }
  void stop(MemberId id) { stopped.insert(id); }

  Consensus& operator[](MemberId id) { return *members.at(id).core; }

  // Does what a member's Ready says; its messages go into `network`.
  void handle(MemberId id) {
    Member& member = members.at(id);
    while (!stopped.contains(id) && member.core->has_ready()) {
      Ready ready = member.core->ready();
      for (auto& message : ready.messages) network.push_back(std::move(message));
      for (auto& read : ready.reads) member.reads.push_back(read);
      for (auto& event : ready.events) member.events.push_back(event);
      if (ready.restore) member.restored = *ready.restore;
      for (auto& entry : ready.apply) {
        member.core->applied(entry.position);
        member.applied.push_back(std::move(entry));
      }
      for (const auto& fetch : ready.fetches) member.core->fetched(fetch.reader, fetch.from, read(member, fetch.from));
      for (const auto& want : ready.chunks_wanted) give_chunk(*member.core, want);
      for (const auto& chunk : ready.chunks) {
        member.core->chunk_written(chunk.chunk->offer.position, chunk.chunk->end(),
                                   chunk.chunk->is_last() ? ChunkResult::complete : ChunkResult::written);
      }
      if (ready.store) member.unstored.push_back(std::move(*ready.store));
      if (!member.is_disk_held) store(id);
    }
  }

  // Stores everything that a member was asked to.
  void store(MemberId id) {
    Member& member = members.at(id);
    while (!member.unstored.empty()) {
      const ToStore store = std::move(member.unstored.front());
      member.unstored.pop_front();
      member.hard = store.hard;
      if (store.install) {
        member.log.clear();
        member.base = store.install->position;
        member.base_term = store.install->term;
      }
      for (const auto& entry : store.entries) {
        member.log.resize(std::min(member.log.size(), entry.position - member.base - 1));
        member.log.push_back(entry);
      }
      member.core->stored(store.number);
    }
  }

  // Delivers what is under way, and what comes of it, until nothing is. Messages for which `is_lost` says true vanish.
  void settle() {
    for (int round = 0; round < k_rounds; ++round) {
      for (auto& [id, member] : members) handle(id);
      if (network.empty()) return;
      for (auto& message : std::exchange(network, {})) {
        if (stopped.contains(message.to) || stopped.contains(message.from) || !members.contains(message.to)) continue;
        if (is_lost && is_lost(message)) continue;
        members.at(message.to).core->step(std::move(message));
      }
    }
  }

  void advance(Duration by) {
    const Instant until = now + by;
    while (now < until) {
      now += std::min<Duration>(until - now, std::chrono::milliseconds(5));
      for (auto& [id, member] : members) {
        if (!stopped.contains(id)) member.core->tick(now);
      }
      settle();
    }
  }

  // Time passes until somebody leads; 0 when that takes too long.
  MemberId elect() {
    for (int step = 0; step < 400; ++step) {
      for (auto& [id, member] : members) {
        if (!stopped.contains(id) && member.core->role() == MemberRole::leader) return id;
      }
      advance(std::chrono::milliseconds(10));
    }
    return 0;
  }

  // One member campaigns and, in a healthy group, wins.
  void make_leader(MemberId id) {
    advance(limits_.election_min);
    members.at(id).core->campaign();
    settle();
  }

  std::vector<std::string> applied(MemberId id) const {
    std::vector<std::string> texts;
    for (const auto& entry : members.at(id).applied) {
      if (entry.kind == EntryKind::command) texts.emplace_back(entry.bytes);
    }
    return texts;
  }

  std::map<MemberId, Member> members;
  std::set<MemberId> stopped;
  Membership membership;
  std::deque<PeerMessage> network;
  std::function<bool(const PeerMessage&)> is_lost;
  Instant now = Instant(std::chrono::seconds(1));
  std::string snapshot_bytes = "state";

 private:
  static constexpr int k_rounds = 10'000;

  static std::vector<Entry> read(const Member& member, Position from) {
    if (from <= member.base || from > member.base + member.log.size()) return {};
    return {member.log.begin() + static_cast<std::ptrdiff_t>(from - member.base - 1), member.log.end()};
  }
  void give_chunk(Consensus& core, const ChunkWanted& want) {
    SnapshotChunk chunk;
    chunk.offer = want.offer;
    chunk.offset = want.offset;
    const auto owner = std::make_shared<const std::string>(snapshot_bytes.substr(want.offset, want.max_bytes));
    chunk.bytes = *owner;
    chunk.owner = owner;
    core.chunk_read(want.to, std::move(chunk));
  }

  ConsensusLimits limits_;
  std::uint64_t starts_ = 0;
};

}  // namespace skein::inline v0::consensus::testing
