#include "skein/archive/agreed_clock.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::archive {
namespace {

using namespace std::chrono_literals;

// Both clocks, and what is done to them.
class AgreedClocks : public testing::Test {
 protected:
  std::optional<ledger::WallMs> pass(std::chrono::milliseconds time, std::chrono::milliseconds step = 1min) {
    std::optional<ledger::WallMs> believed;
    for (auto left = time; left > 0ms; left -= step) {
      wall_ += static_cast<std::uint64_t>(step.count());
      boot_.ms += static_cast<std::uint64_t>(step.count());
      believed = clock_.look(wall_, boot_);
    }
    return believed;
  }
  void jump(std::chrono::milliseconds by) { wall_ += static_cast<std::uint64_t>(by.count()); }
  void restart_program() { clock_ = AgreedClock::read(clock_.text()); }
  void restart_machine(std::chrono::milliseconds off) {
    wall_ += static_cast<std::uint64_t>(off.count());
    ++boot_.boot;
    boot_.ms = 5'000;
    restart_program();
  }

  AgreedClock clock_;
  ledger::WallMs wall_ = 1'700'000'000'000;
  BootTime boot_{1, 90'000};
};

TEST_F(AgreedClocks, believes_a_clock_after_a_day_and_not_before) {
  EXPECT_FALSE(pass(23h));
  EXPECT_EQ(pass(61min + 1min), wall_);
}

TEST_F(AgreedClocks, a_jump_makes_the_day_begin_anew) {
  ASSERT_TRUE(pass(25h));
  jump(24h * 100);
  EXPECT_FALSE(pass(1min));
  jump(-24h * 100);
  EXPECT_FALSE(pass(1min));
  EXPECT_FALSE(pass(23h));
  EXPECT_TRUE(pass(2h));
  EXPECT_EQ(clock_.jumps(), 2U);
}

TEST_F(AgreedClocks, a_clock_that_is_wrong_at_a_start_of_the_program_is_not_believed) {
  ASSERT_TRUE(pass(25h));
  restart_program();
  EXPECT_TRUE(pass(1min)) << "a restart alone changes nothing";
  jump(24h * 100);
  restart_program();
  EXPECT_FALSE(pass(1min));
}

TEST_F(AgreedClocks, a_first_start_believes_nobody) { EXPECT_FALSE(pass(1min)); }

TEST_F(AgreedClocks, a_machine_that_was_off_for_a_moment_goes_on_and_one_that_was_off_for_long_begins_anew) {
  ASSERT_TRUE(pass(25h));
  restart_machine(5min);
  EXPECT_TRUE(pass(1min));
  restart_machine(2h);
  EXPECT_FALSE(pass(1min));
  ASSERT_TRUE(pass(25h));
  restart_machine(-10min);
  EXPECT_FALSE(pass(1min));
}

TEST_F(AgreedClocks, a_clock_that_creeps_away_is_not_believed) {
  ASSERT_TRUE(pass(25h));
  bool is_believed = true;
  for (int i = 0; i < 120; ++i) {
    jump(2s);
    is_believed = pass(1min).has_value();
  }
  EXPECT_FALSE(is_believed) << "two seconds a minute are four minutes by now";
}

TEST_F(AgreedClocks, a_clock_that_is_slewed_is_believed) {
  bool is_believed = false;
  for (int i = 0; i < 60 * 26; ++i) {
    jump(30ms);
    is_believed = pass(1min).has_value();
  }
  EXPECT_TRUE(is_believed);
}

TEST_F(AgreedClocks, text_that_is_none_of_its_own_begins_anew) {
  ASSERT_TRUE(pass(25h));
  clock_ = AgreedClock::read("1 2 x");
  EXPECT_FALSE(pass(1min));
}

}  // namespace
}  // namespace skein::inline v0::archive
