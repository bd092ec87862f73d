#include "skein/dispatch/fair_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace skein::inline v0::dispatch {
namespace {

// Which of the first `swarms` is next.
std::uint32_t next_of(const FairShare& share, std::uint32_t swarms) {
  std::uint32_t first = 0;
  for (std::uint32_t i = 1; i < swarms; ++i) {
    if (share.begins(i) < share.begins(first)) first = i;
  }
  return first;
}

TEST(FairShare, gives_time_by_weight_whatever_the_length_of_the_tasks) {
  FairShare share;
  const std::array<double, 2> length{7, 1};
  const std::array<double, 2> weight{1, 3};
  std::array<double, 2> got{};
  for (int i = 0; i < 1'000; ++i) {
    const std::uint32_t swarm = next_of(share, 2);
    share.served(swarm, length[swarm] / weight[swarm]);
    got[swarm] += length[swarm];
    EXPECT_LE(std::abs(got[0] / weight[0] - got[1] / weight[1]), length[0] / weight[0] + length[1] / weight[1])
        << "fair_share.hpp 2, after " << i;
  }
}

TEST(FairShare, lets_nobody_save_up_who_had_nothing_to_do) {
  FairShare share;
  for (int i = 0; i < 100; ++i) share.served(0, 1);
  EXPECT_EQ(share.begins(1), 99) << "fair_share.hpp 1: the time of who was served last";
  share.served(1, 1);
  EXPECT_EQ(next_of(share, 2), 0U) << "no run of a hundred for the one that comes late";
}

TEST(FairShare, counts_what_a_run_took_and_not_what_was_expected) {
  FairShare share;
  share.served(0, 1);
  share.served(1, 1);
  share.corrected(0, 9);
  EXPECT_EQ(next_of(share, 2), 1U);
  EXPECT_EQ(share.begins(0), 10);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
