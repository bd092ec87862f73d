#include "skein/ledger/command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "skein/ledger/codec.hpp"

namespace skein::inline v0::ledger {
namespace {

constexpr std::uint8_t k_verdict_bits = 0x1F;
constexpr std::uint8_t k_has_state = 0x20;
constexpr std::uint8_t k_has_number = 0x40;
constexpr std::uint8_t k_has_task = 0x80;

// The lowest version of a command that knows the operation.
std::uint8_t version_of(Opcode opcode) {
  if (opcode >= Opcode::token_put && opcode <= Opcode::submit_child) return k_command_version;
  if (opcode == Opcode::unpin || opcode == Opcode::submit_placed) return k_placed_command_version;
  return opcode == Opcode::fall_back ? k_fallback_command_version : k_first_command_version;
}

bool is_known(std::uint8_t opcode, std::uint8_t version) {
  const auto between = [opcode](Opcode first, Opcode last) {
    return opcode >= static_cast<std::uint8_t>(first) && opcode <= static_cast<std::uint8_t>(last);
  };
  return (between(Opcode::submit, Opcode::age) || between(Opcode::take_dispatch, Opcode::submit_child) ||
          between(Opcode::fall_back, Opcode::fall_back) || between(Opcode::unpin, Opcode::submit_placed)) &&
         version_of(static_cast<Opcode>(opcode)) <= version;
}

// Flat, with all it calls: it is a few bytes for every operation that is applied, and calls would be most of its cost.
[[gnu::flatten]] void write_result(Writer& w, const OpResult& result) {
  auto head = static_cast<std::uint8_t>(result.verdict);
  if (result.state) head |= k_has_state;
  if (result.number != 0) head |= k_has_number;
  if (!result.task.none()) head |= k_has_task;
  w.byte(head);
  if (result.state) w.byte(static_cast<std::uint8_t>(*result.state));
  if (result.number != 0) w.number(result.number);
  if (!result.task.none()) w.id(result.task);
}

void read_result(Reader& r, OpResult& result) {
  const auto head = r.byte();
  const auto verdict = static_cast<Verdict>(head & k_verdict_bits);
  if (verdict < Verdict::ok || verdict > Verdict::too_deep) return r.fail();
  result.verdict = verdict;
  if ((head & k_has_state) != 0) {
    State state{};
    r.choice(state, State::queued, State::awaiting_approval);
    result.state = state;
  }
  if ((head & k_has_number) != 0) {
    r.number(result.number);
    if (result.number == 0) r.fail();
  }
  if ((head & k_has_task) != 0) r.some_id(result.task);
}

}  // namespace

void begin_command(std::string& out, std::size_t count, std::uint8_t version) {
  Writer w(out);
  w.byte(version);
  w.number(count);
}

std::uint8_t version_of(const Op& op) {
  if (std::holds_alternative<FallBack>(op)) return k_fallback_command_version;
  if (std::holds_alternative<Unpin>(op)) return k_placed_command_version;
  if (std::holds_alternative<TokenPut>(op) || std::holds_alternative<TokenRevoke>(op)) return k_command_version;
  const auto* submit = std::get_if<Submit>(&op);
  if (submit == nullptr) return k_first_command_version;
  if (submit->child_of) return k_command_version;
  return submit->spec.extras.placement ? k_placed_command_version : k_first_command_version;
}

std::string CommandBuilder::take() {
  std::string out;
  out.reserve(bytes());
  begin_command(out, count_, version_);
  out.append(body_);
  body_.clear();
  count_ = 0;
  version_ = k_first_command_version;
  return out;
}

std::string encode_command(std::span<const Op> ops) {
  CommandBuilder builder;
  for (const auto& op : ops) {
    if (!builder.add(op)) throw std::length_error("a command of more than k_ops_max operations");
  }
  return builder.take();
}

std::string encode_command(const Op& op) { return encode_command(std::span(&op, 1)); }

CommandFrames::CommandFrames(std::string_view bytes) {
  Reader r(bytes);
  const auto version = r.byte();
  if (!r.ok() || version == 0) return;
  if (version > k_command_version) {
    throw UnknownEntry(fmt::format("a command of version {}; this program knows up to {}: run a newer skein", version,
                                   k_command_version));
  }
  r.number(count_);
  if (!r.ok() || count_ == 0 || count_ > k_ops_max) return;
  rest_ = bytes.substr(bytes.size() - r.left());
  std::uint8_t unknown = 0;
  std::uint64_t goes_on_with = 0;
  std::uint8_t lowest = k_first_command_version;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto opcode = r.byte();
    const auto body = r.view();
    if (!r.ok()) return;
    if (opcode == static_cast<std::uint8_t>(Opcode::ledger_version)) {
      const auto op = decode_op({Opcode::ledger_version, body});
      if (op) goes_on_with = std::max(goes_on_with, std::get<LedgerVersion>(*op).version);
    }
    lowest = std::max(lowest, version_of(static_cast<Opcode>(opcode)));
    if (!is_known(opcode, version) && unknown == 0) unknown = opcode == 0 ? 0xFF : opcode;
  }
  if (!r.done()) return;
  // Only a frame that is whole can be from a newer program; a broken one is refused by every version alike.
  if (unknown != 0) throw UnknownEntry(fmt::format("unknown operation {}: run a newer skein", unknown));
  ok_ = version == lowest;
  if (ok_ && goes_on_with > k_ledger_version) {
    throw UnknownEntry(fmt::format("the ledger goes on with version {}; this program knows up to {}: run a newer skein",
                                   goes_on_with, k_ledger_version));
  }
}

OpFrame CommandFrames::next() {
  Reader r(rest_);
  OpFrame frame;
  frame.opcode = static_cast<Opcode>(r.byte());
  frame.body = r.view();
  rest_ = rest_.substr(rest_.size() - r.left());
  return frame;
}

std::optional<std::vector<std::optional<Op>>> decode_command(std::string_view bytes) {
  std::vector<std::optional<Op>> ops;
  if (!for_each_op(bytes, [&ops](std::optional<Op> op) { ops.push_back(std::move(op)); })) return std::nullopt;
  return ops;
}

void append_result(std::string& out, const OpResult& result) {
  Writer w(out);
  write_result(w, result);
}

[[gnu::flatten]] void begin_results(std::string& out, std::size_t count) {
  Writer w(out);
  w.byte(k_answer_version);
  w.number(count);
}

std::optional<std::vector<OpResult>> decode_results(std::string_view bytes) {
  Reader r(bytes);
  if (r.byte() != k_answer_version) return std::nullopt;
  std::vector<OpResult> results;
  r.list(results, k_ops_max, [](Reader& each, OpResult& result) { read_result(each, result); });
  if (!r.done()) return std::nullopt;
  return results;
}

std::string_view name_of(RequeueReason reason) {
  switch (reason) {
    case RequeueReason::agent_crash:
      return "agent_crash";
    case RequeueReason::lease_expired:
      return "lease_expired";
    case RequeueReason::returned:
      return "handed_back";
    case RequeueReason::preempted:
      return "preempted";
    case RequeueReason::node_crash:
      return "node_crash";
  }
  return "unknown";
}

std::string_view name_of(FallbackCause cause) {
  switch (cause) {
    case FallbackCause::reported:
      return "reported";
    case FallbackCause::agent_crash:
      return "agent_crash";
    case FallbackCause::lease_expired:
      return "lease_expired";
    case FallbackCause::node_crash:
      return "node_crash";
  }
  return "unknown";
}

std::string_view name_of(SwarmState state) {
  switch (state) {
    case SwarmState::active:
      return "active";
    case SwarmState::paused:
      return "paused";
    case SwarmState::draining:
      return "draining";
    case SwarmState::stopped:
      return "stopped";
    case SwarmState::removed:
      return "removed";
  }
  return "unknown";
}

std::string_view name_of(Breaker breaker) {
  switch (breaker) {
    case Breaker::closed:
      return "closed";
    case Breaker::open:
      return "open";
    case Breaker::half_open:
      return "half_open";
  }
  return "unknown";
}

std::string_view name_of(Verdict verdict) {
  static constexpr std::string_view k_names[] = {"unknown",          "ok",
                                                 "accepted_before",  "existing",
                                                 "malformed",        "too_large",
                                                 "no_such_task",     "no_such_swarm",
                                                 "no_such_agent",    "no_such_dependency",
                                                 "duplicate_id",     "queue_full",
                                                 "ledger_full",      "archive_behind",
                                                 "swarm_closed",     "swarm_busy",
                                                 "already_finished", "wrong_state",
                                                 "stale_fence",      "stale_epoch",
                                                 "not_due",          "old_version",
                                                 "pinned",           "name_taken",
                                                 "no_such_token",    "too_many_children",
                                                 "too_deep"};
  const auto n = static_cast<std::size_t>(verdict);
  return n < std::size(k_names) ? k_names[n] : k_names[0];
}

}  // namespace skein::inline v0::ledger
