// Equal values kept once: those who hold one share it, and it goes with the last of them.
//
// For lists that many records have in common. One thread at a time; what it gives out may go anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace skein::inline v0 {

template <class T>
class Interner {
 public:
  [[nodiscard]] std::shared_ptr<const T> keep(T value) {
    if (known_.size() >= sweep_at_) sweep();
    auto& known = known_[value];
    auto shared = known.lock();
    if (!shared) known = shared = std::make_shared<const T>(std::move(value));
    return shared;
  }
  // The values that somebody holds, and some that nobody holds any more.
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  static constexpr std::size_t k_first_sweep = 64;

  // Rarely enough to cost nothing each, often enough to keep no more than twice what is held.
  void sweep() {
    std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
    sweep_at_ = std::max(k_first_sweep, 2 * known_.size());
  }

  std::map<T, std::weak_ptr<const T>> known_;
  std::size_t sweep_at_ = k_first_sweep;
};

}  // namespace skein::inline v0
