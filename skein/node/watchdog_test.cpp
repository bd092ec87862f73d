#include "skein/node/watchdog.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <future>

#include "skein/base/fd.hpp"
#include "skein/node/sd_notify.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;

// A service manager: an abstract socket of the test's own, named in the environment.
class ServiceManager {
 public:
  ServiceManager() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string name = "skein-watchdog-" + std::to_string(::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~ServiceManager() {
    for (const char* each : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(each);
  }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The next message; empty when there is none in this time.
  [[nodiscard]] std::string hear(std::chrono::milliseconds time) const {
    pollfd poll{fd_.get(), POLLIN, 0};
    if (::poll(&poll, 1, static_cast<int>(time.count())) <= 0) return "";
    char buffer[4096];
    const auto got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }

 private:
  Fd fd_;
};

// Keeps its worker busy until it is let go.
class Stuck {
 public:
  explicit Stuck(std::shared_future<void> until) { until.wait(); }
};

TEST(SdNotify, reaches_an_abstract_socket_and_is_silent_without_one) {
  EXPECT_FALSE(sd_notify("READY=1"));
  const ServiceManager manager;
  EXPECT_TRUE(sd_notify("READY=1\nSTATUS=fine"));
  EXPECT_EQ(manager.hear(5s), "READY=1\nSTATUS=fine");
  ::setenv("NOTIFY_SOCKET", "relative/path", 1);
  EXPECT_FALSE(sd_notify("READY=1"));
  ::setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_FALSE(sd_notify("READY=1")) << "longer than an address can be";
}

TEST(SdNotify, knows_whose_watchdog_it_is) {
  const ServiceManager manager;
  EXPECT_FALSE(sd_watchdog());
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(sd_watchdog(), Duration(3s));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(sd_watchdog(), Duration(3s));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(sd_watchdog()) << "it is another's";
  ::unsetenv("WATCHDOG_PID");
  for (const char* wrong : {"", "x", "0", "-5"}) {
    ::setenv("WATCHDOG_USEC", wrong, 1);
    EXPECT_FALSE(sd_watchdog()) << wrong;
  }
}

TEST(WatchdogTest, is_not_started_when_nobody_asks) { EXPECT_FALSE(watchdog_child()); }

TEST(SdNotify, does_not_wait_for_a_service_manager_that_reads_nothing_when_that_is_forbidden) {
  const ServiceManager manager;
  int taken = 0;
  while (taken < 100'000 && sd_notify("WATCHDOG=1", NotifyWait::forbidden)) ++taken;
  EXPECT_LT(taken, 100'000) << "the kernel keeps a few for it";
  EXPECT_EQ(manager.hear(5s), "WATCHDOG=1");
  EXPECT_TRUE(sd_notify("WATCHDOG=1", NotifyWait::forbidden));
}

TEST(WatchdogTest, is_starved_by_a_scheduler_that_runs_nothing_and_fed_again_when_it_does) {
  const ServiceManager manager;
  ::setenv("WATCHDOG_USEC", "60000", 1);
  RuntimeOptions options;
  options.workers = 1;
  Runtime runtime(options);
  const auto child = watchdog_child();
  ASSERT_TRUE(child);
  ASSERT_TRUE(start_supervisor(runtime, trees::supervisor("root", Strategy::one_for_one, {1, 1s}, {*child})));
  EXPECT_EQ(manager.hear(5s), "WATCHDOG=1");
  std::promise<void> release;
  runtime.spawn<Stuck>(release.get_future().share());
  // What was on its way before the worker was taken.
  for (int i = 0; i < 10 && !manager.hear(100ms).empty(); ++i) {
  }
  EXPECT_EQ(manager.hear(200ms), "") << "ten beats' time: nobody may feed it but the scheduler";
  release.set_value();
  EXPECT_EQ(manager.hear(5s), "WATCHDOG=1");
}

}  // namespace
}  // namespace skein::inline v0::node
