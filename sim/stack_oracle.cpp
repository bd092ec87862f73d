#include "sim/stack_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/ledger/invariants.hpp"

namespace skein::sim {

using namespace ledger;
using dispatch::TaskRef;

namespace {

constexpr double k_restore_chance = 0.02;
// What the wall clock in milliseconds rounds away.
constexpr WallMs k_rounding_ms = 2;
// What may count of each pause: the time until the dispatcher's next tick, or until a look at the clock is missed.
constexpr WallMs k_pause_counts_ms = 1'300;
constexpr WallMs k_deadline_slack_ms = 2'000;

}  // namespace

StackOracle::StackOracle(std::uint64_t seed, archive::Store& store) : random_(seed), store_(store) {
  account_.on_accepted = [this](const BookedTask& task, const Op& op) { judge_accepted(task, op); };
  account_.on_archived = [this](const BookedTask& task) { judge_archived(task); };
}

void StackOracle::violated(std::string what) {
  if (violation_) return;
  if (note) note("VIOLATED: " + what);
  violation_ = std::move(what);
}

Counts StackOracle::counts() const {
  Counts all = counts_;
  for (const auto& [what, count] : account_.counts()) all[what] += count;
  return all;
}

void StackOracle::entry_comes(journal::Position position, std::string_view bytes) {
  const auto known = log_.find(position);
  is_replay_ = known != log_.end();
  if (is_replay_) {
    if (known->second.bytes != bytes) violated(fmt::format("position {} has another entry after a restart", position));
    return;
  }
  if (!log_.empty() && position < log_.rbegin()->first) {
    violated(fmt::format("position {} is applied after {}", position, log_.rbegin()->first));
  }
  std::string answer = replica_.apply(position, bytes);
  if (note) {
    const auto ops = decode_command(bytes);
    note(fmt::format("    applied {}: {} operations", position, ops ? ops->size() : 0));
  }
  if (auto wrong = account_.judge(position, bytes, answer)) violated(*wrong);
  if (late_ && late_->apply(position, bytes) != answer) {
    violated(fmt::format("position {}: a replica restored from a snapshot answers otherwise", position));
  }
  log_[position] = {std::string(bytes), std::move(answer)};
}

void StackOracle::entry_applied(journal::Position position, const std::string& answer, Ledger& real) {
  if (log_[position].answer != answer) {
    violated(fmt::format("position {}: the second replica answers otherwise", position));
  }
  if (is_replay_) return;
  if (auto wrong = account_.difference(real)) violated(fmt::format("after position {}: {}", position, *wrong));
  auto frozen = real.freeze();
  if (auto broken = broken_invariant(*frozen)) violated(*broken);
  if (before_) {
    if (auto broken = grown_past_limit(*before_, *frozen)) violated(*broken);
  }
  before_ = std::move(frozen);
  compare_replicas(real);
  if (random_.chance(k_restore_chance)) restore_late_replica(real);
}

void StackOracle::compare_replicas(Ledger& real) {
  const auto digest = real.digest();
  if (digest != replica_.digest()) violated("the second replica stands otherwise");
  if (late_ && digest != late_->digest()) violated("the replica restored from a snapshot stands otherwise");
  count("replicas compared");
}

void StackOracle::restore_late_replica(Ledger& real) {
  journal::StringSink sink;
  real.freeze()->write(sink);
  late_ = std::make_unique<Ledger>();
  if (!late_->restore(sink.text)) violated("a snapshot cannot be restored");
  count("replicas restored");
}

void StackOracle::opened(journal::Position position, Ledger& real) {
  if (!log_.empty() && position < log_.rbegin()->first) {
    violated(fmt::format("a restart ends at position {}, {} was applied", position, log_.rbegin()->first));
    return;
  }
  if (auto wrong = account_.difference(real)) violated("after a restart: " + *wrong);
  compare_replicas(real);
}

// Clients.

void StackOracle::sends(const std::string& params, const std::string& key) { sent_[params] = {key, false}; }

void StackOracle::told(const std::string& params, const operations::Result<operations::SubmitAnswer>& answer) {
  const BookedTask* made = account_.with_params(params);
  Sent& sent = sent_[params];
  if (!answer) {
    const auto code = answer.error().code;
    count(fmt::format("submits answered {}", operations::name_of(code)));
    if (code == operations::Code::unknown) return;
    if (made != nullptr) violated(fmt::format("{}: told {}, and accepted", params, operations::name_of(code)));
    sent.was_refused = true;
    return;
  }
  count("submits acknowledged");
  const BookedTask* task = account_.find(answer->id);
  if (task == nullptr) return violated(fmt::format("{}: acknowledged before it was applied", params));
  if (!answer->existing && task->params != params) violated(fmt::format("{}: told of another task", params));
  if (answer->existing && (sent.key.empty() || task->key != sent.key)) {
    violated(fmt::format("{}: told of a task with another key", params));
  }
  if (sent.key.empty()) return;
  const auto [at, is_new] = keys_.emplace(std::pair(task->first_swarm, sent.key), answer->id);
  if (!is_new && at->second != answer->id) violated(fmt::format("the key '{}' has two tasks", sent.key));
  if (answer->existing) count("found by their key");
}

void StackOracle::judge_refusals() {
  for (const auto& [params, sent] : sent_) {
    if (sent.was_refused && account_.with_params(params) != nullptr) violated(params + ": told no, and accepted later");
  }
}

void StackOracle::told_status(TaskId id, const operations::TaskStatus& status) {
  const BookedTask* task = account_.find(id);
  if (task == nullptr) return violated("a status of a task that was never accepted");
  if (status.task.id != id || status.task.state != task->state) {
    violated(fmt::format("task {} is {}, its status says {}", task->number, name_of(task->state),
                         name_of(status.task.state)));
  }
  if (status.finished && view_of(status.finished->result) != task->result) {
    violated(fmt::format("task {}: its status has another result", task->number));
  }
  count("statuses told");
}

void StackOracle::told_retry(TaskId id, const operations::RetryAnswer& answer) {
  count("retries told");
  const BookedTask* made = account_.find(answer.id);
  if (made == nullptr || made->retry_of != id) return violated("a retry is told of a task that does not stand in");
  const auto [at, is_new] = retries_.emplace(id, answer.id);
  if (!is_new && at->second != answer.id) violated("a task was retried twice");
}

void StackOracle::told_error(TaskId id, std::string_view question, const operations::Error& error) {
  using operations::Code;
  count(fmt::format("{} answered {}", question, operations::name_of(error.code)));
  const BookedTask* task = account_.find(id);
  if (error.code == Code::task_not_found || error.code == Code::internal || error.code == Code::invalid) {
    violated(fmt::format("{} of an acknowledged task: {}", question, error.describe()));
  }
  if (error.code == Code::already_finished && task != nullptr && task->is_open()) {
    violated(fmt::format("task {} is open, {} says it is finished", task->number, question));
  }
}

// Agents.

void StackOracle::ordered(const std::string& agent, const dispatch::Order& order) {
  const auto* given = account_.assignment(order.ref.fence);
  if (given == nullptr || given->task != order.ref.number || given->agent != agent) {
    return violated(fmt::format("agent {} is given task {} with fence {}, which was not assigned to it", agent,
                                order.ref.number, order.ref.fence));
  }
  const BookedTask* task = account_.numbered(order.ref.number);
  if (order.id != task->id || view_of(order.params) != task->params) {
    violated(fmt::format("agent {} is given task {} with other params", agent, task->number));
  }
  if (order.attempt != given->attempts + 1) {
    violated(fmt::format("task {}: told that it is attempt {}, {} failed before", task->number, order.attempt,
                         given->attempts));
  }
  count("orders");
}

void StackOracle::settled(const std::string& agent, TaskRef ref) {
  const BookedTask* task = account_.numbered(ref.number);
  if (task != nullptr && is_running(task->state) && task->fence == ref.fence) {
    violated(fmt::format("agent {}: the outcome of task {} with fence {} is settled, and not decided", agent,
                         ref.number, ref.fence));
  }
}

void StackOracle::says(TaskRef ref, const std::string& result) { said_[ref].insert(result); }

void StackOracle::named(TaskRef ref, WallMs at) { named_[ref].push_back(at); }

// A fall_back is a failure or a requeue of which it was known that it would be the last.
void StackOracle::judge_accepted(const BookedTask& task, const Op& op) {
  const TaskRef ref{task.number, task.fence};
  if (const auto* last = std::get_if<FallBack>(&op)) {
    if (last->cause == FallbackCause::reported) {
      return judge_accepted(task, Fail{last->task, last->fence, last->at, last->error, last->retry_at, last->message});
    }
    const auto reason = last->cause == FallbackCause::agent_crash     ? RequeueReason::agent_crash
                        : last->cause == FallbackCause::lease_expired ? RequeueReason::lease_expired
                                                                      : RequeueReason::node_crash;
    return judge_accepted(task, Requeue{last->epoch, last->task, last->fence, last->at, reason, 0, false});
  }
  if (const auto* given = std::get_if<Assign>(&op)) {
    if (task.deadline != 0 && given->at > task.deadline + k_deadline_slack_ms) {
      violated(
          fmt::format("task {}: given to an agent {} ms after its deadline", ref.number, given->at - task.deadline));
    }
  } else if (const auto* done = std::get_if<Complete>(&op)) {
    if (!said_[ref].contains(std::string(view_of(done->result)))) {
      violated(fmt::format("task {}: a result was accepted that nobody gave with fence {}", ref.number, ref.fence));
    }
  } else if (const auto* failed = std::get_if<Fail>(&op)) {
    if (failed->message.starts_with(k_agents_own)) return;
    if (failed->error == ledger::ErrorClass::crash) {
      count("crashes with last words");
      return judge_accepted(task, Requeue{0, failed->task, failed->fence, failed->at, RequeueReason::agent_crash});
    }
    // The dispatcher's own: the attempt took too long.
    const WallMs allowed = task.timeout_ms != 0 ? task.timeout_ms : timeout_ms_min;
    if (failed->at + k_rounding_ms < task.assigned_at + allowed + nobodys_time(task.assigned_at, failed->at)) {
      violated(fmt::format("task {}: fails as '{}' after {} ms, and had {}", ref.number, failed->message,
                           failed->at - task.assigned_at, allowed));
    }
  } else if (const auto* requeue = std::get_if<Requeue>(&op)) {
    const auto death = deaths_.find(task.agent);
    if (requeue->reason == RequeueReason::agent_crash && death != deaths_.end() && death->second < task.assigned_at) {
      violated(fmt::format("task {}: agent {} is said to have crashed, and lives", ref.number, task.agent));
    }
    if (requeue->reason != RequeueReason::lease_expired) return;
    WallMs last = task.assigned_at;
    for (const WallMs at : named_[ref]) {
      // What was said in the same millisecond may have come a little later.
      if (at < requeue->at) last = std::max(last, at);
    }
    if (requeue->at + k_rounding_ms < last + lease_ms + nobodys_time(last, requeue->at)) {
      violated(fmt::format("task {}: its lease is over {} ms after agent {} named it", ref.number, requeue->at - last,
                           task.agent));
    }
  }
}

WallMs StackOracle::nobodys_time(WallMs from, WallMs until) const {
  WallMs time = 0;
  for (const auto& [begin, end] : pauses_) {
    const WallMs first = std::max(from, begin);
    const WallMs last = std::min(until, end);
    if (first + k_pause_counts_ms < last) time += last - first - k_pause_counts_ms;
  }
  return time;
}

void StackOracle::judge_archived(const BookedTask& task) {
  // An entry of before the harm may be applied after it, at a start that then refuses the archive.
  archive::Finished found;
  if (whole_archive_ != nullptr) {
    for (const auto& [number, each] : whole_archive_->tasks) {
      if (each->task.id == task.id) found = each;
    }
  } else if (auto answer = store_.find(task.id)) {
    found = *answer;
  }
  if (found == nullptr) return violated(fmt::format("task {} leaves the ledger and is not archived", task.number));
  const auto& there = *found;
  if (there.task.state != task.state || view_of(there.result) != task.result) {
    violated(fmt::format("task {} is archived otherwise than it ended", task.number));
  }
}

}  // namespace skein::sim
