// Phi accrual failure detection: how sure are we that a node which has gone quiet is gone?
//
// A value: it is told of heartbeats and of the time, and answers with phi, the number of nines of suspicion (phi 8: one
// wrong verdict in 10^8 if heartbeats vary as they did so far). One thread at a time. Invariants:
// 1. phi is finite and never NaN, for any input; 0 until the first heartbeat, at most k_phi_max.
// 2. While no heartbeat comes, phi never falls.
// 3. Time never goes back: a heartbeat or question from the past counts as made at the latest time told.
// 4. However rarely it is asked, a node that stops is convicted: see asked().
// The estimate is the normal tail's logistic approximation, as Akka's detector uses it, with a floor under the
// deviation so that a perfectly regular node is convicted too, and not at the first late heartbeat.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

struct PhiOptions {
  double threshold = 8.0;
  std::size_t window = 1000;                                // intervals remembered
  Duration min_deviation = std::chrono::milliseconds(100);  // the floor under sigma
  Duration acceptable_pause = std::chrono::seconds(3);      // added to the mean
  Duration first_interval = std::chrono::seconds(1);        // assumed until intervals are known
  Duration local_pause = std::chrono::seconds(1);  // not asked for longer, and out of rhythm: judgement withheld

  // What is wrong with these options, or nothing.
  [[nodiscard]] std::optional<std::string> problem() const;
};

class PhiDetector {
 public:
  static constexpr double k_phi_max = 1000.0;

  // Throws std::invalid_argument with what problem() says.
  explicit PhiDetector(PhiOptions options = {}) : PhiDetector(std::make_shared<const PhiOptions>(options)) {}
  // With options that many share.
  explicit PhiDetector(std::shared_ptr<const PhiOptions> options);

  // A heartbeat arrived. The interval that ends a suspicion is not learned from, nor are those that begin within a mean
  // interval after we slept: heartbeats that waited unread come all at once.
  void heartbeat(Instant now);
  [[nodiscard]] double phi(Instant now) const;
  [[nodiscard]] bool is_available(Instant now) const { return phi(now) < options_->threshold; }

  // For an asker in a loop: tells that the asker itself runs. If the last call was longer than local_pause ago and
  // twice as long as usual, the asker was asleep and heartbeats may wait unread: the node is not blamed for that time.
  // Each such gap doubles what counts as usual, so a rare asker is forgiven a few gaps, not all of them.
  void asked(Instant now);

  [[nodiscard]] std::size_t intervals() const { return ring_.size(); }
  [[nodiscard]] Duration mean() const;
  [[nodiscard]] Duration deviation() const;
  [[nodiscard]] const PhiOptions& options() const { return *options_; }

 private:
  void learn(double interval_ns);
  // Not before anything that was told.
  [[nodiscard]] Instant latest(Instant now) const;
  [[nodiscard]] Duration least_gap() const { return std::max(options_->local_pause / 2, Duration(1)); }
  [[nodiscard]] bool is_pause(Duration gap) const { return gap > options_->local_pause && gap / 2 > usual_gap_; }

  // There may be one for each of very many nodes, so it is small.
  static constexpr Instant k_never = Instant::min();

  std::shared_ptr<const PhiOptions> options_;
  std::vector<float> ring_;  // intervals in ns
  std::uint32_t next_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  Instant last_ = k_never;
  Instant last_asked_ = k_never;
  Instant woken_ = k_never;  // when the asker's last sleep ended
  Duration usual_gap_;       // between two calls of asked
  Duration forgiven_{};      // time in which the asker slept since the last heartbeat
};

}  // namespace skein::inline v0
