// Consensus in memory: three members in one thread, each append stored and applied at once, messages delivered in
// order. What a step of the core costs, without disks, links or threads.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::bench {
namespace {

using consensus::Consensus;
using consensus::Entry;
using consensus::PeerMessage;

constexpr std::size_t k_members = 3;
constexpr std::size_t k_raft_entry_bytes = 200;
constexpr auto k_raft_run_time = std::chrono::seconds(2);
constexpr auto k_tick = std::chrono::milliseconds(50);
constexpr std::uint64_t k_proposals_between_looks = 1'000;
constexpr std::uint64_t k_proposals_a_trim = 10'000;

class MemoryGroup {
 public:
  MemoryGroup() {
    for (consensus::MemberId id = 1; id <= k_members; ++id) {
      consensus::StartState state;
      state.self = id;
      state.membership = consensus::Membership({1, 2, 3}, {});
      members_[id - 1].emplace(*Consensus::start(std::move(state), {}, Instant{}, id));
    }
    for (Instant now{}; now < Instant(std::chrono::seconds(1)); now += k_tick) {
      members_[0]->tick(now);
      settle();
    }
    if (members_[0]->role() != consensus::MemberRole::leader)
      throw std::runtime_error("the first member does not lead");
  }

  void propose(const Entry& entry) {
    if (!members_[0]->propose({entry})) throw std::runtime_error("a proposal was refused");
    settle();
  }

  void trim() {
    for (auto& member : members_) member->log_trimmed(member->decided());
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t applied() const { return applied_; }

 private:
  void settle() {
    for (auto& member : members_) serve(*member);
    while (!network_.empty()) {
      PeerMessage message = std::move(network_.front());
      network_.pop_front();
      Consensus& receiver = *members_[message.to - 1];
      receiver.step(std::move(message));
      ++steps_;
      serve(receiver);
    }
  }

  void serve(Consensus& member) {
    while (member.has_ready()) {
      auto ready = member.ready();
      for (auto& message : ready.messages) network_.push_back(std::move(message));
      if (ready.store) member.stored(ready.store->number);
      if (ready.apply.empty()) continue;
      applied_ += ready.apply.size();
      member.applied(ready.apply.back().position);
    }
  }

  std::array<std::optional<Consensus>, k_members> members_;
  std::deque<PeerMessage> network_;
  std::uint64_t steps_ = 0;
  std::uint64_t applied_ = 0;
};

double core_steps() {
  MemoryGroup group;
  const auto owner = std::make_shared<const std::string>(k_raft_entry_bytes, 'x');
  Entry entry;
  entry.bytes = *owner;
  entry.owner = owner;
  const std::uint64_t before = group.steps();
  std::uint64_t proposals = 0;
  const auto begin = Clock::now();
  do {
    for (std::uint64_t i = 0; i < k_proposals_between_looks; ++i) group.propose(entry);
    proposals += k_proposals_between_looks;
    if (proposals % k_proposals_a_trim == 0) group.trim();
  } while (Clock::now() - begin < k_raft_run_time);
  const double seconds = seconds_since(begin);
  // The last decided position reaches the followers with the next append.
  if (group.applied() < k_members * proposals) throw std::runtime_error("not everything was applied everywhere");
  return static_cast<double>(group.steps() - before) / seconds;
}

const Registrar k_steps{{.group = "raft", .name = "steps", .unit = "steps/s", .run = core_steps}};

}  // namespace
}  // namespace skein::bench
