#include "sim/dispatch_words.hpp"

#include <fmt/format.h>

#include "skein/base/time_text.hpp"

namespace skein::sim {
namespace {

using dispatch::StopReason;

std::string_view word_of(StopReason why) {
  switch (why) {
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::timed_out:
      return "timed_out";
    case StopReason::yield:
      return "yield";
    case StopReason::stale:
      return "stale";
    case StopReason::return_unbegun:
      return "take_back";
  }
  return "unknown";
}

std::string_view word_of(ledger::TaskQueued::Why why) {
  using enum ledger::TaskQueued::Why;
  switch (why) {
    case submitted:
      return "submitted";
    case unblocked:
      return "unblocked";
    case failed_attempt:
      return "failed_attempt";
    case requeued:
      return "requeued";
    case retried:
      return "retried";
    case fell_back:
      return "handed_on";
    case unpinned:
      return "unpinned";
  }
  return "unknown";
}

// "in 5s"; "now" for what is not later.
std::string from_now(ledger::WallMs at, const DispatchNames& names) {
  if (at <= names.wall) return "now";
  return "in " + time_text(std::chrono::milliseconds(at - names.wall));
}

std::string colon(std::string_view text) { return text.empty() ? "" : fmt::format(": {}", text); }

// What an attempt's end says about the next one.
std::string again(ledger::WallMs at, bool to_front, const DispatchNames& names) {
  if (at != 0) return ", again " + from_now(at, names);
  return to_front ? ", to the front" : "";
}

// One overload per operation that the dispatcher appends.
struct OpWords {
  const DispatchNames& names;

  std::string operator()(const ledger::Assign& op) const {
    return fmt::format("assign {} -> {}", names.task(op.task), op.agent);
  }
  std::string operator()(const ledger::Start& op) const {
    return fmt::format("start {} (fence {})", names.task(op.task), op.fence);
  }
  std::string operator()(const ledger::Progress& op) const {
    return fmt::format("progress {} (fence {}): {}", names.task(op.task), op.fence, ledger::view_of(op.mark));
  }
  std::string operator()(const ledger::Complete& op) const {
    return fmt::format("complete {} (fence {})", names.task(op.task), op.fence);
  }
  std::string operator()(const ledger::Fail& op) const {
    return fmt::format("fail {} (fence {}, {}{}){}", names.task(op.task), op.fence, ledger::name_of(op.error),
                       again(op.retry_at, false, names), colon(op.message));
  }
  std::string operator()(const ledger::Requeue& op) const {
    return fmt::format("requeue {} (fence {}, {}{})", names.task(op.task), op.fence, ledger::name_of(op.reason),
                       again(op.not_before, op.front, names));
  }
  std::string operator()(const ledger::FallBack& op) const {
    return fmt::format(
        "hand_on {} -> swarm {} (fence {}, {}){}", names.task(op.task), op.to, op.fence,
        op.cause == ledger::FallbackCause::reported ? ledger::name_of(op.error) : ledger::name_of(op.cause),
        colon(op.message));
  }
  std::string operator()(const ledger::Unpin& op) const { return "unpin " + names.task(op.task); }
  std::string operator()(const ledger::Expire& op) const { return "expire " + names.task(op.task); }
  std::string operator()(const ledger::Age& op) const {
    std::string text = "age";
    for (const auto& [task, priority] : op.priorities) {
      text += fmt::format("{}{} to {}", text == "age" ? " " : ", ", names.task(task), priority_word(priority));
    }
    return text;
  }
  template <class T>
  std::string operator()(const T&) const {
    return fmt::format("an operation that this text does not know (kind {})", ledger::Op(T{}).index());
  }
};

}  // namespace

std::string_view priority_word(std::uint16_t priority) {
  switch (priority) {
    case ledger::k_low:
      return "low";
    case ledger::k_normal:
      return "normal";
    case ledger::k_high:
      return "high";
    case ledger::k_critical:
      return "critical";
    default:
      return "unknown";
  }
}

std::string words_of(const ledger::Op& op, const DispatchNames& names) { return std::visit(OpWords{names}, op); }

std::vector<std::string> words_of(const dispatch::Orders& orders, const DispatchNames& names) {
  std::vector<std::string> lines;
  const auto name = [&](dispatch::TaskRef ref) { return names.task_numbered(ref.number); };
  if (orders.announce) lines.emplace_back("announce yourself");
  if (orders.full) lines.emplace_back(orders.run.empty() ? "hold nothing" : "hold only what follows");
  for (const auto& order : orders.run) {
    const std::string mark = order.mark ? fmt::format(", from mark {}", *order.mark) : "";
    lines.push_back(fmt::format("run {} (fence {}, attempt {}, timeout {}{})", names.task(order.id), order.ref.fence,
                                order.attempt, time_text(order.timeout), mark));
  }
  for (const auto& stop : orders.stop) {
    lines.push_back(fmt::format("stop {} (fence {}, {})", name(stop.ref), stop.ref.fence, word_of(stop.why)));
  }
  for (const auto ref : orders.settled) lines.push_back(fmt::format("settled {} (fence {})", name(ref), ref.fence));
  for (const auto ref : orders.ask_again) lines.push_back(fmt::format("say again {} (fence {})", name(ref), ref.fence));
  return lines;
}

std::string words_of(const dispatch::DispatchEvent& event, const DispatchNames& names) {
  std::string text = fmt::format("{} {}", dispatch::name_of(event.kind), event.subject);
  if (!event.type.empty()) text += "/" + event.type;
  if (event.task != 0) text += " " + names.task_numbered(event.task);
  if (event.until != 0) text += ", until " + from_now(event.until, names);
  return text + colon(event.detail);
}

std::string words_of(const ledger::Change& change, const DispatchNames& names) {
  if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) {
    if (queued->why == ledger::TaskQueued::Why::submitted) return {};
    const std::string when =
        queued->task.not_before > names.wall ? ", may run " + from_now(queued->task.not_before, names) : std::string();
    return fmt::format("{} is queued in {} ({}{})", names.task(queued->task.id), queued->task.shape->swarm,
                       word_of(queued->why), when);
  }
  if (const auto* ended = std::get_if<ledger::TaskFinished>(&change)) {
    const ledger::FinishedTask& task = *ended->finished;
    if (task.ending == ledger::Ending::completed) return names.task(task.task.id) + " is completed";
    return fmt::format("{} is {} ({}){}", names.task(task.task.id), ledger::name_of(task.task.state),
                       ledger::name_of(task.ending), colon(task.message));
  }
  return {};
}

}  // namespace skein::sim
