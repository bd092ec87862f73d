#include "skein/node/supervision_log.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace skein::inline v0::node {

std::optional<operations::Event> event_of(const SupervisionEvent& event) {
  using Kind = operations::Event::Kind;
  operations::Event told;
  told.name = event.child.empty() ? event.supervisor : event.supervisor + "/" + event.child;
  told.number = event.used;
  switch (event.kind) {
    case EventKind::child_restarted:
      told.kind = Kind::child_restarted;
      break;
    case EventKind::child_start_failed:
    case EventKind::child_retried:
      told.kind = Kind::child_start_failed;
      break;
    case EventKind::child_parked:
      told.kind = Kind::child_parked;
      break;
    case EventKind::intensity_warning:
      told.kind = Kind::intensity_warning;
      break;
    case EventKind::intensity_exceeded:
      told.kind = Kind::intensity_exceeded;
      break;
    default:
      return std::nullopt;
  }
  told.message = event_text(event);
  told.message.erase(0, told.message.find(' ') + 1);  // the level
  return told;
}

void SupervisionLog::count(const SupervisionEvent& event) {
  const std::scoped_lock lock(mutex_);
  figures_.restarts += event.kind == EventKind::child_restarted ? 1 : 0;
  figures_.failed_starts +=
      event.kind == EventKind::child_start_failed || event.kind == EventKind::child_retried ? 1 : 0;
  figures_.parkings += event.kind == EventKind::child_parked ? 1 : 0;
  figures_.intensity_warnings += event.kind == EventKind::intensity_warning ? 1 : 0;
  figures_.gave_up += event.kind == EventKind::intensity_exceeded ? 1 : 0;
}

operations::SupervisionFigures SupervisionLog::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

void SupervisionLog::keep(operations::Event event) {
  const std::scoped_lock lock(mutex_);
  if (kept_.size() == k_kept_max) kept_.pop_front();
  kept_.push_back(std::move(event));
}

std::vector<operations::Event> SupervisionLog::take_kept() {
  const std::scoped_lock lock(mutex_);
  std::vector<operations::Event> all(std::make_move_iterator(kept_.begin()), std::make_move_iterator(kept_.end()));
  kept_.clear();
  return all;
}

}  // namespace skein::inline v0::node
