#include "skein/dispatch/key_eviction.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

// Ticks of a second on both clocks, from a wall clock that is far from zero.
struct EvictionWorld {
  EvictionWorld() {
    options.keys_kept = 1h;
    options.keys_at_once = 10;
    eviction.set_keys(1);
  }
  DispatcherOptions options;
  KeyEviction eviction{options};
  Moment moment{Instant(1s), 1'700'000'000'000};

  // How often something was evicted in so many ticks; the last is remembered.
  int tick(int ticks) {
    int found = 0;
    for (int i = 0; i < ticks; ++i) {
      moment.now += 1s;
      moment.wall += 1'000;
      if (auto due = eviction.take_due(moment)) {
        last = *due;
        ++found;
      }
    }
    return found;
  }
  ledger::EvictKeys last{};
};

TEST(KeyEviction, waits_until_the_clocks_have_agreed_for_as_long_as_keys_are_kept) {
  EvictionWorld world;
  EXPECT_EQ(world.tick(3'600), 0);
  EXPECT_EQ(world.tick(1), 1);
  EXPECT_EQ(world.last.before, world.moment.wall - 3'600'000);
  EXPECT_EQ(world.last.at_most, 10U);
}

TEST(KeyEviction, begins_anew_after_a_jump_of_the_wall_clock) {
  EvictionWorld world;
  world.tick(3'601);
  world.moment.wall += 86'400'000;
  EXPECT_EQ(world.tick(3'600), 0) << "a clock that jumped makes nothing old";
  EXPECT_GE(world.tick(61), 1);
}

TEST(KeyEviction, looks_every_sixty_ticks_and_not_without_keys) {
  EvictionWorld world;
  world.tick(3'600);
  EXPECT_EQ(world.tick(600), 10);
  world.eviction.evicted(5);
  EXPECT_EQ(world.tick(600), 0) << "more were evicted than were counted: none are left";
  world.eviction.added();
  EXPECT_EQ(world.tick(60), 1);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
