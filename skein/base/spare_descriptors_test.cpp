#include "skein/base/spare_descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

namespace skein {
namespace {

// As many files as may be open, minus what is.
class AtTheLimit {
 public:
  AtTheLimit() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next.get()) + 64;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~AtTheLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  AtTheLimit(const AtTheLimit&) = delete;
  AtTheLimit& operator=(const AtTheLimit&) = delete;

  void use_up() {
    while (true) {
      Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) return;
      used_.push_back(std::move(fd));
    }
  }
  void free_some(std::size_t count) { used_.resize(used_.size() - count); }

 private:
  rlimit before_{};
  std::vector<Fd> used_;
};

int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(SpareDescriptors, are_given_up_one_by_one_when_no_other_is_free) {
  AtTheLimit limit;
  SpareDescriptors spares(3);
  ASSERT_EQ(spares.refill(), 3U);
  limit.use_up();
  ASSERT_LT(open_null(), 0);
  std::vector<Fd> opened;
  for (int i = 0; i < 3; ++i) {
    opened.emplace_back(spares.with_spare(open_null));
    EXPECT_TRUE(opened.back()) << i;
  }
  EXPECT_EQ(spares.held(), 0U);
  const Fd none(spares.with_spare(open_null));
  EXPECT_FALSE(none);
  EXPECT_TRUE(is_want_of_descriptors(errno));
  EXPECT_EQ(spares.failures(), 1U);
}

TEST(SpareDescriptors, are_taken_back_when_there_is_room_again) {
  AtTheLimit limit;
  SpareDescriptors spares(3);
  spares.refill();
  limit.use_up();
  const Fd first(spares.with_spare(open_null));
  const Fd second(spares.with_spare(open_null));
  ASSERT_EQ(spares.held(), 1U);
  limit.free_some(3);
  const Fd third(spares.with_spare(open_null));
  EXPECT_TRUE(third);
  EXPECT_EQ(spares.held(), 3U);
}

TEST(SpareDescriptors, another_failure_costs_none) {
  SpareDescriptors spares(2);
  spares.refill();
  EXPECT_LT(spares.with_spare([] { return ::open("/nowhere/at/all", O_RDONLY | O_CLOEXEC); }), 0);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(spares.held(), 2U);
}

}  // namespace
}  // namespace skein
