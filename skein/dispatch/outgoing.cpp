#include "skein/dispatch/outgoing.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::dispatch {

std::uint64_t Outgoing::add(const OpRef& ref, const ledger::Op& op, bool is_completion, std::size_t bytes) {
  if (builder_.count() > 0 && (builder_.count() >= ops_per_command_ || builder_.bytes() + bytes > command_bytes_)) {
    seal_command();
    if (open_.bytes + bytes > append_bytes_) seal_append();
  }
  if (open_.append.id == 0) open_.append.id = next_id_++;
  builder_.add(op);
  open_.refs.push_back(ref);
  open_.has_completion |= is_completion;
  return open_.append.id;
}

void Outgoing::seal_command() {
  open_.bytes += builder_.bytes();
  open_.append.commands.push_back(builder_.take());
}

void Outgoing::seal_append() {
  open_.append.urgency = open_.has_completion ? journal::Urgency::completion : journal::Urgency::ordinary;
  queued_.push_back(std::exchange(open_, Gathering{}));
}

void Outgoing::take_ready(std::vector<Append>& out) {
  if (builder_.count() > 0) {
    const bool is_completion = open_.has_completion || !queued_.empty();
    const std::size_t room = is_completion ? in_flight_max_ : (in_flight_max_ + 1) / 2;
    if (in_flight_.size() < room) {
      seal_command();
      seal_append();
    }
  }
  while (!queued_.empty() && in_flight_.size() < in_flight_max_) {
    Gathering& first = queued_.front();
    in_flight_.push_back({first.append.id, std::move(first.refs)});
    out.push_back(std::move(first.append));
    queued_.pop_front();
  }
}

std::vector<OpRef> Outgoing::answered(std::uint64_t id) {
  const auto at = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const auto& each) { return each.id == id; });
  if (at == in_flight_.end()) return {};
  std::vector<OpRef> refs = std::move(at->refs);
  in_flight_.erase(at);
  return refs;
}

void Outgoing::drop_queued() {
  queued_.clear();
  open_ = Gathering{};
  (void)builder_.take();
}

}  // namespace skein::inline v0::dispatch
