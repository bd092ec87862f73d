// Where the threaded scheduler lets processes run: on two workers what is worth it, on one what is not.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::seconds;

struct Splash {
  std::thread::id sent_on;
};

// Sends without end, as fast as it may.
class Source {
 public:
  Source(Self self, Pid sink, std::atomic<bool>* stop) : sink_(sink), stop_(stop) { self.send(self.pid(), 1); }
  Async<> handle_info(Self self, Message /*message*/) {
    while (!*stop_) {
      self.send(sink_, Splash{std::this_thread::get_id()});
      co_await self.yield();
    }
  }

 private:
  Pid sink_;
  std::atomic<bool>* stop_;
};

struct Account {
  std::atomic<std::uint64_t> splashes{0};
  std::atomic<std::uint64_t> from_here{0};  // sent on the worker that handles them
  std::atomic<std::thread::id> worker{};
};

class Sink {
 public:
  Sink(Self /*self*/, Account* account) : account_(account) {}
  void handle_info(Self /*self*/, Message message) {
    const std::thread::id here = std::this_thread::get_id();
    account_->worker.store(here, std::memory_order_relaxed);
    account_->splashes.fetch_add(1, std::memory_order_relaxed);
    if (message.get_if<Splash>()->sent_on == here) account_->from_here.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Account* account_;
};

constexpr std::uint64_t k_splashes = 2'000'000;

TEST(Placement, those_who_flood_one_process_come_to_run_where_it_runs) {
  if (tests::k_patience > 1) GTEST_SKIP() << "no message is small in a program that is slowed down";
  std::atomic<bool> stop{false};
  Account account;
  Runtime runtime(tests::threaded(2));
  const Pid sink = runtime.spawn<Sink>(&account);
  for (int i = 0; i < 8; ++i) runtime.spawn<Source>(sink, &stop);
  ASSERT_TRUE(tests::eventually([&] { return account.splashes > k_splashes; }, seconds(60)));
  const std::uint64_t splashes = account.splashes;
  const std::uint64_t from_here = account.from_here;
  ASSERT_TRUE(tests::eventually([&] { return account.splashes > splashes + k_splashes; }, seconds(60)));
  const auto share =
      static_cast<double>(account.from_here - from_here) / static_cast<double>(account.splashes - splashes);
  EXPECT_GT(share, 0.8);
  stop = true;
}

TEST(Placement, floods_of_several_processes_are_spread_over_the_workers) {
  std::atomic<bool> stop{false};
  std::array<Account, 4> accounts;
  Runtime runtime(tests::threaded(2));
  for (Account& account : accounts) {
    const Pid sink = runtime.spawn<Sink>(&account);
    for (int i = 0; i < 2; ++i) runtime.spawn<Source>(sink, &stop);
  }
  EXPECT_TRUE(tests::eventually(
      [&] {
        std::set<std::thread::id> workers;
        for (const Account& account : accounts) {
          if (account.splashes > 0) workers.insert(account.worker.load());
        }
        return workers.size() == 2;
      },
      seconds(60)));
  stop = true;
}

struct Small {
  Small(Self self, Pid parent) {
    self.send(parent, std::this_thread::get_id());
    self.stop();
  }
};

struct Family {
  std::uint64_t children = 0;
  std::uint64_t elsewhere = 0;
};

// Has many small children, batch after batch.
class Parent {
 public:
  Parent(Self self, int batches, Family* family, std::atomic<bool>* done)
      : batches_(batches), family_(family), done_(done) {
    self.send(self.pid(), 1);
  }
  void handle_info(Self self, Message message) {
    if (const auto* ran_on = message.get_if<std::thread::id>(); ran_on != nullptr) {
      ++family_->children;
      if (*ran_on != std::this_thread::get_id()) ++family_->elsewhere;
      if (--open_ != 0) return;
    }
    if (batches_-- == 0) {
      *done_ = true;
      return;
    }
    open_ = k_batch;
    for (int i = 0; i < k_batch; ++i) self.spawn<Small>(self.pid());
  }

 private:
  static constexpr int k_batch = 1'000;
  int batches_;
  int open_ = 0;
  Family* family_;
  std::atomic<bool>* done_;
};

// Fetching them one by one costs more than running them.
TEST(Placement, small_processes_are_left_where_they_were_born) {
  if (tests::k_patience > 1) GTEST_SKIP() << "no process is small in a program that is slowed down";
  Family family;
  std::atomic<bool> done{false};
  Runtime runtime(tests::threaded(2));
  runtime.spawn<Parent>(500, &family, &done);
  ASSERT_TRUE(tests::eventually([&] { return done.load(); }, seconds(60)));
  EXPECT_EQ(family.children, 500'000U);
  EXPECT_LT(family.elsewhere, family.children / 10);
}

}  // namespace
}  // namespace skein
