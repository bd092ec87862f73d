#include "skein/runtime/self.hpp"

#include "skein/runtime/core.hpp"

namespace skein::inline v0 {

using detail::MessageKind;
using detail::MessageNode;

void Self::link(Pid other) const {
  const Pid self = pid();
  if (other == self || !other || has_link(*slot_, other)) return;
  // Linking again before an unlink was acknowledged: that acknowledgement no longer counts.
  if (slot_->extension != nullptr) slot_->extension->unlinks.erase(other.bits());
  add_link(*slot_, other);
  MessageNode* node = detail::make_node(MessageKind::link, Pid(other));
  node->from = self;
  detail::deliver(*core_, other, node);
}

void Self::unlink(Pid other) const {
  if (!remove_link(*slot_, other)) return;
  const std::uint64_t id = ++slot_->next_ref;
  MessageNode* node = detail::make_node(MessageKind::unlink, Pid(other));
  node->from = pid();
  node->ref = id;
  extend(*slot_).unlinks[other.bits()] = id;
  // Nobody there acknowledges: nothing to wait for.
  if (detail::deliver(*core_, other, node) == SendResult::noproc) slot_->extension->unlinks.erase(other.bits());
}

MonitorRef Self::monitor(Pid other) const {
  const std::uint64_t ref = ++slot_->next_ref;
  add_monitor(*slot_, ref, other);
  MessageNode* node = detail::make_node(MessageKind::monitor, Pid(other));
  node->from = pid();
  node->ref = ref;
  detail::deliver(*core_, other, node);
  return MonitorRef{ref};
}

void Self::demonitor(MonitorRef ref) const {
  // Its Down may be in the queue already: nobody shall get it.
  [[maybe_unused]] const auto queued = detail::take_queued_down(*slot_, ref.id);
  const Pid other = remove_monitor(*slot_, ref.id);
  if (!other) return;
  MessageNode* node = detail::new_node(MessageKind::demonitor);
  node->from = pid();
  node->ref = ref.id;
  detail::deliver(*core_, other, node);
}

void Self::exit(Pid other, ExitReason reason) const {
  const Pid self = pid();
  MessageNode* node = detail::make_node(MessageKind::exit_signal, Exit{self, std::move(reason)});
  node->from = self;
  detail::deliver(*core_, other, node);
}

void Self::stop(ExitReason reason) const { detail::request_exit(*slot_, std::move(reason), true); }

bool Self::register_name(std::string_view name) const {
  if (name.empty()) return false;
  detail::Extension& extension = extend(*slot_);
  if (!extension.name.empty()) return false;
  const Pid self = pid();
  if (core_->names.claim(name, self) != self) return false;
  extension.name = name;
  return true;
}

void Self::unregister_name() const {
  if (slot_->extension == nullptr || slot_->extension->name.empty()) return;
  core_->names.release(slot_->extension->name, pid());
  slot_->extension->name.clear();
}

}  // namespace skein::inline v0
