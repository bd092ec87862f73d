// The journal's workloads: entries of 200 bytes on the real disk, synced before they are answered.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/workload.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/kv_machine.hpp"

namespace skein::bench {
namespace {

using journal::Journal;

constexpr std::size_t k_entry_bytes = 200;
constexpr auto k_run_time = std::chrono::seconds(2);
constexpr std::uint64_t k_recovered_entries = 1'000'000;
constexpr std::uint64_t k_snapshot_keys = 200'000;
constexpr std::uint64_t k_snapshots = 30;
constexpr std::size_t k_syncs = 500;

// A machine that does next to nothing, so that the journal is what is measured.
class CountMachine {
 public:
  std::string apply(journal::Position, std::string_view bytes) {
    sum_ += bytes.size();
    return {};
  }
  std::shared_ptr<const journal::Frozen> freeze() {
    class Sum final : public journal::Frozen {
     public:
      explicit Sum(std::uint64_t sum) : text_(std::to_string(sum)) {}
      void write(journal::SnapshotSink& sink) const override { sink.write(text_); }

     private:
      std::string text_;
    };
    return std::make_shared<Sum>(sum_);
  }
  bool restore(std::string_view bytes) {
    sum_ = std::stoull(std::string(bytes));
    return true;
  }
  [[nodiscard]] Digest digest() const { return sha256(std::to_string(sum_)); }

 private:
  std::uint64_t sum_ = 0;
};

std::unique_ptr<Journal> open_at(const std::string& dir, journal::MachineRef machine,
                                 const journal::JournalLimits& limits = {}) {
  auto opened = journal::open_journal(dir, machine, limits);
  if (!opened) throw std::runtime_error(opened.error().describe());
  return std::move(*opened);
}

// Keeps so many commands in flight: each answer appends the next.
class Load {
 public:
  Load(Journal& journal, std::uint64_t in_flight) : journal_(journal), wanted_(in_flight) {}

  // Commands per second over the run.
  double run_for(Clock::duration time) {
    const auto begin = Clock::now();
    until_ = begin + time;
    run();
    return static_cast<double>(done_) / std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void run_to(std::uint64_t count) {
    until_ = Clock::time_point::max();
    count_ = count;
    run();
  }
  [[nodiscard]] std::vector<double>& latencies_us() { return latencies_us_; }

 private:
  void run() {
    for (std::uint64_t i = 0; i < wanted_; ++i) append();
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return ended_ == wanted_; });
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }
  void append() {
    journal::Batch batch;
    batch.push_back({{3, ++next_id_}, std::string(k_entry_bytes, 'x')});
    const auto begin = Clock::now();
    journal_.append(std::move(batch), [this, begin](const journal::Answer& answer) { answered(begin, answer); });
  }
  void answered(Clock::time_point begin, const journal::Answer& answer) {
    const bool good = answer.outcome == journal::Outcome::applied;
    if (good) {
      latencies_us_.push_back(us_since(begin));
      ++done_;
    }
    if (good && Clock::now() < until_ && done_ + wanted_ <= count_) return append();
    const std::lock_guard lock(mutex_);
    if (!good) failure_ = answer.why;
    ++ended_;
    all_done_.notify_one();
  }

  Journal& journal_;
  std::uint64_t wanted_;
  Clock::time_point until_;
  std::uint64_t count_ = ~std::uint64_t{0};
  std::atomic<std::uint64_t> next_id_{0};
  std::uint64_t done_ = 0;
  std::vector<double> latencies_us_;
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::uint64_t ended_ = 0;
  std::string failure_;
};

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
  SyncProbe(dir.path() + "/file").run(k_syncs, samples);
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
    while (const auto job = (*core)->take_job()) (*core)->job_done(run_aside(disk, *job));
  };
  for (std::uint64_t key = 0; key < k_snapshot_keys; key += 1000) {
    (*core)->append(puts(key, 4, key + 1, 1000), [](const journal::Answer&) {});
    (*core)->run_queued();
  }
  run_jobs();
  std::vector<double> stalls;
  for (std::uint64_t i = 0; i < k_snapshots; ++i) {
    (*core)->append(puts(i * 32, 5, i * 32 + 1, 32), [](const journal::Answer&) {});
    (*core)->write();
    (*core)->sync();
    (*core)->request_snapshot([](const auto&) {});
    auto begin = Clock::now();
    const auto job = (*core)->take_job();
    (*core)->apply();
    double stall = us_since(begin);
    if (!job || !std::holds_alternative<journal::SnapshotJob>(*job)) throw std::runtime_error("no snapshot was due");
    const auto result = run_aside(disk, *job);
    begin = Clock::now();
    (*core)->job_done(result);
    stall += us_since(begin);
    stalls.push_back(stall);
    run_jobs();
  }
  return percentile(std::move(stalls), 0.99);
}

const Registrar k_append_1{{.group = "journal", .name = "append_1", .unit = "entries/s", .run = append_durable<1>}};
const Registrar k_append_32{{.group = "journal", .name = "append_32", .unit = "entries/s", .run = append_durable<32>}};
const Registrar k_append_1000{
    {.group = "journal", .name = "append_1000", .unit = "entries/s", .run = append_durable<1000>}};
const Registrar k_commit_p50{{.group = "journal", .name = "commit_p50_1", .unit = "us", .run = commit_latency<50>}};
const Registrar k_commit_p99{{.group = "journal", .name = "commit_p99_1", .unit = "us", .run = commit_latency<99>}};
const Registrar k_fdatasync{{.group = "journal", .name = "fdatasync_p50", .unit = "us", .run = fdatasync_p50}};
const Registrar k_memory{{.group = "journal", .name = "append_memory", .unit = "entries/s", .run = append_memory}};
const Registrar k_recovery{{.group = "journal", .name = "recovery", .unit = "entries/s", .run = recovery}};
const Registrar k_stall{{.group = "journal", .name = "snapshot_stall_p99", .unit = "us", .run = snapshot_stall_p99}};

}  // namespace
}  // namespace skein::bench
