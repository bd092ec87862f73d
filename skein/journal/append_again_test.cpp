#include "skein/journal/append_again.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::journal {
namespace {

using namespace std::chrono_literals;

constexpr AppendAgainLimits k_patient{.first = 10ms, .max = 50ms};
constexpr AppendAgainLimits k_of_clients{.first = 10ms, .max = 50ms, .time = 1s, .when_turned_away = false};

Instant at(Duration since) { return Instant{} + 1h + since; }

TEST(AppendAgain, doubles_its_waits_up_to_the_largest) {
  AppendAgain again;
  for (const Duration expected : {10ms, 20ms, 40ms, 50ms, 50ms}) {
    const auto next = again.answered(Outcome::unknown, at(0ms), k_patient);
    EXPECT_EQ(next.kind, AppendAgain::Next::Kind::again);
    EXPECT_EQ(next.wait, expected);
  }
  again.reset();
  EXPECT_EQ(again.next_wait(k_patient), 10ms) << "after what was applied the waits begin anew";
}

TEST(AppendAgain, repeats_what_was_turned_away_only_if_so_chosen) {
  for (const Outcome each : {Outcome::overloaded, Outcome::not_leader}) {
    AppendAgain patient;
    EXPECT_EQ(patient.answered(each, at(0ms), k_patient).kind, AppendAgain::Next::Kind::again);
    AppendAgain other;
    const auto next = other.answered(each, at(0ms), k_of_clients);
    EXPECT_EQ(next.kind, AppendAgain::Next::Kind::failed) << "its client is told, and nothing was done";
    EXPECT_EQ(next.outcome, each);
  }
}

TEST(AppendAgain, only_an_answer_ends_a_doubt) {
  for (const Outcome each : {Outcome::overloaded, Outcome::not_leader, Outcome::refused}) {
    AppendAgain again;
    EXPECT_EQ(again.answered(Outcome::unknown, at(0ms), k_of_clients).kind, AppendAgain::Next::Kind::again);
    EXPECT_EQ(again.answered(each, at(10ms), k_of_clients).kind, AppendAgain::Next::Kind::again)
        << "the first may have been applied";
    const auto last = again.answered(each, at(1s), k_of_clients);
    EXPECT_EQ(last.kind, AppendAgain::Next::Kind::failed);
    EXPECT_EQ(last.outcome, Outcome::unknown);
  }
}

TEST(AppendAgain, fails_at_once_when_the_journal_has_stopped) {
  AppendAgain fresh;
  EXPECT_EQ(fresh.answered(Outcome::stopped, at(0ms), k_patient).outcome, Outcome::stopped);
  AppendAgain doubtful;
  EXPECT_EQ(doubtful.answered(Outcome::unknown, at(0ms), k_patient).kind, AppendAgain::Next::Kind::again);
  const auto next = doubtful.answered(Outcome::stopped, at(1ms), k_patient);
  EXPECT_EQ(next.kind, AppendAgain::Next::Kind::failed);
  EXPECT_EQ(next.outcome, Outcome::unknown) << "what was appended before may have been applied";
}

TEST(AppendAgain, counts_its_time_from_the_first_repetition) {
  AppendAgain again;
  EXPECT_EQ(again.answered(Outcome::unknown, at(5s), k_of_clients).kind, AppendAgain::Next::Kind::again);
  EXPECT_EQ(again.answered(Outcome::unknown, at(6s - 1ms), k_of_clients).kind, AppendAgain::Next::Kind::again);
  EXPECT_EQ(again.answered(Outcome::unknown, at(6s), k_of_clients).kind, AppendAgain::Next::Kind::failed);
}

TEST(AppendAgain, a_refusal_ends_what_has_no_time_limit) {
  AppendAgain again;
  EXPECT_EQ(again.answered(Outcome::unknown, at(0ms), k_patient).kind, AppendAgain::Next::Kind::again);
  const auto next = again.answered(Outcome::refused, at(10ms), k_patient);
  EXPECT_EQ(next.kind, AppendAgain::Next::Kind::failed) << "it would be repeated for ever";
  EXPECT_EQ(next.outcome, Outcome::refused);
}

}  // namespace
}  // namespace skein::inline v0::journal
