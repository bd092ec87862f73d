// The bytes of a snapshot, canonical: two ledgers with the same state write the same.
//
//   version u8 (the ledger's), head, swarms by name, agents by name, tokens by name (from k_tokens_version on),
//   finished tasks by finish number, open tasks by number, keys by age
//
// What can be derived is not written. restore() takes nothing on trust: whatever it accepts, every operation can be
// applied to.
#include <algorithm>

#include "skein/ledger/codec.hpp"
#include "skein/ledger/core.hpp"
#include "skein/ledger/describe.hpp"

namespace skein::inline v0::ledger {
namespace {

constexpr std::size_t k_piece_bytes = 64U << 10U;
// Beyond this no counter can have come by honest means.
constexpr std::uint64_t k_counter_max = 1ULL << 62U;
constexpr auto k_order_max = static_cast<std::int64_t>(k_counter_max);

template <class C>
void describe_head(C& c, auto& head) {
  c.number(head.version);
  c.number(head.epoch);
  c.text(head.dispatcher);
  c.number(head.dispatch_at);
  c.number(head.last_number);
  c.number(head.last_fence);
  c.signed_number(head.last_order);
  c.signed_number(head.front_order);
  describe_limits(c, head.limits);
}

template <class C>
void describe_swarm(C& c, std::uint64_t version, auto& swarm) {
  c.text(swarm.name);
  c.choice(swarm.origin, Origin::api, Origin::config);
  c.choice(swarm.state, SwarmState::active, version < k_removed_version ? SwarmState::stopped : SwarmState::removed);
  c.choice(swarm.breaker, Breaker::closed, Breaker::half_open);
  c.number(swarm.breaker_until);
  c.fields(swarm.definition);
  c.fields(swarm.overrides);
}

template <class C>
void describe_attempt(C& c, auto& attempt) {
  c.text(attempt.agent);
  c.number(attempt.fence);
  c.number(attempt.started_at);
  c.number(attempt.ended_at);
  c.choice(attempt.error, ErrorClass::transient, ErrorClass::crash);
  c.text(attempt.message);
}

template <class C>
void describe_fallback(C& c, auto& step) {
  c.text(step.swarm);
  c.number(step.attempts);
  c.number(step.at);
}

// Whether there is one comes first: few tasks have it.
void write_placement(Writer& w, const Extras& extras) {
  const bool is_placed = extras.placement != nullptr;
  w.flag(is_placed);
  if (!is_placed) return;
  describe_placement(w, *extras.placement);
  w.number(extras.placement->unpinned_at);
}

void read_placement(Reader& r, Extras& extras) {
  bool is_placed = false;
  r.flag(is_placed);
  if (!is_placed) return;
  Placement where;
  describe_placement(r, where);
  r.number(where.unpinned_at);
  if (!where.makes_sense()) r.fail();
  if (r.ok()) extras.placement = std::make_shared<const Placement>(std::move(where));
}

template <class C>
void describe_task(C& c, std::uint64_t version, auto& task, auto& shape, auto& extras, auto& history) {
  c.some_id(task.id);
  c.number(task.number);
  c.text(shape.swarm);
  c.text(shape.type);
  c.list(shape.capabilities, k_any_count, [](C& each, auto& name) { each.text(name); });
  c.body(task.params);
  describe_extras(c, extras);
  c.list(history, k_any_count, [](C& each, auto& attempt) { describe_attempt(each, attempt); });
  c.body(task.mark);
  c.body(task.agent);
  c.number(task.fence);
  c.signed_number(task.order);
  c.number(task.timeout_ms);
  c.number(task.submitted_at);
  c.number(task.not_before);
  c.number(task.deadline_at);
  c.number(task.assigned_at);
  c.number(task.started_at);
  c.number(task.attempts);
  c.number(task.attempts_max);
  c.number(task.deliveries);
  describe_priority(c, task.priority);
  c.number(task.effective_priority);
  c.choice(task.state, State::queued, State::awaiting_approval);
  if (version < k_fallback_version) return;
  c.list(extras.fallbacks, k_fallbacks_max, [](C& each, auto& step) { describe_fallback(each, step); });
  if (version < k_sound_version) return;
  if constexpr (C::k_reads) {
    read_placement(c, extras);
  } else {
    write_placement(c, extras);
  }
  if (version < k_tokens_version) return;
  c.number(task.children);
  describe_perhaps(c, extras.parent);
  if (!extras.parent.none()) c.number(extras.depth);
}

template <class C>
void describe_outcome(C& c, auto& finished) {
  c.number(finished.finished_at);
  c.choice(finished.ending, Ending::completed, Ending::cancelled);
  c.body(finished.result);
  c.text(finished.message);
  bool retried = !finished.retried_as.none();
  c.flag(retried);
  if (retried) c.some_id(finished.retried_as);
}

void write_task(Writer& w, std::uint64_t version, const Task& task) {
  static const std::vector<Attempt> k_no_history;
  describe_task(w, version, task, *task.shape, task.more(), task.history ? *task.history : k_no_history);
}

// Hands what was written on, in pieces that are neither tiny nor huge.
class Pieces {
 public:
  explicit Pieces(journal::SnapshotSink& sink) : sink_(sink) {}
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  ~Pieces() = default;

  Writer writer() { return Writer(text_); }
  void flush_if_full() {
    if (text_.size() >= k_piece_bytes) flush();
  }
  void flush() {
    sink_.write(text_);
    text_.clear();
  }

 private:
  journal::SnapshotSink& sink_;
  std::string text_;
};

void write_keys(const FrozenQueue<KeyRecord>& keys, Pieces& out) {
  auto w = out.writer();
  w.number(keys.size());
  for (std::uint64_t n = keys.first; n < keys.end; ++n) {
    const auto& key = keys[n];
    w.text(*key.key);
    w.id(key.task);
    w.number(key.at);
    w.byte(key.ended ? static_cast<std::uint8_t>(*key.ended) : 0);
    out.flush_if_full();
  }
}

bool has_twins(std::vector<std::uint64_t>& values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

bool fits(State state, Ending ending) {
  if (state == State::completed) return ending == Ending::completed;
  if (state == State::cancelled) return ending == Ending::cancelled;
  return state == State::failed && ending != Ending::completed && ending != Ending::cancelled;
}

}  // namespace

std::vector<const Task*> FrozenCore::sorted_tasks() const {
  std::vector<const Task*> out;
  out.reserve(static_cast<std::size_t>(counters.open_tasks));
  for (const auto& chunk : tasks) {
    for (const auto& task : *chunk) {
      if (task.number != 0) out.push_back(&task);
    }
  }
  std::sort(out.begin(), out.end(), [](const Task* a, const Task* b) { return a->number < b->number; });
  return out;
}

void write_snapshot(const FrozenCore& state, journal::SnapshotSink& sink) {
  Pieces out(sink);
  auto w = out.writer();
  w.byte(static_cast<std::uint8_t>(state.head.version));
  describe_head(w, state.head);
  w.number(state.swarms.size());
  for (const auto& swarm : state.swarms) {
    describe_swarm(w, state.head.version, *swarm.info);
    out.flush_if_full();
  }
  w.number(state.agents.size());
  for (const auto& agent : state.agents) {
    w.text(agent->name);
    w.fields(agent->fields);
    out.flush_if_full();
  }
  if (state.head.version >= k_tokens_version) {
    w.number(state.tokens.size());
    for (const auto& token : state.tokens) {
      describe_token(w, *token);
      out.flush_if_full();
    }
  }
  w.number(state.finished.first);
  w.number(state.finished.size());
  for (FinishNumber n = state.finished.first; n < state.finished.end; ++n) {
    write_task(w, state.head.version, state.finished[n]->task);
    describe_outcome(w, *state.finished[n]);
    out.flush_if_full();
  }
  const auto tasks = state.sorted_tasks();
  w.number(tasks.size());
  for (const Task* task : tasks) {
    write_task(w, state.head.version, *task);
    out.flush_if_full();
  }
  write_keys(state.keys, out);
  out.flush();
}

bool LedgerCore::restore(std::string_view bytes) {
  Reader r(bytes);
  const std::uint64_t version = r.byte();
  if (version < k_first_ledger_version || version > k_ledger_version) return false;
  describe_head(r, head_);
  if (!r.ok() || head_.version != version || !usable(head_.limits)) return false;
  for (const auto counter : {head_.epoch, head_.last_number, head_.last_fence}) {
    if (counter > k_counter_max) return false;
  }
  if (head_.last_order < 0 || head_.last_order > k_order_max) return false;
  if (head_.front_order > 0 || head_.front_order < -k_order_max) return false;
  if (!restore_swarms(r) || !restore_agents(r) || !restore_tokens(r) || !restore_finished(r) || !restore_tasks(r))
    return false;
  if (!restore_keys(r) || !r.done()) return false;
  return numbers_are_single();
}

bool LedgerCore::numbers_are_single() const {
  std::vector<TaskNumber> numbers;
  std::vector<Fence> fences;
  for (const Task* task : view().sorted_tasks()) {
    numbers.push_back(task->number);
    if (is_running(task->state)) fences.push_back(task->fence);
  }
  for (FinishNumber n = finished_.first(); n < finished_.end(); ++n) numbers.push_back(finished_[n]->task.number);
  return !has_twins(numbers) && !has_twins(fences);
}

bool LedgerCore::restore_swarms(Reader& r) {
  swarms_.clear();
  swarm_index_.clear();
  free_swarms_.clear();
  std::uint64_t count = 0;
  r.number(count);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    Swarm swarm;
    describe_swarm(r, head_.version, swarm);
    const bool is_sorted = swarm_index_.empty() || swarm_index_.rbegin()->first < swarm.name;
    if (!r.ok() || swarm.name.empty() || !is_sorted || !numbers_are_good(swarm)) return false;
    const std::string name = swarm.name;
    swarm_index_.emplace_hint(swarm_index_.end(), name, new_swarm(std::move(swarm)));
  }
  return r.ok() && swarm_index_.contains(k_default_swarm);
}

bool LedgerCore::restore_agents(Reader& r) {
  std::uint64_t count = 0;
  r.number(count);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    auto agent = std::make_shared<AgentNote>();
    r.text(agent->name);
    r.fields(agent->fields);
    if (agent->name.empty() || (!agents_.empty() && agents_.rbegin()->first >= agent->name)) return false;
    agents_.emplace_hint(agents_.end(), agent->name, agent);
  }
  return r.ok();
}

bool LedgerCore::restore_tokens(Reader& r) {
  if (head_.version < k_tokens_version) return true;
  std::uint64_t count = 0;
  r.number(count);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    auto token = std::make_shared<Token>();
    describe_token(r, *token);
    const bool is_sorted = tokens_.empty() || tokens_.rbegin()->first < token->name;
    if (!r.ok() || token->name.empty() || !is_sorted) return false;
    tokens_.emplace_hint(tokens_.end(), token->name, token);
  }
  return r.ok() && tokens_.size() <= k_tokens_max;
}

bool LedgerCore::read_task(Reader& r, Task& task) {
  Shape shape;
  Extras extras;
  std::vector<Attempt> history;
  describe_task(r, head_.version, task, shape, extras, history);
  if (!r.ok() || shape.type.empty() || task.number == 0 || task.number > head_.last_number) return false;
  if (task.fence > head_.last_fence || task.attempts > task.attempts_max) return false;
  if (task.order < head_.front_order || task.order > head_.last_order) return false;
  const auto is_bad = [&task](const FallbackStep& step) {
    return step.swarm.empty() || step.attempts > task.attempts_max;
  };
  if (std::any_of(extras.fallbacks.begin(), extras.fallbacks.end(), is_bad)) return false;
  if (task.children > k_children_max || extras.depth > k_child_depth_max) return false;
  if (extras.parent.none() != (extras.depth == 0)) return false;
  const Placement& where = extras.where();
  if (is_running(task.state) && where.is_pinned() && view_of(task.agent) != where.agent) return false;
  task.shape = shape_of(shape.swarm, shape.type, shape.capabilities);
  if (!extras.empty()) task.extras = std::make_shared<const Extras>(std::move(extras));
  if (!history.empty()) task.history = std::make_shared<const std::vector<Attempt>>(std::move(history));
  if (task.agent) task.agent = interned(*task.agent);
  return true;
}

bool LedgerCore::restore_finished(Reader& r) {
  FinishNumber first = 0;
  std::uint64_t count = 0;
  r.number(first);
  r.number(count);
  if (!r.ok() || first == 0 || first > k_counter_max) return false;
  finished_ = QueueTable<Finished>(first);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    auto finished = std::make_shared<FinishedTask>();
    if (!read_task(r, finished->task)) return false;
    describe_outcome(r, *finished);
    if (!r.ok() || !fits(finished->task.state, finished->ending)) return false;
    finished->finish_number = finished_.end();
    finished_bytes_ += charge_of(*finished);
    const TaskId id = finished->task.id;
    if (!index_.emplace(id, k_finished | finished_.push(std::move(finished))).second) return false;
  }
  return r.ok();
}

bool LedgerCore::restore_tasks(Reader& r) {
  std::uint64_t count = 0;
  r.number(count);
  TaskNumber before = 0;
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    Task task;
    if (!read_task(r, task) || task.number <= before || is_finished(task.state)) return false;
    before = task.number;
    const auto swarm = swarm_slot(task.shape->swarm);
    if (!swarm || task.attempts == task.attempts_max || (is_running(task.state) && task.fence == 0)) return false;
    task.swarm_slot = *swarm;
    // Dependencies have lower numbers, so those that are open are here already.
    for (const auto& id : task.more().dependencies) {
      const auto at = index_.find(id);
      if (at != index_.end() && (at->second & k_finished) == 0) ++task.waits_for;
    }
    if ((task.state == State::blocked) != (task.waits_for > 0)) return false;
    const std::uint64_t bytes = charge_of(task);
    ++open_tasks_;
    open_bytes_ += bytes;
    ++swarms_[*swarm].open_tasks;
    swarms_[*swarm].open_bytes += bytes;
    const TaskId id = task.id;
    const Slot slot = tasks_.add(std::move(task));
    if (!index_.emplace(id, slot).second) return false;
    if (tasks_[slot].waits_for > 0) link(slot);
  }
  return r.ok();
}

bool LedgerCore::restore_keys(Reader& r) {
  std::uint64_t count = 0;
  r.number(count);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    KeyRecord key;
    std::string text;
    r.text(text);
    r.some_id(key.task);
    r.number(key.at);
    const auto ended = static_cast<State>(r.byte());
    if (ended != State{}) key.ended = ended;
    const bool has_state = key.ended ? is_finished(ended) : index_.contains(key.task);
    if (!r.ok() || !has_state) return false;
    key.key = std::make_shared<const std::string>(std::move(text));
    const std::string_view name = *key.key;
    if (!key_index_.emplace(name, keys_.push(std::move(key))).second) return false;
  }
  return r.ok();
}

}  // namespace skein::inline v0::ledger
