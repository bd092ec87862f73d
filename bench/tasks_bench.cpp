// The workloads of tasks. memory_* and durable_* go the whole way: submitted through the operations layer, given to a
// function agent, run (a no-op), completed, archived behind it; counted is what was completed. durable_* are on the
// real disk, every step synced before it is answered; the number is that of submitters, each with one submit in flight.
#include <malloc.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/task_node.hpp"
#include "bench/workload.hpp"

namespace skein::bench {
namespace {

using ledger::Ledger;
using operations::SubmitAnswer;
using operations::SubmitRequest;

constexpr std::uint64_t k_open_max = 8'000;  // below the limit of a swarm
constexpr std::uint32_t k_slots = 100;       // of an agent: the most a node's config may ask for
constexpr std::uint64_t k_memory_submitters = 4'000;
constexpr auto k_warm_up = std::chrono::milliseconds(500);
constexpr auto k_run_time = std::chrono::seconds(2);
constexpr std::uint64_t k_applied_tasks = 400'000;
constexpr std::uint64_t k_restored_tasks = 100'000;
constexpr std::uint64_t k_open_tasks = 300'000;
constexpr std::size_t k_latency_rounds = 40;
constexpr std::size_t k_submits_per_round = 50;
constexpr std::size_t k_syncs_per_round = 25;
constexpr auto k_steady_sync = std::chrono::milliseconds(5);

SubmitRequest request_of(std::uint64_t number) {
  SubmitRequest request;
  request.type = "noop";
  request.params = "{\"i\":" + std::to_string(number) + "}";
  return request;
}

// Keeps so many submits in flight, from one thread; the tasks they leave behind are counted as they end.
class Load final : public ledger::ChangeSink {
 public:
  Load(TaskNode& node, std::uint64_t submitters) : node_(node), free_(submitters), submitters_(submitters) {
    node_.on_ledger([this](Ledger& ledger) { ledger.add_sink(*this); });
  }
  ~Load() override {
    node_.on_ledger([this](Ledger& ledger) { ledger.remove_sink(*this); });
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Tasks completed per second while the submitters were at it.
  double run_for(Clock::duration time) {
    submit_until(Clock::now() + k_warm_up);
    const std::uint64_t before = completed_.load();
    const auto begin = Clock::now();
    submit_until(begin + time);
    const double rate = static_cast<double>(completed_.load() - before) / seconds_since(begin);
    wait_for_end();
    return rate;
  }

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
    std::uint64_t ended = 0;
    for (const auto& change : batch->changes) {
      const auto* finished = std::get_if<ledger::TaskFinished>(&change);
      if (finished == nullptr) continue;
      ++ended;
      if (finished->finished->ending != ledger::Ending::completed) failed_.fetch_add(1);
    }
    if (ended == 0) return;
    completed_.fetch_add(ended);
    wake();
  }

 private:
  void wake() {
    if (!is_waiting_.load()) return;
    const std::lock_guard lock(mutex_);
    wake_.notify_one();
  }
  // Submits that may go now.
  [[nodiscard]] std::uint64_t room() const {
    const std::uint64_t open = submitted_ - completed_.load();
    return std::min(free_.load(), open >= k_open_max ? 0 : k_open_max - open);
  }
  void submit_until(Clock::time_point end) {
    while (Clock::now() < end) {
      std::uint64_t count = room();
      if (count == 0) {
        std::unique_lock lock(mutex_);
        is_waiting_.store(true);
        wake_.wait_until(lock, end, [this] { return room() > 0; });
        is_waiting_.store(false);
        count = room();
      }
      for (; count > 0; --count) submit();
    }
  }
  void submit() {
    free_.fetch_sub(1);
    node_.ops().task_submit(request_of(++submitted_), [this](const operations::Result<SubmitAnswer>& answer) {
      if (!answer) failed_.fetch_add(1);
      free_.fetch_add(1);
      wake();
    });
  }
  void wait_for_end() {
    std::unique_lock lock(mutex_);
    is_waiting_.store(true);
    const bool all = wake_.wait_for(lock, std::chrono::seconds(30),
                                    [this] { return free_.load() == submitters_ && completed_.load() >= submitted_; });
    is_waiting_.store(false);
    if (!all || failed_.load() != 0) {
      throw std::runtime_error(std::to_string(failed_.load()) + " tasks were refused or failed, " +
                               std::to_string(submitted_ - completed_.load()) + " are left");
    }
  }

  TaskNode& node_;
  std::atomic<std::uint64_t> free_;
  std::uint64_t submitters_;
  std::uint64_t submitted_ = 0;
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<bool> is_waiting_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

template <std::size_t Agents>
double memory() {
  TaskNode node("");
  node.start_agents(Agents, k_slots);
  return Load(node, k_memory_submitters).run_for(k_run_time);
}

template <std::uint64_t Submitters>
double durable() {
  const BenchDir dir("tasks");
  TaskNode node(dir.path());
  node.start_agents(64, k_slots);
  return Load(node, Submitters).run_for(k_run_time);
}

struct Latencies {
  std::vector<double> submits_us;
  std::vector<double> syncs_us;
};

// One submitter, with the rest of the node at work on what it submits; and in between, what the same disk takes for a
// sync when nothing else happens.
Latencies measure_latencies(TaskNode& node, const std::string& dir) {
  SyncProbe probe(dir + "/probe");
  node.start_agents(1, k_slots);
  Latencies all;
  std::uint64_t number = 0;
  for (std::size_t round = 0; round < k_latency_rounds; ++round) {
    for (std::size_t i = 0; i < k_submits_per_round; ++i) {
      const auto begin = Clock::now();
      double took_us = 0;
      const auto answer = operations::ask<SubmitAnswer>([&](operations::Reply<SubmitAnswer> reply) {
        node.ops().task_submit(request_of(++number), [&took_us, begin, reply = std::move(reply)](auto result) mutable {
          took_us = us_since(begin);
          reply(std::move(result));
        });
      });
      if (!answer) throw std::runtime_error(answer.error().describe());
      if (round > 0) all.submits_us.push_back(took_us);
    }
    // Until the tasks have run and are archived.
    const auto until = Clock::now() + std::chrono::seconds(10);
    while (node.archived().archived_up_to < number && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (round > 0) probe.run(k_syncs_per_round, all.syncs_us);
  }
  return all;
}

// All these figures are of one run, so that their ratios mean something.
const Latencies& latencies() {
  static const Latencies k_measured = [] {
    const BenchDir dir("tasks");
    TaskNode node(dir.path());
    return measure_latencies(node, dir.path());
  }();
  return k_measured;
}
// The same with the archive in memory: what its syncs on the same disk do to a submit is the difference.
double submit_p99_alone() {
  const BenchDir dir("tasks");
  TaskNode node(journal::file_disk(), dir.path());
  return percentile(measure_latencies(node, dir.path()).submits_us, 0.99);
}
// How many syncs a submit waits for, on a disk whose syncs all take the same time.
double submit_p99_syncs() {
  const BenchDir dir("tasks");
  SteadyDisk disk(k_steady_sync);
  TaskNode node(disk, dir.path());
  return percentile(measure_latencies(node, dir.path()).submits_us, 0.99) /
         std::chrono::duration<double, std::micro>(k_steady_sync).count();
}

double submit_p50() { return percentile(latencies().submits_us, 0.5); }
double submit_p99() { return percentile(latencies().submits_us, 0.99); }
double fdatasync_p50() { return percentile(latencies().syncs_us, 0.5); }
double fdatasync_p99() { return percentile(latencies().syncs_us, 0.99); }

ledger::Submit submit_of(std::uint64_t number) {
  ledger::Submit op;
  op.id = {0x0190'0000'0000'7000ULL, number};
  op.at = 1'000'000 + number;
  op.spec.type = "noop";
  op.spec.params = ledger::body_of("{\"i\":" + std::to_string(number) + "}");
  return op;
}

void raise_limits(Ledger& ledger, std::uint64_t tasks) {
  ledger::Limits limits;
  limits.swarm_tasks = limits.open_tasks = limits.finished_tasks = tasks;
  (void)ledger.apply(1, ledger::encode_command(ledger::SetLimits{limits}));
}

// A task's submit, assign and complete, each in an entry of its own; a thousand tasks open at a time, archived as they
// end. Making the entries is not counted.
double apply() {
  Ledger ledger;
  raise_limits(ledger, k_applied_tasks);
  (void)ledger.apply(2, ledger::encode_command(ledger::TakeDispatch{"bench", 1}));
  constexpr std::uint64_t k_together = 1'000;
  std::uint64_t position = 2;
  std::uint64_t entries = 0;
  double took = 0;
  std::vector<std::string> batch;
  for (std::uint64_t first = 1; first <= k_applied_tasks; first += k_together) {
    batch.clear();
    const auto ids = [&](auto fn) {
      for (std::uint64_t n = first; n < first + k_together; ++n) fn(n, submit_of(n).id);
    };
    ids([&](auto n, auto) { batch.push_back(ledger::encode_command(submit_of(n))); });
    ids([&](auto n, auto id) { batch.push_back(ledger::encode_command(ledger::Assign{2, id, "agent-1", n})); });
    // Fences count assignments from one.
    ids([&](auto n, auto id) { batch.push_back(ledger::encode_command(ledger::Complete{id, n, n, nullptr})); });
    batch.push_back(ledger::encode_command(ledger::Archived{first + k_together - 1}));
    const auto begin = Clock::now();
    for (const auto& entry : batch) (void)ledger.apply(++position, entry);
    took += seconds_since(begin);
    entries += batch.size();
  }
  if (ledger.counters().last_finished != k_applied_tasks) throw std::runtime_error("not all tasks were completed");
  return static_cast<double>(entries) / took;
}

class StringSink final : public journal::SnapshotSink {
 public:
  void write(std::string_view part) override { bytes.append(part); }
  std::string bytes;
};

void fill(Ledger& ledger, std::uint64_t tasks) {
  raise_limits(ledger, tasks);
  ledger::CommandBuilder command;
  for (std::uint64_t n = 1; n <= tasks; ++n) {
    command.add(submit_of(n));
    if (n % 1'000 == 0 || n == tasks) (void)ledger.apply(1 + n, command.take());
  }
  if (ledger.counters().open_tasks != tasks) throw std::runtime_error("not all tasks were accepted");
}

double restore() {
  StringSink snapshot;
  {
    Ledger ledger;
    fill(ledger, k_restored_tasks);
    ledger.freeze()->write(snapshot);
  }
  Ledger ledger;
  const auto begin = Clock::now();
  if (!ledger.restore(snapshot.bytes)) throw std::runtime_error("the snapshot was not accepted");
  return static_cast<double>(k_restored_tasks) / seconds_since(begin);
}

double resident_now() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Resident memory of a ledger and a dispatcher that both know the tasks, without the bytes of their params.
double bytes_per_open_task() {
  class Told final : public ledger::ChangeSink {
   public:
    void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
      core.on_changes(*batch, {Instant{}, 1'000'000});
    }
    dispatch::DispatcherCore core{{}, 1};
  };
  Ledger ledger;
  Told dispatcher;
  (void)ledger.apply(1, ledger::encode_command(ledger::TakeDispatch{"bench", 1}));
  dispatcher.core.on_state(ledger.epoch(), dispatch::StateView::of(*ledger.freeze()), {Instant{}, 1'000'000});
  ledger.add_sink(dispatcher);
  double params = 0;
  for (std::uint64_t n = 1; n <= k_open_tasks; ++n) params += static_cast<double>(submit_of(n).spec.params->size());
  const double before = resident_now();
  fill(ledger, k_open_tasks);
  const double after = resident_now();
  if (dispatcher.core.ready() != k_open_tasks) throw std::runtime_error("the dispatcher does not know all tasks");
  return (after - before - params) / static_cast<double>(k_open_tasks);
}

const Registrar k_memory_1{{.group = "tasks", .name = "memory_1", .unit = "task/s", .run = memory<1>}};
const Registrar k_memory_64{{.group = "tasks", .name = "memory_64", .unit = "task/s", .run = memory<64>}};
const Registrar k_durable_1{{.group = "tasks", .name = "durable_1", .unit = "task/s", .run = durable<1>}};
const Registrar k_durable_64{{.group = "tasks", .name = "durable_64", .unit = "task/s", .run = durable<64>}};
const Registrar k_durable_1000{{.group = "tasks", .name = "durable_1000", .unit = "task/s", .run = durable<1000>}};
const Registrar k_submit_p50{{.group = "tasks", .name = "submit_p50", .unit = "us", .run = submit_p50}};
const Registrar k_submit_p99{{.group = "tasks", .name = "submit_p99", .unit = "us", .run = submit_p99}};
const Registrar k_submit_p99_alone{
    {.group = "tasks", .name = "submit_p99_alone", .unit = "us", .run = submit_p99_alone}};
const Registrar k_submit_p99_syncs{
    {.group = "tasks", .name = "submit_p99_syncs", .unit = "syncs", .run = submit_p99_syncs}};
const Registrar k_fdatasync{{.group = "tasks", .name = "fdatasync_p50", .unit = "us", .run = fdatasync_p50}};
const Registrar k_fdatasync_99{{.group = "tasks", .name = "fdatasync_p99", .unit = "us", .run = fdatasync_p99}};
const Registrar k_apply{{.group = "tasks", .name = "apply", .unit = "entries/s", .run = apply}};
const Registrar k_restore{{.group = "tasks", .name = "restore", .unit = "task/s", .run = restore}};
const Registrar k_bytes{
    {.group = "tasks", .name = "bytes_per_open_task", .unit = "B/task", .run = bytes_per_open_task}};

}  // namespace
}  // namespace skein::bench
