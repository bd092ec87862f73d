// Operations on their way to the journal: put together into commands, commands into appends, and remembered until the
// append is answered. Bounded: so many appends may be under way, and operations other than completions may use half of
// them. What is appended meanwhile gathers for the next one, at most a start, a mark and an end per open task. A value;
// one thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::dispatch {

// To be appended until it is applied; `id` names it in on_applied().
struct Append {
  std::uint64_t id = 0;
  std::vector<std::string> commands;
  journal::Urgency urgency = journal::Urgency::ordinary;
};

enum class OpKind : std::uint8_t {
  assign,
  complete,
  end,       // of a run or of what the task waits for: a failure, a requeue, a fallback, an expiry, an unpinning
  progress,  // changes nothing about what the task waits for
  other,
};

// An operation, and the task whose change shows that it was done.
struct OpRef {
  std::uint32_t slot = UINT32_MAX;
  OpKind kind = OpKind::other;
  ledger::TaskNumber number = 0;
};

class Outgoing {
 public:
  explicit Outgoing(const DispatcherOptions& options)
      : in_flight_max_(options.appends_in_flight),
        ops_per_command_(options.ops_per_command),
        command_bytes_(options.command_bytes),
        append_bytes_(options.append_bytes) {}

  // Returns the number of its append. `bytes` is about how long it will be.
  std::uint64_t add(const OpRef& ref, const ledger::Op& op, bool is_completion, std::size_t bytes = 64);

  // An operation on the task, which then waits for its append unless it is only a note (progress, other).
  template <class T>
  void add_for(TaskRecord& task, SlotNumber slot, OpKind kind, T&& op, bool is_completion) {
    const std::size_t bytes = about_bytes(op);
    const std::uint64_t id = add({slot, kind, task.number}, ledger::Op(std::forward<T>(op)), is_completion, bytes);
    if (kind != OpKind::other && kind != OpKind::progress) task.batch = id;
  }

  // Whether what is no completion would be appended at once.
  [[nodiscard]] bool has_room() const { return queued_.empty() && in_flight_.size() < (in_flight_max_ + 1) / 2; }
  // Whether what is added next goes into this append.
  [[nodiscard]] bool is_gathering(std::uint64_t id) const { return open_.append.id == id; }
  // Adds the appends that may be made to `out`; they are then under way.
  void take_ready(std::vector<Append>& out);
  // The operations of an append, which is no longer under way; none when it is not known.
  [[nodiscard]] std::vector<OpRef> answered(std::uint64_t id);
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
  // Drops what was not taken. What is under way stays, so that its answers count.
  void drop_queued();

 private:
  struct Gathering {
    Append append;
    std::vector<OpRef> refs;
    std::size_t bytes = 0;
    bool has_completion = false;
  };
  struct InFlight {
    std::uint64_t id = 0;
    std::vector<OpRef> refs;
  };
  template <class T>
  [[nodiscard]] static std::size_t about_bytes(const T& op) {
    if constexpr (std::same_as<T, ledger::Op>) {
      return std::visit([](const auto& each) { return about_bytes(each); }, op);
    } else {
      std::size_t bytes = 64;
      if constexpr (requires { op.result; }) bytes += ledger::view_of(op.result).size();
      if constexpr (requires { op.message; }) bytes += op.message.size();
      if constexpr (requires { op.mark; }) bytes += ledger::view_of(op.mark).size();
      return bytes;
    }
  }
  void seal_command();
  void seal_append();

  std::size_t in_flight_max_;
  std::size_t ops_per_command_;
  std::size_t command_bytes_;
  std::size_t append_bytes_;
  std::uint64_t next_id_ = 1;
  ledger::CommandBuilder builder_;
  Gathering open_;
  std::deque<Gathering> queued_;
  std::vector<InFlight> in_flight_;
};

}  // namespace skein::inline v0::dispatch
