#include "skein/dispatch/wall_agreement.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration time) { return Instant(time); }
constexpr ledger::WallMs k_wall = 1'700'000'000'000;

TEST(WallAgreement, grows_while_both_clocks_go_on_together) {
  WallAgreement agreement;
  EXPECT_EQ(agreement.look(at(5s), k_wall), 0s);
  EXPECT_EQ(agreement.look(at(65s), k_wall + 60'000), 60s);
  EXPECT_EQ(agreement.look(at(3605s), k_wall + 3'600'000 + 30'000), 3600s) << "half a minute is no jump";
}

TEST(WallAgreement, begins_anew_when_the_wall_clock_jumps_either_way) {
  for (const std::int64_t jump : {std::int64_t{25} * 3600 * 1000, std::int64_t{-90'000}}) {
    WallAgreement agreement;
    (void)agreement.look(at(0s), k_wall);
    EXPECT_EQ(agreement.look(at(10s), k_wall + 10'000 + static_cast<ledger::WallMs>(jump)), 0s) << jump;
    EXPECT_EQ(agreement.look(at(20s), k_wall + 20'000 + static_cast<ledger::WallMs>(jump)), 10s) << jump;
    EXPECT_EQ(agreement.look(at(30s), k_wall + 30'000), 0s) << "and back: " << jump;
  }
}

TEST(WallAgreement, bears_a_clock_that_is_a_little_fast) {
  WallAgreement agreement;
  (void)agreement.look(at(0s), k_wall);
  constexpr std::uint64_t k_day_ms = 86'400'000;
  EXPECT_EQ(agreement.look(at(24h), k_wall + k_day_ms + k_day_ms / 2000), 24h);
  EXPECT_EQ(agreement.look(at(48h), k_wall + 2 * k_day_ms + k_day_ms / 100), 0s);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
