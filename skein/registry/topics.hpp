// Publish and subscribe: who gets a copy of what is published under a topic.
//
// Any thread may call. Conditions run on the publisher's thread without a lock; one that throws counts as false. A
// subscriber gets what one publisher publishes in its order; a full mailbox or a dead subscriber misses it.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "skein/registry/registry_types.hpp"
#include "skein/runtime/inspect.hpp"

namespace skein::inline v0 {

struct SubscriptionRef {
  std::uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
  friend bool operator==(SubscriptionRef, SubscriptionRef) = default;
};

enum class Deliver : std::uint8_t { always, once };

namespace detail {

// Whether a subscriber wants a value of that type.
using Condition = std::function<bool(const inspect::PayloadType* type, const void* value)>;

struct Subscription {
  Subscription(std::uint64_t its_id, Pid its_subscriber, Deliver its_deliver, Condition its_condition)
      : id(its_id), subscriber(its_subscriber), deliver(its_deliver), condition(std::move(its_condition)) {}
  [[nodiscard]] bool wants(const inspect::PayloadType* type, const void* value) const;
  // True for the one publisher that may deliver to a one-shot subscription; always true for others.
  [[nodiscard]] bool take() { return deliver == Deliver::always || !taken.exchange(true, std::memory_order_acq_rel); }

  const std::uint64_t id;
  const Pid subscriber;
  const Deliver deliver;
  const Condition condition;  // empty: everything
  std::atomic<bool> taken{false};
};

class Topics {
 public:
  explicit Topics(std::uint32_t limit) : limit_(limit) {}

  [[nodiscard]] RegistryResult<SubscriptionRef> add(std::string_view topic, Pid subscriber, Deliver deliver,
                                                    Condition condition);
  // The process that had it; nobody if it has ended.
  Pid remove(SubscriptionRef ref);
  // Those of the topic, oldest first.
  [[nodiscard]] std::vector<std::shared_ptr<Subscription>> of(std::string_view topic) const;
  [[nodiscard]] std::size_t count() const;

 private:
  std::uint32_t limit_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::string, std::map<std::uint64_t, std::shared_ptr<Subscription>>, std::less<>> by_topic_;
  boost::unordered_flat_map<std::uint64_t, std::string> topics_;  // by id
};

}  // namespace detail
}  // namespace skein::inline v0
