// Routing: decisions per second and their 99th percentile for each strategy and size of pool, and what learning is
// worth.
//
// A decision here is decide() and assigned(): it changes loads, as real ones do. Outcomes are told between the timed
// parts; the cycle workloads time them too. The q_ workloads are simulations on virtual time: see pool_simulation.hpp.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/workload.hpp"
#include "skein/base/random.hpp"
#include "skein/routing/pool_simulation.hpp"
#include "skein/routing/router.hpp"

namespace skein::bench {
namespace {

constexpr std::size_t k_batch = 64;  // tasks under way
constexpr std::size_t k_decisions = 1'000'000;
constexpr std::size_t k_timed_one_by_one = 200'000;
constexpr std::string_view k_needed[] = {"work"};

void check(const Router::Result<void>& result) {
  if (!result) throw std::runtime_error(std::string(route_error_text(result.error())));
}

class RoutingLoad {
 public:
  RoutingLoad(Balance strategy, std::size_t agents) : random_(1) {
    for (std::size_t i = 0; i < agents; ++i) {
      const auto joined =
          router_.join({.name = "agent-" + std::to_string(i), .capabilities = {"work", "rest"}, .capacity = 10}, now_);
      if (!joined) throw std::runtime_error(std::string(route_error_text(joined.error())));
    }
    for (std::size_t i = 0; i < 4096; ++i) keys_.push_back("session-" + std::to_string(i));
    request_.capabilities = k_needed;
    request_.strategy = strategy;
    check(router_.prepare(request_, now_));
    under_way_.reserve(k_batch);
    for (std::size_t i = 0; i < k_decisions / 10; i += k_batch) {  // until the pool has a past
      for (std::size_t each = 0; each < k_batch; ++each) decide();
      finish_all();
    }
  }

  void decide() {
    request_.key = keys_[next_++ % keys_.size()];
    const auto choice = router_.decide(request_, random_, now_);
    if (!choice) throw std::runtime_error(std::string(route_error_text(choice.error())));
    auto assignment = router_.assigned(choice->agent, now_);
    if (!assignment) throw std::runtime_error(std::string(route_error_text(assignment.error())));
    under_way_.push_back(std::move(*assignment));
  }

  void finish_all() {
    for (Assignment& each : under_way_) {
      now_ += std::chrono::microseconds(10);
      const auto latency = std::chrono::microseconds(10'000 + random_.below(100'000));
      router_.finished(std::move(each), {.latency = latency}, now_);
    }
    under_way_.clear();
  }

 private:
  Router router_;
  Random random_;
  Instant now_;
  Router::Request request_;
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
  std::vector<Assignment> under_way_;
};

// The median over batches: a batch in which the machine did something else says nothing about routing.
double middle(std::vector<double>& rates) {
  const auto at = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, at);
  return *at;
}

template <Balance strategy, std::size_t agents>
double rate() {
  RoutingLoad load(strategy, agents);
  std::vector<double> rates;
  for (std::size_t i = 0; i < k_decisions; i += k_batch) {
    const auto begin = Clock::now();
    for (std::size_t each = 0; each < k_batch; ++each) load.decide();
    rates.push_back(static_cast<double>(k_batch) / std::chrono::duration<double>(Clock::now() - begin).count());
    load.finish_all();
  }
  return middle(rates);
}

template <Balance strategy, std::size_t agents>
double cycle() {
  RoutingLoad load(strategy, agents);
  std::vector<double> rates;
  for (std::size_t i = 0; i < k_decisions; i += k_batch) {
    const auto begin = Clock::now();
    for (std::size_t each = 0; each < k_batch; ++each) load.decide();
    load.finish_all();
    rates.push_back(static_cast<double>(k_batch) / std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return middle(rates);
}

template <Balance strategy, std::size_t agents>
double p99() {
  RoutingLoad load(strategy, agents);
  std::vector<double> spent;
  spent.reserve(k_timed_one_by_one + k_batch);
  while (spent.size() < k_timed_one_by_one) {
    for (std::size_t each = 0; each < k_batch; ++each) {
      const auto begin = Clock::now();
      load.decide();
      spent.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    load.finish_all();
  }
  const auto at = spent.begin() + static_cast<std::ptrdiff_t>(spent.size() * 99 / 100);
  std::ranges::nth_element(spent, at);
  return *at;
}

enum class Kind : std::uint8_t { skewed, even };
enum class Shown : std::uint8_t { mean_ms, p99_ms, failed_percent };

// The mean of three seeds; each pool is simulated once however many of its figures are asked for.
const PoolFigures& figures(Balance strategy, Kind kind) {
  constexpr std::uint64_t k_seeds = 3;
  static std::map<std::pair<Balance, Kind>, PoolFigures> known;
  const auto [place, is_new] = known.try_emplace({strategy, kind});
  PoolFigures& sum = place->second;
  for (std::uint64_t seed = 1; is_new && seed <= k_seeds; ++seed) {
    const auto one = simulate_pool(kind == Kind::skewed ? PoolSimulation::skewed(strategy, seed)
                                                        : PoolSimulation::even(strategy, seed));
    sum.mean_ms += one.mean_ms / static_cast<double>(k_seeds);
    sum.p99_ms += one.p99_ms / static_cast<double>(k_seeds);
    sum.failed += one.failed / static_cast<double>(k_seeds);
  }
  return sum;
}

template <Balance strategy, Kind kind, Shown shown>
double simulated() {
  const PoolFigures& all = figures(strategy, kind);
  if constexpr (shown == Shown::mean_ms) return all.mean_ms;
  if constexpr (shown == Shown::p99_ms) return all.p99_ms;
  return all.failed * 100;
}

// Workload holds its name as a pointer: the names made here live as long as the program.
const char* kept(std::string name) {
  static std::vector<std::unique_ptr<std::string>> names;
  names.push_back(std::make_unique<std::string>(std::move(name)));
  return names.back()->c_str();
}

void add(std::string name, const char* unit, double (*run)()) {
  workloads().push_back({.group = "routing", .name = kept(std::move(name)), .unit = unit, .run = run});
}

template <Balance strategy, std::size_t agents>
void add_size(const std::string& name) {
  const std::string size = std::to_string(agents);
  add(name + "_" + size, "decisions/s", rate<strategy, agents>);
  add(name + "_p99_" + size, "us", p99<strategy, agents>);
}

template <Balance strategy>
void add_sizes(const std::string& name) {
  add_size<strategy, 10>(name);
  add_size<strategy, 1'000>(name);
  add_size<strategy, 100'000>(name);
}

template <Balance strategy>
void add_simulations(const std::string& name) {
  add("q_skewed_latency_" + name, "ms", simulated<strategy, Kind::skewed, Shown::mean_ms>);
  add("q_skewed_p99_" + name, "ms", simulated<strategy, Kind::skewed, Shown::p99_ms>);
  add("q_skewed_failed_" + name, "percent", simulated<strategy, Kind::skewed, Shown::failed_percent>);
  add("q_even_latency_" + name, "ms", simulated<strategy, Kind::even, Shown::mean_ms>);
}

struct AddAll {
  AddAll() {
    add_sizes<Balance::round_robin>("rr");
    add_sizes<Balance::least_connections>("lc");
    add_sizes<Balance::weighted>("weighted");
    add_sizes<Balance::consistent_hash>("hash");
    add_sizes<Balance::two_choices>("p2c");
    add_sizes<Balance::q_learning>("q");
    add("rr_cycle_100000", "tasks/s", cycle<Balance::round_robin, 100'000>);
    add("lc_cycle_100000", "tasks/s", cycle<Balance::least_connections, 100'000>);
    add_simulations<Balance::round_robin>("rr");
    add_simulations<Balance::least_connections>("lc");
    add_simulations<Balance::two_choices>("p2c");
    add_simulations<Balance::weighted>("weighted");
    add_simulations<Balance::q_learning>("q");
  }
};
const AddAll k_added;

}  // namespace
}  // namespace skein::bench
