#include "sim/ledger_model.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>
#include <variant>

#include "skein/ledger/command.hpp"

namespace skein::sim {
namespace {

TEST(LedgerModel, the_ledger_does_as_the_model_says) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    EXPECT_EQ(run_ledger_steps(ledger_steps(seed, 300)), std::nullopt) << "seed " << seed;
  }
}

// The same from RapidCheck, which makes the shortest sequence that fails.
TEST(LedgerModel, any_sequence_of_commands_and_answers_in_any_order) {
  EXPECT_TRUE(rc::check([](const std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>& sequence) {
    std::vector<LedgerStep> steps{{13, 0, 0, 0}};
    for (const auto& [what, which, how] : sequence) {
      steps.push_back({what, which, how, static_cast<std::uint8_t>(how * 7U + which)});
    }
    const auto wrong = run_ledger_steps(steps);
    if (wrong) RC_FAIL(*wrong);
  }));
}

// A history of commands, and the answers of agents in any order, taken up again from the snapshot of any moment: the
// rest of it must be answered alike and lead to the same digest as without one.
TEST(LedgerModel, replay_from_any_snapshot_gives_the_same_digest) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& bytes, std::uint64_t order, std::uint64_t moment) {
    const auto wrong = replay_from_snapshot(bytes, order, moment);
    if (wrong) RC_FAIL(*wrong);
  }));
}

// Swarms, agents, limits, ageing and marks too, of which the model knows nothing.
TEST(LedgerModel, any_sequence_of_operations_of_every_kind_is_restored_and_replayed_alike) {
  std::set<std::string> answers;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    ASSERT_EQ(run_any_operations(seed, 300, &answers), std::nullopt) << "seed " << seed;
  }
  for (std::size_t op = 0; op < std::variant_size_v<ledger::Op>; ++op) {
    EXPECT_TRUE(answers.contains(std::to_string(op) + " ok")) << "operation " << op << " was never done";
  }
}

}  // namespace
}  // namespace skein::sim
