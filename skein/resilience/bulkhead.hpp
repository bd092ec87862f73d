// A bulkhead: at most so many calls at once to something that several share, so that one flood does not sink them all.
//
// A value that hands out tickets; a ticket gives its place back when it is destroyed and may outlive the bulkhead.
// Any thread may enter and leave.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace skein::inline v0 {

class Bulkhead {
  struct Shared {
    std::atomic<std::uint32_t> inside{0};
    std::atomic<std::uint64_t> refused{0};
  };

 public:
  static constexpr std::uint32_t k_limit = 10;

  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept = default;
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(shared_, other.shared_);
      return *this;
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() {
      if (shared_) shared_->inside.fetch_sub(1, std::memory_order_release);
    }

   private:
    friend class Bulkhead;
    explicit Ticket(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    std::shared_ptr<Shared> shared_;
  };

  // A limit of 0 lets nobody in.
  explicit Bulkhead(std::uint32_t limit = k_limit) : limit_(limit) {}

  // A place, or nothing when all are taken.
  [[nodiscard]] std::optional<Ticket> enter() {
    std::uint32_t inside = shared_->inside.load(std::memory_order_relaxed);
    while (inside < limit_) {
      if (shared_->inside.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return Ticket(shared_);
    }
    shared_->refused.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  [[nodiscard]] bool has_room() const { return shared_->inside.load(std::memory_order_relaxed) < limit_; }
  [[nodiscard]] std::uint32_t inside() const { return shared_->inside.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return shared_->refused.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t limit() const { return limit_; }

 private:
  std::uint32_t limit_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace skein::inline v0
