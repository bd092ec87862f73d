// A group of three journals in one program, over links in memory and on real disks: what agreeing costs, and how long a
// group is without a leader. Nothing but the links is left out: every entry is synced by a majority before it is
// answered. Entries of 200 bytes.
#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/journal_load.hpp"
#include "bench/workload.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/loopback_links.hpp"
#include "skein/journal/member_journal.hpp"

namespace skein::bench {
namespace {

using journal::MemberJournal;
using namespace std::chrono_literals;

constexpr std::size_t k_group = 3;
constexpr auto k_group_run_time = 2s;
constexpr auto k_leader_patience = 20s;
constexpr int k_failovers = 50;
constexpr auto k_ask_again = 1ms;

consensus::ConsensusLimits fast_profile() {
  consensus::ConsensusLimits limits;
  limits.heartbeat = 30ms;
  limits.election_min = 100ms;
  limits.election_max = 200ms;
  return limits;
}

class Group {
 public:
  explicit Group(const consensus::ConsensusLimits& limits = {}) {
    for (std::size_t i = 0; i < k_group; ++i) {
      const consensus::MemberId id = i + 1;
      const journal::MemberOptions options{
          .self = id, .cluster = 1, .seed = id, .founders = {1, 2, 3}, .limits = limits};
      auto core = journal::MemberCore::open(journal::file_disk(), dir_.path() + "/" + std::to_string(id), machines_[i],
                                            {}, options, Instant(Clock::now().time_since_epoch()));
      if (!core) throw std::runtime_error(core.error().describe());
      (*core)->on_send(links_.sender());
      members_[i] = std::make_unique<MemberJournal>(std::move(*core), MemberJournal::Threads::three);
      links_.attach(id, *members_[i]);
    }
    (void)leader();
  }
  ~Group() {
    for (auto& member : members_) member->close();
  }

  // The member that leads, and has shown it by an append.
  std::size_t leader() {
    const auto until = Clock::now() + k_leader_patience;
    while (Clock::now() < until) {
      for (std::size_t i = 0; i < k_group; ++i) {
        if (i != cut_off_ && members_[i]->leader() == journal::k_self && append_at(i)) return i;
      }
      std::this_thread::sleep_for(k_ask_again);
    }
    throw std::runtime_error("nobody leads");
  }
  MemberJournal& member(std::size_t i) { return *members_[i]; }

  // From the moment the leader is heard no more to the next append that is answered, in ms.
  double fail_over() {
    cut_off_ = leader();
    const auto begin = Clock::now();
    links_.cut_off(cut_off_ + 1);
    (void)leader();
    const double took = us_since(begin) / 1e3;
    links_.heal();
    const std::size_t back = std::exchange(cut_off_, k_group);
    // It follows again before the next one.
    const auto until = Clock::now() + k_leader_patience;
    while (members_[back]->leader() == journal::k_self || !members_[back]->leader()) {
      if (Clock::now() > until) throw std::runtime_error("the old leader does not follow");
      std::this_thread::sleep_for(k_ask_again);
    }
    return took;
  }
  double transfer() {
    const std::size_t from = leader();
    const std::size_t to = (from + 1) % k_group;
    const auto begin = Clock::now();
    members_[from]->transfer_to(to + 1, [](const auto&) {});
    const auto until = begin + k_leader_patience;
    while (members_[to]->leader() != journal::k_self || !append_at(to)) {
      if (Clock::now() > until) throw std::runtime_error("leadership was not handed over");
    }
    return us_since(begin) / 1e3;
  }

 private:
  bool append_at(std::size_t i) {
    journal::Batch batch;
    batch.push_back({{9, ++ids_}, std::string(k_entry_bytes, 'x')});
    const auto answer = append_and_wait(*members_[i], std::move(batch), 100ms);
    return answer.outcome == journal::Outcome::applied;
  }

  BenchDir dir_{"raft"};
  std::array<CountMachine, k_group> machines_;
  journal::LoopbackLinks links_;
  std::array<std::unique_ptr<MemberJournal>, k_group> members_;
  std::size_t cut_off_ = k_group;
  std::uint64_t ids_ = 0;
};

template <std::uint64_t InFlight>
double group_appends() {
  Group group;
  return Load(group.member(group.leader()), InFlight).run_for(k_group_run_time);
}

template <std::uint64_t InFlight, int Percent>
double group_latency() {
  Group group;
  Load load(group.member(group.leader()), InFlight);
  load.run_for(k_group_run_time);
  return percentile(std::move(load.latencies_us()), Percent / 100.0);
}

template <bool IsFast, int Percent>
double failover() {
  Group group(IsFast ? fast_profile() : consensus::ConsensusLimits{});
  std::vector<double> times;
  times.reserve(k_failovers);
  for (int i = 0; i < k_failovers; ++i) times.push_back(group.fail_over());
  return percentile(std::move(times), Percent / 100.0);
}

double transfer_time() {
  Group group;
  std::vector<double> times;
  times.reserve(k_failovers);
  for (int i = 0; i < k_failovers; ++i) times.push_back(group.transfer());
  return percentile(std::move(times), 0.5);
}

template <MemberJournal::Threads Threads, std::uint64_t InFlight>
double alone() {
  const BenchDir dir("raft");
  CountMachine machine;
  auto core = journal::MemberCore::open(journal::file_disk(), dir.path(), machine, {}, {},
                                        Instant(Clock::now().time_since_epoch()));
  if (!core) throw std::runtime_error(core.error().describe());
  MemberJournal member(std::move(*core), Threads);
  return Load(member, InFlight).run_for(k_group_run_time);
}

double alone_in_memory() {
  CountMachine machine;
  MemberJournal member(journal::MemberCore::in_memory(machine, {}));
  return Load(member, 1000).run_for(k_group_run_time);
}

constexpr auto k_one = MemberJournal::Threads::one;
constexpr auto k_three = MemberJournal::Threads::three;
const Registrar k_group_1{{.group = "raft", .name = "append_1", .unit = "entries/s", .run = group_appends<1>}};
const Registrar k_group_64{{.group = "raft", .name = "append_64", .unit = "entries/s", .run = group_appends<64>}};
const Registrar k_group_1000{{.group = "raft", .name = "append_1000", .unit = "entries/s", .run = group_appends<1000>}};
const Registrar k_group_p50{{.group = "raft", .name = "commit_p50_1", .unit = "us", .run = group_latency<1, 50>}};
const Registrar k_group_p99{{.group = "raft", .name = "commit_p99_64", .unit = "us", .run = group_latency<64, 99>}};
const Registrar k_failover_p50{{.group = "raft", .name = "failover_p50", .unit = "ms", .run = failover<false, 50>}};
const Registrar k_failover_max{{.group = "raft", .name = "failover_max", .unit = "ms", .run = failover<false, 100>}};
const Registrar k_fast_p50{{.group = "raft", .name = "fast_failover_p50", .unit = "ms", .run = failover<true, 50>}};
const Registrar k_fast_max{{.group = "raft", .name = "fast_failover_max", .unit = "ms", .run = failover<true, 100>}};
const Registrar k_transfer{{.group = "raft", .name = "transfer_p50", .unit = "ms", .run = transfer_time}};
const Registrar k_alone_1{{.group = "raft", .name = "alone_1", .unit = "entries/s", .run = alone<k_one, 1>}};
const Registrar k_alone_1000{{.group = "raft", .name = "alone_1000", .unit = "entries/s", .run = alone<k_one, 1000>}};
const Registrar k_threads_1{
    {.group = "raft", .name = "alone_threads_1", .unit = "entries/s", .run = alone<k_three, 1>}};
const Registrar k_threads_1000{
    {.group = "raft", .name = "alone_threads_1000", .unit = "entries/s", .run = alone<k_three, 1000>}};
const Registrar k_alone_memory{{.group = "raft", .name = "alone_memory", .unit = "entries/s", .run = alone_in_memory}};

}  // namespace
}  // namespace skein::bench
