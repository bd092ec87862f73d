#include "sim/ledger_model.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/ledger_rules.hpp"
#include "skein/base/random.hpp"
#include "skein/ledger/invariants.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {
namespace {

using namespace ledger;
using namespace ledger_rules;

class World {
 public:
  World() {
    Limits limits;
    limits.swarm_tasks = k_model_open_max;
    limits.keys = k_keys_max;
    limits.deliveries = k_deliveries;
    apply(encode_command(SetLimits{limits}));
    apply(encode_command(SwarmPut{k_second, Origin::api, {}}));
  }

  // Nothing when all is well.
  std::optional<std::string> step(const LedgerStep& s) {
    now_ += 1;
    const TaskId id = id_of(s.which);
    const Epoch epoch = s.more % 16 == 15 ? model_.epoch() - 1 : model_.epoch();
    const Fence last = model_.fence_of(id);
    const Fence fence = s.how % 8 == 7 && last > 0 ? last - 1 : last;
    switch (s.what % 19) {
      case 0:
      case 1:
      case 2:
        return submit(s, id);
      case 3:
      case 4:
        return check(Assign{epoch, id, s.how % 4 == 0 ? "other" : "agent", now_});
      case 5:
        return check(Start{id, fence, now_});
      case 6:
        return check(Complete{id, fence, now_, body_of("result")});
      case 7:
        return check(Fail{id, fence, now_, static_cast<ErrorClass>(s.more % 6 + 1), s.how % 2 * (now_ + 5), "failed"});
      case 8:
      case 9:
        return check(Requeue{epoch, id, fence, now_, static_cast<RequeueReason>(s.more % 5 + 1), 0, s.how % 2 == 0});
      case 10:
        return check(Cancel{id, now_, "enough"});
      case 11:
        return retry(s, id);
      case 12:
        return check(Expire{epoch, id, now_});
      case 13:
        return rare(s);
      case 14:
        return restore_twin();
      case 15:
      case 16:
        return fall_back(s, {epoch, id, fence, now_, {}, {}, now_ + 5, "failed", ""});
      case 17:
        return check(Unpin{epoch, id, s.how % 4 == 0 ? 0 : now_});
      default:
        return garbage(s, id);
    }
  }

  // The whole log once more, on a ledger that knows nothing.
  std::optional<std::string> replay() {
    Ledger fresh;
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (fresh.apply(i + 1, log_[i]) != answers_[i]) return fmt::format("position {} is answered otherwise", i + 1);
    }
    if (fresh.digest() != real_.digest()) return "a replay of the log leads to another state";
    return std::nullopt;
  }

 private:
  std::string apply(const std::string& bytes) {
    log_.push_back(bytes);
    answers_.push_back(real_.apply(log_.size(), bytes));
    return answers_.back();
  }

  std::optional<std::string> answered(const std::string& bytes, const OpResult& expected) {
    const auto answer = apply(bytes);
    const auto results = decode_results(answer);
    if (!results || results->size() != 1) return "an answer that is none";
    const auto& got = results->front();
    if (got != expected) {
      return fmt::format("answered {} (number {}), must be {} (number {})", name_of(got.verdict), got.number,
                         name_of(expected.verdict), expected.number);
    }
    if (twin_ && twin_->apply(log_.size(), bytes) != answer) return "the twin from a snapshot answers otherwise";
    if (auto broken = broken_invariant(*real_.freeze())) return broken;
    if (auto broken = broken_limit(*real_.freeze())) return broken;
    return model_.difference(real_);
  }

  template <class T>
  std::optional<std::string> check(const T& op) {
    const auto expected = model_.on(op);
    return answered(encode_command(op), expected);
  }

  std::optional<std::string> submit(const LedgerStep& s, TaskId id) {
    Submit op;
    op.id = id;
    op.at = now_;
    op.spec.type = "t";
    op.spec.swarm = s.more % 4 == 0 ? k_second : k_first;
    op.spec.params = body_of(std::string(s.more % 50, 'p'));
    op.spec.attempts_max = s.how % 3 + 1U;
    if (s.how % 4 == 0) op.spec.extras.key = s.how % 8 == 0 ? "a" : "b";
    if (s.how % 16 == 3) op.spec.extras.key = "c";
    if (s.more % 3 == 0) op.spec.extras.dependencies.push_back(id_of(s.more / 3U));
    if (s.more % 9 == 0 && id_of(s.how) != id_of(s.more / 3U)) op.spec.extras.dependencies.push_back(id_of(s.how));
    if (s.more % 5 == 0) op.spec.deadline_at = now_ + 3;
    if (s.how % 3 == 1) {
      Placement where;
      if (s.more % 2 == 0) where.agent = s.more % 4 == 0 ? "other" : "agent";
      if (where.agent.empty() || s.more % 8 == 2) where.route_key = "customer";
      if (!where.agent.empty()) where.fallback = static_cast<AgentFallback>(s.how / 16 % 3);
      op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
    }
    if (s.how % 5 == 2) op.child_of = child_of(s);
    return numbered(id, op);
  }

  // Mostly of the attempt that runs, now and then of the one before, or of none.
  [[nodiscard]] std::shared_ptr<const ChildOf> child_of(const LedgerStep& s) const {
    ChildOf child;
    child.task = id_of(s.more);
    child.fence = s.how % 3 == 0 ? 0 : model_.fence_of(child.task);
    if (s.how % 16 == 7 && child.fence > 1) --child.fence;
    if (s.more % 4 == 1) child.children_max = s.more % 3U;
    if (s.more % 4 == 2) child.depth_max = s.more % 5U;
    return std::make_shared<const ChildOf>(child);
  }

  std::optional<std::string> token(const LedgerStep& s) {
    const std::string name = s.more % 3 == 0 ? "one" : "two";
    if (s.which % 4 == 0) return check(TokenRevoke{name});
    TokenPut op;
    op.token.name = name;
    op.token.secret[0] = static_cast<std::uint8_t>(s.which % 5 + 1);
    op.token.rank = static_cast<Rank>(s.more % 3 + 1);
    op.token.made_at = now_;
    op.was[0] = s.which % 2 == 0 ? 0 : static_cast<std::uint8_t>(s.more % 5 + 1);
    return check(op);
  }

  std::optional<std::string> fall_back(const LedgerStep& s, FallBack op) {
    op.cause = static_cast<FallbackCause>(s.more % 4 + 1);
    op.error = static_cast<ErrorClass>(s.more % 6 + 1);
    op.to = s.how % 16 == 0 ? k_nowhere : s.how % 2 == 0 ? k_first : k_second;
    return check(op);
  }

  std::optional<std::string> retry(const LedgerStep& s, TaskId id) {
    return numbered(id_of(s.how), Retry{id, id_of(s.how), now_});
  }

  template <class T>
  std::optional<std::string> numbered(TaskId made, const T& op) {
    const auto expected = model_.on(op);
    if (expected.verdict == Verdict::ok) model_.numbers_[made] = log_.size();
    return answered(encode_command(op), expected);
  }

  std::optional<std::string> rare(const LedgerStep& s) {
    switch (s.how % 11) {
      case 0:
      case 1:
        return answered(encode_command(TakeDispatch{"node", now_}), model_.took(log_.size() + 1));
      case 2:
        return check(SwarmSetState{s.more % 8 < 4 ? k_first : k_second, static_cast<SwarmState>(s.more % 5 + 1)});
      case 3:
        if (s.more % 4 == 3) return check(SwarmPut{k_second, Origin::config, {}});
        return check(SwarmSetState{s.more % 2 == 0 ? k_first : k_second, SwarmState::active});
      case 4:
      case 5:
        // Mostly the last one, or little of what it brought would be seen.
        return check(LedgerVersion{s.more % 3 == 0 ? 1 + s.more % k_ledger_version : k_ledger_version});
      case 6:
        return check(Archived{s.more});
      case 7:
      case 8:
      case 9:
        return token(s);
      default:
        return check(EvictKeys{now_ + 1, s.more % 3U});
    }
  }

  std::optional<std::string> restore_twin() {
    if (twin_ && twin_->digest() != real_.digest()) return "the twin from a snapshot has another state";
    journal::StringSink sink;
    real_.freeze()->write(sink);
    twin_ = std::make_unique<Ledger>();
    if (!twin_->restore(sink.text)) return "a snapshot cannot be restored";
    if (twin_->digest() != real_.digest()) return "a snapshot restores another state";
    if (twin_->counters() != real_.counters()) return "a snapshot restores other counters";
    return std::nullopt;
  }

  // A command cut short, or one whose operation is.
  std::optional<std::string> garbage(const LedgerStep& s, TaskId id) {
    auto bytes = encode_command(Cancel{id, now_, "a reason"});
    if (s.how % 2 == 0) {
      bytes.resize(bytes.size() - 1 - s.more % 8U);
    } else {
      // One byte less in the body and in its length.
      bytes.pop_back();
      bytes[3] = static_cast<char>(bytes[3] - 1);
    }
    return answered(bytes, {Verdict::malformed, {}, 0, {}});
  }

  Ledger real_;
  std::unique_ptr<Ledger> twin_;
  Model model_;
  WallMs now_ = 1000;
  std::vector<std::string> log_;
  std::vector<std::string> answers_;
};

}  // namespace

std::vector<LedgerStep> ledger_steps(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<LedgerStep> steps(count);
  for (auto& step : steps) {
    const std::uint64_t bits = random.next();
    step = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8U),
            static_cast<std::uint8_t>(bits >> 16U), static_cast<std::uint8_t>(bits >> 24U)};
  }
  // Somebody must dispatch, or little happens.
  if (!steps.empty()) steps[0] = {13, 0, 0, 0};
  return steps;
}

std::optional<std::string> run_ledger_steps(std::span<const LedgerStep> steps) {
  World world;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (auto wrong = world.step(steps[i])) return fmt::format("step {}: {}", i, *wrong);
  }
  return world.replay();
}

}  // namespace skein::sim
