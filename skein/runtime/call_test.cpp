#include "skein/runtime/call.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;
using Lines = std::vector<std::string>;

// Each test runs on many seeds and on threads.
template <class Test>
void on_both(Test test) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Runtime runtime(tests::seeded(seed));
    test(runtime);
  }
  SCOPED_TRACE("threads");
  Runtime runtime(tests::threaded());
  test(runtime);
}

struct Add {
  int number;
};
struct Reset {};
struct Boom {};
struct Slow {
  Duration time;
};
struct Box {
  std::unique_ptr<int> value;
};
struct Wide {
  std::string text;
};
struct Bye {};
struct Later {
  using Answer = int;
};
struct Forget {
  using Answer = int;
};
struct Settle {
  int value;
};

class Server {
 public:
  explicit Server(Notebook* notebook = nullptr) : notebook_(notebook) {}

  int handle_call(Self /*self*/, Add add) { return sum_ += add.number; }
  void handle_call(Self /*self*/, Reset /*request*/) { sum_ = 0; }
  int handle_call(Self /*self*/, Boom /*request*/) { throw std::runtime_error("boom"); }
  Async<int> handle_call(Self self, Slow slow) {
    auto sleeping = self.sleep(slow.time);
    co_await sleeping;
    co_return sum_;
  }
  std::unique_ptr<int> handle_call(Self /*self*/, Box box) {
    *box.value += 1;
    return std::move(box.value);
  }
  std::vector<std::string> handle_call(Self /*self*/, Wide wide) {
    return std::vector<std::string>(100, std::move(wide.text));
  }
  int handle_call(Self self, Bye /*request*/) {
    self.stop(ExitReason::custom("bye"));
    return 7;
  }
  void handle_call(Self /*self*/, Later /*request*/, Reply<int> reply) { owed_.push_back(std::move(reply)); }
  void handle_call(Self /*self*/, Forget /*request*/, Reply<int> reply) { const Reply<int> dropped(std::move(reply)); }
  void handle_cast(Self /*self*/, Settle settle) {
    for (Reply<int>& reply : owed_) {
      reply(settle.value);
      reply(settle.value + 1);
    }
    owed_.clear();
  }
  void handle_cast(Self /*self*/, Boom /*note*/) { throw std::runtime_error("boom"); }
  void terminate(Self /*self*/, const ExitReason& reason) {
    if (notebook_ != nullptr) notebook_->add("terminate " + reason.text());
  }

 private:
  Notebook* notebook_;
  int sum_ = 0;
  std::vector<Reply<int>> owed_;
};

struct Stranger {
  int handle_call(Self /*self*/, Add add) { return add.number; }
};

template <class Answer>
std::string failure(const std::expected<Answer, CallError>& answer) {
  return answer ? "an answer" : answer.error().text();
}

TEST(Call, is_answered_with_what_the_handler_returns) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    EXPECT_EQ(runtime.call<Server>(server, Add{2}).value(), 2);
    EXPECT_EQ(runtime.call<Server>(server, Add{3}).value(), 5);
    EXPECT_TRUE(runtime.call<Server>(server, Reset{}));
    EXPECT_EQ(runtime.call<Server>(server, Add{1}).value(), 1);
    EXPECT_EQ(*runtime.call<Server>(server, Box{std::make_unique<int>(41)}).value(), 42);
    EXPECT_EQ(runtime.call<Server>(server, Wide{std::string(1'000, 'x')}).value().size(), 100U);
    EXPECT_EQ(runtime.call<Server>(server, Slow{milliseconds(5)}).value(), 1);
  });
}

Async<int> sum_of_calls(Self self, Pid server) {
  int last = 0;
  for (int i = 1; i <= 10; ++i) {
    auto calling = self.call<Server>(server, Add{i});
    const auto answer = co_await calling;
    last = answer.value();
  }
  co_return last;
}

TEST(Call, works_from_inside_a_process) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    EXPECT_EQ(runtime.run(&sum_of_calls, server).value(), 55);
  });
}

Async<std::string> try_add(Self self, Pid server, Duration timeout) {
  auto calling = self.call<Server>(server, Add{1}, timeout);
  const auto answer = co_await calling;
  co_return failure(answer);
}

Async<std::string> call_myself(Self self) {
  auto calling = self.call<Server>(self.pid(), Add{1});
  const auto answer = co_await calling;
  co_return failure(answer);
}

TEST(Call, to_oneself_is_an_error_at_once) {
  on_both([](Runtime& runtime) { EXPECT_EQ(runtime.run(&call_myself).value(), "a process can't call itself"); });
}

TEST(Call, to_nobody_is_noproc) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    runtime.exit(server, ExitReason::kill());
    ASSERT_TRUE(runtime.wait_for_end(server));
    for (const Pid nobody : {server, Pid{}, Pid(0, 3'999'999, 9)}) {
      EXPECT_EQ(failure(runtime.call<Server>(nobody, Add{1})), "noproc: nobody is there");
      EXPECT_EQ(runtime.run(&try_add, nobody, seconds(5)).value(), "noproc: nobody is there");
    }
  });
}

TEST(Call, to_a_server_of_another_type_is_refused_and_a_cast_dropped) {
  on_both([](Runtime& runtime) {
    const Pid stranger = runtime.spawn<Stranger>();
    EXPECT_EQ(failure(runtime.call<Server>(stranger, Add{1})), "the process there is of another type");
    EXPECT_EQ(runtime.cast<Server>(stranger, Settle{1}), SendResult::ok);
    EXPECT_EQ(runtime.call<Stranger>(stranger, Add{1}).value(), 1) << "it lives on";
  });
}

TEST(Call, to_a_server_that_crashes_gives_its_reason_to_all_who_wait) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    const auto answer = runtime.call<Server>(server, Boom{});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().failure, CallFailure::server_died);
    EXPECT_EQ(answer.error().reason.crash_type(), "std::runtime_error");
    EXPECT_NE(answer.error().reason.crash_where().find("Boom"), std::string::npos)
        << answer.error().reason.crash_where();
    EXPECT_FALSE(runtime.is_alive(server)) << "who learns of it finds it dead";
  });
}

Async<std::string> call_the_slow(Self self, Pid server, Notebook* notebook) {
  auto calling = self.call<Server>(server, Slow{seconds(2)}, seconds(1));
  const auto late = co_await calling;
  notebook->add(failure(late));
  // Its answer is on its way when the next call is under way; it must not be taken for this one's.
  auto again = self.call<Server>(server, Add{5});
  const auto answer = co_await again;
  co_return answer ? std::to_string(*answer) : failure(answer);
}

TEST(Call, a_late_answer_is_dropped_and_not_taken_for_another) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Notebook notebook;
    Runtime runtime(tests::seeded(seed));
    const Pid server = runtime.spawn<Server>();
    ASSERT_EQ(runtime.run(&call_the_slow, server, &notebook).value(), "5");
    ASSERT_EQ(notebook.lines(), Lines{"timeout: no answer in time (it may still be carried out)"});
  }
}

Async<Duration> time_out(Self self, Pid server, Duration timeout) {
  const Instant begin = self.now();
  auto calling = self.call<Server>(server, Slow{seconds(100)}, timeout);
  const auto answer = co_await calling;
  EXPECT_EQ(answer.error().failure, CallFailure::timeout);
  co_return self.now() - begin;
}

TEST(Call, times_out_exactly_on_virtual_time) {
  Runtime runtime(tests::seeded(1));
  const Pid server = runtime.spawn<Server>();
  EXPECT_EQ(runtime.run(&time_out, server, milliseconds(1'500)).value(), milliseconds(1'500));
  const Pid second = runtime.spawn<Server>();
  const Instant begin = runtime.now();
  EXPECT_EQ(runtime.call<Server>(second, Slow{seconds(100)}, milliseconds(250)).error().failure, CallFailure::timeout);
  EXPECT_EQ(runtime.now() - begin, milliseconds(250));
}

TEST(Call, times_out_not_early_and_not_much_later_on_threads) {
  Runtime runtime(tests::threaded());
  const Duration late = tests::best_of(5, milliseconds(25), [&] {
    const Pid server = runtime.spawn<Server>();
    const Duration inside = runtime.run(&time_out, server, milliseconds(30)).value();
    EXPECT_GE(inside, milliseconds(30));
    const Duration begin = tests::real_time();
    EXPECT_FALSE(runtime.call<Server>(server, Add{1}, milliseconds(30)));
    const Duration outside = tests::real_time() - begin;
    EXPECT_GE(outside, milliseconds(30));
    runtime.exit(server, ExitReason::kill());
    return std::max(inside, outside) - milliseconds(30);
  });
  EXPECT_LT(late, milliseconds(100 * tests::k_patience));
}

TEST(Call, without_time_just_asks_what_is_there) {
  Runtime runtime(tests::threaded());
  const Pid server = runtime.spawn<Server>();
  EXPECT_EQ(runtime.call<Server>(server, Slow{seconds(100)}, Duration::zero()).error().failure, CallFailure::timeout);
}

Async<int> call_later(Self self, Pid server) {
  auto calling = self.call<Server>(server, Later{});
  const auto answer = co_await calling;
  co_return answer.value();
}

TEST(Reply, may_be_given_by_a_later_handler_once) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    if (tests::on_virtual_time(runtime)) {
      EXPECT_FALSE(runtime.call<Server>(server, Later{}, milliseconds(1))) << "nobody settles it";
      runtime.cast<Server>(server, Settle{1});
    } else {
      std::thread settler([&] {
        EXPECT_TRUE(tests::eventually([&] { return runtime.info(server)->handled >= 1; }));
        runtime.cast<Server>(server, Settle{9});
      });
      EXPECT_EQ(runtime.run(&call_later, server).value(), 9);
      settler.join();
    }
    EXPECT_EQ(runtime.call<Server>(server, Add{1}).value(), 1) << "it lives on";
  });
}

TEST(Reply, that_is_dropped_tells_the_caller) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    EXPECT_EQ(failure(runtime.call<Server>(server, Forget{})), "the server dropped the request without an answer");
  });
}

// Asks for a Reply, then makes the server crash with it in its hands.
TEST(Reply, in_the_hands_of_a_server_that_dies_gives_its_reason) {
  Runtime runtime(tests::threaded());
  const Pid server = runtime.spawn<Server>();
  std::thread killer([&] {
    EXPECT_TRUE(tests::eventually([&] { return runtime.info(server)->handled >= 1; }));
    runtime.cast<Server>(server, Boom{});
  });
  const auto answer = runtime.call<Server>(server, Later{});
  killer.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::server_died);
  EXPECT_EQ(answer.error().reason.term(), "boom");
}

Async<std::string> say_bye(Self self, Notebook* notebook) {
  SpawnOptions named;
  named.name = "leaver";
  auto starting = self.start<Server>(named, notebook);
  const auto started = co_await starting;
  auto calling = self.call<Server>(started->pid, Bye{});
  const auto answer = co_await calling;
  notebook->add("answer " + std::to_string(answer.value()));
  co_return self.whereis("leaver") ? "name taken" : "name free";
}

TEST(Call, stop_with_an_answer_sends_it_after_terminate_ran_and_when_the_name_is_free) {
  on_both([](Runtime& runtime) {
    Notebook notebook;
    EXPECT_EQ(runtime.run(&say_bye, &notebook).value(), "name free");
    EXPECT_EQ(notebook.lines(), (Lines{"terminate bye", "answer 7"}));
  });
}

// Its terminate is a coroutine: the request that crashed it must still be answered.
class Careful {
 public:
  explicit Careful(Duration time) : time_(time) {}
  int handle_call(Self /*self*/, Boom /*request*/) { throw std::runtime_error("boom"); }
  Async<int> handle_call(Self self, Slow slow) {
    auto sleeping = self.sleep(slow.time);
    co_await sleeping;
    throw std::runtime_error("late boom");
  }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    if (time_ > Duration::zero()) {
      auto sleeping = self.sleep(time_);
      co_await sleeping;
    }
  }

 private:
  Duration time_;
};

TEST(Call, to_a_server_that_crashes_is_answered_after_its_coroutine_terminate) {
  on_both([](Runtime& runtime) {
    for (const Duration time : {Duration::zero(), Duration(milliseconds(5))}) {
      const Pid one = runtime.spawn<Careful>(time);
      const auto first = runtime.call<Careful>(one, Boom{}, seconds(2));
      ASSERT_FALSE(first);
      EXPECT_EQ(first.error().failure, CallFailure::server_died) << first.error().text();
      const Pid other = runtime.spawn<Careful>(time);
      const auto second = runtime.call<Careful>(other, Slow{milliseconds(5)}, seconds(2));
      ASSERT_FALSE(second);
      EXPECT_EQ(second.error().failure, CallFailure::server_died) << second.error().text();
    }
  });
}

struct Go {
  Pid server;
  Pid doomed;
};

// While it waits for one particular thing everything else queues, in order.
class Picky {
 public:
  explicit Picky(Notebook* notebook) : notebook_(notebook) {}
  Async<void> handle_cast(Self self, Go go) {
    const MonitorRef ref = self.monitor(go.doomed);
    auto calling = self.call<Server>(go.server, Slow{milliseconds(10)});
    const auto answer = co_await calling;
    notebook_->add("answer " + std::to_string(answer.value()));
    auto ending = self.down(ref);
    const auto reason = co_await ending;
    notebook_->add("down " + reason->text());
    auto never = self.down(self.monitor(self.pid()), milliseconds(5));
    const auto nothing = co_await never;
    notebook_->add(nothing ? "?" : "time up");
  }
  void handle_info(Self /*self*/, Message message) { notebook_->add(std::to_string(*message.get_if<int>())); }

 private:
  Notebook* notebook_;
};

TEST(Call, others_queue_while_a_particular_answer_or_down_is_awaited) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Notebook notebook;
    Runtime runtime(tests::seeded(seed));
    const Pid server = runtime.spawn<Server>();
    const Pid doomed = runtime.spawn<Server>();
    const Pid picky = runtime.spawn<Picky>(&notebook);
    runtime.cast<Picky>(picky, Go{server, doomed});
    for (int i = 1; i <= 3; ++i) runtime.send(picky, i);
    runtime.run_ready();
    EXPECT_EQ(notebook.size(), 0U);
    EXPECT_EQ(runtime.mailbox_length(picky), 3U);
    runtime.run_for(milliseconds(10));
    // Half of the time the Down is there before it is awaited.
    if (seed % 2 == 0) runtime.send(picky, 4);
    runtime.exit(doomed, ExitReason::custom("gone"));
    runtime.run_for(milliseconds(20));
    Lines expected{"answer 0", "down gone", "time up", "1", "2", "3"};
    if (seed % 2 == 0) expected.emplace_back("4");
    ASSERT_EQ(notebook.lines(), expected) << "seed " << seed;
  }
}

Async<std::string> catch_the_crash(Self self, Pid server) {
  auto calling = self.call<Server>(server, Boom{});
  const auto answer = co_await calling;
  if (!answer) throw std::logic_error("the server died");
  co_return "";
}

struct Deferred {
  using Answer = int;
  bool waits = false;
};

// Crashes with the Reply in its hands.
struct Dropper {
  void handle_call(Self /*self*/, Deferred /*request*/, Reply<int> /*reply*/) { throw std::runtime_error("plain"); }
};
struct LateDropper {
  Async<void> handle_call(Self self, Deferred /*request*/, Reply<int> reply) {
    auto sleeping = self.sleep(milliseconds(1));
    co_await sleeping;
    const Reply<int> held = std::move(reply);
    throw std::runtime_error("coroutine");
  }
};

TEST(Reply, lost_in_a_crash_tells_the_reason_and_only_when_the_server_is_dead) {
  on_both([](Runtime& runtime) {
    const Pid plain = runtime.spawn<Dropper>();
    const auto first = runtime.call<Dropper>(plain, Deferred{});
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().failure, CallFailure::server_died);
    EXPECT_EQ(first.error().reason.term(), "plain");
    EXPECT_FALSE(runtime.is_alive(plain));
    const Pid late = runtime.spawn<LateDropper>();
    const auto second = runtime.call<LateDropper>(late, Deferred{});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().failure, CallFailure::server_died);
    EXPECT_EQ(second.error().reason.term(), "coroutine");
    EXPECT_FALSE(runtime.is_alive(late));
  });
}

struct Join {};
// Ends of a link to nobody, with a caller waiting.
struct LonelyServer {
  Async<int> handle_call(Self self, Join /*request*/) {
    self.link(Pid(0, 5, 3));
    auto sleeping = self.sleep(std::chrono::seconds(100));
    co_await sleeping;
    co_return 1;
  }
};

// noproc would say that nothing was done: safe to ask again.
TEST(Call, of_a_server_that_ended_of_noproc_says_that_it_died) {
  Runtime runtime(tests::seeded(1));
  const Pid lonely = runtime.spawn<LonelyServer>();
  const auto answer = runtime.call<LonelyServer>(lonely, Join{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::server_died) << answer.error().text();
}

Async<int> await_in_the_other_order(Self self) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  auto first = self.blocking([count] { ++*count; });
  auto second = self.blocking([count] { ++*count; });
  auto sleeping = self.sleep(milliseconds(50));
  co_await sleeping;
  co_await second;
  co_await first;
  co_return count->load();
}

TEST(Run, may_await_what_was_asked_for_in_any_order) {
  on_both([](Runtime& runtime) {
    const auto done = runtime.run(&await_in_the_other_order);
    ASSERT_TRUE(done);
    EXPECT_EQ(*done, 2);
  });
}

TEST(Run, gives_what_the_coroutine_returns_or_how_it_died) {
  on_both([](Runtime& runtime) {
    const Pid server = runtime.spawn<Server>();
    const auto result = runtime.run(&catch_the_crash, server);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason.crash_type(), "std::logic_error");
    // The slot goes back after everybody was told.
    EXPECT_TRUE(comes_true(runtime, [&] { return runtime.process_count() == 0; }));
  });
}

TEST(Call, from_many_threads_at_once_each_gets_its_own_answer) {
  Runtime runtime(tests::threaded());
  const Pid stranger = runtime.spawn<Stranger>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2'000; ++i)
        ASSERT_EQ(runtime.call<Stranger>(stranger, Add{t * 10'000 + i}).value(), t * 10'000 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Answers and time-outs that race: whichever comes first, nothing is lost or freed twice.
TEST(Call, giving_up_while_the_answer_comes_is_harmless) {
  Runtime runtime(tests::threaded());
  const Pid server = runtime.spawn<Server>();
  int answered = 0;
  for (int i = 0; i < 300; ++i) {
    const auto answer = runtime.call<Server>(server, Add{1}, std::chrono::microseconds(i % 60));
    answered += answer ? 1 : 0;
  }
  EXPECT_EQ(runtime.call<Server>(server, Add{0}).value(), 300) << "each was carried out, answered or not";
  EXPECT_GE(answered, 0);
}

}  // namespace
}  // namespace skein
