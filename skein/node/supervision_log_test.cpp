#include "skein/node/supervision_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::node {
namespace {

using operations::Event;
using testing::HasSubstr;

SupervisionEvent event(EventKind kind, std::string child = "db") {
  SupervisionEvent made;
  made.kind = kind;
  made.level = EventLevel::warning;
  made.supervisor = "core";
  made.child = std::move(child);
  made.used = 4;
  made.intensity = 5;
  return made;
}

TEST(SupervisionLog, makes_events_of_restarts_parking_and_intensity) {
  const auto restarted = event_of(event(EventKind::child_restarted));
  ASSERT_TRUE(restarted);
  EXPECT_EQ(restarted->kind, Event::Kind::child_restarted);
  EXPECT_EQ(restarted->name, "core/db");
  EXPECT_EQ(restarted->number, 4U);
  EXPECT_THAT(restarted->message, HasSubstr("core"));
  EXPECT_EQ(event_of(event(EventKind::child_parked))->kind, Event::Kind::child_parked);
  EXPECT_EQ(event_of(event(EventKind::child_retried))->kind, Event::Kind::child_start_failed);
  EXPECT_EQ(event_of(event(EventKind::intensity_warning, ""))->name, "core");
  EXPECT_EQ(event_of(event(EventKind::intensity_exceeded, ""))->kind, Event::Kind::intensity_exceeded);
}

TEST(SupervisionLog, keeps_what_is_no_failure_to_itself) {
  for (const EventKind dull : {EventKind::child_started, EventKind::child_stopped, EventKind::child_terminated,
                               EventKind::supervisor_started, EventKind::reconfigured}) {
    EXPECT_FALSE(event_of(event(dull))) << event_name(dull);
  }
}

TEST(SupervisionLog, counts_what_it_is_told) {
  SupervisionLog log;
  for (int i = 0; i < 3; ++i) log.count(event(EventKind::child_restarted));
  log.count(event(EventKind::child_parked));
  log.count(event(EventKind::child_started));
  const auto figures = log.figures();
  EXPECT_EQ(figures.restarts, 3U);
  EXPECT_EQ(figures.parkings, 1U);
  EXPECT_EQ(figures.gave_up, 0U);
}

TEST(SupervisionLog, keeps_the_newest_for_the_next_stream) {
  SupervisionLog log;
  for (std::size_t i = 0; i < SupervisionLog::k_kept_max + 2; ++i) {
    Event each;
    each.number = i;
    log.keep(std::move(each));
  }
  const auto kept = log.take_kept();
  ASSERT_EQ(kept.size(), SupervisionLog::k_kept_max);
  EXPECT_EQ(kept.front().number, 2U);
  EXPECT_TRUE(log.take_kept().empty());
}

}  // namespace
}  // namespace skein::node
