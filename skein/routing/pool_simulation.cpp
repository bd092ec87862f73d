#include "skein/routing/pool_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0 {
namespace {

struct Waiting {
  std::size_t number = 0;
  Instant arrived;
};
struct Held {
  Waiting task;
  Instant given;
  Assignment assignment;
};
struct Worker {
  AgentHandle handle;
  double service_ns = 0;
  double failing = 0;
  std::deque<Held> held;  // the first is being worked on
};
struct End {
  Instant at;
  std::size_t worker = 0;
  friend bool operator>(const End& one, const End& other) { return one.at > other.at; }
};

class Simulator {
 public:
  explicit Simulator(const PoolSimulation& simulation) : simulation_(simulation), random_(simulation.seed) {
    for (std::size_t i = 0; i < simulation.agents; ++i) {
      Worker worker;
      const bool slow = simulation.slow_one_in != 0 && i % simulation.slow_one_in == 0;
      const bool fails = simulation.failing_one_in != 0 && i % simulation.failing_one_in == 1;
      worker.service_ns = static_cast<double>(simulation.service.count()) * (slow ? simulation.slow_factor : 1.0);
      worker.failing = fails ? simulation.failing_rate : 0.0;
      AgentSpec spec{.name = "agent-" + std::to_string(i), .capabilities = {"work"}, .capacity = simulation.capacity};
      const auto joined = router_.join(std::move(spec), Instant());
      if (!joined) throw std::invalid_argument(std::string(route_error_text(joined.error())));
      worker.handle = *joined;
      workers_.push_back(std::move(worker));
    }
  }

  PoolFigures run() {
    const double mean_gap = static_cast<double>(simulation_.service.count()) /
                            (simulation_.arrivals * static_cast<double>(simulation_.agents));
    Instant arrival;
    for (std::size_t number = 0; number < simulation_.tasks; ++number) {
      arrival += Duration(static_cast<std::int64_t>(-std::log(1.0 - random_.unit()) * mean_gap));
      while (!ends_.empty() && ends_.top().at <= arrival) end_next();
      if (backlog_.size() < simulation_.backlog_max) backlog_.push_back({number, arrival});
      give(arrival);
    }
    while (!ends_.empty()) end_next();
    return figures();
  }

 private:
  void give(Instant now) {
    static constexpr std::string_view k_needed[] = {"work"};
    while (!backlog_.empty()) {
      const auto choice = router_.decide({.capabilities = k_needed, .strategy = simulation_.strategy}, random_, now);
      if (!choice) return;
      auto assignment = router_.assigned(choice->agent, now);
      if (!assignment) return;
      Worker& worker = workers_[choice->agent.index];
      worker.held.push_back({backlog_.front(), now, std::move(*assignment)});
      backlog_.pop_front();
      if (worker.held.size() == 1) begin(choice->agent.index, now);
    }
  }

  void begin(std::size_t index, Instant now) {
    const double takes = workers_[index].service_ns * (0.5 + random_.unit());
    ends_.push({now + Duration(static_cast<std::int64_t>(takes)), index});
  }

  void end_next() {
    const End end = ends_.top();
    ends_.pop();
    Worker& worker = workers_[end.worker];
    Held held = std::move(worker.held.front());
    worker.held.pop_front();
    const bool failed = random_.chance(worker.failing);
    AttemptOutcome outcome{.latency = end.at - held.given};
    if (failed) outcome.error = RetryClass::transient;
    router_.finished(std::move(held.assignment), outcome, end.at);
    if (held.task.number >= simulation_.tasks / 2) {
      latencies_ms_.push_back(std::chrono::duration<double, std::milli>(end.at - held.task.arrived).count());
      failures_ += failed ? 1 : 0;
    }
    if (!worker.held.empty()) begin(end.worker, end.at);
    give(end.at);
  }

  PoolFigures figures() {
    PoolFigures figures;
    figures.tasks = latencies_ms_.size();
    if (latencies_ms_.empty()) return figures;
    const auto count = static_cast<double>(latencies_ms_.size());
    for (const double each : latencies_ms_) figures.mean_ms += each / count;
    const auto at = latencies_ms_.begin() + static_cast<std::ptrdiff_t>(latencies_ms_.size() * 99 / 100);
    std::ranges::nth_element(latencies_ms_, at);
    figures.p99_ms = *at;
    figures.failed = static_cast<double>(failures_) / count;
    return figures;
  }

  PoolSimulation simulation_;
  Random random_;
  Router router_;
  std::deque<Worker> workers_;
  std::deque<Waiting> backlog_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<double> latencies_ms_;
  std::size_t failures_ = 0;
};

}  // namespace

PoolSimulation PoolSimulation::skewed(Balance strategy, std::uint64_t seed) {
  PoolSimulation simulation = even(strategy, seed);
  simulation.slow_one_in = 4;
  simulation.failing_one_in = 10;
  return simulation;
}

PoolSimulation PoolSimulation::even(Balance strategy, std::uint64_t seed) {
  PoolSimulation simulation;
  simulation.strategy = strategy;
  simulation.seed = seed;
  return simulation;
}

PoolFigures simulate_pool(const PoolSimulation& simulation) { return Simulator(simulation).run(); }

}  // namespace skein::inline v0
