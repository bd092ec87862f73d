// What workloads of journals share: a machine that does next to nothing, and clients that keep commands in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/stopwatch.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/machine.hpp"

namespace skein::bench {

using journal::Journal;

inline constexpr std::size_t k_entry_bytes = 200;

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
    journal_.append(std::move(batch), [this, begin](const journal::AppendAnswer& answer) { answered(begin, answer); });
  }
  void answered(Clock::time_point begin, const journal::AppendAnswer& answer) {
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

}  // namespace skein::bench
