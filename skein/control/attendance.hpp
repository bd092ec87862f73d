// How many MCP clients are on the Unix socket, and word when the last of them has gone: a node that was started for its
// clients ends with the last, not with the first. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace skein::inline v0::control {

class Attendance {
 public:
  // `on_alone` is called each time, on the thread of the last one that leaves; set before anybody comes.
  void when_alone(std::function<void()> on_alone) { on_alone_ = std::move(on_alone); }
  void come() {
    present_.fetch_add(1);
    ever_.fetch_add(1);
  }
  void go() {
    if (present_.fetch_sub(1) == 1 && on_alone_) on_alone_();
  }
  [[nodiscard]] std::uint32_t present() const { return present_.load(); }
  // Somebody was there, and nobody is any more.
  [[nodiscard]] bool is_over() const { return ever_.load() > 0 && present_.load() == 0; }

 private:
  std::atomic<std::uint32_t> present_{0};
  std::atomic<std::uint64_t> ever_{0};
  std::function<void()> on_alone_;
};

}  // namespace skein::inline v0::control
