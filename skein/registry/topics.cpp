#include "skein/registry/topics.hpp"

#include <utility>

namespace skein::inline v0::detail {

bool Subscription::wants(const inspect::PayloadType* type, const void* value) const {
  if (!condition) return true;
  try {
    return condition(type, value);
  } catch (...) {
    return false;
  }
}

RegistryResult<SubscriptionRef> Topics::add(std::string_view topic, Pid subscriber, Deliver deliver,
                                            Condition condition) {
  const std::scoped_lock lock(mutex_);
  if (topics_.size() >= limit_) return registry_limit(RegistryFailure::full, limit_);
  next_ += 2;
  by_topic_[std::string(topic)].emplace(
      next_, std::make_shared<Subscription>(next_, subscriber, deliver, std::move(condition)));
  topics_.emplace(next_, topic);
  return SubscriptionRef{next_};
}

Pid Topics::remove(SubscriptionRef ref) {
  // Destroyed after the lock is gone: a condition may hold anything.
  std::shared_ptr<Subscription> removed;
  const std::scoped_lock lock(mutex_);
  const auto found = topics_.find(ref.id);
  if (found == topics_.end()) return {};
  const auto topic = by_topic_.find(found->second);
  const auto at = topic->second.find(ref.id);
  removed = std::move(at->second);
  topic->second.erase(at);
  if (topic->second.empty()) by_topic_.erase(topic);
  topics_.erase(found);
  return removed->subscriber;
}

std::vector<std::shared_ptr<Subscription>> Topics::of(std::string_view topic) const {
  std::vector<std::shared_ptr<Subscription>> found;
  const std::scoped_lock lock(mutex_);
  const auto at = by_topic_.find(topic);
  if (at == by_topic_.end()) return found;
  found.reserve(at->second.size());
  for (const auto& [id, each] : at->second) found.push_back(each);
  return found;
}

std::size_t Topics::count() const {
  const std::scoped_lock lock(mutex_);
  return topics_.size();
}

}  // namespace skein::inline v0::detail
