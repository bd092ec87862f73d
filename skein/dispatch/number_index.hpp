// From the numbers of open tasks to slots. Numbers are given out one after the other, so those asked for together lie
// together: one page of slots serves 64 of them, and a look at neighbours costs no new cache line. A page is kept while
// any of its numbers is there: at most 256 bytes per task. A value; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace skein::inline v0::dispatch {

class NumberIndex {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;

  [[nodiscard]] std::uint32_t find(std::uint64_t number) const {
    const auto page = page_of(number);
    return page == k_none ? k_none : pages_[page].slots[number % k_page];
  }
  // The number must not be there.
  void add(std::uint64_t number, std::uint32_t slot) {
    auto page = page_of(number);
    if (page == k_none) {
      page = new_page();
      places_.emplace(number / k_page, page);
      last_ = {number / k_page, page};
    }
    pages_[page].slots[number % k_page] = slot;
    ++pages_[page].count;
    ++size_;
  }
  void remove(std::uint64_t number) {
    const auto page = page_of(number);
    if (page == k_none || pages_[page].slots[number % k_page] == k_none) return;
    pages_[page].slots[number % k_page] = k_none;
    --size_;
    if (--pages_[page].count > 0) return;
    places_.erase(number / k_page);
    free_.push_back(page);
    last_ = {UINT64_MAX, k_none};
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() { *this = NumberIndex(); }

 private:
  static constexpr std::uint64_t k_page = 64;
  struct Page {
    std::array<std::uint32_t, k_page> slots;
    std::uint32_t count = 0;
  };

  [[nodiscard]] std::uint32_t page_of(std::uint64_t number) const {
    const std::uint64_t wanted = number / k_page;
    if (last_.first == wanted) return last_.second;
    const auto at = places_.find(wanted);
    if (at == places_.end()) return k_none;
    last_ = {wanted, at->second};
    return at->second;
  }
  std::uint32_t new_page() {
    std::uint32_t page = 0;
    if (free_.empty()) {
      page = static_cast<std::uint32_t>(pages_.size());
      pages_.emplace_back();
    } else {
      page = free_.back();
      free_.pop_back();
    }
    pages_[page].slots.fill(k_none);
    pages_[page].count = 0;
    return page;
  }

  std::vector<Page> pages_;
  std::vector<std::uint32_t> free_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> places_;
  mutable std::pair<std::uint64_t, std::uint32_t> last_{UINT64_MAX, k_none};
  std::size_t size_ = 0;
};

}  // namespace skein::inline v0::dispatch
