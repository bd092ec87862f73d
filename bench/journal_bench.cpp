// The journal's workloads: entries of 200 bytes on the real disk, synced before they are answered.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/journal_load.hpp"
#include "bench/workload.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/kv_machine.hpp"

namespace skein::bench {
namespace {

using journal::Journal;

constexpr auto k_run_time = std::chrono::seconds(2);
constexpr std::uint64_t k_recovered_entries = 1'000'000;
constexpr std::uint64_t k_snapshot_keys = 200'000;
constexpr std::uint64_t k_snapshots = 30;
constexpr std::uint64_t k_wait_batch = 1000;
constexpr std::size_t k_sync_samples = 500;
constexpr auto k_answer_time = std::chrono::seconds(60);

std::unique_ptr<Journal> open_at(const std::string& dir, journal::MachineRef machine,
                                 const journal::JournalLimits& limits = {}) {
  auto opened = journal::open_journal(dir, machine, limits);
  if (!opened) throw std::runtime_error(opened.error().describe());
  return std::move(*opened);
}

template <std::uint64_t InFlight>
double append_durable() {
  const BenchDir dir("journal");
  CountMachine machine;
  const auto journal = open_at(dir.path(), machine);
  return Load(*journal, InFlight).run_for(k_run_time);
}

template <int Percent>
double commit_latency() {
  const BenchDir dir("journal");
  CountMachine machine;
  const auto journal = open_at(dir.path(), machine);
  Load load(*journal, 1);
  load.run_for(k_run_time);
  journal->close();
  return percentile(std::move(load.latencies_us()), Percent / 100.0);
}

// What the disk itself takes for what the journal does.
double fdatasync_p50() {
  const BenchDir dir("journal");
  std::vector<double> samples;
  SyncProbe(dir.path() + "/file").run(k_sync_samples, samples);
  return percentile(std::move(samples), 0.5);
}

double append_memory() {
  CountMachine machine;
  const auto journal = journal::open_memory_journal(machine);
  return Load(*journal, 1000).run_for(k_run_time);
}

// How fast a start reads, checks and applies the log.
double recovery() {
  const BenchDir dir("journal");
  journal::JournalLimits limits;
  limits.snapshot_bytes = 1ULL << 40U;
  {
    CountMachine machine;
    const auto journal = open_at(dir.path(), machine, limits);
    Load(*journal, 10'000).run_to(k_recovered_entries);
    journal->close();
  }
  CountMachine machine;
  const auto begin = Clock::now();
  const auto journal = open_at(dir.path(), machine, limits);
  const double took_us = us_since(begin);
  return static_cast<double>(journal->status().applied) / took_us * 1e6;
}

journal::Batch puts(std::uint64_t first_key, std::uint64_t id_space, std::uint64_t first_id, std::uint64_t count) {
  journal::Batch batch;
  for (std::uint64_t i = 0; i < count; ++i) {
    batch.push_back({{id_space, first_id + i},
                     journal::kv_put("key-" + std::to_string(first_key + i), std::string(k_entry_bytes, 'v'))});
  }
  return batch;
}

// What a snapshot of a large state costs the thread that applies: freezing it, copying what the next commands change
// while it is written, and taking in that it is done. The core's steps are called by hand, so that writing the
// snapshot, which runs beside them in a node, is not counted.
double snapshot_stall_p99() {
  const BenchDir dir("journal");
  journal::KvMachine machine;
  auto& disk = journal::file_disk();
  auto core = journal::EmbeddedCore::open(disk, dir.path(), machine, {});
  if (!core) throw std::runtime_error(core.error().describe());
  const auto run_jobs = [&] {
    while (const auto job = (*core)->take_job()) (*core)->job_done(run_aside(*(*core)->job_disk(), *job));
  };
  for (std::uint64_t key = 0; key < k_snapshot_keys; key += 1000) {
    (*core)->append(puts(key, 4, key + 1, 1000), [](const journal::AppendAnswer&) {});
    (*core)->run_queued();
  }
  run_jobs();
  std::vector<double> stalls;
  for (std::uint64_t i = 0; i < k_snapshots; ++i) {
    (*core)->append(puts(i * 32, 5, i * 32 + 1, 32), [](const journal::AppendAnswer&) {});
    (*core)->write();
    (*core)->sync();
    (*core)->request_snapshot([](const auto&) {});
    auto begin = Clock::now();
    const auto job = (*core)->take_job();
    (*core)->apply();
    double stall = us_since(begin);
    if (!job || !std::holds_alternative<journal::SnapshotJob>(*job)) throw std::runtime_error("no snapshot was due");
    const auto result = run_aside(*(*core)->job_disk(), *job);
    begin = Clock::now();
    (*core)->job_done(result);
    stall += us_since(begin);
    stalls.push_back(stall);
    run_jobs();
  }
  return percentile(std::move(stalls), 0.99);
}

// The same from outside: how long one who asks waits, from the call to the answer, while snapshots are taken, or the
// same time long while none is. Whatever the answer has to wait for counts: the journal's thread, a core, the disk.
class Waits {
 public:
  enum class Of { reads, appends, batches };  // batches: of k_wait_batch commands

  explicit Waits(Of of) : of_(of), journal_(open_at(dir_.path(), machine_)) {
    for (std::uint64_t key = 0; key < k_snapshot_keys; key += 1000) append(puts(key, 6, key + 1, 1000));
  }

  std::vector<double> during_snapshots() {
    std::vector<double> waits;
    for (std::uint64_t i = 0; i < k_snapshots; ++i) {
      append(puts(i * 32, 7, i * 32 + 1, 32));
      std::atomic<bool> taken{false};
      journal_->snapshot([&](const auto& info) {
        if (!info) failure_ = info.error().describe();
        taken = true;
      });
      while (!taken) waits.push_back(ask());
      if (!failure_.empty()) throw std::runtime_error(failure_);
    }
    return waits;
  }
  std::vector<double> for_a_time(Clock::duration time) {
    std::vector<double> waits;
    const auto until = Clock::now() + time;
    while (Clock::now() < until) waits.push_back(ask());
    return waits;
  }

 private:
  void append(journal::Batch batch) {
    const auto answer = append_and_wait(*journal_, std::move(batch), k_answer_time);
    if (answer.outcome != journal::Outcome::applied) throw std::runtime_error(answer.why);
  }
  double ask() {
    double waited = 0;
    std::binary_semaphore answered{0};
    auto begin = Clock::now();
    const auto note = [&] {
      waited = us_since(begin);
      answered.release();
    };
    if (of_ == Of::reads) {
      journal_->read(journal::Read::linear(), [&](const journal::ReadAnswer&) { note(); });
    } else {
      const std::uint64_t commands = of_ == Of::batches ? k_wait_batch : 1;
      auto batch = puts(asked_ % k_snapshot_keys, 8, asked_ + 1, commands);
      asked_ += commands;
      begin = Clock::now();
      journal_->append(std::move(batch), [&](const journal::AppendAnswer&) { note(); });
    }
    answered.acquire();
    return waited;
  }

  Of of_;
  BenchDir dir_{"journal"};
  journal::KvMachine machine_;
  std::unique_ptr<Journal> journal_;
  std::uint64_t asked_ = 0;
  std::string failure_;
};

template <Waits::Of Of, int Percent>
double wait_in_snapshot() {
  auto waits = Waits(Of).during_snapshots();
  return percentile(waits, Percent / 100.0);
}

template <Waits::Of Of, int Percent>
double wait_without_snapshot() {
  auto waits = Waits(Of).for_a_time(k_run_time);
  return percentile(waits, Percent / 100.0);
}

const Registrar k_append_1{{.group = "journal", .name = "append_1", .unit = "entries/s", .run = append_durable<1>}};
const Registrar k_append_32{{.group = "journal", .name = "append_32", .unit = "entries/s", .run = append_durable<32>}};
const Registrar k_append_1000{
    {.group = "journal", .name = "append_1000", .unit = "entries/s", .run = append_durable<1000>}};
const Registrar k_commit_p50{{.group = "journal", .name = "commit_p50_1", .unit = "us", .run = commit_latency<50>}};
const Registrar k_commit_p99{{.group = "journal", .name = "commit_p99_1", .unit = "us", .run = commit_latency<99>}};
const Registrar k_fdatasync{{.group = "journal", .name = "fdatasync_p50", .unit = "us", .run = fdatasync_p50}};
const Registrar k_memory{{.group = "journal", .name = "append_memory", .unit = "entries/s", .run = append_memory}};
const Registrar k_journal_recovery{{.group = "journal", .name = "recovery", .unit = "entries/s", .run = recovery}};
const Registrar k_stall{{.group = "journal", .name = "snapshot_stall_p99", .unit = "us", .run = snapshot_stall_p99}};
constexpr auto k_reads = Waits::Of::reads;
constexpr auto k_appends = Waits::Of::appends;
constexpr auto k_batches = Waits::Of::batches;
const Registrar k_read_wait{
    {.group = "journal", .name = "snapshot_read_max", .unit = "us", .run = wait_in_snapshot<k_reads, 100>}};
const Registrar k_read_usual{
    {.group = "journal", .name = "usual_read_max", .unit = "us", .run = wait_without_snapshot<k_reads, 100>}};
const Registrar k_append_wait{
    {.group = "journal", .name = "snapshot_append_p99", .unit = "us", .run = wait_in_snapshot<k_appends, 99>}};
const Registrar k_append_longest{
    {.group = "journal", .name = "snapshot_append_max", .unit = "us", .run = wait_in_snapshot<k_appends, 100>}};
const Registrar k_append_usual{
    {.group = "journal", .name = "usual_append_max", .unit = "us", .run = wait_without_snapshot<k_appends, 100>}};
const Registrar k_batch_longest{
    {.group = "journal", .name = "snapshot_batch_max", .unit = "us", .run = wait_in_snapshot<k_batches, 100>}};
const Registrar k_batch_usual{
    {.group = "journal", .name = "usual_batch_max", .unit = "us", .run = wait_without_snapshot<k_batches, 100>}};

}  // namespace
}  // namespace skein::bench
