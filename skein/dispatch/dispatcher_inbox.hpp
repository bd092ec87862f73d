// What the journal's thread has for the dispatcher, in order: changes, answers, states. The journal's thread puts in,
// the dispatcher takes everything at once; one message rings for many items.
//
// Bounded: with more than `changes_max` changes waiting all of them are dropped and drain() sets `lost`; the dispatcher
// then takes a fresh state, which is worth as much. Answers and states are few: as many as appends under way. After
// close() nothing is put in and nobody is rung. All functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/change.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::dispatch {

// To the dispatcher: look into the inbox.
struct InboxBell {};

struct AppendAnswered {
  std::uint64_t append = 0;
  journal::AppendAnswer answer;
};
struct DispatchAnswer {
  journal::AppendAnswer answer;  // to take_dispatch
};
struct StateAnswer {
  std::shared_ptr<const ledger::FrozenLedger> state;  // null: it could not be read; try again
};
using InboxItem = std::variant<std::shared_ptr<const ledger::ChangeBatch>, AppendAnswered, DispatchAnswer, StateAnswer>;

class DispatcherInbox final : public ledger::ChangeSink {
 public:
  DispatcherInbox(Runtime& runtime, Pid owner, std::size_t changes_max)
      : runtime_(&runtime), owner_(owner), changes_max_(changes_max) {}

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
    const std::scoped_lock lock(mutex_);
    if (is_closed_ || is_lost_) return;
    changes_ += batch->changes.size();
    if (changes_ > changes_max_) {
      is_lost_ = true;
      drop_changes();
      ring();
      return;
    }
    items_.emplace_back(batch);
    ring();
  }

  void put(InboxItem item) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    if (const auto* answer = std::get_if<StateAnswer>(&item); answer != nullptr && answer->state) {
      // Earlier changes are in the state, and later ones are wanted again.
      is_lost_ = false;
      drop_changes();
    }
    items_.push_back(std::move(item));
    ring();
  }

  // Everything there is; `lost` is set when changes were dropped and no state has come since.
  [[nodiscard]] std::vector<InboxItem> drain(bool& lost) {
    const std::scoped_lock lock(mutex_);
    is_rung_ = false;
    changes_ = 0;
    lost = is_lost_;
    return std::exchange(items_, {});
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    items_.clear();
  }

 private:
  void drop_changes() {
    std::erase_if(items_, [](const InboxItem& item) { return item.index() == 0; });
    changes_ = 0;
  }
  // A full mailbox drops the bell; the next item rings again, and the dispatcher looks at each tick.
  void ring() {
    if (is_rung_) return;
    is_rung_ = runtime_->send(owner_, InboxBell{}) == SendResult::ok;
  }

  std::mutex mutex_;
  Runtime* runtime_;
  Pid owner_;
  std::size_t changes_max_;
  std::size_t changes_ = 0;
  std::vector<InboxItem> items_;
  bool is_rung_ = false;
  bool is_lost_ = false;
  bool is_closed_ = false;
};

}  // namespace skein::inline v0::dispatch
