// Circuit breakers by name, shared between threads, with their figures for metrics.
//
// A breaker is made when its name is first used, with the options set for that name or the default ones. Each has its
// own lock, held only for the few instructions of a decision, never during the call it guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "skein/resilience/circuit_breaker.hpp"

namespace skein::inline v0 {

class BreakerRegistry {
 public:
  static constexpr std::size_t k_breakers_max = 100'000;
  static constexpr std::size_t k_name_bytes_max = 256;

  struct Shown {
    std::string name;
    BreakerState state = BreakerState::closed;
    BreakerMetrics metrics;
    std::size_t under_way = 0;
  };

  // Options that are wrong throw std::invalid_argument here, not at the first use.
  explicit BreakerRegistry(BreakerOptions defaults = {}, std::size_t limit = k_breakers_max);

  // For breakers made from now on. Throws as below, and for as many names as there may be breakers.
  void configure(std::string name, BreakerOptions options);

  // Each takes the name's breaker and does what CircuitBreaker's member of that name does. Names that are empty, too
  // long, or beyond the limit throw std::invalid_argument and std::length_error. A permit of a breaker that was removed
  // says nothing to the next one of its name.
  [[nodiscard]] std::expected<CircuitBreaker::Permit, CircuitBreaker::Refusal> ask(std::string_view name, Instant now);
  void succeeded(std::string_view name, CircuitBreaker::Permit permit, Instant now);
  void failed(std::string_view name, CircuitBreaker::Permit permit, Instant now);
  void withdrawn(std::string_view name, CircuitBreaker::Permit permit, Instant now);
  [[nodiscard]] BreakerState state(std::string_view name, Instant now);

  [[nodiscard]] std::vector<Shown> list(Instant now);
  // False if there is none of that name.
  bool remove(std::string_view name);

 private:
  struct Entry {
    Entry(const BreakerOptions& options, std::uint64_t first_epoch) : breaker(options, {}, first_epoch) {}
    std::mutex mutex;
    CircuitBreaker breaker;
  };
  // Holding the lock.
  void check(std::string_view name, std::size_t there) const;
  std::shared_ptr<Entry> entry(std::string_view name);

  BreakerOptions defaults_;
  std::size_t limit_;
  std::mutex mutex_;
  std::uint64_t made_ = 0;  // breakers so far
  std::map<std::string, BreakerOptions, std::less<>> configured_;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;
};

}  // namespace skein::inline v0
