// Processes whose init runs within the turn of their starter: as any other start, with fewer turns.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {
namespace {

using std::chrono_literals::operator""s;

enum class Manner : std::uint8_t { ok, stops, throws, ignores, continues, writes_to_itself };

struct Seen {
  std::atomic<int> handled = 0;  // of processes on several workers
  std::atomic<int> continued = 0;
  std::atomic<int> destroyed = 0;
};

struct Quick {
  Quick(Self self, Manner manner, Seen* seen) : manner_(manner), seen_(seen) {
    if (manner == Manner::throws) throw std::runtime_error("planned");
    if (manner == Manner::continues) self.continue_with<Quick>(1);
    if (manner == Manner::writes_to_itself) self.send(self.pid(), 1);
  }
  ~Quick() { ++seen_->destroyed; }
  Quick(const Quick&) = delete;
  Quick& operator=(const Quick&) = delete;
  Init init(Self /*self*/) const {
    if (manner_ == Manner::stops) return Init::stop(ExitReason::custom("planned"));
    return manner_ == Manner::ignores ? Init::ignore() : Init::ok();
  }
  void handle_continue(Self /*self*/, int step) { seen_->continued += step; }
  int handle_call(Self /*self*/, int number) { return number; }
  void handle_info(Self /*self*/, Message /*message*/) { ++seen_->handled; }

 private:
  Manner manner_;
  Seen* seen_;
};

struct Outcome {
  std::string text;
  bool at_once = false;
  Pid pid;
};

class Starter {
 public:
  struct Go {
    Manner manner;
    Seen* seen;
    std::string name;
  };
  explicit Starter(Self self) { self.trap_exit(true); }
  Async<Outcome> handle_call(Self self, Go go) {
    SpawnOptions options;
    options.link = true;
    options.init_here = true;
    options.name = go.name;
    auto starting = self.start<Quick>(options, go.manner, go.seen);
    Outcome outcome;
    outcome.at_once = starting.await_ready();
    const StartResult result = co_await starting;
    if (!result) {
      outcome.text = result.error().reason.text();
    } else {
      outcome.text = result->ignored() ? "ignored" : "ok";
      outcome.pid = result->pid;
    }
    co_return outcome;
  }
  int handle_call(Self /*self*/, int /*how_many_exits*/) { return exits_; }
  void handle_info(Self /*self*/, Message message) { exits_ += message.is<Exit>() ? 1 : 0; }

 private:
  int exits_ = 0;
};

class InitHere : public ::testing::TestWithParam<bool> {
 protected:
  static RuntimeOptions options() {
    RuntimeOptions chosen;
    if (GetParam()) chosen.seed = 1;
    return chosen;
  }
  Outcome go(Manner manner, std::string name = {}) {
    return *rt.call<Starter>(starter, Starter::Go{manner, &seen, std::move(name)});
  }

  Seen seen;
  Runtime rt{options()};
  Pid starter = rt.spawn<Starter>();
};

TEST_P(InitHere, is_up_without_waiting) {
  const Outcome outcome = go(Manner::ok);
  EXPECT_EQ(outcome.text, "ok");
  EXPECT_TRUE(outcome.at_once);
  EXPECT_TRUE(rt.is_alive(outcome.pid));
  EXPECT_EQ(*rt.call<Starter>(starter, 0), 0);
  rt.exit(outcome.pid, ExitReason::kill());
  EXPECT_TRUE(rt.wait_for_end(outcome.pid, 30s));
  int exits = 0;
  for (int looks = 0; looks < 100'000 && exits == 0; ++looks) exits = *rt.call<Starter>(starter, 0);
  EXPECT_EQ(exits, 1) << "it was linked";
}

TEST_P(InitHere, tells_a_failed_start_by_its_answer_alone_and_the_name_is_free) {
  EXPECT_EQ(go(Manner::stops, "name").text, "planned");
  EXPECT_FALSE(rt.whereis("name"));
  EXPECT_EQ(go(Manner::ignores, "name").text, "ignored");
  EXPECT_FALSE(rt.whereis("name"));
  EXPECT_NE(go(Manner::throws, "name").text.find("planned"), std::string::npos);
  EXPECT_FALSE(rt.whereis("name"));
  EXPECT_EQ(seen.destroyed, 2) << "the one that threw was never there";
  const Outcome holder = go(Manner::ok, "name");
  EXPECT_EQ(rt.whereis("name"), holder.pid);
  EXPECT_NE(go(Manner::ok, "name").text.find("taken"), std::string::npos);
  EXPECT_EQ(*rt.call<Starter>(starter, 0), 0) << "no stray signal";
}

TEST_P(InitHere, goes_on_with_what_init_left_to_do) {
  const Pid continues = go(Manner::continues).pid;
  const Pid writes = go(Manner::writes_to_itself).pid;
  for (const Pid pid : {continues, writes}) {
    rt.send(pid, 2);
    EXPECT_EQ(*rt.call<Quick>(pid, 7), 7) << "handled after the message";
  }
  EXPECT_EQ(seen.continued, 1);
  EXPECT_EQ(seen.handled, 3);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, InitHere, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "deterministic" : "threads"; });

}  // namespace
}  // namespace skein::inline v0
