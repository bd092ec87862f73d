#include <gtest/gtest.h>

#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {
namespace {

struct Mortal {
  Mortal(Self self, int number) { self.stop(ExitReason::custom(std::to_string(number))); }
};

// Lets all end first, so that every Down is in the queue, and then asks for them, the last one first.
Async<int> take_in_reverse(Self self, int many) {
  std::vector<MonitorRef> refs;
  refs.reserve(static_cast<std::size_t>(many));
  for (int number = 0; number < many; ++number) refs.push_back(self.spawn_monitor<Mortal>(number).ref);
  auto sleeping = self.sleep(std::chrono::seconds(1));
  co_await sleeping;
  int right = 0;
  for (int number = many - 1; number >= 0; --number) {
    auto waiting = self.down(refs[static_cast<std::size_t>(number)], std::chrono::seconds(1));
    const std::optional<ExitReason> reason = co_await waiting;
    if (reason == ExitReason::custom(std::to_string(number))) ++right;
  }
  co_return right;
}

TEST(QueuedDown, is_found_in_any_order_among_many) {
  RuntimeOptions options;
  options.seed = 3;
  Runtime runtime(options);
  const auto right = runtime.run(&take_in_reverse, 50'000);
  ASSERT_TRUE(right);
  EXPECT_EQ(*right, 50'000);
}

}  // namespace
}  // namespace skein::inline v0
