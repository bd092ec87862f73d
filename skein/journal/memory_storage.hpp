// A member's storage that keeps nothing: for tests, and for those who want speed more than durability. What it answers
// as durable is gone when the program ends. Its entries live in the consensus core until they are applied. One thread.
#pragma once

#include <vector>

#include "skein/journal/storage.hpp"

namespace skein::inline v0::journal {

class MemoryStorage final : public Storage {
 public:
  [[nodiscard]] StoreResult<void> save(const MemberState&) override { return {}; }
  [[nodiscard]] StoreResult<void> append(std::span<const EntryView> entries) override {
    if (!entries.empty()) last_ = entries.back().position;
    return {};
  }
  [[nodiscard]] StoreResult<void> sync() override { return {}; }
  [[nodiscard]] Position last() const override { return last_; }
  [[nodiscard]] StoreResult<std::vector<consensus::Entry>> read_batches(Position, std::uint64_t) override {
    return std::vector<consensus::Entry>();
  }
  [[nodiscard]] StoreResult<void> install(const consensus::SnapshotOffer& offer, const MemberState&) override {
    last_ = offer.position;
    return {};
  }
  Position trim(Position) override { return 0; }
  [[nodiscard]] StoreResult<void> mark_idle() override { return {}; }
  [[nodiscard]] std::uint64_t bytes_after(Position) const override { return 0; }

 private:
  Position last_ = 0;
};

}  // namespace skein::inline v0::journal
