// Values of the user's that throw when they are copied or moved: it ends whoever it should, and nobody waits in vain.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

// Can be copied so many times.
class Fragile {
 public:
  explicit Fragile(std::shared_ptr<int> copies_left) : copies_left_(std::move(copies_left)) {}
  Fragile(Fragile&&) noexcept = default;
  Fragile& operator=(Fragile&&) noexcept = default;
  Fragile(const Fragile& other) : copies_left_(other.copies_left_) {
    if (--*copies_left_ < 0) throw std::runtime_error("worn out");
  }
  Fragile& operator=(const Fragile&) = delete;
  ~Fragile() = default;

 private:
  std::shared_ptr<int> copies_left_;
};

TEST(ThrowingValues, an_interval_whose_message_cannot_be_copied_costs_that_message_only) {
  for (const int copies : {0, 1, 2, 3}) {
    tests::Notebook seen;
    Runtime runtime(tests::seeded(1));
    const Pid pid = runtime.spawn<Puppet>(&seen);
    auto left = std::make_shared<int>(copies);
    runtime.send(pid, Do{[left](Self self) {
                   self.send_interval(milliseconds(10), self.pid(), Fragile(left));
                   self.send_interval(milliseconds(10), self.pid(), 1);
                 }});
    // On threads what escapes here would end the program.
    ASSERT_NO_THROW(runtime.run_for(milliseconds(55))) << copies << " copies";
    const auto lines = seen.lines();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "1"), 5) << "the other interval goes on";
    EXPECT_EQ(lines.size(), 5U + static_cast<std::size_t>(copies)) << "one copy per message";
    runtime.exit(pid, ExitReason::kill());
    runtime.run_for(milliseconds(10));
    EXPECT_EQ(runtime.core().wheel.size(), 0U) << "an interval to the dead ends, although nothing can be sent";
  }
}

struct Unmovable {
  explicit Unmovable(bool is_bad) : bad(is_bad) {}
  Unmovable(Unmovable&& other) : bad(other.bad) {  // NOLINT
    if (bad) throw std::runtime_error("does not move");
  }
  Unmovable(const Unmovable&) = delete;
  Unmovable& operator=(const Unmovable&) = delete;
  Unmovable& operator=(Unmovable&&) = delete;
  ~Unmovable() = default;
  bool bad;
};

struct Plainly {};
struct BadGiver {
  Unmovable handle_call(Self /*self*/, Plainly /*request*/) { return Unmovable(true); }
};

TEST(ThrowingValues, an_answer_that_cannot_be_moved_is_the_servers_crash_and_the_caller_hears_of_it) {
  Runtime runtime(tests::seeded(1));
  const Pid server = runtime.spawn<BadGiver>();
  const Instant begin = runtime.now();
  const auto answer = runtime.call<BadGiver>(server, Plainly{}, seconds(5));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::server_died) << answer.error().text();
  EXPECT_EQ(answer.error().reason.term(), "does not move");
  EXPECT_LT(runtime.now() - begin, seconds(1)) << "not by its time-out";
  EXPECT_FALSE(runtime.is_alive(server));
}

}  // namespace
}  // namespace skein
