#include "skein/resilience/breaker_registry.hpp"

#include <stdexcept>

namespace skein::inline v0 {
namespace {

constexpr std::uint64_t k_epochs_each = std::uint64_t{1} << 32U;  // changes of state of one breaker in its life

}  // namespace

BreakerRegistry::BreakerRegistry(BreakerOptions defaults, std::size_t limit) : defaults_(defaults), limit_(limit) {
  if (const auto problem = defaults_.problem()) throw std::invalid_argument("circuit breaker: " + *problem);
}

void BreakerRegistry::configure(std::string name, BreakerOptions options) {
  if (const auto problem = options.problem()) {
    throw std::invalid_argument("circuit breaker '" + name + "': " + *problem);
  }
  const std::scoped_lock lock(mutex_);
  if (!configured_.contains(name)) check(name, configured_.size());
  configured_[std::move(name)] = options;
}

void BreakerRegistry::check(std::string_view name, std::size_t there) const {
  if (name.empty()) throw std::invalid_argument("circuit breaker: a name must not be empty");
  if (name.size() > k_name_bytes_max) throw std::invalid_argument("circuit breaker: a name has at most 256 bytes");
  if (there < limit_) return;
  throw std::length_error("circuit breakers: there are " + std::to_string(limit_) +
                          " already: remove some or raise the limit");
}

std::shared_ptr<BreakerRegistry::Entry> BreakerRegistry::entry(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
  check(name, entries_.size());
  const auto options = configured_.find(name);
  auto made =
      std::make_shared<Entry>(options == configured_.end() ? defaults_ : options->second, k_epochs_each * made_++ + 1);
  entries_.emplace(std::string(name), made);
  return made;
}

std::expected<CircuitBreaker::Permit, CircuitBreaker::Refusal> BreakerRegistry::ask(std::string_view name,
                                                                                    Instant now) {
  const auto held = entry(name);
  const std::scoped_lock lock(held->mutex);
  return held->breaker.ask(now);
}

void BreakerRegistry::succeeded(std::string_view name, CircuitBreaker::Permit permit, Instant now) {
  const auto held = entry(name);
  const std::scoped_lock lock(held->mutex);
  held->breaker.succeeded(permit, now);
}

void BreakerRegistry::failed(std::string_view name, CircuitBreaker::Permit permit, Instant now) {
  const auto held = entry(name);
  const std::scoped_lock lock(held->mutex);
  held->breaker.failed(permit, now);
}

void BreakerRegistry::withdrawn(std::string_view name, CircuitBreaker::Permit permit, Instant now) {
  const auto held = entry(name);
  const std::scoped_lock lock(held->mutex);
  held->breaker.withdrawn(permit, now);
}

BreakerState BreakerRegistry::state(std::string_view name, Instant now) {
  const auto held = entry(name);
  const std::scoped_lock lock(held->mutex);
  return held->breaker.state(now);
}

std::vector<BreakerRegistry::Shown> BreakerRegistry::list(Instant now) {
  std::vector<std::pair<std::string, std::shared_ptr<Entry>>> all;
  {
    const std::scoped_lock lock(mutex_);
    all.assign(entries_.begin(), entries_.end());
  }
  std::vector<Shown> shown;
  for (auto& [name, held] : all) {
    const std::scoped_lock lock(held->mutex);
    const BreakerState state = held->breaker.state(now);
    shown.push_back({name, state, held->breaker.metrics(), held->breaker.under_way()});
  }
  return shown;
}

bool BreakerRegistry::remove(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

}  // namespace skein::inline v0
