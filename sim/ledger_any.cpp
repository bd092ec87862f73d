// Any sequence of operations of every kind, several in one command, on a ledger whose snapshots must lead to the same
// state; see ledger_model.hpp. Nothing here says what an operation must answer, only that all ledgers answer alike.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/ledger_model.hpp"
#include "skein/base/random.hpp"
#include "skein/ledger/invariants.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {
namespace {

using namespace ledger;

constexpr std::uint64_t k_any_ids = 12;
constexpr std::uint64_t k_ops_at_once = 4;
constexpr double k_twin_chance = 0.05;

TaskId any_id(Random& random) { return {5, 1 + random.below(k_any_ids)}; }

std::string any_swarm(Random& random) {
  constexpr const char* k_names[] = {"default", "default", "one", "two", "three"};
  return k_names[random.below(std::size(k_names))];
}

Fields any_fields(Random& random) {
  Fields fields;
  if (random.chance(0.3)) fields["open_tasks"] = std::to_string(random.below(6));
  if (random.chance(0.2)) fields["open_bytes"] = random.chance(0.2) ? "some" : std::to_string(random.below(9'000));
  if (random.chance(0.3)) fields["fallback"] = any_swarm(random);
  if (random.chance(0.2)) fields["colour"] = random.chance(0.3) ? "" : "red";
  return fields;
}

Limits any_limits(Random& random) {
  Limits limits;
  if (random.chance(0.2)) return limits;
  limits.open_tasks = random.below(14);
  limits.swarm_tasks = random.below(8);
  limits.finished_tasks = 1 + random.below(20);
  limits.keys = random.below(6);
  limits.history = 1 + random.below(4);
  limits.deliveries = random.below(5);
  limits.message_bytes = random.chance(0.3) ? random.below(40) : 4096;
  limits.mark_bytes = random.below(10);
  limits.swarms = 1 + random.below(5);
  limits.agents = random.below(4);
  return limits;
}

// Chooses operations that mostly fit: fences, epochs and ids are those of the ledger, now and then a little off.
class AnyOps {
 public:
  AnyOps(Random& random, const Ledger& ledger) : random_(random), ledger_(ledger) {}

  Op next(WallMs now) {
    now_ = now;
    constexpr std::uint64_t k_of_tasks = 4;  // so much more often than all others together
    return random_.below(k_of_tasks + 1) != 0 ? of_task() : of_node();
  }

 private:
  Op of_task() {
    const TaskId id = any_id(random_);
    const Fence fence = fence_of(id);
    switch (random_.below(15)) {
      case 0:
      case 1:
        return submit(id);
      case 2:
      case 3:
      case 4:
        return Assign{epoch(), id, random_.chance(0.5) ? "ada" : "bob", now_};
      case 5:
        return Start{id, fence, now_};
      case 6:
        return Progress{id, fence, now_, body_of(std::string(random_.below(12), 'm'))};
      case 7:
        return Complete{id, fence, now_, body_of(std::string(random_.below(30), 'r'))};
      case 8:
        return Fail{id, fence, now_, any_error(), now_ + random_.below(9), words()};
      case 9:
        return requeue(id, fence);
      case 10:
        return fall_back(id, fence);
      case 11:
        return random_.chance(0.5) ? Op(Cancel{id, now_, words()}) : Op(Expire{epoch(), id, now_});
      case 12:
        return Retry{id, any_id(random_), now_};
      case 13:
        return Unpin{epoch(), id, now_};
      default:
        return Age{epoch(), {{id, k_high}, {any_id(random_), k_critical}}};
    }
  }

  Op of_node() {
    const std::string swarm = any_swarm(random_);
    switch (random_.below(16)) {
      case 0:
        return TakeDispatch{"node", now_};
      case 1:
        return LedgerVersion{1 + random_.below(k_ledger_version)};
      case 2:
      case 3:
        return SwarmPut{swarm, static_cast<Origin>(1 + random_.below(2)), any_fields(random_)};
      case 4:
        return SwarmOverride{swarm, any_fields(random_)};
      case 5:
        return SwarmDropOverrides{random_.chance(0.5) ? swarm : ""};
      case 6:
        return SwarmSetState{swarm, random_.chance(0.6) ? SwarmState::active : any_state()};
      case 7:
        return SwarmSetBreaker{swarm, random_.chance(0.6) ? Breaker::closed : Breaker::open, now_ + 9};
      case 8:
        return SwarmRemove{swarm};
      case 9:
        return AgentPut{random_.chance(0.5) ? "ada" : "bob", any_fields(random_)};
      case 10:
        return AgentRemove{random_.chance(0.5) ? "ada" : "bob"};
      case 11:
        return EvictKeys{now_ - std::min<WallMs>(now_, random_.below(100)), random_.below(4)};
      case 12:
        return Archived{ledger_.counters().archived_up_to + random_.below(4)};
      case 13:
        return token();
      case 14:
        return TokenRevoke{random_.chance(0.5) ? "one" : "two"};
      default:
        return SetLimits{any_limits(random_)};
    }
  }

  Op submit(TaskId id) {
    Submit op;
    op.id = id;
    op.at = now_;
    op.spec.swarm = any_swarm(random_);
    op.spec.type = random_.chance(0.8) ? "t" : "u";
    if (random_.chance(0.2)) op.spec.capabilities = {"c", "d"};
    op.spec.params = body_of(std::string(random_.below(60), 'p'));
    op.spec.attempts_max = static_cast<std::uint32_t>(random_.below(4));
    if (random_.chance(0.4)) op.spec.extras.key = fmt::format("k{}", random_.below(5));
    if (random_.chance(0.2)) op.spec.extras.trace = "trace";
    if (random_.chance(0.3)) op.spec.extras.placement = placement();
    while (random_.chance(0.3)) op.spec.extras.dependencies.push_back(any_id(random_));
    if (random_.chance(0.2)) op.spec.deadline_at = now_ + random_.below(20);
    if (random_.chance(0.2)) op.spec.not_before = now_ + random_.below(20);
    if (random_.chance(0.3)) {
      const TaskId parent = any_id(random_);
      op.child_of = std::make_shared<const ChildOf>(ChildOf{parent, random_.chance(0.3) ? 0 : fence_of(parent),
                                                            static_cast<std::uint32_t>(random_.below(5)),
                                                            static_cast<std::uint32_t>(random_.below(5))});
    }
    return op;
  }

  Op token() {
    TokenPut op;
    op.token.name = random_.chance(0.5) ? "one" : "two";
    op.token.secret[0] = static_cast<std::uint8_t>(1 + random_.below(3));
    op.token.rank = static_cast<Rank>(1 + random_.below(3));
    op.token.expires_at = random_.below(2) * (now_ + 5);
    if (random_.chance(0.3)) op.token.bounds = {any_id(random_), "one", 2, 3};
    if (random_.chance(0.6)) op.was[0] = static_cast<std::uint8_t>(1 + random_.below(3));
    return op;
  }

  // Now and then one that makes no sense.
  std::shared_ptr<const Placement> placement() {
    Placement where;
    if (random_.chance(0.7)) where.agent = random_.chance(0.5) ? "ada" : "bob";
    if (random_.chance(0.5)) where.route_key = random_.chance(0.1) ? std::string(300, 'r') : "customer";
    if (random_.chance(0.5)) where.fallback = static_cast<AgentFallback>(random_.below(3));
    if (random_.chance(0.3)) where.wait_ms = random_.below(1'000);
    return std::make_shared<const Placement>(std::move(where));
  }

  Op requeue(TaskId id, Fence fence) {
    const auto reason = static_cast<RequeueReason>(1 + random_.below(5));
    return Requeue{epoch(), id, fence, now_, reason, 0, random_.chance(0.5)};
  }
  Op fall_back(TaskId id, Fence fence) {
    const auto cause = static_cast<FallbackCause>(1 + random_.below(4));
    return FallBack{epoch(), id, fence, now_, cause, any_error(), now_ + 5, words(), any_swarm(random_)};
  }

  [[nodiscard]] Epoch epoch() { return ledger_.epoch() - (random_.chance(0.03) ? 1 : 0); }
  [[nodiscard]] Fence fence_of(TaskId id) {
    const auto found = ledger_.find(id);
    if (!found) return random_.below(3);
    return random_.chance(0.1) && found->task.fence > 0 ? found->task.fence - 1 : found->task.fence;
  }
  ledger::ErrorClass any_error() { return static_cast<ledger::ErrorClass>(1 + random_.below(6)); }
  SwarmState any_state() { return static_cast<SwarmState>(1 + random_.below(5)); }
  std::string words() { return std::string(random_.below(50), 'w'); }

  Random& random_;
  const Ledger& ledger_;
  WallMs now_ = 0;
};

std::unique_ptr<Ledger> restored_from(Ledger& ledger) {
  journal::StringSink sink;
  ledger.freeze()->write(sink);
  auto twin = std::make_unique<Ledger>();
  if (!twin->restore(sink.text)) return nullptr;
  return twin;
}

std::optional<std::string> differs(Ledger& ledger, const Ledger& twin) {
  if (twin.digest() != ledger.digest()) return "has another state";
  if (twin.counters() != ledger.counters()) return "has other counters";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> run_any_operations(std::uint64_t seed, std::size_t commands,
                                              std::set<std::string>* answers) {
  Random random(seed);
  Ledger ledger;
  std::unique_ptr<Ledger> twin;
  AnyOps any(random, ledger);
  std::vector<std::string> log;
  std::vector<std::string> answered;
  for (std::size_t i = 0; i < commands; ++i) {
    std::vector<Op> ops;
    const std::uint64_t count = 1 + random.below(k_ops_at_once);
    ops.reserve(count);
    for (std::uint64_t n = 0; n < count; ++n) ops.push_back(i == 0 ? TakeDispatch{"node", 1} : any.next(1'000 + i));
    log.push_back(encode_command(ops));
    answered.push_back(ledger.apply(i + 1, log.back()));
    const auto results = decode_results(answered.back());
    if (!results || results->size() != ops.size()) return fmt::format("command {}: an answer that is none", i);
    for (std::size_t n = 0; answers != nullptr && n < ops.size(); ++n) {
      answers->insert(fmt::format("{} {}", ops[n].index(), name_of((*results)[n].verdict)));
    }
    if (twin && twin->apply(i + 1, log.back()) != answered.back()) {
      return fmt::format("command {}: the twin from a snapshot answers otherwise", i);
    }
    if (auto broken = broken_invariant(*ledger.freeze())) return fmt::format("command {}: {}", i, *broken);
    if (!random.chance(k_twin_chance) && i + 1 < commands) continue;
    if (twin) {
      if (auto wrong = differs(ledger, *twin)) return fmt::format("command {}: the twin {}", i, *wrong);
    }
    twin = restored_from(ledger);
    if (!twin) return fmt::format("command {}: the snapshot cannot be restored", i);
    if (auto wrong = differs(ledger, *twin)) return fmt::format("command {}: what is restored {}", i, *wrong);
  }
  Ledger again;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (again.apply(i + 1, log[i]) != answered[i]) return fmt::format("command {}: a replay answers otherwise", i);
  }
  if (auto wrong = differs(ledger, again)) return fmt::format("a replay {}", *wrong);
  return std::nullopt;
}

}  // namespace skein::sim
