// `skein-sim phi`: how fast the phi detector convicts a node that stopped, and how often it is wrong about one that
// lives, for regular, jittery, lossy and pausing heartbeats. Prints one line per kind; docs/failure-detection.md shows
// them. Fails when a regular node that stopped is not convicted within a second.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "sim/simulation.hpp"
#include "skein/base/random.hpp"
#include "skein/resilience/phi_detector.hpp"

namespace skein::sim {
namespace {

constexpr double k_period_ms = 100;
constexpr double k_hours = 24;
constexpr int k_trials = 2000;
constexpr int k_warm_up = 1200;  // heartbeats before a trial's node stops

struct Kind {
  const char* name;
  double normal_ms = 0;       // deviation of a normal delay
  double exponential_ms = 0;  // mean of an exponential delay
  double loss = 0;
  double pause_every_s = 0;  // on average; 0: never
  double pause_ms = 0;
};

constexpr Kind k_kinds[] = {
    {.name = "regular"},
    {.name = "normal_20ms", .normal_ms = 20},
    {.name = "exponential_20ms", .exponential_ms = 20},
    {.name = "loss_1", .normal_ms = 5, .loss = 0.01},
    {.name = "loss_5", .normal_ms = 5, .loss = 0.05},
    {.name = "pauses_400ms", .normal_ms = 5, .pause_every_s = 60, .pause_ms = 400},
    {.name = "pauses_1000ms", .normal_ms = 5, .pause_every_s = 60, .pause_ms = 1000},
};

PhiOptions settings() {
  PhiOptions options;
  options.min_deviation = std::chrono::milliseconds(25);
  options.acceptable_pause = std::chrono::milliseconds(500);
  options.first_interval = std::chrono::milliseconds(100);
  return options;
}

Instant at(double ms) { return Instant(Duration(static_cast<std::int64_t>(ms * 1e6))); }

// Heartbeats of one node: when the next one that arrives does so.
class Node {
 public:
  Node(const Kind& kind, std::uint64_t seed) : kind_(kind), random_(seed) {}

  double next_arrival() {
    for (;;) {
      sent_ += k_period_ms;
      if (kind_.pause_every_s > 0 && random_.chance(k_period_ms / (kind_.pause_every_s * 1000)))
        sent_ += kind_.pause_ms;
      if (random_.chance(kind_.loss)) continue;
      // Messages of one connection do not overtake one another.
      last_ = std::max(last_, sent_ + delay());
      return last_;
    }
  }
  [[nodiscard]] double sent() const { return sent_; }
  Random& random() { return random_; }

 private:
  double delay() {
    double ms = 0;
    if (kind_.normal_ms > 0) {
      const double radius = std::sqrt(-2 * std::log(1 - random_.unit()));
      ms += kind_.normal_ms * radius * std::cos(6.283185307179586 * random_.unit());
    }
    if (kind_.exponential_ms > 0) ms += -kind_.exponential_ms * std::log(1 - random_.unit());
    return std::max(0.0, ms + 3 * kind_.normal_ms);
  }

  const Kind& kind_;
  Random random_;
  double sent_ = 0;
  double last_ = 0;
};

// Phi rises until a heartbeat comes, so whether the node was convicted meanwhile shows just before it.
double wrong_per_hour(const Kind& kind) {
  Node node(kind, 1);
  PhiDetector detector(settings());
  std::uint64_t wrong = 0;
  double now = 0;
  while (now < k_hours * 3'600'000) {
    now = node.next_arrival();
    if (!detector.is_available(at(now))) ++wrong;
    detector.heartbeat(at(now));
  }
  return static_cast<double>(wrong) / k_hours;
}

// Milliseconds from the moment a node stops to its conviction.
std::vector<double> detection_times(const Kind& kind) {
  std::vector<double> times;
  for (int trial = 0; trial < k_trials; ++trial) {
    Node node(kind, 1000 + static_cast<std::uint64_t>(trial));
    PhiDetector detector(settings());
    double last = 0;
    for (int i = 0; i < k_warm_up; ++i) {
      last = node.next_arrival();
      detector.heartbeat(at(last));
    }
    const double stopped = std::max(last, node.sent()) + node.random().unit() * k_period_ms;
    double low = 0;
    double high = 60'000;
    while (high - low > 0.5) {
      const double middle = (low + high) / 2;
      (detector.is_available(at(last + middle)) ? low : high) = middle;
    }
    times.push_back(std::max(0.0, last + high - stopped));
  }
  std::sort(times.begin(), times.end());
  return times;
}

int run(std::span<const std::string> args) {
  if (!args.empty()) {
    std::fputs("usage: skein-sim phi\n", stderr);
    return 2;
  }
  std::fputs("kind detect_p50_ms detect_p99_ms detect_max_ms wrong_per_hour\n", stdout);
  bool held = true;
  for (const Kind& kind : k_kinds) {
    const std::vector<double> times = detection_times(kind);
    std::fputs(fmt::format("{} {:.0f} {:.0f} {:.0f} {:.2f}\n", kind.name, times[times.size() / 2],
                           times[times.size() * 99 / 100], times.back(), wrong_per_hour(kind))
                   .c_str(),
               stdout);
    if (std::string(kind.name) == "regular" && times.back() >= 1000) held = false;
  }
  if (!held) std::fputs("a regular node that stopped was not convicted within 1 s\n", stderr);
  return held ? 0 : 1;
}

const Registrar k_phi{{.name = "phi", .usage = "phi", .run = run}};

}  // namespace
}  // namespace skein::sim
