// Snapshots: replay from any of them leads to the same state and the same running hash; garbage is refused.
// With SKEIN_WRITE_FIXTURES set, the fixture of the present version is rewritten; that is for a new version only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "skein/base/random.hpp"
#include "skein/base/test_files.hpp"
#include "skein/journal/replica.hpp"
#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

// Commands that leave something of everything behind.
std::vector<std::string> eventful_log() {
  std::vector<std::string> log;
  const auto add = [&log](const std::vector<Op>& ops) { log.push_back(encode_command(ops)); };
  add({TakeDispatch{"node-1", 10}});
  add({SwarmPut{"s", Origin::config, {{"open_tasks", "50"}, {"topology", "star"}}},
       SwarmOverride{"s", {{"topology", "mesh"}}}, SwarmPut{"gone", Origin::api, {}}, SwarmRemove{"gone"},
       SwarmSetBreaker{"s", Breaker::half_open, 99}, AgentPut{"worker-1", {{"role", "worker"}}}});
  Limits limits;
  limits.history = 3;
  limits.keys = 5;
  add({SetLimits{limits}});
  std::vector<Op> submits;
  for (std::uint64_t n = 1; n <= 12; ++n) {
    auto op = submit(n);
    op.spec.swarm = n % 2 == 0 ? "s" : "default";
    op.spec.priority = n % 3 == 0 ? k_high : k_low;
    if (n % 4 == 0) op.spec.extras.dependencies = {task_id(n - 1), task_id(n - 2)};
    if (n % 2 == 1) op.spec.extras.key = "key-" + std::to_string(n);
    if (n == 5) op.spec.capabilities = {"x", "y"};
    if (n == 6) op.spec.deadline_at = 3000;
    submits.emplace_back(op);
  }
  add(submits);
  add({Assign{1, task_id(1), "a", 20}, Assign{1, task_id(2), "b", 20}, Assign{1, task_id(5), "a", 20},
       Assign{1, task_id(9), "c", 20}});
  add({Start{task_id(1), 1, 21}, Start{task_id(2), 2, 21}, Progress{task_id(2), 2, 22, body_of("half")}});
  add({Complete{task_id(1), 1, 23, body_of("done")}, Fail{task_id(5), 3, 24, ErrorClass::resource, 100, "no memory"},
       Requeue{1, task_id(9), 4, 25, RequeueReason::agent_crash, 0, true}});
  add({Cancel{task_id(3), 26, "not needed"}, Expire{1, task_id(6), 3000}, Retry{task_id(3), task_id(20), 27}});
  add({Age{1, {{task_id(11), std::uint16_t{30}}}}, Archived{1}, EvictKeys{1001, 1}});
  log.emplace_back("\x01\x01\x08\x02xx", 6);
  return log;
}

// The same, and what version 2 brought: tasks that were handed on, that could not be, and one that ended afterwards.
std::vector<std::string> eventful_log_2() {
  auto log = eventful_log();
  const auto add = [&log](const std::vector<Op>& ops) { log.push_back(encode_command(ops)); };
  const auto fall_back = [](std::uint64_t n, Fence fence, FallbackCause cause, const char* to) {
    return FallBack{1, task_id(n), fence, 41, cause, ErrorClass::resource, 50, "broken", to};
  };
  add({fall_back(2, 2, FallbackCause::reported, "default"), LedgerVersion{2},
       SwarmSetBreaker{"s", Breaker::closed, 0}});
  std::vector<Op> submits;
  for (std::uint64_t n = 31; n <= 36; ++n) {
    auto op = submit(n);
    op.spec.swarm = "s";
    op.spec.attempts_max = n == 36 ? 2 : 1;
    if (n % 2 == 1) op.spec.extras.key = "key-" + std::to_string(n);
    submits.emplace_back(op);
  }
  add(submits);
  std::vector<Op> assigns;
  for (std::uint64_t n = 31; n <= 36; ++n) assigns.emplace_back(Assign{1, task_id(n), "d", 40});
  add(assigns);
  add({fall_back(31, 5, FallbackCause::reported, "default"), fall_back(32, 6, FallbackCause::agent_crash, "default"),
       fall_back(33, 7, FallbackCause::lease_expired, "default"), fall_back(34, 8, FallbackCause::reported, "nowhere"),
       fall_back(35, 9, FallbackCause::node_crash, "default"), fall_back(36, 10, FallbackCause::reported, "default")});
  add({Assign{1, task_id(31), "e", 42}, Assign{1, task_id(32), "e", 42}});
  add({fall_back(31, 11, FallbackCause::reported, "s"), Complete{task_id(32), 12, 43, body_of("done elsewhere")}});
  return log;
}

// And version 3: crashes of which something is known, at once and before all others, or later.
std::vector<std::string> eventful_log_3() {
  auto log = eventful_log_2();
  const auto add = [&log](const std::vector<Op>& ops) { log.push_back(encode_command(ops)); };
  add({LedgerVersion{3}, submit(41), submit(42), submit(43)});
  add({Assign{1, task_id(41), "a", 60}, Assign{1, task_id(42), "b", 60}});
  add({Fail{task_id(41), 13, 61, ErrorClass::crash, 0, "the agent crashed: gone"},
       Fail{task_id(42), 14, 61, ErrorClass::crash, 100, "the agent crashed: gone again"}});
  return log;
}

// And version 4: tasks with a placement; one at its agent, one that any may have by now, one that was retried, one that
// was handed on, and one refused before its time.
std::vector<std::string> eventful_log_4() {
  auto log = eventful_log_3();
  const auto add = [&log](const std::vector<Op>& ops) { log.push_back(encode_command(ops)); };
  const auto placed = [](std::uint64_t n, Placement where) {
    auto op = submit(n);
    op.spec.attempts_max = 1;
    op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
    return op;
  };
  add({placed(50, {"ada", AgentFallback::none, 0, "", 0}), LedgerVersion{4}});
  add({placed(51, {"ada", AgentFallback::none, 0, "customer-7", 0}),
       placed(52, {"ada", AgentFallback::any, 60'000, "", 0}), placed(53, {"", AgentFallback::by_config, 0, "k", 0}),
       placed(54, {"bob", AgentFallback::by_config, 0, "", 0}), placed(55, {"bob", AgentFallback::any, 5, "k", 0})});
  add({Assign{1, task_id(51), "bob", 70}, Assign{1, task_id(51), "ada", 70}, Unpin{1, task_id(51), 70},
       Unpin{1, task_id(52), 71}, Assign{1, task_id(54), "bob", 72}, Assign{1, task_id(55), "bob", 72}});
  add({Fail{task_id(54), 16, 73, ErrorClass::transient, 0, "broken"}, Retry{task_id(54), task_id(56), 74},
       FallBack{1, task_id(55), 17, 75, FallbackCause::reported, ErrorClass::transient, 0, "broken", "s"}});
  return log;
}

// And version 5: a token that was rotated, one with bounds, one revoked and one refused before its time; a task that
// submitted others, one of which did so in turn, and one that was refused.
std::vector<std::string> eventful_log_5() {
  auto log = eventful_log_4();
  const auto add = [&log](const std::vector<Op>& ops) { log.push_back(encode_command(ops)); };
  const auto token = [](const char* name, std::uint8_t secret, Rank rank) {
    Token made;
    made.name = name;
    made.secret.fill(secret);
    made.rank = rank;
    made.made_at = 80;
    return made;
  };
  const auto child = [](std::uint64_t n, std::uint64_t of, Fence fence) {
    auto op = submit(n);
    op.child_of = std::make_shared<const ChildOf>(ChildOf{task_id(of), fence, k_child_depth_max, 2});
    return op;
  };
  Token bound = token("bound", 2, Rank::operate);
  bound.expires_at = 500;
  bound.bounds = {task_id(60), "s", 2, 3};
  Token rotated = token("ci", 4, Rank::operate);
  rotated.previous.fill(1);
  rotated.previous_until = 90;
  add({TokenPut{token("early", 9, Rank::read), {}}, LedgerVersion{5}});
  add({TokenPut{token("ci", 1, Rank::operate), {}}, TokenPut{bound, {}}, TokenPut{token("gone", 3, Rank::read), {}},
       TokenPut{token("ci", 5, Rank::read), {}}});
  add({TokenPut{rotated, token("ci", 1, Rank::operate).secret}, TokenRevoke{"gone"}, TokenRevoke{"gone"}});
  add({submit(60), Assign{1, task_id(60), "a", 81}});
  add({child(61, 60, 18), child(62, 60, 18), child(63, 60, 18), child(64, 60, 17)});
  add({Assign{1, task_id(61), "b", 82}, child(65, 61, 19), Complete{task_id(61), 19, 83, nullptr}});
  return log;
}

journal::EntryView entry(journal::Position position, const std::string& bytes) {
  return {position, 1, journal::EntryKind::command, {1, position}, bytes};
}

TEST(LedgerSnapshot, replay_from_any_of_them_gives_the_same_digest_and_running_hash) {
  const auto log = eventful_log_5();
  Ledger whole;
  journal::Replica replica(whole, {});
  std::vector<journal::FrozenState> frozen;
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i <= log.size(); ++i) {
    frozen.push_back(replica.freeze());
    journal::StringSink sink;
    frozen.back().body->write(sink);
    bodies.push_back(sink.text);
    if (i == log.size()) break;
    ASSERT_TRUE(replica.apply(entry(i + 1, log[i])));
  }
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    Ledger later;
    journal::Replica twin(later, {});
    ASSERT_TRUE(twin.restore(frozen[i].meta, bodies[i])) << i;
    for (std::size_t n = i; n < log.size(); ++n) ASSERT_TRUE(twin.apply(entry(n + 1, log[n])));
    EXPECT_EQ(twin.hash(), replica.hash()) << i;
    EXPECT_EQ(later.digest(), whole.digest()) << i;
    EXPECT_EQ(later.counters(), whole.counters()) << i;
    journal::StringSink again;
    frozen[i].body->write(again);
    EXPECT_EQ(again.text, bodies[i]) << "what is frozen has changed";
  }
}

TEST(LedgerSnapshot, keeps_all_that_can_be_seen_of_a_task) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log()) (void)ledger.apply(++position, each);
  Ledger twin;
  ASSERT_TRUE(twin.restore(snapshot_of(ledger)));
  EXPECT_EQ(broken_invariant(*twin.freeze()), std::nullopt);
  const auto task = twin.find(task_id(5))->task;
  EXPECT_EQ(task.state, State::queued);
  EXPECT_EQ(task.history->front().message, "no memory");
  EXPECT_EQ(task.shape->capabilities, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(task.more().key, "key-5");
  EXPECT_EQ(view_of(twin.find(task_id(2))->task.mark), "half");
  EXPECT_EQ(twin.find(task_id(3))->finished->retried_as, task_id(20));
  EXPECT_EQ(twin.find_swarm("s")->field("topology"), "mesh");
  EXPECT_EQ(twin.find_key("default", "key-3"), ledger.find_key("default", "key-3"));
  EXPECT_EQ(twin.epoch(), 1U);
}

TEST(LedgerSnapshot, keeps_the_swarms_a_task_fell_back_from) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log_2()) (void)ledger.apply(++position, each);
  Ledger twin;
  ASSERT_TRUE(twin.restore(snapshot_of(ledger)));
  EXPECT_EQ(twin.version(), 2U);
  EXPECT_EQ(twin.find(task_id(31))->task.more().fallbacks,
            (std::vector<FallbackStep>{{"s", 1, 41}, {"default", 1, 41}}));
  EXPECT_EQ(twin.find(task_id(31))->task.shape->swarm, "s");
  EXPECT_EQ(twin.find(task_id(32))->finished->task.more().fallbacks, (std::vector<FallbackStep>{{"s", 1, 41}}));
  EXPECT_EQ(twin.find(task_id(34))->finished->message,
            "broken; not handed on to swarm 'nowhere': there is no such swarm");
  EXPECT_EQ(twin.find(task_id(35))->task.shape->swarm, "s") << "a crash of the node costs nothing";
  EXPECT_EQ(twin.find_key("s", "key-31")->first, task_id(31)) << "by the swarm it was submitted to";
  const auto swarm = twin.find_swarm("default");
  EXPECT_EQ(swarm->open_tasks, ledger.find_swarm("default")->open_tasks);
}

TEST(LedgerSnapshot, keeps_tokens_and_who_submitted_whom) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log_5()) (void)ledger.apply(++position, each);
  Ledger twin;
  ASSERT_TRUE(twin.restore(snapshot_of(ledger)));
  EXPECT_EQ(twin.tokens(), ledger.tokens());
  ASSERT_EQ(twin.tokens().size(), 2U);
  EXPECT_EQ(twin.tokens()[0].bounds.swarm, "s");
  EXPECT_EQ(twin.tokens()[1].previous_until, 90U);
  EXPECT_EQ(twin.find(task_id(60))->task.children, 2U);
  EXPECT_FALSE(twin.find(task_id(63))) << "a third was refused";
  EXPECT_EQ(twin.find(task_id(61))->finished->task.children, 1U);
  EXPECT_EQ(twin.find(task_id(65))->task.more().parent, task_id(61));
  EXPECT_EQ(twin.find(task_id(65))->task.more().depth, 2U);
}

TEST(LedgerSnapshot, garbage_is_refused_or_is_a_state_that_works) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log_5()) (void)ledger.apply(++position, each);
  const auto bytes = snapshot_of(ledger);
  const auto digest = ledger.digest();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Ledger other;
    EXPECT_FALSE(other.restore(bytes.substr(0, n))) << "cut at " << n;
  }
  EXPECT_FALSE(ledger.restore(bytes + '\0'));
  EXPECT_EQ(ledger.digest(), digest) << "a refused snapshot changes nothing";
  Random random(1);
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    auto bad = bytes;
    for (std::uint64_t k = 0; k <= random.below(2); ++k)
      bad[random.below(bad.size())] = static_cast<char>(random.next());
    Ledger other;
    if (!other.restore(bad)) continue;
    ++taken;
    ASSERT_EQ(snapshot_of(other), bad) << "there is one form only";
    ASSERT_EQ(broken_invariant(*other.freeze()), std::nullopt);
    for (const auto& each : eventful_log_2()) (void)other.apply(++position, each);
    ASSERT_EQ(broken_invariant(*other.freeze()), std::nullopt);
  }
  EXPECT_GT(taken, 0);
}

TEST(LedgerSnapshot, a_frozen_ledger_shows_what_a_new_dispatcher_needs) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log()) (void)ledger.apply(++position, each);
  const auto frozen = ledger.freeze();
  EXPECT_EQ(frozen->open_tasks().size(), ledger.counters().open_tasks);
  EXPECT_EQ(frozen->finished_tasks().size(), ledger.counters().finished_tasks);
  EXPECT_EQ(frozen->swarms().size(), 2U);
  EXPECT_EQ(frozen->agents()[0].name, "worker-1");
  EXPECT_EQ(frozen->dispatcher(), "node-1");
  EXPECT_EQ(frozen->epoch(), 1U);
  EXPECT_EQ(frozen->limits().history, 3U);
  TaskNumber before = 0;
  for (const auto& task : frozen->open_tasks()) {
    EXPECT_GT(task.number, before);
    before = task.number;
  }
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// What a program of that version wrote: the log is what is still written, gives the same answers and the same state,
// and its snapshot is restored.
void expect_fixture(const std::string& version, const std::vector<std::string>& commands) {
  const auto fixture = [&](const std::string& name) { return test_fixture(version) / name; };
  Ledger ledger;
  journal::Position position = 0;
  std::string log;
  std::string answers;
  for (const auto& each : commands) {
    log += std::to_string(each.size()) + "\n" + each;
    const auto answer = ledger.apply(++position, each);
    answers += std::to_string(answer.size()) + "\n" + answer;
  }
  const std::pair<const char*, std::string> files[] = {
      {"log", log}, {"answers", answers}, {"snapshot", snapshot_of(ledger)}};
  for (const auto& [name, bytes] : files) {
    if (std::getenv("SKEIN_WRITE_FIXTURES") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
      std::filesystem::create_directories(fixture(name).parent_path());
      std::ofstream(fixture(name), std::ios::binary) << bytes;
    }
    EXPECT_TRUE(contents(fixture(name)) == bytes) << name << " is not what " << version << " wrote";
  }
  Ledger old;
  ASSERT_TRUE(old.restore(contents(fixture("snapshot"))));
  EXPECT_EQ(old.digest(), ledger.digest());
}

TEST(LedgerFixture, version_1_is_what_is_written_and_read_byte_for_byte) {
  expect_fixture("ledger-v1", eventful_log());
}

TEST(LedgerFixture, version_2_is_what_is_written_and_read_byte_for_byte) {
  expect_fixture("ledger-v2", eventful_log_2());
}

TEST(LedgerFixture, version_3_is_what_is_written_and_read_byte_for_byte) {
  expect_fixture("ledger-v3", eventful_log_3());
}

TEST(LedgerFixture, version_4_is_what_is_written_and_read_byte_for_byte) {
  expect_fixture("ledger-v4", eventful_log_4());
}

TEST(LedgerFixture, version_5_is_what_is_written_and_read_byte_for_byte) {
  expect_fixture("ledger-v5", eventful_log_5());
}

TEST(LedgerFixture, what_version_4_left_goes_on_as_version_5) {
  Ledger ledger;
  ASSERT_TRUE(ledger.restore(contents(test_fixture("ledger-v4") / "snapshot")));
  EXPECT_EQ(ledger.version(), 4U);
  const auto log = eventful_log_5();
  for (std::size_t i = eventful_log_4().size(); i < log.size(); ++i) (void)ledger.apply(i + 1, log[i]);
  EXPECT_EQ(snapshot_of(ledger), contents(test_fixture("ledger-v5") / "snapshot"));
}

TEST(LedgerFixture, what_version_3_left_goes_on_as_version_4) {
  Ledger ledger;
  ASSERT_TRUE(ledger.restore(contents(test_fixture("ledger-v3") / "snapshot")));
  EXPECT_EQ(ledger.version(), 3U);
  const auto log = eventful_log_4();
  for (std::size_t i = eventful_log_3().size(); i < log.size(); ++i) (void)ledger.apply(i + 1, log[i]);
  EXPECT_EQ(snapshot_of(ledger), contents(test_fixture("ledger-v4") / "snapshot"));
}

TEST(LedgerFixture, what_version_1_left_goes_on_as_version_2) {
  Ledger ledger;
  ASSERT_TRUE(ledger.restore(contents(test_fixture("ledger-v1") / "snapshot")));
  EXPECT_EQ(ledger.version(), 1U);
  const auto log = eventful_log_2();
  for (std::size_t i = eventful_log().size(); i < log.size(); ++i) (void)ledger.apply(i + 1, log[i]);
  EXPECT_EQ(snapshot_of(ledger), contents(test_fixture("ledger-v2") / "snapshot"));
}

}  // namespace
}  // namespace skein::ledger
