#include "skein/operations/event_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/operations/test_operations.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const ledger::ChangeBatch> batch_of(journal::Position position, std::size_t count) {
  ledger::ChangeBatch batch;
  batch.position = position;
  for (std::size_t i = 0; i < count; ++i) batch.changes.emplace_back(ledger::KeysEvicted{i + 1});
  return std::make_shared<const ledger::ChangeBatch>(std::move(batch));
}

std::vector<std::uint64_t> numbers(const EventBatch& batch) {
  std::vector<std::uint64_t> out;
  for (const auto& event : batch.events) out.push_back(event.sequence);
  return out;
}

TEST(EventStreams, number_events_without_gaps_and_tell_where_they_come_from) {
  EventStream stream;
  const auto subscription = std::move(*stream.subscribe({}));
  stream.publish(batch_of(8, 2));
  stream.publish(journal::JournalEvent{journal::JournalEvent::Kind::disk_low, 9, "1 MiB left"});
  stream.publish(batch_of(10, 1));
  const auto got = subscription->take();
  EXPECT_THAT(numbers(got), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(got.events[0].position, 8U);
  EXPECT_EQ(got.events[2].kind, Event::Kind::journal);
  EXPECT_EQ(got.events[2].message, "disk_low");
  EXPECT_EQ(got.events[3].position, 10U);
  EXPECT_EQ(got.missed, 0U);
  EXPECT_THAT(subscription->take().events, IsEmpty());
}

TEST(EventStreams, show_the_newest_without_a_subscription) {
  EventStream stream(EventLimits{.kept = 6});
  EXPECT_THAT(stream.last(3), IsEmpty());
  stream.publish(batch_of(1, 2));
  EXPECT_EQ(stream.last(3).size(), 2U);
  stream.publish(batch_of(2, 5));
  const auto newest = stream.last(3);
  ASSERT_EQ(newest.size(), 3U);
  EXPECT_EQ(newest.front().sequence, 5U);
  EXPECT_EQ(newest.back().sequence, 7U);
  EXPECT_EQ(stream.last(100).size(), 5U) << "those that are kept";
  EXPECT_EQ(stream.status().subscribers, 0U);
  EXPECT_EQ(stream.status().missed, 0U);
}

TEST(EventStreams, give_only_what_comes_after_the_subscription) {
  EventStream stream;
  stream.publish(batch_of(1, 5));
  const auto from_now = std::move(*stream.subscribe({}));
  const auto resumed = std::move(*stream.subscribe({}, {}, 3));
  const auto from_another_life = std::move(*stream.subscribe({}, {}, 1'000'000));
  stream.publish(batch_of(2, 1));
  EXPECT_THAT(numbers(from_now->take()), ElementsAre(6));
  EXPECT_THAT(numbers(resumed->take()), ElementsAre(4, 5, 6));
  EXPECT_THAT(numbers(from_another_life->take()), ElementsAre(6));
}

TEST(EventStreams, tell_a_slow_subscriber_how_many_it_missed) {
  EventLimits limits;
  limits.kept = 10;
  EventStream stream(limits);
  const auto slow = std::move(*stream.subscribe({}));
  for (journal::Position n = 1; n <= 30; ++n) stream.publish(batch_of(n, 1));
  const auto got = slow->take();
  EXPECT_EQ(got.missed, 20U);
  EXPECT_THAT(numbers(got), ElementsAre(21, 22, 23, 24, 25, 26, 27, 28, 29, 30));
  EXPECT_EQ(slow->take().missed, 0U);
  EXPECT_EQ(stream.status().missed, 20U);
  EXPECT_EQ(stream.status().published, 30U);
}

TEST(EventStreams, keep_no_more_bytes_than_they_may) {
  EventLimits limits;
  limits.kept_bytes = 10'000;
  EventStream stream(limits);
  const auto slow = std::move(*stream.subscribe({}));
  for (journal::Position n = 1; n <= 5; ++n) {
    ledger::ChangeBatch batch;
    batch.position = n;
    batch.changes.emplace_back(ledger::TaskProgressed{{}, 1, 1, ledger::body_of(std::string(4000, 'm')), 1});
    stream.publish(std::make_shared<const ledger::ChangeBatch>(std::move(batch)));
  }
  EXPECT_THAT(numbers(slow->take()), ElementsAre(4, 5));
}

TEST(EventStreams, give_no_more_at_once_than_asked_for) {
  EventStream stream;
  const auto subscription = std::move(*stream.subscribe({}));
  stream.publish(batch_of(1, 5));
  const auto first = subscription->take(3);
  EXPECT_THAT(numbers(first), ElementsAre(1, 2, 3));
  EXPECT_TRUE(first.more);
  const auto rest = subscription->take(3);
  EXPECT_THAT(numbers(rest), ElementsAre(4, 5));
  EXPECT_FALSE(rest.more);
}

TEST(EventStreams, wake_a_subscriber_once_until_it_has_taken_everything) {
  EventStream stream;
  int woken = 0;
  const auto subscription = std::move(*stream.subscribe({}, [&] { ++woken; }));
  stream.publish(batch_of(1, 2));
  stream.publish(batch_of(2, 2));
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(subscription->take(1).more);
  stream.publish(batch_of(3, 1));
  EXPECT_EQ(woken, 1) << "it knows that there is more";
  EXPECT_FALSE(subscription->take().more);
  stream.publish(batch_of(4, 1));
  EXPECT_EQ(woken, 2);
}

TEST(EventStreams, pass_over_what_a_filter_does_not_want) {
  EventStream stream;
  EventFilter filter;
  filter.kinds = {Event::Kind::journal};
  const auto subscription = std::move(*stream.subscribe(filter));
  stream.publish(batch_of(1, 3));
  stream.publish(journal::JournalEvent{journal::JournalEvent::Kind::disk_ok, 2, {}});
  EXPECT_THAT(numbers(subscription->take()), ElementsAre(4));
}

TEST(EventStreams, take_only_so_many_subscribers_and_forget_those_that_leave) {
  EventLimits limits;
  limits.subscribers = 1;
  EventStream stream(limits);
  {
    const auto first = std::move(*stream.subscribe({}));
    const auto second = stream.subscribe({});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::overloaded);
  }
  EXPECT_TRUE(stream.subscribe({}));
  EXPECT_EQ(stream.status().subscribers, 0U);
}

class EventsOfTasks : public OperationsTest {};

TEST_F(EventsOfTasks, tell_the_life_of_a_task) {
  start();
  settle();
  const auto subscription = std::move(*ops_->events().subscribe({}));
  const auto task = submitted();
  const auto other = submitted();
  const auto fence = world_.assign(task);
  world_.apply_one(ledger::Start{task, fence, 10});
  world_.apply_one(ledger::Progress{task, fence, 11, ledger::body_of("half")});
  world_.apply_one(ledger::Complete{task, fence, 12, nullptr});
  world_.apply_one(ledger::Cancel{other, 13, "changed my mind"});
  std::vector<std::string> story;
  for (const auto& event : subscription->take().events) {
    if (event.task == task) story.emplace_back(name_of(event.kind));
    if (event.task == other) story.push_back("other " + std::string(name_of(event.kind)) + " " + event.message);
  }
  EXPECT_THAT(story, ElementsAre("task_queued", "other task_queued submitted", "task_assigned", "task_started",
                                 "task_progress", "task_completed", "other task_cancelled changed my mind"));
}

}  // namespace
}  // namespace skein::inline v0::operations
