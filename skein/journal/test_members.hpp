// A group of journals on one thread, on disks in memory, on virtual time: every millisecond each member that is up does
// all that it has to do, then what they sent is delivered. For tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "skein/journal/kv_machine.hpp"
#include "skein/journal/member_core.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal::tests {

// A key-value machine with one command that throws.
struct MemberMachine : KvMachine {
  std::string apply(Position position, std::string_view bytes) {
    if (bytes == "throw") throw std::runtime_error("on purpose");
    return KvMachine::apply(position, bytes);
  }
};

class Members {
 public:
  struct Member {
    consensus::MemberId id = 0;
    MemberOptions options{};
    TestDisk disk{};
    std::unique_ptr<MemberMachine> machine{};
    std::unique_ptr<MemberCore> core{};
    bool is_cut_off = false;
    bool is_disk_held = false;  // a write or a sync takes its time: the storing part does nothing meanwhile

    [[nodiscard]] bool leads() const { return core && core->consensus().role() == consensus::MemberRole::leader; }
  };

  Members() {
    limits.segment_bytes = 8192;
    limits.first_segment_bytes = 8192;
    limits.sector_bytes = 512;
    limits.disk_low_water_bytes = 0;
    limits.snapshot_bytes = 1U << 30U;
  }

  void found(std::size_t count) {
    std::vector<consensus::MemberId> ids;
    for (std::size_t i = 1; i <= count; ++i) ids.push_back(i);
    for (const auto id : ids) {
      Member& member = add(id);
      if (count > 1) member.options.founders = ids;
      open(member);
    }
  }
  Member& join() {
    Member& member = add(all.size() + 1);
    member.options.joins = true;
    open(member);
    return member;
  }
  void open(Member& member) {
    if (const auto error = try_to_open(member)) FAIL() << error->describe();
  }
  std::optional<StoreError> try_to_open(Member& member) {
    member.core.reset();
    member.machine = std::make_unique<MemberMachine>();
    auto core = MemberCore::open(member.disk, "d", *member.machine, limits, member.options, now);
    if (!core) return core.error();
    member.core = std::move(*core);
    member.core->on_send([this](std::vector<consensus::PeerMessage> messages) {
      for (auto& message : messages) sent.push_back(std::move(message));
    });
    return std::nullopt;
  }
  // The program ends as by kill -9.
  void kill(Member& member) { member.core.reset(); }

  void run(std::chrono::milliseconds time) {
    for (auto i = std::chrono::milliseconds(0); i < time; ++i) step();
  }
  template <class Done>
  [[nodiscard]] bool run_until(Done done) {
    for (int i = 0; i < k_patience_steps && !done(); ++i) step();
    return done();
  }
  Member* leader() {
    for (auto& member : all) {
      if (member.leads() && !member.is_cut_off) return &member;
    }
    return nullptr;
  }
  Member& await_leader() {
    EXPECT_TRUE(run_until([this] { return leader() != nullptr && leader()->core->leader() == k_self; }));
    return *leader();
  }
  // An append at a member; its answer comes later.
  std::shared_ptr<std::optional<AppendAnswer>> append(Member& member, std::string bytes) {
    const auto answer = std::make_shared<std::optional<AppendAnswer>>();
    member.core->append(Batch{{CommandId{1, ++last_id_}, std::move(bytes)}},
                        [answer](AppendAnswer a) { *answer = std::move(a); });
    return answer;
  }
  // Appends at the present leader, until it is applied.
  void add_one() {
    Member& member = await_leader();
    const auto answer = append(member, kv_add("n", 1));
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    EXPECT_EQ((*answer)->outcome, Outcome::applied) << (*answer)->why;
  }
  [[nodiscard]] bool agree() const {
    for (const auto& member : all) {
      if (!member.core || member.core->replica().position() != all.front().core->replica().position()) return false;
      if (member.core->replica().hash() != all.front().core->replica().hash()) return false;
    }
    return true;
  }
  void take_snapshot(Member& member) {
    bool is_taken = false;
    member.core->request_snapshot([&](const StoreResult<SnapshotInfo>& info) { is_taken = info.has_value(); });
    EXPECT_TRUE(run_until([&] { return is_taken; }));
  }

  static constexpr int k_patience_steps = 20'000;
  JournalLimits limits;
  Instant now{std::chrono::seconds(1)};
  std::deque<Member> all;
  std::vector<consensus::PeerMessage> sent;

 private:
  Member& add(consensus::MemberId id) {
    Member& member = all.emplace_back();
    member.id = id;
    member.options.self = id;
    member.options.cluster = 9;
    member.options.seed = id;
    return member;
  }
  void step() {
    now += std::chrono::milliseconds(1);
    for (auto& member : all) {
      if (!member.core) continue;
      if (member.is_disk_held) {
        member.core->decide(now);
        member.core->apply();
        continue;
      }
      member.core->run_queued(now);
      while (auto job = member.core->take_job()) {
        member.core->job_done(run_aside(*member.core->job_disk(), *job));
        member.core->run_queued(now);
      }
    }
    for (auto& message : std::exchange(sent, {})) {
      if (message.to > all.size()) continue;
      Member& to = all[message.to - 1];
      const bool is_cut = to.is_cut_off || all[message.from - 1].is_cut_off;
      if (to.core && !is_cut) to.core->receive(std::move(message));
    }
  }

  std::uint64_t last_id_ = 0;
};

}  // namespace skein::journal::tests
