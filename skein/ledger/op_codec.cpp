// The bodies of operations: one description each, for writing and for reading.
#include <algorithm>
#include <array>
#include <type_traits>

#include "skein/ledger/codec.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/describe.hpp"

namespace skein::inline v0::ledger {
namespace {

constexpr std::size_t k_opcodes = 64;  // places for readers; the numbers are below this

template <class Op>
struct Layout;

template <>
struct Layout<Submit> {
  static constexpr Opcode k_opcode = Opcode::submit;
  static void fields(auto& c, auto& op) {
    c.some_id(op.id);
    c.number(op.at);
    c.text(op.spec.swarm);
    c.text(op.spec.type);
    c.list(op.spec.capabilities, k_any_count, [](auto& each, auto& name) { each.text(name); });
    c.body(op.spec.params);
    describe_priority(c, op.spec.priority);
    c.number(op.spec.attempts_max);
    c.number(op.spec.timeout_ms);
    c.number(op.spec.not_before);
    c.number(op.spec.deadline_at);
    describe_extras(c, op.spec.extras);
  }
};

template <>
struct Layout<Unpin> {
  static constexpr Opcode k_opcode = Opcode::unpin;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.some_id(op.task);
    c.number(op.at);
  }
};

template <>
struct Layout<Assign> {
  static constexpr Opcode k_opcode = Opcode::assign;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.some_id(op.task);
    c.text(op.agent);
    c.number(op.at);
  }
};

template <>
struct Layout<Start> {
  static constexpr Opcode k_opcode = Opcode::start;
  static void fields(auto& c, auto& op) {
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
  }
};

template <>
struct Layout<Progress> {
  static constexpr Opcode k_opcode = Opcode::progress;
  static void fields(auto& c, auto& op) {
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
    c.body(op.mark);
  }
};

template <>
struct Layout<Complete> {
  static constexpr Opcode k_opcode = Opcode::complete;
  static void fields(auto& c, auto& op) {
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
    c.body(op.result);
  }
};

template <>
struct Layout<Fail> {
  static constexpr Opcode k_opcode = Opcode::fail;
  static void fields(auto& c, auto& op) {
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
    c.choice(op.error, ErrorClass::transient, ErrorClass::crash);
    c.number(op.retry_at);
    c.text(op.message);
  }
};

template <>
struct Layout<Requeue> {
  static constexpr Opcode k_opcode = Opcode::requeue;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
    c.choice(op.reason, RequeueReason::agent_crash, RequeueReason::node_crash);
    c.number(op.not_before);
    c.flag(op.front);
  }
};

template <>
struct Layout<Cancel> {
  static constexpr Opcode k_opcode = Opcode::cancel;
  static void fields(auto& c, auto& op) {
    c.some_id(op.task);
    c.number(op.at);
    c.text(op.reason);
  }
};

template <>
struct Layout<Retry> {
  static constexpr Opcode k_opcode = Opcode::retry;
  static void fields(auto& c, auto& op) {
    c.some_id(op.old_task);
    c.some_id(op.new_task);
    c.number(op.at);
  }
};

template <>
struct Layout<Expire> {
  static constexpr Opcode k_opcode = Opcode::expire;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.some_id(op.task);
    c.number(op.at);
  }
};

template <>
struct Layout<Age> {
  static constexpr Opcode k_opcode = Opcode::age;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.list(op.priorities, k_ages_max, [](auto& each, auto& pair) {
      each.some_id(pair.first);
      each.number(pair.second);
    });
  }
};

template <>
struct Layout<FallBack> {
  static constexpr Opcode k_opcode = Opcode::fall_back;
  static void fields(auto& c, auto& op) {
    c.number(op.epoch);
    c.some_id(op.task);
    c.number(op.fence);
    c.number(op.at);
    c.choice(op.cause, FallbackCause::reported, FallbackCause::node_crash);
    c.choice(op.error, ErrorClass::transient, ErrorClass::crash);
    c.number(op.retry_at);
    c.text(op.message);
    c.text(op.to);
  }
};

template <>
struct Layout<TakeDispatch> {
  static constexpr Opcode k_opcode = Opcode::take_dispatch;
  static void fields(auto& c, auto& op) {
    c.text(op.node);
    c.number(op.at);
  }
};

template <>
struct Layout<SwarmPut> {
  static constexpr Opcode k_opcode = Opcode::swarm_put;
  static void fields(auto& c, auto& op) {
    c.text(op.name);
    c.choice(op.origin, Origin::api, Origin::config);
    c.fields(op.definition);
  }
};

template <>
struct Layout<SwarmOverride> {
  static constexpr Opcode k_opcode = Opcode::swarm_override;
  static void fields(auto& c, auto& op) {
    c.text(op.name);
    c.fields(op.fields);
  }
};

template <>
struct Layout<SwarmDropOverrides> {
  static constexpr Opcode k_opcode = Opcode::swarm_drop_overrides;
  static void fields(auto& c, auto& op) { c.text(op.name); }
};

template <>
struct Layout<SwarmSetState> {
  static constexpr Opcode k_opcode = Opcode::swarm_set_state;
  static void fields(auto& c, auto& op) {
    c.text(op.name);
    c.choice(op.state, SwarmState::active, SwarmState::removed);
  }
};

template <>
struct Layout<SwarmSetBreaker> {
  static constexpr Opcode k_opcode = Opcode::swarm_set_breaker;
  static void fields(auto& c, auto& op) {
    c.text(op.name);
    c.choice(op.breaker, Breaker::closed, Breaker::half_open);
    c.number(op.until);
  }
};

template <>
struct Layout<SwarmRemove> {
  static constexpr Opcode k_opcode = Opcode::swarm_remove;
  static void fields(auto& c, auto& op) { c.text(op.name); }
};

template <>
struct Layout<AgentPut> {
  static constexpr Opcode k_opcode = Opcode::agent_put;
  static void fields(auto& c, auto& op) {
    c.text(op.name);
    c.fields(op.fields);
  }
};

template <>
struct Layout<AgentRemove> {
  static constexpr Opcode k_opcode = Opcode::agent_remove;
  static void fields(auto& c, auto& op) { c.text(op.name); }
};

template <>
struct Layout<EvictKeys> {
  static constexpr Opcode k_opcode = Opcode::evict_keys;
  static void fields(auto& c, auto& op) {
    c.number(op.before);
    c.number(op.at_most);
  }
};

template <>
struct Layout<Archived> {
  static constexpr Opcode k_opcode = Opcode::archived;
  static void fields(auto& c, auto& op) { c.number(op.up_to); }
};

template <>
struct Layout<SetLimits> {
  static constexpr Opcode k_opcode = Opcode::set_limits;
  static void fields(auto& c, auto& op) { describe_limits(c, op.limits); }
};

template <>
struct Layout<LedgerVersion> {
  static constexpr Opcode k_opcode = Opcode::ledger_version;
  static void fields(auto& c, auto& op) { c.number(op.version); }
};

template <>
struct Layout<TokenPut> {
  static constexpr Opcode k_opcode = Opcode::token_put;
  static void fields(auto& c, auto& op) {
    describe_token(c, op.token);
    describe_digest(c, op.was);
  }
};

template <>
struct Layout<TokenRevoke> {
  static constexpr Opcode k_opcode = Opcode::token_revoke;
  static void fields(auto& c, auto& op) { c.text(op.name); }
};

template <class C>
void describe_child_of(C& c, auto& child) {
  c.some_id(child.task);
  c.number(child.fence);
  c.number(child.depth_max);
  c.number(child.children_max);
}

template <class T>
std::optional<Op> read_body(std::string_view body) {
  std::optional<Op> op(std::in_place, std::in_place_type<T>);
  Reader r(body);
  Layout<T>::fields(r, std::get<T>(*op));
  if (!r.done()) op.reset();
  return op;
}

// A submit and where its task should run.
std::optional<Op> read_placed(std::string_view body) {
  Submit op;
  Placement where;
  Reader r(body);
  Layout<Submit>::fields(r, op);
  describe_placement(r, where);
  if (!r.done()) return std::nullopt;
  op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
  return op;
}

// A submit, where its task should run if it says so, and who submits it.
std::optional<Op> read_child(std::string_view body) {
  Submit op;
  Reader r(body);
  Layout<Submit>::fields(r, op);
  bool is_placed = false;
  r.flag(is_placed);
  if (is_placed) {
    Placement where;
    describe_placement(r, where);
    op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
  }
  ChildOf child;
  describe_child_of(r, child);
  if (!r.done()) return std::nullopt;
  op.child_of = std::make_shared<const ChildOf>(child);
  return op;
}

// What follows the fields of a submit that is more than those.
void write_rest(Writer& w, const Submit& op) {
  const Placement* where = op.spec.extras.placement.get();
  if (op.child_of) w.flag(where != nullptr);
  if (where != nullptr) describe_placement(w, *where);
  if (op.child_of) describe_child_of(w, *op.child_of);
}

Opcode opcode_of(const Submit& op) {
  if (op.child_of) return Opcode::submit_child;
  return op.spec.extras.placement ? Opcode::submit_placed : Opcode::submit;
}

// By opcode, the reader of its body; null where there is none.
template <class... T>
constexpr auto readers_of(std::type_identity<std::variant<T...>>) {
  std::array<std::optional<Op> (*)(std::string_view), k_opcodes> readers{};
  ((readers[static_cast<std::size_t>(Layout<T>::k_opcode)] = &read_body<T>), ...);
  readers[static_cast<std::size_t>(Opcode::submit_placed)] = &read_placed;
  readers[static_cast<std::size_t>(Opcode::submit_child)] = &read_child;
  return readers;
}
constexpr auto k_readers = readers_of(std::type_identity<Op>{});

}  // namespace

void append_op(std::string& out, const Op& op) {
  std::visit(
      [&out]<class T>(const T& each) {
        Writer w(out);
        Opcode opcode = Layout<T>::k_opcode;
        if constexpr (std::is_same_v<T, Submit>) opcode = opcode_of(each);
        w.byte(static_cast<std::uint8_t>(opcode));
        // The length comes first and is mostly one byte: a place is kept for that, and widened where it is more.
        const std::size_t at = out.size();
        w.byte(0);
        Layout<T>::fields(w, each);
        if constexpr (std::is_same_v<T, Submit>) write_rest(w, each);
        const std::size_t length = out.size() - at - 1;
        if (length < 0x80U) {
          out[at] = static_cast<char>(length);
          return;
        }
        std::string varint;
        Writer(varint).number(length);
        out.replace(at, 1, varint);
      },
      op);
}

bool CommandBuilder::add(const Op& op) {
  if (count_ == k_ops_max) return false;
  append_op(body_, op);
  version_ = std::max(version_, version_of(op));
  ++count_;
  return true;
}

std::optional<Op> decode_op(const OpFrame& frame) {
  const auto n = static_cast<std::size_t>(frame.opcode);
  if (n >= k_readers.size() || k_readers[n] == nullptr) return std::nullopt;
  return k_readers[n](frame.body);
}

}  // namespace skein::inline v0::ledger
