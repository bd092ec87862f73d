#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "skein/base/random.hpp"
#include "skein/operations/test_operations.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Lists : public OperationsTest {
 protected:
  Lists() {
    start();
    start_archiver();
  }
  Awaited<ListAnswer> page(const ListRequest& request) {
    return call<ListAnswer>([&](auto reply) { ops_->task_list(request, std::move(reply)); });
  }
  std::vector<TaskId> ids(const ListRequest& request) {
    std::vector<TaskId> out;
    const auto answer = page(request).value();
    for (const auto& each : answer.tasks) out.push_back(each.task.id);
    return out;
  }
  TaskId made(const std::string& type, const std::string& params = "") {
    SubmitRequest request;
    request.type = type;
    request.params = params;
    return submit(request).value().id;
  }
};

TEST_F(Lists, shows_open_tasks_then_finished_ones_each_the_last_first) {
  const auto a = made("a");
  const auto b = made("b");
  const auto c = made("c");
  const auto d = made("d");
  world_.complete(b);
  archive_all();
  world_.complete(a);
  EXPECT_THAT(ids({}), ElementsAre(d, c, a, b));
}

TEST_F(Lists, filters_by_state_type_swarm_and_words) {
  const auto a = made("a", R"({"city":"Oslo"})");
  const auto b = made("b", R"({"city":"Bergen"})");
  const auto c = made("a", R"({"city":"Bergen"})");
  world_.complete(c);
  archive_all();
  EXPECT_THAT(ids({.type = "a"}), ElementsAre(a, c));
  EXPECT_THAT(ids({.text = "berg"}), ElementsAre(b, c));
  EXPECT_THAT(ids({.state = State::queued}), ElementsAre(b, a));
  EXPECT_THAT(ids({.state = State::completed}), ElementsAre(c));
  EXPECT_THAT(ids({.swarm = "other"}), IsEmpty());
  EXPECT_THAT(ids({.finished_from = 1}), ElementsAre(c));
  EXPECT_THAT(ids({.finished_from = 1, .finished_before = 2}), IsEmpty());
}

TEST_F(Lists, refuses_a_cursor_it_did_not_give) {
  for (const char* cursor : {"x", "o", "o1", "o1.", "o.1", "f0.1", "o1.2x", "o-1.2"}) {
    EXPECT_EQ(page({.cursor = cursor}).code(), "bad_cursor") << cursor;
  }
  EXPECT_EQ(page({.limit = 0}).code(), "invalid");
}

TEST_F(Lists, ends_without_a_cursor) {
  made("a");
  made("a");
  const auto all = page({.limit = 2}).value();
  EXPECT_EQ(all.tasks.size(), 2U);
  const auto rest = page({.cursor = all.cursor, .limit = 2}).value();
  EXPECT_THAT(rest.tasks, IsEmpty());
  EXPECT_EQ(rest.cursor, "");
  EXPECT_EQ(page({}).value().cursor, "");
}

// Whatever is finished and archived between the pages of a walk, each task that was there at its beginning is seen
// once.
TEST_F(Lists, walks_see_every_task_once_while_tasks_finish) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    std::vector<TaskId> open;
    std::map<TaskId, int> seen;
    const auto before = page({.limit = 1000}).value();
    for (const auto& each : before.tasks) {
      seen[each.task.id] = 0;
      if (!each.finished) open.push_back(each.task.id);
    }
    for (int i = 0; i < 15; ++i) open.push_back(made("a"));
    for (const auto& id : open) seen[id] = 0;
    ListRequest request;
    request.limit = 1 + random.below(6);
    do {
      const auto answer = page(request).value();
      for (const auto& each : answer.tasks) {
        if (seen.contains(each.task.id)) ++seen[each.task.id];
      }
      request.cursor = answer.cursor;
      for (auto n = random.below(3); n > 0 && !open.empty(); --n) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(open.size()));
        world_.complete(open[static_cast<std::size_t>(at)]);
        open.erase(open.begin() + at);
      }
      if (random.chance(0.3)) archive_all();
      if (random.chance(0.3)) made("b");
    } while (!request.cursor.empty());
    for (const auto& [id, times] : seen) EXPECT_EQ(times, 1) << "seed " << seed << " task " << id.text();
  }
}

}  // namespace
}  // namespace skein::inline v0::operations
