// One budget of descriptors for everything a node opens on behalf of others: connections of all listeners and OS
// processes of agents. What the node needs for itself (journal, archive, listeners) is left out of it beforehand.
//
// 1. A connection begins as a stranger; trust() makes it a member, once its client has shown that it may be here.
//    Strangers have a small share of their own. When that share, or the whole budget, is used up, the stranger that
//    has been here longest is told to go, and its place goes to the newcomer.
// 2. Members and processes are never told to go. Without a stranger to send away, a newcomer is refused or waits.
// 3. A place counts until it is given back, also while its owner is on the way out, and a stranger that gains trust
//    after it was told to go stays. So `used` may pass `total`, by leaving_max at most.
//
// Any thread. An owner is told to go outside the lock, by the function it gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace skein::inline v0 {

struct DescriptorLimits {
  std::size_t total = 0;          // for connections and processes together
  std::size_t strangers_max = 0;  // connections of clients that have not shown who they are
  std::size_t leaving_max = 32;   // strangers told to go that need not have gone before the next comes
};

class DescriptorBudget : public std::enable_shared_from_this<DescriptorBudget> {
 private:
  struct Entry {
    std::size_t count = 1;
    bool is_stranger = false;
    bool is_leaving = false;
    std::function<void()> go;
  };
  using Entries = std::list<Entry>;

 public:
  explicit DescriptorBudget(DescriptorLimits limits) : limits_(limits) {}

  // Gives back what it stands for when it goes. Empty: it stands for nothing.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : budget_(std::move(other.budget_)), at_(other.at_) {}
    Place& operator=(Place&& other) noexcept {
      if (this != &other) {
        give_back();
        budget_ = std::move(other.budget_);
        at_ = other.at_;
      }
      return *this;
    }
    ~Place() { give_back(); }
    explicit operator bool() const { return budget_ != nullptr; }

    // The client has shown that it may be here. If it was told to go before, it need not.
    void trust();
    // Called at most once, on any thread, when a stranger is to go; at once if that was decided before.
    void when_to_go(std::function<void()> go);

   private:
    friend class DescriptorBudget;
    Place(std::shared_ptr<DescriptorBudget> budget, Entries::iterator at) : budget_(std::move(budget)), at_(at) {}
    void give_back();

    std::shared_ptr<DescriptorBudget> budget_;
    Entries::iterator at_;
  };

  // For one more connection. Empty: there is no room now; it may be tried again.
  [[nodiscard]] Place admit_stranger();
  [[nodiscard]] Place admit_member();
  // For an OS process that takes so many.
  [[nodiscard]] Place admit_process(std::size_t descriptors);

  struct Use {
    std::size_t total = 0;
    std::size_t used = 0;
    std::size_t strangers = 0;
    std::size_t strangers_max = 0;
    std::size_t processes = 0;
    std::uint64_t sent_away = 0;  // strangers, for others
    std::uint64_t refused = 0;    // times there was no room
  };
  [[nodiscard]] Use use() const;

 private:
  [[nodiscard]] Place admit(Entry entry);
  // With mutex_ held.
  [[nodiscard]] bool has_room(const Entry& entry) const;
  [[nodiscard]] Entry* oldest_stranger();

  const DescriptorLimits limits_;
  mutable std::mutex mutex_;
  Entries strangers_;  // oldest first; guarded by mutex_, as all below
  Entries others_;
  std::size_t used_ = 0;
  std::size_t leaving_ = 0;
  std::size_t processes_ = 0;
  std::uint64_t sent_away_ = 0;
  std::uint64_t refused_ = 0;
};

using DescriptorPlace = DescriptorBudget::Place;

}  // namespace skein::inline v0
