// Why processes ended whose Exit messages wait in this process's queue. For the process itself.
//
// Reads the queue without taking anything from it; looking for many costs as much as reading the queue once. Valid
// within one handler, while nobody takes messages: call begin() when a new one starts to ask. Where Downs that the
// handler has awaited left the queue, it is read anew.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <utility>

#include "skein/runtime/self.hpp"

namespace skein::inline v0 {

class QueuedExits {
 public:
  void begin() {
    last_ = nullptr;
    reasons_.clear();
  }
  [[nodiscard]] std::optional<ExitReason> find(const detail::Slot& slot, Pid pid) {
    const std::uint32_t sweeps = slot.extension == nullptr ? 0 : slot.extension->sweeps;
    if (std::exchange(sweeps_, sweeps) != sweeps) last_ = nullptr;
    const detail::MessageNode* node = last_ == nullptr ? slot.queue_head : last_->next;
    for (; node != nullptr; node = node->next) {
      last_ = node;
      if (node->kind != detail::MessageKind::exit_signal) continue;
      const auto& exit = detail::payload_as<Exit>(const_cast<detail::MessageNode*>(node));
      reasons_.insert_or_assign(exit.from, exit.reason);
    }
    const auto found = reasons_.find(pid);
    if (found == reasons_.end()) return std::nullopt;
    return found->second;
  }

 private:
  const detail::MessageNode* last_ = nullptr;  // up to here the queue was read
  std::uint32_t sweeps_ = 0;                   // as they were then
  boost::unordered_flat_map<Pid, ExitReason, std::hash<Pid>> reasons_;
};

}  // namespace skein::inline v0
