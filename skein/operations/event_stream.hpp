// The node's events: a numbered stream for those who subscribe: dashboards, scripts, MCP resources.
//
// The stream keeps the last events; a subscriber takes them at its own speed. A slow subscriber is told how many it
// missed, and nobody ever waits for it. publish() of changes is called on the journal's thread, everything else on
// any. on_ready is called where something is published, once after each take() that found nothing more: it must not
// block, nor call the stream.
//
// Numbers begin at 1 with each start of the program and have no gaps. An event is made from its change only when
// somebody takes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skein/journal/journal.hpp"
#include "skein/ledger/change.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

struct Event {
  enum class Kind : std::uint8_t {
    task_queued,
    task_blocked,
    task_assigned,
    task_started,
    task_progress,
    task_completed,
    task_failed,
    task_cancelled,
    task_aged,
    task_retried,
    task_fell_back,  // `name`: the swarm that has it now; `message`: the one it came from
    task_unpinned,   // any agent may have it; `message`: the one it was for
    swarm_changed,
    swarm_removed,
    swarm_problem,  // `message`: what is wrong with it
    swarm_mended,   // `message`: what was
    agent_changed,  // `message`: joined, silent, paused or resumed
    agent_removed,  // `message`: left or crashed
    // Of the supervision tree; `name`: supervisor/child, `message`: what happened and why, `number`: restarts in the
    // supervisor's period.
    child_restarted,
    child_start_failed,
    child_parked,        // it is tried again later, and the rest goes on without it
    intensity_warning,   // a supervisor has used 80% of its restarts
    intensity_exceeded,  // and gives up
    dispatch_taken,
    keys_evicted,
    tasks_archived,
    limits_changed,
    version_changed,
    token_changed,  // `name`: its name; `message`: its rank
    token_revoked,
    archive,  // it fails, works again, is damaged, was verified, removed tasks, lacked some; `message` says which
    journal,  // leader and quorum, snapshots, the disk; `message` says which
  };
  std::uint64_t sequence = 0;
  journal::Position position = 0;
  Kind kind = Kind::journal;
  ledger::TaskId task;
  std::string name;     // of the swarm, the agent or the node it is about
  std::string type;     // of the task
  std::string message;  // of a failure, a progress mark, a journal's event, or why a task was queued
  ledger::WallMs at = 0;
  std::uint64_t number = 0;  // a fence, an epoch, a count, a priority
};
[[nodiscard]] std::string_view name_of(Event::Kind kind);
inline constexpr std::size_t k_event_kinds = static_cast<std::size_t>(Event::Kind::journal) + 1;

struct EventLimits {
  std::size_t kept = 100'000;             // events
  std::size_t kept_bytes = 64ULL << 20U;  // of what they hold: params, results, marks
  std::size_t subscribers = 1000;
  std::size_t looked_at = 10'000;  // events that one take() goes through, whether they are wanted or not
};

// Empty means everything.
struct EventFilter {
  std::set<Event::Kind> kinds{};
  ledger::TaskId task{};
};

// Of a task, or of all when it has no id, and of the kinds with these names. The error names the kind that is none.
[[nodiscard]] Result<EventFilter> event_filter(ledger::TaskId task, const std::vector<std::string>& kinds);

struct EventBatch {
  std::vector<Event> events;
  std::uint64_t missed = 0;  // of whatever kind, since the take() before
  bool more = false;         // there is more to take at once
};

class EventStream {
 public:
  // `stamp`: of this stream and of no other, so that a number can be told from one of a stream before. `clock`: for
  // events that bring no time of their own; none: they have none.
  explicit EventStream(const EventLimits& limits = {}, std::uint64_t stamp = 0,
                       std::function<ledger::WallMs()> clock = {})
      : limits_(limits), stamp_(stamp), clock_(std::move(clock)) {}
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  class Subscription;
  // From now on, or after an event that was seen before. on_ready may be empty. The stream must outlive it.
  [[nodiscard]] Result<std::unique_ptr<Subscription>> subscribe(EventFilter filter, std::function<void()> on_ready = {},
                                                                std::optional<std::uint64_t> after = {});

  void publish(const std::shared_ptr<const ledger::ChangeBatch>& batch);
  void publish(const journal::JournalEvent& event);
  void publish(Event event);  // from any thread; it gets its number here

  // The newest of those that are kept, oldest first.
  [[nodiscard]] std::vector<Event> last(std::size_t at_most);

  struct Status {
    std::uint64_t published = 0;
    std::uint64_t missed = 0;
    std::size_t subscribers = 0;
  };
  [[nodiscard]] Status status() const;
  [[nodiscard]] std::uint64_t stamp() const { return stamp_; }

 private:
  struct Item {
    std::uint64_t first = 0;  // sequence of its first event
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::shared_ptr<const ledger::ChangeBatch> batch;      // one of these three
    std::shared_ptr<const journal::JournalEvent> journal;  //
    std::shared_ptr<const Event> event;                    //
    ledger::WallMs at = 0;                                 // when it was published
  };
  struct Subscriber {
    std::uint64_t next = 1;
    bool waits = true;  // on_ready is owed
    std::function<void()> on_ready;
  };
  void push(Item item);
  EventBatch take(Subscriber& subscriber, const EventFilter& filter, std::size_t at_most);

  const EventLimits limits_;
  const std::uint64_t stamp_;
  const std::function<ledger::WallMs()> clock_;
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::size_t kept_ = 0;
  std::size_t kept_bytes_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t missed_ = 0;
  std::set<Subscriber*> subscribers_;
};

// Ends with its destructor, after which on_ready is not called. Not for two threads at once.
class EventStream::Subscription {
 public:
  Subscription(EventStream& stream, EventFilter filter) : stream_(stream), filter_(std::move(filter)) {}
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription();

  [[nodiscard]] EventBatch take(std::size_t at_most = 1000) { return stream_.take(subscriber_, filter_, at_most); }

 private:
  friend class EventStream;
  EventStream& stream_;
  EventFilter filter_;
  Subscriber subscriber_;
};

}  // namespace skein::inline v0::operations
