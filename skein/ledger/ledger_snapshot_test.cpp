// Snapshots: replay from any of them leads to the same state and the same running hash; garbage is refused.
// With SKEIN_WRITE_FIXTURES set, the fixture of the present version is written anew; that is for a new version only.
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

journal::EntryView entry(journal::Position position, const std::string& bytes) {
  return {position, 1, journal::EntryKind::command, {1, position}, bytes};
}

TEST(LedgerSnapshot, replay_from_any_of_them_gives_the_same_digest_and_running_hash) {
  const auto log = eventful_log();
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
    EXPECT_EQ(twin.machine_digest(), replica.machine_digest()) << i;
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

TEST(LedgerSnapshot, garbage_is_refused_or_is_a_state_that_works) {
  Ledger ledger;
  journal::Position position = 0;
  for (const auto& each : eventful_log()) (void)ledger.apply(++position, each);
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
    for (const auto& each : eventful_log()) (void)other.apply(++position, each);
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

std::filesystem::path fixture(const std::string& name) { return test_fixture("ledger-v1") / name; }

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(LedgerFixture, version_1_is_what_is_written_and_read_byte_for_byte) {
  Ledger ledger;
  journal::Position position = 0;
  std::string log;
  std::string answers;
  for (const auto& each : eventful_log()) {
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
    EXPECT_TRUE(contents(fixture(name)) == bytes) << name << " is not what version 1 wrote";
  }
  Ledger old;
  ASSERT_TRUE(old.restore(contents(fixture("snapshot"))));
  EXPECT_EQ(old.digest(), ledger.digest());
}

}  // namespace
}  // namespace skein::ledger
