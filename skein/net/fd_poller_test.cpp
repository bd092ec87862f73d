// Real sockets and a real thread that waits for them.
#include "skein/net/fd_poller.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <utility>

#include "skein/runtime/testing.hpp"

namespace skein::inline v0::net {
namespace {

// Counts what it is told.
class Told {
 public:
  explicit Told(std::atomic<int>* count) : count_(count) {}
  void handle_info(Self, Message message) {
    if (message.is<FdReady>()) count_->fetch_add(1);
  }

 private:
  std::atomic<int>* count_;
};

std::pair<Fd, Fd> socket_pair() {
  int both[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
  return {Fd(both[0]), Fd(both[1])};
}

TEST(FdPoller, tells_once_when_there_is_something_to_read) {
  std::atomic<int> told{0};
  Runtime runtime;
  FdPoller poller(runtime);
  const Pid pid = runtime.spawn<Told>(&told);
  auto [here, there] = socket_pair();
  poller.arm(here.get(), pid, true, false);
  ASSERT_EQ(::send(there.get(), "xy", 2, 0), 2);
  EXPECT_TRUE(tests::eventually([&] { return told == 1; }));
  poller.arm(here.get(), pid, true, false);
  EXPECT_TRUE(tests::eventually([&] { return told == 2; })) << "armed again, and it is still there";
  poller.forget(here.get());
}

// A number is given to the next socket as soon as it is free, while the thread may still have in its hands what
// happened to the one before: a client that has just come was taken for one that is gone.
TEST(FdPoller, tells_nobody_of_what_happened_to_an_earlier_socket_of_that_number) {
  constexpr int k_tries = 20'000;
  std::atomic<int> told_old{0};
  std::atomic<int> told_new{0};
  Runtime runtime;
  FdPoller poller(runtime);
  const Pid old_owner = runtime.spawn<Told>(&told_old);
  const Pid new_owner = runtime.spawn<Told>(&told_new);
  for (int i = 0; i < k_tries; ++i) {
    auto [old_here, old_there] = socket_pair();
    poller.arm(old_here.get(), old_owner, true, false);
    old_there.reset();
    poller.forget(old_here.get());
    old_here.reset();
    auto [here, there] = socket_pair();
    poller.arm(here.get(), new_owner, true, false);
    poller.forget(here.get());
  }
  EXPECT_EQ(told_new, 0) << "of " << k_tries << "; " << told_old << " were told what was theirs";
}

}  // namespace
}  // namespace skein::inline v0::net
