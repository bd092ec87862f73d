#include "skein/operations/event_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skein::inline v0::operations {
namespace {

using namespace ledger;
using Kind = Event::Kind;

constexpr std::size_t k_change_bytes = 256;  // of one without anything long in it, about

std::size_t size_of(const Body& body) { return body ? body->size() : 0; }

std::size_t bytes_of(const Change& change) {
  if (const auto* queued = std::get_if<TaskQueued>(&change)) return k_change_bytes + size_of(queued->task.params);
  if (const auto* blocked = std::get_if<TaskBlocked>(&change)) return k_change_bytes + size_of(blocked->task.params);
  if (const auto* mark = std::get_if<TaskProgressed>(&change)) return k_change_bytes + size_of(mark->mark);
  if (const auto* end = std::get_if<TaskFinished>(&change)) {
    return k_change_bytes + size_of(end->finished->task.params) + size_of(end->finished->result);
  }
  return k_change_bytes;
}

std::string_view name_of(TaskQueued::Why why) {
  static constexpr std::string_view k_names[] = {"submitted", "unblocked", "failed_attempt", "requeued",
                                                 "retried",   "handed_on", "unpinned"};
  return k_names[static_cast<std::size_t>(why)];
}

std::string_view name_of(journal::JournalEvent::Kind kind) {
  static constexpr std::string_view k_names[] = {"leader_elected",  "leader_lost",    "quorum_lost",
                                                 "quorum_restored", "snapshot_taken", "snapshot_failed",
                                                 "disk_low",        "disk_ok",        "stopped"};
  return k_names[static_cast<std::size_t>(kind)];
}

// Fills in what a change tells.
class Describe {
 public:
  explicit Describe(Event& event) : e_(event) {}

  void operator()(const TaskQueued& c) const {
    task(Kind::task_queued, c.task);
    e_.message = name_of(c.why);
    if (c.why == TaskQueued::Why::fell_back) {
      const FallbackStep& step = c.task.more().fallbacks.back();
      e_.kind = Kind::task_fell_back;
      e_.message = step.swarm;
      e_.at = step.at;
      return;
    }
    if (c.why == TaskQueued::Why::unpinned) {
      e_.kind = Kind::task_unpinned;
      e_.message = c.task.more().where().agent;
      e_.at = c.task.more().where().unpinned_at;
      return;
    }
    // The task only knows when it was submitted; when it came back to the queue the change does not say.
    if (e_.message != "submitted" && e_.message != "retried") e_.at = 0;
  }
  void operator()(const TaskBlocked& c) const { task(Kind::task_blocked, c.task); }
  void operator()(const TaskAssigned& c) const {
    id(Kind::task_assigned, c.id, c.fence, c.at);
    e_.name = view_of(c.agent);
  }
  void operator()(const TaskStarted& c) const { id(Kind::task_started, c.id, c.fence, c.at); }
  void operator()(const TaskProgressed& c) const {
    id(Kind::task_progress, c.id, c.fence, c.at);
    e_.message = view_of(c.mark);
  }
  void operator()(const TaskFinished& c) const {
    const auto state = c.finished->task.state;
    task(state == State::completed ? Kind::task_completed : Kind::task_failed, c.finished->task);
    if (state == State::cancelled) e_.kind = Kind::task_cancelled;
    e_.message = c.finished->message;
    e_.at = c.finished->finished_at;
    e_.number = c.finished->task.fence;
  }
  void operator()(const TaskAged& c) const { id(Kind::task_aged, c.id, c.effective_priority, 0); }
  void operator()(const TaskRetried& c) const {
    id(Kind::task_retried, c.old_task, 0, 0);
    e_.message = c.new_task.text();
  }
  void operator()(const SwarmChanged& c) const {
    name(Kind::swarm_changed, c.swarm.name);
    e_.message = ledger::name_of(c.swarm.state);
  }
  void operator()(const SwarmRemoved& c) const { name(Kind::swarm_removed, c.name); }
  // All that the ledger has of an agent is that it is paused.
  void operator()(const AgentChanged& c) const {
    name(Kind::agent_changed, c.agent.name);
    e_.message = "paused";
  }
  void operator()(const AgentRemoved& c) const {
    name(Kind::agent_changed, c.name);
    e_.message = "resumed";
  }
  void operator()(const DispatchTaken& c) const {
    name(Kind::dispatch_taken, c.node);
    e_.at = c.at;
    e_.number = c.epoch;
  }
  void operator()(const KeysEvicted& c) const { number(Kind::keys_evicted, c.count); }
  void operator()(const TasksArchived& c) const { number(Kind::tasks_archived, c.count); }
  void operator()(const LimitsChanged&) const { number(Kind::limits_changed, 0); }
  void operator()(const VersionChanged& c) const { number(Kind::version_changed, c.version); }
  // Never a digest: every client that may read gets the event.
  void operator()(const TokenChanged& c) const {
    name(Kind::token_changed, c.token.name);
    e_.message = ledger::name_of(c.token.rank);
  }
  void operator()(const TokenRevoked& c) const { name(Kind::token_revoked, c.name); }

 private:
  void task(Kind kind, const Task& task) const {
    id(kind, task.id, task.fence, task.submitted_at);
    e_.name = task.shape->swarm;
    e_.type = task.shape->type;
  }
  void id(Kind kind, TaskId task, std::uint64_t number, WallMs at) const {
    e_.kind = kind;
    e_.task = task;
    e_.number = number;
    e_.at = at;
  }
  void name(Kind kind, const std::string& name) const {
    e_.kind = kind;
    e_.name = name;
  }
  void number(Kind kind, std::uint64_t number) const {
    e_.kind = kind;
    e_.number = number;
  }

  Event& e_;
};

bool is_wanted(const Event& event, const EventFilter& filter) {
  if (!filter.kinds.empty() && !filter.kinds.contains(event.kind)) return false;
  return filter.task.none() || filter.task == event.task;
}

}  // namespace

std::string_view name_of(Event::Kind kind) {
  static constexpr std::string_view k_names[] = {"task_queued",
                                                 "task_blocked",
                                                 "task_assigned",
                                                 "task_started",
                                                 "task_progress",
                                                 "task_completed",
                                                 "task_failed",
                                                 "task_cancelled",
                                                 "task_aged",
                                                 "task_retried",
                                                 "task_handed_on",
                                                 "task_unpinned",
                                                 "swarm_changed",
                                                 "swarm_removed",
                                                 "swarm_problem",
                                                 "swarm_mended",
                                                 "agent_changed",
                                                 "agent_removed",
                                                 "child_restarted",
                                                 "child_start_failed",
                                                 "child_parked",
                                                 "intensity_warning",
                                                 "intensity_exceeded",
                                                 "dispatch_taken",
                                                 "keys_evicted",
                                                 "tasks_archived",
                                                 "limits_changed",
                                                 "version_changed",
                                                 "token_changed",
                                                 "token_revoked",
                                                 "archive",
                                                 "journal"};
  static_assert(std::size(k_names) == k_event_kinds);
  return k_names[static_cast<std::size_t>(kind)];
}

Result<std::unique_ptr<EventStream::Subscription>> EventStream::subscribe(EventFilter filter,
                                                                          std::function<void()> on_ready,
                                                                          std::optional<std::uint64_t> after) {
  auto subscription = std::make_unique<Subscription>(*this, std::move(filter));
  const std::lock_guard lock(mutex_);
  if (subscribers_.size() >= limits_.subscribers) return std::unexpected(overloaded("too many subscribers"));
  auto& subscriber = subscription->subscriber_;
  // A number from before a restart may be beyond what there is: then from here on.
  subscriber.next = after ? std::min(*after + 1, next_) : next_;
  subscriber.on_ready = std::move(on_ready);
  subscribers_.insert(&subscriber);
  return subscription;
}

EventStream::Subscription::~Subscription() {
  const std::lock_guard lock(stream_.mutex_);
  stream_.subscribers_.erase(&subscriber_);
}

void EventStream::publish(const std::shared_ptr<const ChangeBatch>& batch) {
  std::size_t bytes = 0;
  for (const auto& change : batch->changes) bytes += bytes_of(change);
  push({0, batch->changes.size(), bytes, batch, nullptr, nullptr, 0});
}

void EventStream::publish(const journal::JournalEvent& event) {
  push({0, 1, k_change_bytes + event.detail.size(), nullptr, std::make_shared<const journal::JournalEvent>(event),
        nullptr, 0});
}

void EventStream::publish(Event event) {
  const std::size_t bytes = k_change_bytes + event.message.size();
  push({0, 1, bytes, nullptr, nullptr, std::make_shared<const Event>(std::move(event)), 0});
}

void EventStream::push(Item item) {
  if (clock_) item.at = clock_();
  const std::lock_guard lock(mutex_);
  item.first = next_;
  next_ += item.count;
  kept_ += item.count;
  kept_bytes_ += item.bytes;
  items_.push_back(std::move(item));
  while (!items_.empty() && (kept_ > limits_.kept || kept_bytes_ > limits_.kept_bytes)) {
    kept_ -= items_.front().count;
    kept_bytes_ -= items_.front().bytes;
    items_.pop_front();
  }
  for (auto* subscriber : subscribers_) {
    if (std::exchange(subscriber->waits, false) && subscriber->on_ready) subscriber->on_ready();
  }
}

EventBatch EventStream::take(Subscriber& subscriber, const EventFilter& filter, std::size_t at_most) {
  EventBatch out;
  std::vector<Item> found;
  std::uint64_t from = 0;
  std::uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t oldest = items_.empty() ? next_ : items_.front().first;
    if (subscriber.next < oldest) {
      out.missed = oldest - subscriber.next;
      missed_ += out.missed;
      subscriber.next = oldest;
    }
    from = subscriber.next;
    end = std::min<std::uint64_t>(next_, from + limits_.looked_at);
    auto item = std::ranges::upper_bound(items_, from, {}, &Item::first);
    if (item != items_.begin()) --item;
    for (; item != items_.end() && item->first < end; ++item) found.push_back(*item);
  }
  // The events are made without the lock, so that publishers do not wait for it.
  std::uint64_t seen = from;
  for (const auto& item : found) {
    for (std::uint64_t n = std::max(item.first, from); n < std::min(item.first + item.count, end); ++n) {
      if (out.events.size() == at_most) break;
      seen = n + 1;
      Event event;
      if (item.event) event = *item.event;
      event.sequence = n;
      if (item.batch) {
        event.position = item.batch->position;
        std::visit(Describe(event), item.batch->changes[static_cast<std::size_t>(n - item.first)]);
      } else if (item.journal) {
        event.position = item.journal->position;
        event.name = item.journal->detail;
        event.message = name_of(item.journal->kind);
      }
      if (event.at == 0) event.at = item.at;
      if (is_wanted(event, filter)) out.events.push_back(std::move(event));
    }
  }
  const std::lock_guard lock(mutex_);
  subscriber.next = seen;
  out.more = seen < next_;
  if (!out.more) subscriber.waits = true;
  return out;
}

std::vector<Event> EventStream::last(std::size_t at_most) {
  Subscriber reader;  // nobody is told of more
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t oldest = items_.empty() ? next_ : items_.front().first;
    reader.next = std::max<std::uint64_t>(oldest, next_ > at_most ? next_ - at_most : 1);
  }
  return take(reader, {}, at_most).events;
}

EventStream::Status EventStream::status() const {
  const std::lock_guard lock(mutex_);
  return {next_ - 1, missed_, subscribers_.size()};
}

}  // namespace skein::inline v0::operations
