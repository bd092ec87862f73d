// Histories in which agents answer in any order, replayed from any snapshot; see ledger_model.hpp.
#include <fmt/format.h>

#include <utility>

#include "sim/ledger_model.hpp"
#include "skein/base/random.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {
namespace {

using namespace ledger;

TaskId replay_id(std::uint64_t n) { return {9, n + 1}; }

// The commands of a history. The fence of the n-th assignment is n, since all are accepted in their order.
std::vector<std::string> history_of(std::span<const std::uint8_t> bytes, std::uint64_t order) {
  const Op raise[] = {LedgerVersion{k_ledger_version}, SwarmPut{"second", Origin::api, {}}};
  std::vector<std::string> commands{encode_command(TakeDispatch{"node", 1}), encode_command(raise)};
  constexpr Epoch k_epoch = 1;
  std::vector<Op> answers;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::uint8_t how = bytes[n];
    Submit submit;
    submit.id = replay_id(n);
    submit.at = 10 + n;
    submit.spec.type = "t";
    submit.spec.attempts_max = how % 3 + 1U;
    if (how % 4 == 0) submit.spec.extras.key = fmt::format("key{}", how % 16);
    if (how % 5 == 0 && n > 0) submit.spec.extras.dependencies.push_back(replay_id(how % n));
    commands.push_back(encode_command(submit));
    commands.push_back(encode_command(Assign{k_epoch, replay_id(n), "agent", 20 + n}));
    const Fence fence = n + 1;
    answers.emplace_back(Complete{replay_id(n), fence, 100 + n, body_of("done")});
    if (how % 3 == 0) answers.emplace_back(Complete{replay_id(n), fence - 1, 100 + n, body_of("stale")});
    if (how % 3 == 1) answers.emplace_back(Complete{replay_id(n), fence, 100 + n, body_of("done")});
    if (how % 2 == 0) answers.emplace_back(Fail{replay_id(n), fence, 100 + n, ErrorClass::transient, 200, "broken"});
    if (how % 9 == 1) answers.emplace_back(Fail{replay_id(n), fence, 100 + n, ErrorClass::crash, how % 2U, "crashed"});
    if (how % 7 == 0) answers.emplace_back(Cancel{replay_id(n), 100 + n, "enough"});
    if (how % 7 == 1)
      answers.emplace_back(Requeue{k_epoch, replay_id(n), fence, 100, RequeueReason::agent_crash, 0, true});
    if (how % 11 == 0) answers.emplace_back(Archived{n});
    if (how % 6 == 2) {
      answers.emplace_back(FallBack{k_epoch, replay_id(n), fence, 100 + n, FallbackCause::reported,
                                    ErrorClass::resource, 200, "broken", "second"});
    }
  }
  Random random(order);
  for (std::size_t i = answers.size(); i > 1; --i) std::swap(answers[i - 1], answers[random.below(i)]);
  for (const auto& answer : answers) commands.push_back(encode_command(answer));
  return commands;
}

}  // namespace

std::optional<std::string> replay_from_snapshot(std::span<const std::uint8_t> bytes, std::uint64_t order,
                                                std::uint64_t moment) {
  const auto commands = history_of(bytes, order);
  const std::size_t snapshot_after = 1 + moment % commands.size();
  Ledger whole;
  Ledger restored;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto answer = whole.apply(i + 1, commands[i]);
    if (i >= snapshot_after && restored.apply(i + 1, commands[i]) != answer) {
      return fmt::format("position {} is answered otherwise after a snapshot at {}", i + 1, snapshot_after);
    }
    if (i + 1 != snapshot_after) continue;
    journal::StringSink sink;
    whole.freeze()->write(sink);
    if (!restored.restore(sink.text)) return "a snapshot cannot be restored";
  }
  if (restored.digest() != whole.digest()) return fmt::format("another digest after a snapshot at {}", snapshot_after);
  Ledger again;
  for (std::size_t i = 0; i < commands.size(); ++i) static_cast<void>(again.apply(i + 1, commands[i]));
  if (again.digest() != whole.digest()) return "a replay leads to another digest";
  return std::nullopt;
}

}  // namespace skein::sim
