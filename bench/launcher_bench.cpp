// Benchmarks of the launcher: how long an OS process takes to start and end, and how soon its death is known.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::bench {

namespace {

using namespace skein::launcher;

constexpr int k_warm_up = 20;
constexpr int k_samples = 1'000;
constexpr int k_kill_samples = 300;
constexpr int k_keeper_samples = 50;
constexpr int k_at_once = 8;
constexpr int k_throughput_starts = 2'000;

struct Go {
  int starts = 0;
  int at_once = 1;
  bool kill = false;
  bool is_private = false;
};

// Starts OS processes, so many at once, and notes how long each took from start, or from its kill, to OsExited.
class Starter {
 public:
  Starter(OsProcesses* processes, std::vector<double>* times_us) : processes_(processes), times_us_(times_us) {}

  void handle_info(Self self, Message message) {
    if (const auto* go = message.get_if<Go>()) {
      go_ = *go;
      for (int i = 0; i < go_.at_once; ++i) start(self);
    } else if (const auto* started = message.get_if<OsStarted>()) {
      if (!go_.kill) return;
      begin_ = Clock::now();
      ::kill(started->pid, SIGKILL);
    } else if (message.is<OsExited>()) {
      times_us_->push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin_).count());
      ++ended_;
      if (ended_ == go_.starts) return self.stop();
      start(self);
    } else if (const auto* failed = message.get_if<OsStartFailed>()) {
      throw std::runtime_error(failed->why);
    }
  }

 private:
  void start(Self self) {
    if (begun_ == go_.starts) return;
    ++begun_;
    OsSpec spec;
    spec.is_private = go_.is_private;
    if (go_.kill) {
      spec.argv = {"/bin/sleep", "1000"};
    } else {
      spec.argv = {"/bin/true"};
      begin_ = Clock::now();
    }
    (void)processes_->spawn(self.pid(), std::move(spec));
  }

  OsProcesses* processes_;
  std::vector<double>* times_us_;
  Go go_;
  int begun_ = 0;
  int ended_ = 0;
  Clock::time_point begin_;
};

struct Ran {
  std::vector<double> times_us;  // sorted
  double seconds = 0;
};

Ran run(Go go) {
  Ran ran;
  Runtime runtime;
  OsProcessesOptions options;
  options.tries_private = go.is_private;
  OsProcesses processes(runtime, Launcher::fork_early(), options);
  if (const std::string problem = processes.private_problem(); !problem.empty()) throw std::runtime_error(problem);
  for (const bool warm_up : {true, false}) {
    ran.times_us.clear();
    Go now = go;
    if (warm_up) now.starts = std::max(k_warm_up, go.at_once);
    const auto begin = Clock::now();
    const Pid starter = runtime.spawn<Starter>(&processes, &ran.times_us);
    runtime.send(starter, now);
    (void)runtime.wait_for_end(starter);
    ran.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  runtime.shutdown();
  std::ranges::sort(ran.times_us);
  return ran;
}

double at(const Ran& ran, double part) {
  if (ran.times_us.empty()) throw std::runtime_error("nothing was measured");
  return ran.times_us[static_cast<std::size_t>(part * static_cast<double>(ran.times_us.size() - 1))];
}

const Ran& one_by_one() {
  static const Ran ran = run({.starts = k_samples});
  return ran;
}

const Ran& one_by_one_private() {
  static const Ran ran = run({.starts = k_samples, .is_private = true});
  return ran;
}

// Until a keeper with a private view is there, beside a launcher without.
double private_keeper() {
  Runtime runtime;
  std::vector<double> times_us;
  for (int i = 0; i < k_keeper_samples; ++i) {
    double took[2] = {};
    for (const bool is_private : {false, true}) {
      OsProcessesOptions options;
      options.tries_private = is_private;
      const auto begin = Clock::now();
      const OsProcesses processes(runtime, Launcher::fork_early(), options);
      took[is_private ? 1 : 0] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    times_us.push_back(took[1] - took[0]);
  }
  runtime.shutdown();
  std::ranges::sort(times_us);
  return times_us[times_us.size() / 2];
}

const Ran& killed() {
  static const Ran ran = run({.starts = k_kill_samples, .kill = true});
  return ran;
}

double start_exit_p50() { return at(one_by_one(), 0.5); }
double start_exit_p99() { return at(one_by_one(), 0.99); }
double private_p50() { return at(one_by_one_private(), 0.5); }
double private_p99() { return at(one_by_one_private(), 0.99); }
double kill_notice_p50() { return at(killed(), 0.5); }
double kill_notice_p99() { return at(killed(), 0.99); }
double starts_per_second() {
  return k_throughput_starts / run({.starts = k_throughput_starts, .at_once = k_at_once}).seconds;
}

const Registrar k_start_p50{{.group = "launcher", .name = "true_round_trip_p50", .unit = "us", .run = start_exit_p50}};
const Registrar k_start_p99{{.group = "launcher", .name = "true_round_trip_p99", .unit = "us", .run = start_exit_p99}};
const Registrar k_private_p50{
    {.group = "launcher", .name = "private_round_trip_p50", .unit = "us", .run = private_p50}};
const Registrar k_private_p99{
    {.group = "launcher", .name = "private_round_trip_p99", .unit = "us", .run = private_p99}};
const Registrar k_keeper{{.group = "launcher", .name = "private_keeper_p50", .unit = "us", .run = private_keeper}};
const Registrar k_kill_p50{{.group = "launcher", .name = "kill_notice_p50", .unit = "us", .run = kill_notice_p50}};
const Registrar k_kill_p99{{.group = "launcher", .name = "kill_notice_p99", .unit = "us", .run = kill_notice_p99}};
const Registrar k_starts{{.group = "launcher", .name = "true_starts", .unit = "starts/s", .run = starts_per_second}};

}  // namespace
}  // namespace skein::bench
