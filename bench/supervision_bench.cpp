// Supervision's workloads. The first four mean what they mean in bench/peers/peer_bench.erl; the others show that the
// cost of a restart grows neither with the siblings nor with the restarts in the window.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::bench {
namespace {

constexpr std::string_view k_name = "bench_child";  // as in Erlang, the child that is killed has a name
constexpr std::uint32_t k_plenty = 10'000'000;
constexpr std::size_t k_batches = 100;
constexpr std::size_t k_started_together = 200;
constexpr std::size_t k_restarts_measured = 20'000;

template <class T>
T checked(std::expected<T, CallError> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

struct Up {};

struct IdleChild {
  void handle_info(Self, Message) {}
};

// Tells the process that waits for it that it is up.
struct Reporting {
  Reporting(Self self, Pid to) { self.send(to, Up{}); }
  void handle_info(Self, Message) {}
};

SupervisorSpec spec_of(Strategy strategy, std::vector<ChildSpec> children, Duration period = std::chrono::seconds(1)) {
  SupervisorSpec spec;
  spec.name = "bench";
  spec.flags = SupervisorFlags{strategy, k_plenty, period, AutoShutdown::never};
  spec.children = std::move(children);
  return spec;
}

Async<double> start_pool(Self self, Pid pool, std::size_t count) {
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    auto starting = start_pool_child(self, pool, pool_arguments());
    const auto started = co_await starting;
    if (!started) throw std::runtime_error(started.error().text());
  }
  co_return static_cast<double>(count) / seconds_since(begin);
}

double pool_start() {
  Runtime runtime;
  std::vector<ChildSpec> children;
  children.push_back(pool_child<IdleChild>("c").with(Restart::temporary));
  const auto pool = start_supervisor(runtime, spec_of(Strategy::simple_one_for_one, std::move(children)));
  return checked(runtime.run(&start_pool, pool->pid, std::size_t{100'000}));
}

// Kills the reporting child again and again and notes how long until the next one is up, in nanoseconds.
class Killer {
 public:
  struct Go {
    using Answer = std::vector<double>;
    std::size_t restarts = 0;
  };
  void handle_call(Self self, Go go, Reply<std::vector<double>> reply) {
    left_ = go.restarts;
    waiting_.emplace(std::move(reply));
    if (self.whereis(k_name)) kill(self);
  }
  void handle_info(Self self, Message message) {
    if (!message.is<Up>()) return;
    if (!waiting_) return;
    if (begin_) times_.push_back(std::chrono::duration<double, std::nano>(Clock::now() - *begin_).count());
    if (times_.size() < left_) {
      kill(self);
      return;
    }
    begin_.reset();
    (*waiting_)(std::exchange(times_, {}));
    waiting_.reset();
  }

 private:
  void kill(Self self) {
    begin_ = Clock::now();
    self.exit(self.whereis(k_name), ExitReason::kill());
  }

  std::size_t left_ = 0;
  std::optional<Clock::time_point> begin_;
  std::vector<double> times_;
  std::optional<Reply<std::vector<double>>> waiting_;
};

// A supervisor of one reporting child and `siblings` idle ones; it ends with this.
class Bench {
 public:
  explicit Bench(Runtime& runtime, std::size_t siblings, Duration period = std::chrono::seconds(1))
      : runtime_(runtime) {
    killer_ = runtime_.spawn<Killer>();
    std::vector<ChildSpec> children;
    children.reserve(siblings + 1);
    for (std::size_t i = 0; i < siblings / 2; ++i) children.push_back(child<IdleChild>("before" + std::to_string(i)));
    children.push_back(named_child<Reporting>("reporting", std::string(k_name), killer_));
    for (std::size_t i = siblings / 2; i < siblings; ++i)
      children.push_back(child<IdleChild>("after" + std::to_string(i)));
    const auto started = start_supervisor(runtime_, spec_of(Strategy::one_for_one, std::move(children), period));
    if (!started) throw std::runtime_error(started.error().reason.text());
    supervisor_ = started->pid;
  }
  ~Bench() {
    std::ignore = stop_supervisor(runtime_, supervisor_);
    runtime_.exit(killer_, ExitReason::kill());
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  std::vector<double> restart(std::size_t count) {
    return checked(runtime_.call<Killer>(killer_, Killer::Go{count}, k_forever));
  }

 private:
  Runtime& runtime_;
  Pid killer_;
  Pid supervisor_;
};

// A fresh supervisor for every batch, as Erlang needs: its cost grows with the restarts inside the window.
std::vector<double> restart_times() {
  Runtime runtime;
  std::vector<double> all;
  for (std::size_t batch = 0; batch < k_batches; ++batch) {
    Bench bench(runtime, 0);
    const std::vector<double> times = bench.restart(k_started_together);
    all.insert(all.end(), times.begin(), times.end());
  }
  std::ranges::sort(all);
  return all;
}

double sup_restart() {
  const std::vector<double> times = restart_times();
  return 1e9 * static_cast<double>(times.size()) / std::accumulate(times.begin(), times.end(), 0.0);
}

double sup_restart_p99() {
  const std::vector<double> times = restart_times();
  return times[times.size() * 99 / 100] / 1000;
}

double median_us(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2] / 1000;
}

template <std::size_t Siblings>
double restart_with_siblings() {
  Runtime runtime;
  Bench bench(runtime, Siblings);
  (void)bench.restart(k_restarts_measured / 10);
  return median_us(bench.restart(k_restarts_measured));
}

// The window holds at least this many restarts while it is measured, all of them within an hour. A short one is kept
// short by a fresh supervisor every few restarts, in the same runtime, so that nothing but the window differs.
template <std::size_t InWindow>
double restart_in_window() {
  Runtime runtime;
  const std::size_t at_once = std::clamp<std::size_t>(InWindow / 2, 5, k_restarts_measured);
  std::vector<double> all;
  while (all.size() < k_restarts_measured) {
    Bench bench(runtime, 0, std::chrono::hours(1));
    (void)bench.restart(InWindow);
    const std::vector<double> times = bench.restart(at_once);
    all.insert(all.end(), times.begin(), times.end());
  }
  return median_us(std::move(all));
}

constexpr std::size_t k_all = 1000;
constexpr int k_full_restarts = 50;

Async<double> restart_all(Self self, Pid supervisor) {
  const auto begin = Clock::now();
  for (int round = 0; round < k_full_restarts; ++round) {
    auto asking = which_children(self, supervisor);
    const auto before = co_await asking;
    if (!before) throw std::runtime_error(before.error().text());
    const Pid victim = before->front().pid;
    const MonitorRef ref = self.monitor(victim);
    self.exit(victim, ExitReason::kill());
    auto ending = self.down(ref);
    const auto reason = co_await ending;
    if (!reason) throw std::runtime_error("a killed child did not end");
    for (bool all_new = false; !all_new;) {
      auto looking = which_children(self, supervisor);
      const auto now = co_await looking;
      if (!now) throw std::runtime_error(now.error().text());
      const auto up = std::ranges::count_if(*now, [](const ChildInfo& each) { return static_cast<bool>(each.pid); });
      const bool dead_listed = std::ranges::any_of(*now, [&](const ChildInfo& each) { return each.pid == victim; });
      all_new = static_cast<std::size_t>(up) == k_all && !dead_listed;
    }
  }
  co_return seconds_since(begin) * 1e6 / k_full_restarts;
}

double one_for_all_1000() {
  Runtime runtime;
  std::vector<ChildSpec> children;
  children.reserve(k_all);
  for (std::size_t i = 0; i < k_all; ++i) children.push_back(child<IdleChild>("c" + std::to_string(i)));
  const auto supervisor = start_supervisor(runtime, spec_of(Strategy::one_for_all, std::move(children)));
  return checked(runtime.run(&restart_all, supervisor->pid));
}

const Registrar k_pool_start{{.group = "supervision", .name = "pool_start", .unit = "child/s", .run = pool_start}};
const Registrar k_sup_restart{{.group = "supervision", .name = "sup_restart", .unit = "restart/s", .run = sup_restart}};
const Registrar k_sup_restart_p99{
    {.group = "supervision", .name = "sup_restart_p99", .unit = "us", .run = sup_restart_p99}};
const Registrar k_one_for_all_1000{
    {.group = "supervision", .name = "one_for_all_1000", .unit = "us/full restart", .run = one_for_all_1000}};
const Registrar k_siblings_1{
    {.group = "supervision", .name = "restart_siblings_1", .unit = "us", .run = restart_with_siblings<1>}};
const Registrar k_siblings_1000{
    {.group = "supervision", .name = "restart_siblings_1000", .unit = "us", .run = restart_with_siblings<1000>}};
const Registrar k_siblings_100000{
    {.group = "supervision", .name = "restart_siblings_100000", .unit = "us", .run = restart_with_siblings<100'000>}};
const Registrar k_window_10{
    {.group = "supervision", .name = "restart_window_10", .unit = "us", .run = restart_in_window<10>}};
const Registrar k_window_1000{
    {.group = "supervision", .name = "restart_window_1000", .unit = "us", .run = restart_in_window<1000>}};
const Registrar k_window_100000{
    {.group = "supervision", .name = "restart_window_100000", .unit = "us", .run = restart_in_window<100'000>}};

}  // namespace
}  // namespace skein::bench
