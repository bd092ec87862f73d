// What every engine of the journal owes its callers. An engine to come joins by one more line in the instantiation.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>

#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/loopback_links.hpp"
#include "skein/journal/member_journal.hpp"
#include "skein/journal/testing.hpp"
#include "skein/journal/threaded_journal.hpp"

namespace skein::journal {
namespace {

using tests::k_long;

// A key-value machine with one command that throws.
struct ThrowingMachine : KvMachine {
  std::string apply(Position position, std::string_view bytes) {
    if (bytes == "throw") throw std::runtime_error("on purpose");
    return KvMachine::apply(position, bytes);
  }
};

enum class Engine { memory, embedded, member_in_memory, one_thread, three_threads, group };

class JournalContract : public testing::TestWithParam<Engine> {
 protected:
  JournalContract() {
    static std::atomic<int> number{0};
    dir_ = std::filesystem::temp_directory_path() /
           ("skein-contract-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    limits_.segment_bytes = 1U << 18U;
    limits_.first_segment_bytes = 1U << 16U;
    limits_.sector_bytes = 512;
    limits_.disk_low_water_bytes = 0;
  }
  ~JournalContract() override {
    if (journal_) journal_->close();
    for (auto& each : others_) each.journal->close();
    journal_.reset();
    others_.clear();
    std::filesystem::remove_all(dir_);
  }

  Journal& open() {
    journal_.reset();
    others_.clear();
    if (GetParam() == Engine::memory) {
      journal_ = open_memory_journal(machine_, limits_);
    } else if (GetParam() == Engine::embedded) {
      auto journal = open_journal(dir_.string(), machine_, limits_);
      EXPECT_TRUE(journal) << journal.error().describe();
      journal_ = std::move(*journal);
    } else if (GetParam() == Engine::member_in_memory) {
      journal_ = std::make_unique<MemberJournal>(MemberCore::in_memory(machine_, limits_));
    } else if (GetParam() == Engine::group) {
      // The first one is to lead: it is the only one that stands for election in time.
      journal_ = open_member(1, machine_, std::chrono::milliseconds(50));
      for (consensus::MemberId id = 2; id <= 3; ++id) {
        Other& other = others_.emplace_back();
        other.journal = open_member(id, other.machine, std::chrono::milliseconds(2000));
      }
      EXPECT_TRUE(journal_->wait_leader(k_long));
    } else {
      const auto threads =
          GetParam() == Engine::one_thread ? MemberJournal::Threads::one : MemberJournal::Threads::three;
      auto core = MemberCore::open(file_disk(), dir_.string(), machine_, limits_);
      EXPECT_TRUE(core) << core.error().describe();
      journal_ = std::make_unique<MemberJournal>(std::move(*core), threads);
    }
    // What is appended by the journal itself: its configuration, its members, and that it leads.
    hold()->count_down();
    first_ = journal_->status().applied + 1;
    return *journal_;
  }
  std::unique_ptr<MemberJournal> open_member(consensus::MemberId id, MachineRef machine, Duration election) {
    MemberOptions options{.self = id, .cluster = 9, .seed = id, .founders = {1, 2, 3}, .limits = {}};
    options.limits.heartbeat = election / 5;
    options.limits.election_min = election;
    options.limits.election_max = election * 2;
    auto core = MemberCore::open(file_disk(), (dir_ / std::to_string(id)).string(), machine, limits_, options,
                                 Instant(std::chrono::steady_clock::now().time_since_epoch()));
    EXPECT_TRUE(core) << core.error().describe();
    (*core)->on_send(links_.sender());
    auto journal = std::make_unique<MemberJournal>(std::move(*core), MemberJournal::Threads::three);
    links_.attach(id, *journal);
    return journal;
  }
  CommandId next_id() { return {42, ++last_id_}; }
  AppendAnswer append(Batch batch, Urgency urgency = Urgency::ordinary) {
    return append_and_wait(*journal_, std::move(batch), k_long, urgency);
  }
  AppendAnswer append(std::string bytes) { return append(Batch{{next_id(), std::move(bytes)}}); }

  // Keeps the journal's thread busy until the latch is released.
  std::shared_ptr<std::latch> hold() {
    auto busy = std::make_shared<std::latch>(1);
    auto release = std::make_shared<std::latch>(1);
    journal_->read(Read::linear(), [busy, release](ReadAnswer) {
      busy->count_down();
      release->wait();
    });
    busy->wait();
    return release;
  }

  struct Other {
    ThrowingMachine machine;
    std::unique_ptr<MemberJournal> journal;
  };

  std::filesystem::path dir_;
  JournalLimits limits_;
  ThrowingMachine machine_;
  Position first_ = 1;  // of the first command
  LoopbackLinks links_;
  std::deque<Other> others_;
  std::uint64_t last_id_ = 0;
  std::unique_ptr<Journal> journal_;
};

TEST_P(JournalContract, answers_with_what_apply_said) {
  open();
  const auto answer = append({{next_id(), kv_add("n", 2)}, {next_id(), kv_add("n", 3)}, {next_id(), "junk"}});
  ASSERT_EQ(answer.outcome, Outcome::applied) << answer.why;
  ASSERT_EQ(answer.results.size(), 3U);
  EXPECT_EQ(answer.results[0].result, "2");
  EXPECT_EQ(answer.results[1].result, "5");
  EXPECT_EQ(answer.results[2].result, "bad command");
}

TEST_P(JournalContract, commands_of_a_batch_are_neighbours_and_positions_grow_by_one) {
  open();
  Position expected = first_;
  for (int i = 0; i < 5; ++i) {
    const auto answer = append({{next_id(), kv_add("n", 1)}, {next_id(), kv_add("n", 1)}});
    ASSERT_EQ(answer.outcome, Outcome::applied);
    for (const auto& applied : answer.results) EXPECT_EQ(applied.position, expected++);
  }
}

TEST_P(JournalContract, applies_an_id_once) {
  open();
  const auto id = next_id();
  const auto first = append(Batch{{id, kv_add("n", 1)}});
  const auto again = append(Batch{{id, kv_add("n", 1)}});
  ASSERT_EQ(again.outcome, Outcome::applied);
  EXPECT_TRUE(again.results[0].repeated);
  EXPECT_EQ(again.results[0].result, "1");
  EXPECT_EQ(again.results[0].position, first.results[0].position);
  const auto twice = next_id();
  const auto both = append({{twice, kv_add("n", 1)}, {twice, kv_add("n", 1)}});
  EXPECT_EQ(both.results[1].result, "2");
  EXPECT_TRUE(both.results[1].repeated);
  EXPECT_EQ(append(kv_add("n", 1)).results[0].result, "3");
}

TEST_P(JournalContract, refuses_what_can_never_be_accepted) {
  limits_.entry_bytes = 100;
  limits_.batch_bytes = 400;
  open();
  EXPECT_EQ(append(Batch{}).outcome, Outcome::refused);
  EXPECT_EQ(append(Batch{{CommandId{}, kv_add("n", 1)}}).outcome, Outcome::refused);
  const auto large = append(std::string(101, 'x'));
  EXPECT_EQ(large.outcome, Outcome::refused);
  EXPECT_NE(large.why.find("entry_bytes"), std::string::npos);
  Batch many;
  for (int i = 0; i < 4; ++i) many.push_back({next_id(), std::string(90, 'x')});
  EXPECT_EQ(append(std::move(many)).outcome, Outcome::refused);
  EXPECT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
}

// Told to try later, its owner would do so for ever.
TEST_P(JournalContract, refuses_what_is_larger_than_all_that_may_be_in_flight) {
  limits_.in_flight_bytes = 1000;
  limits_.in_flight_reserve_bytes = 1000;
  open();
  const auto large = append(kv_put("a", std::string(1000, 'x')));
  EXPECT_EQ(large.outcome, Outcome::refused);
  EXPECT_NE(large.why.find("in_flight_bytes"), std::string::npos);
  Batch completion{{next_id(), kv_put("a", std::string(1000, 'x'))}};
  EXPECT_EQ(append_and_wait(*journal_, std::move(completion), k_long, Urgency::completion).outcome, Outcome::applied);
}

TEST_P(JournalContract, is_overloaded_when_too_much_is_in_flight_and_completions_use_the_reserve) {
  limits_.in_flight_bytes = 1000;
  limits_.in_flight_reserve_bytes = 1000;
  open();
  const auto release = hold();
  std::atomic<int> applied{0};
  const auto count = [&](AppendAnswer answer) { applied += answer.outcome == Outcome::applied ? 1 : 0; };
  journal_->append({{next_id(), kv_put("a", std::string(800, 'x'))}}, count);
  const auto full = append(kv_put("b", std::string(800, 'x')));
  EXPECT_EQ(full.outcome, Outcome::overloaded);
  EXPECT_NE(full.why.find("in_flight_bytes"), std::string::npos);
  journal_->append({{next_id(), kv_put("c", std::string(800, 'x'))}}, count, Urgency::completion);
  EXPECT_GT(journal_->status().in_flight_bytes, 1600U);
  release->count_down();
  EXPECT_EQ(append(kv_put("b", "x")).outcome == Outcome::stopped, false);
  journal_->close();
  EXPECT_EQ(applied, 2);
  EXPECT_EQ(journal_->status().in_flight_bytes, 0U);
}

TEST_P(JournalContract, a_read_waits_for_its_position) {
  open();
  std::promise<ReadAnswer> seen;
  std::atomic<bool> called{false};
  journal_->read(Read::at(first_ + 1), [&](ReadAnswer answer) {
    called = true;
    seen.set_value(std::move(answer));
  });
  ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
  hold()->count_down();
  EXPECT_FALSE(called);
  ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
  const auto answer = seen.get_future().get();
  EXPECT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.position, first_ + 1);
}

TEST_P(JournalContract, a_read_sees_every_append_answered_before_it) {
  open();
  for (int i = 1; i <= 20; ++i) {
    ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
    std::promise<std::optional<std::string>> seen;
    journal_->read(Read::linear(), [&](ReadAnswer) { seen.set_value(machine_.get("n")); });
    EXPECT_EQ(seen.get_future().get(), std::to_string(i));
  }
}

TEST_P(JournalContract, too_many_waiting_reads_are_overloaded) {
  limits_.reads_waiting = 3;
  open();
  int overloaded = 0;
  for (int i = 0; i < 5; ++i) {
    journal_->read(Read::at(100),
                   [&](ReadAnswer answer) { overloaded += answer.outcome == Outcome::overloaded ? 1 : 0; });
  }
  EXPECT_EQ(overloaded, 2);
  journal_->close();
}

// One that removes itself from the machine has no other time to do it.
TEST_P(JournalContract, a_visit_waits_for_its_turn_however_many_read) {
  limits_.reads_waiting = 3;
  open();
  const auto release = hold();
  std::atomic<bool> is_full{false};
  while (!is_full) {
    journal_->read(Read::linear(),
                   [&](const ReadAnswer& answer) { is_full = is_full || answer.outcome == Outcome::overloaded; });
  }
  std::atomic<bool> is_released{false};
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_released = true;
    release->count_down();
  });
  int visits = 0;
  visit(*journal_, [&](Outcome outcome) {
    EXPECT_TRUE(is_released) << "on this thread, beside the journal's";
    EXPECT_EQ(outcome, Outcome::applied);
    ++visits;
  });
  EXPECT_EQ(visits, 1);
  releaser.join();
  journal_->close();
  visit(*journal_, [&](Outcome outcome) { visits += outcome == Outcome::stopped ? 1 : 100; });
  EXPECT_EQ(visits, 2);
}

TEST_P(JournalContract, takes_a_snapshot_and_goes_on) {
  open();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
  std::promise<StoreResult<SnapshotInfo>> taken;
  journal_->snapshot([&](StoreResult<SnapshotInfo> info) { taken.set_value(std::move(info)); });
  const auto info = taken.get_future().get();
  ASSERT_TRUE(info) << info.error().describe();
  EXPECT_EQ(info->position, first_ + 9);
  journal_->trim();
  EXPECT_EQ(append(kv_add("n", 1)).results[0].result, "11");
}

TEST_P(JournalContract, a_snapshot_covers_everything_applied_when_it_was_asked_for) {
  open();
  std::vector<std::promise<Position>> taken(20);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
    journal_->snapshot([&, i](StoreResult<SnapshotInfo> info) { taken[i].set_value(info ? info->position : 0); });
  }
  for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_GE(taken[i].get_future().get(), first_ + i);
}

TEST_P(JournalContract, trims_and_limits_to_trimming_change_nothing_that_can_be_seen) {
  limits_.trim_limit = 5;
  open();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(append(kv_put("k", std::string(2000, 'x'))).outcome, Outcome::applied);
  std::promise<void> taken;
  journal_->snapshot([&](const StoreResult<SnapshotInfo>&) { taken.set_value(); });
  taken.get_future().get();
  journal_->trim(first_ + 9);
  journal_->set_trim_limit(first_ + 14);
  journal_->trim();
  journal_->set_trim_limit(k_no_trim_limit);
  EXPECT_EQ(append(kv_add("n", 1)).results[0].position, first_ + 20);
}

// The journal of one node always leads, but can be told that it does not.
class ToldJournal : public JournalContract {
 protected:
  void set_leader(std::optional<std::string> leader) {
    auto* engine = dynamic_cast<ThreadedJournal*>(journal_.get());
    ASSERT_NE(engine, nullptr);
    engine->set_leader(std::move(leader));
  }
};

TEST_P(ToldJournal, one_that_does_not_lead_names_who_does_and_does_nothing) {
  open();
  ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
  set_leader("other");
  const auto kept = next_id();
  const auto turned_away = append(Batch{{kept, kv_add("n", 1)}});
  EXPECT_EQ(turned_away.outcome, Outcome::not_leader);
  EXPECT_EQ(turned_away.leader, "other");
  std::promise<ReadAnswer> linear;
  journal_->read(Read::linear(), [&](ReadAnswer answer) { linear.set_value(std::move(answer)); });
  const auto read = linear.get_future().get();
  EXPECT_EQ(read.outcome, Outcome::not_leader);
  EXPECT_EQ(read.leader, "other");
  std::promise<ReadAnswer> local;
  journal_->read(Read::local(), [&](ReadAnswer answer) { local.set_value(std::move(answer)); });
  EXPECT_EQ(local.get_future().get().outcome, Outcome::applied) << "what is here may be read, whoever leads";
  EXPECT_EQ(journal_->leader(), "other");
  EXPECT_TRUE(journal_->wait_leader(k_long)) << "a leader it is, though another";
  set_leader("self");
  const auto again = append(Batch{{kept, kv_add("n", 1)}});
  ASSERT_EQ(again.outcome, Outcome::applied) << again.why;
  EXPECT_FALSE(again.results[0].repeated);
  EXPECT_EQ(again.results[0].result, "2");
  EXPECT_EQ(journal_->status().in_flight_bytes, 0U);
}

TEST_P(ToldJournal, what_is_queued_when_the_leadership_goes_is_applied_or_turned_away) {
  open();
  const auto release = hold();
  std::atomic<int> applied{0};
  std::atomic<int> turned_away{0};
  const auto count = [&](AppendAnswer answer) {
    applied += answer.outcome == Outcome::applied ? 1 : 0;
    turned_away += answer.outcome == Outcome::not_leader ? 1 : 0;
  };
  for (int i = 0; i < 10; ++i) journal_->append({{next_id(), kv_add("n", 1)}}, count);
  set_leader(std::nullopt);
  for (int i = 0; i < 10; ++i) journal_->append({{next_id(), kv_add("n", 1)}}, count);
  release->count_down();
  set_leader("self");
  const auto last = append(kv_add("n", 1));
  ASSERT_EQ(last.outcome, Outcome::applied);
  EXPECT_EQ(applied + turned_away, 20);
  EXPECT_GE(turned_away, 10);
  EXPECT_EQ(last.results[0].result, std::to_string(applied + 1));
}

TEST_P(ToldJournal, waits_for_a_leader) {
  open();
  set_leader(std::nullopt);
  EXPECT_EQ(append(kv_add("n", 1)).outcome, Outcome::not_leader);
  EXPECT_FALSE(journal_->has_quorum());
  EXPECT_FALSE(journal_->wait_leader(std::chrono::milliseconds(1)));
  std::thread elects([&] { set_leader("self"); });
  EXPECT_TRUE(journal_->wait_leader(k_long));
  elects.join();
}

TEST_P(ToldJournal, a_subscriber_first_hears_how_things_are) {
  using Kind = JournalEvent::Kind;
  open();
  hold()->count_down();
  std::vector<Kind> heard;  // on the journal's thread, and read when that is done
  journal_->subscribe([&](const JournalEvent& event) { heard.push_back(event.kind); });
  set_leader(std::nullopt);
  std::vector<Kind> heard_later;
  journal_->subscribe([&](const JournalEvent& event) { heard_later.push_back(event.kind); });
  set_leader("other");
  journal_->close();
  EXPECT_EQ(heard, (std::vector<Kind>{Kind::leader_elected, Kind::leader_lost, Kind::quorum_lost, Kind::quorum_restored,
                                      Kind::leader_elected, Kind::leader_lost, Kind::stopped}));
  EXPECT_EQ(heard_later, (std::vector<Kind>{Kind::leader_lost, Kind::quorum_restored, Kind::leader_elected,
                                            Kind::leader_lost, Kind::stopped}));
  std::vector<Kind> heard_last;
  journal_->subscribe([&](const JournalEvent& event) { heard_last.push_back(event.kind); });
  EXPECT_EQ(heard_last, (std::vector<Kind>{Kind::stopped}));
}

TEST_P(JournalContract, has_a_leader_and_a_quorum_until_it_is_closed) {
  open();
  EXPECT_TRUE(journal_->wait_leader(k_long));
  EXPECT_TRUE(journal_->leader().has_value());
  EXPECT_TRUE(journal_->has_quorum());
  std::atomic<int> stopped{0};
  journal_->subscribe([&](const JournalEvent& e) { stopped += e.kind == JournalEvent::Kind::stopped ? 1 : 0; });
  const auto dropped =
      journal_->subscribe([&](const JournalEvent& e) { stopped += e.kind == JournalEvent::Kind::stopped ? 100 : 0; });
  journal_->unsubscribe(dropped);
  journal_->close();
  EXPECT_EQ(stopped, 1);
  EXPECT_FALSE(journal_->leader().has_value());
  EXPECT_FALSE(journal_->has_quorum());
}

TEST_P(JournalContract, close_lets_go_of_the_folder_before_the_journal_is_destroyed) {
  const bool has_folder = GetParam() == Engine::embedded || GetParam() == Engine::one_thread;
  if (!has_folder && GetParam() != Engine::three_threads) GTEST_SKIP() << "it has none, or another";
  open();
  ThrowingMachine other;
  EXPECT_FALSE(open_journal(dir_.string(), other, limits_)) << "two had it at once";
  journal_->close();
  const auto next = open_journal(dir_.string(), other, limits_);
  EXPECT_TRUE(next) << next.error().describe();
}

TEST_P(JournalContract, close_answers_everything_and_then_nothing_is_taken) {
  open();
  std::atomic<int> applied{0};
  for (int i = 0; i < 500; ++i) {
    journal_->append({{next_id(), kv_add("n", 1)}},
                     [&](AppendAnswer answer) { applied += answer.outcome == Outcome::applied ? 1 : 0; });
  }
  std::atomic<int> reads_stopped{0};
  journal_->read(Read::at(9999),
                 [&](ReadAnswer answer) { reads_stopped += answer.outcome == Outcome::stopped ? 1 : 0; });
  journal_->close();
  journal_->close();
  EXPECT_EQ(applied, 500);
  EXPECT_EQ(reads_stopped, 1);
  EXPECT_EQ(append(kv_add("n", 1)).outcome, Outcome::stopped);
  EXPECT_EQ(machine_.get("n"), "500");
}

// A reader that is told `stopped` may touch the machine, so the journal's thread must not.
TEST_P(JournalContract, a_read_after_the_end_is_answered_when_nothing_is_applied_any_more) {
  open();
  std::promise<void> held;
  std::promise<void> let_go;
  journal_->read(Read::linear(), [&](const ReadAnswer&) {
    held.set_value();
    let_go.get_future().wait();
  });
  held.get_future().wait();
  std::thread closer([&] { journal_->close(); });
  const auto is_closing = [&] {
    // Its own: one that is taken is answered later.
    const auto is_stopped = std::make_shared<std::atomic<bool>>(false);
    journal_->append({{next_id(), kv_add("n", 1)}},
                     [is_stopped](const AppendAnswer& answer) { *is_stopped = answer.outcome == Outcome::stopped; });
    return is_stopped->load();
  };
  while (!is_closing()) std::this_thread::yield();
  std::promise<void> told;
  auto is_told = told.get_future();
  std::thread reader([&] { journal_->read(Read::linear(), [&](const ReadAnswer&) { told.set_value(); }); });
  EXPECT_EQ(is_told.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout) << "its thread is at work";
  let_go.set_value();
  is_told.wait();
  reader.join();
  closer.join();
}

TEST_P(JournalContract, stops_where_the_machine_throws) {
  open();
  ASSERT_EQ(append(kv_add("n", 1)).outcome, Outcome::applied);
  const auto thrown = append("throw");
  EXPECT_EQ(thrown.outcome, Outcome::unknown);
  EXPECT_NE(thrown.why.find("position " + std::to_string(first_ + 1)), std::string::npos) << thrown.why;
  const auto after = append(kv_add("n", 1));
  EXPECT_EQ(after.outcome, Outcome::stopped);
  EXPECT_NE(after.why.find("on purpose"), std::string::npos);
  EXPECT_FALSE(journal_->has_quorum());
}

TEST_P(JournalContract, many_threads_append_and_each_gets_its_own_answers) {
  open();
  constexpr int k_threads = 4;
  constexpr int k_each = 300;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      const std::string key = "t" + std::to_string(t);
      std::latch all(k_each);
      for (int i = 1; i <= k_each; ++i) {
        journal_->append({{CommandId{7, static_cast<std::uint64_t>(t * 1000 + i)}, kv_add(key, 1)}},
                         [&, i](AppendAnswer a) {
                           right += a.outcome == Outcome::applied && a.results[0].result == std::to_string(i) ? 1 : 0;
                           all.count_down();
                         });
      }
      all.wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, k_threads * k_each);
  EXPECT_EQ(journal_->status().in_flight_bytes, 0U);
}

std::string name_of_engine(const testing::TestParamInfo<Engine>& info) {
  switch (info.param) {
    case Engine::memory:
      return "memory";
    case Engine::embedded:
      return "embedded";
    case Engine::member_in_memory:
      return "member_in_memory";
    case Engine::one_thread:
      return "one_thread";
    case Engine::three_threads:
      return "three_threads";
    case Engine::group:
      return "group";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Engines, JournalContract,
                         testing::Values(Engine::memory, Engine::embedded, Engine::member_in_memory, Engine::one_thread,
                                         Engine::three_threads, Engine::group),
                         name_of_engine);
INSTANTIATE_TEST_SUITE_P(Engines, ToldJournal, testing::Values(Engine::memory, Engine::embedded), name_of_engine);

}  // namespace
}  // namespace skein::journal
