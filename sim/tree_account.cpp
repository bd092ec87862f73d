#include "sim/tree_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::sim {
namespace {

bool is_abnormal(const ExitReason& reason) {
  return reason.kind() != ExitKind::normal && reason.kind() != ExitKind::shutdown;
}

bool must_restart(Restart restart, const ExitReason& reason) {
  switch (restart) {
    case Restart::permanent:
      return true;
    case Restart::transient:
      return is_abnormal(reason);
    case Restart::temporary:
      break;
  }
  return false;
}

}  // namespace

void TreeAccount::declare(AccountSupervisor supervisor) {
  std::string name = supervisor.name;
  models_.insert_or_assign(std::move(name), std::move(supervisor));
}

TreeAccount::Instance& TreeAccount::open(Pid supervisor, const std::string& name) {
  const auto [found, is_new] = instances_.try_emplace(supervisor.bits());
  Instance& instance = found->second;
  if (!is_new) return instance;
  instance.model = &models_.at(name);
  if (instance.model->flags.strategy == Strategy::simple_one_for_one) return instance;
  for (const AccountChild& each : instance.model->children) {
    Kept kept;
    kept.spec = each;
    instance.children.push_back(kept);
    instance.agenda.push_back(each.name);
  }
  return instance;
}

TreeAccount::Kept* TreeAccount::find(Instance& instance, std::string_view name) {
  const auto found = std::ranges::find_if(instance.children, [&](const Kept& each) { return each.spec.name == name; });
  return found == instance.children.end() ? nullptr : &*found;
}

TreeAccount::Kept* TreeAccount::find(Instance& instance, Pid pid) {
  const auto found = std::ranges::find_if(instance.children, [&](const Kept& each) { return each.pid == pid; });
  return found == instance.children.end() ? nullptr : &*found;
}

void TreeAccount::blame(const Instance& instance, const std::string& what) {
  if (instance.unsure) return;
  violation(fmt::format("{}: {}", instance.model->name, what));
}

// Fewer than `intensity` within the last `period`, one exactly that old included.
bool TreeAccount::room(const std::vector<Instant>& window, std::uint32_t intensity, Duration period, Instant now) {
  const auto within = std::ranges::count_if(window, [&](Instant each) { return now - each <= period; });
  return static_cast<std::uint64_t>(within) < intensity;
}

// The children that are restarted with `cause`, in order.
std::vector<TreeAccount::Kept*> TreeAccount::group(Instance& instance, const Kept& cause) {
  std::vector<Kept*> members;
  bool in = instance.model->flags.strategy == Strategy::one_for_all;
  const bool rest = in || instance.model->flags.strategy == Strategy::rest_for_one;
  for (Kept& each : instance.children) {
    const bool is_cause = &each == &cause;
    if (is_cause) in = true;
    if (is_cause || (in && rest && each.state != State::absent && each.spec.restart != Restart::temporary)) {
      members.push_back(&each);
    }
  }
  return members;
}

void TreeAccount::wait(Kept& kept, bool counted) {
  kept.state = State::waiting;
  kept.pending = true;
  kept.counted = counted;
  kept.parked = false;
  kept.optional = false;
  kept.since = ++serial_;
}

void TreeAccount::drop(Instance& instance, Kept& kept) {
  const bool pool = instance.model->flags.strategy == Strategy::simple_one_for_one;
  kept.state = pool || kept.spec.restart == Restart::temporary ? State::absent : State::down;
  kept.pending = false;
}

// A retry after a failed start is a restart of its own.
bool TreeAccount::count_retry(Instance& instance, Kept& kept, Instant now) {
  const SupervisorFlags& flags = instance.model->flags;
  auto& window = kept.spec.isolated ? kept.own : instance.window;
  const std::uint32_t intensity = kept.spec.isolated ? kept.spec.budget.intensity : flags.intensity;
  const Duration period = kept.spec.isolated ? kept.spec.budget.period : flags.period;
  if (!room(window, intensity, period, now)) return false;
  window.push_back(now);
  return true;
}

// A start that opens a restart: is there a child whose turn it is?
bool TreeAccount::begin_group(Instance& instance, const std::string& child, Instant now) {
  for (Kept& cause : instance.children) {
    if (!cause.pending) continue;
    if (cause.optional && instance.call && instance.call->child == child) continue;
    std::vector<Kept*> members = group(instance, cause);
    if (members.empty() || members.front()->spec.name != child) continue;
    // Two of one_for_all wait, and only one of them has its restart counted already: whose turn it was shows nowhere.
    const bool all = instance.model->flags.strategy == Strategy::one_for_all;
    if (all && std::ranges::any_of(instance.children,
                                   [&](const Kept& each) { return each.pending && each.counted != cause.counted; })) {
      instance.unsure = true;
      ++unjudged_;
    }
    if (cause.parked) cause.own.clear();
    if (!cause.counted && !count_retry(instance, cause, now)) {
      blame(instance, fmt::format("starts {} again beyond its intensity", child));
    }
    cause.pending = false;
    cause.parked = false;
    for (Kept* each : members) {
      if (each != &cause && each->pid && alive_(each->pid)) {
        blame(instance, fmt::format("starts {} while {} of its group still lives", child, each->spec.name));
      }
      // A retry of its own that it waited for is part of this restart.
      each->state = State::down;
      each->pending = false;
      if (each->spec.name != child) instance.agenda.push_back(each->spec.name);
    }
    return true;
  }
  return false;
}

void TreeAccount::starting(Pid supervisor, const std::string& name, const std::string& child, Instant now) {
  Instance& instance = open(supervisor, name);
  instance.asked.clear();
  if (instance.must_end) blame(instance, fmt::format("starts {} although it must end", child));
  auto& agenda = instance.agenda;
  // One that a call has just removed is no longer expected.
  while (!agenda.empty() && agenda.front() != child && instance.call && instance.call->verb == CallVerb::remove &&
         instance.call->child == agenda.front()) {
    find(instance, agenda.front())->state = State::absent;
    agenda.erase(agenda.begin());
  }
  if (!agenda.empty()) {
    if (agenda.front() != child) {
      blame(instance, fmt::format("starts {} where {} is next", child, agenda.front()));
      std::erase(agenda, child);
    } else {
      agenda.erase(agenda.begin());
    }
    return;
  }
  instance.init = false;
  if (begin_group(instance, child, now)) return;
  if (instance.call && instance.call->child == child) {
    instance.asked = child;
    return;
  }
  blame(instance, fmt::format("starts {} for no reason", child));
}

void TreeAccount::started(Pid supervisor, const std::string& child, StartOutcome outcome, Pid pid) {
  Instance& instance = instances_.at(supervisor.bits());
  Kept* kept = find(instance, child);
  const bool asked = instance.asked == child;
  if (kept == nullptr) {
    Kept added;
    added.spec = instance.model->children.front();
    added.spec.name = child;
    instance.children.push_back(added);
    kept = &instance.children.back();
  }
  if (outcome == StartOutcome::ok) {
    if (!asked && !instance.init) ++restarts_;
    kept->state = State::running;
    kept->pending = false;
    kept->pid = pid;
  } else if (outcome == StartOutcome::ignored || asked) {
    drop(instance, *kept);
  } else if (instance.init) {
    instance.must_end = true;
    instance.agenda.clear();
  } else {
    instance.agenda.clear();
    wait(*kept, false);
  }
  if (instance.agenda.empty()) instance.init = false;
}

void TreeAccount::reported(const SupervisionEvent& event) {
  const auto found = instances_.find(event.supervisor_pid.bits());
  Instance& instance = found == instances_.end() ? open(event.supervisor_pid, event.supervisor) : found->second;
  switch (event.kind) {
    case EventKind::child_terminated:
      terminated(instance, event);
      break;
    case EventKind::intensity_exceeded:
      gave_up(instance, event);
      break;
    case EventKind::child_parked:
      parked(instance, event);
      break;
    case EventKind::child_backing_off:
    case EventKind::child_retried:
      if (event.kind == EventKind::child_backing_off || event.delay > Duration::zero()) quiet_group(instance, event);
      break;
    case EventKind::child_stopped:
    case EventKind::shutdown_error:
      if (event.pid) stopped(instance, event);
      break;
    default:
      break;
  }
}

void TreeAccount::terminated(Instance& instance, const SupervisionEvent& event) {
  Kept* kept = find(instance, event.pid);
  if (kept == nullptr || kept->state != State::running) {
    blame(instance, fmt::format("reports the end of {}, which was not running", event.child));
    return;
  }
  judge_end(instance, *kept, event);
  const SupervisorFlags& flags = instance.model->flags;
  if (!must_restart(kept->spec.restart, event.reason)) {
    drop(instance, *kept);
    const bool others = std::ranges::any_of(instance.children, [](const Kept& each) {
      return each.spec.significant && (each.state == State::running || each.pending);
    });
    const bool fires = flags.auto_shutdown == AutoShutdown::any_significant ||
                       (flags.auto_shutdown == AutoShutdown::all_significant && !others);
    if (kept->spec.significant && fires) instance.must_end = true;
    return;
  }
  if (flags.strategy == Strategy::escalate) {
    instance.must_end = true;
    return;
  }
  if (count_retry(instance, *kept, event.at)) {
    wait(*kept, true);
  } else if (kept->spec.isolated) {
    instance.must_park = kept->spec.name;
  } else {
    instance.must_give_up = true;
    instance.must_end = true;
    drop(instance, *kept);
  }
}

// A supervisor does not end without a cause.
void TreeAccount::judge_end(Instance& instance, const Kept& kept, const SupervisionEvent& event) {
  if (!kept.spec.is_supervisor || hit_.contains(event.pid.bits())) return;
  const auto its = instances_.find(event.pid.bits());
  if (its != instances_.end() && (its->second.must_end || its->second.unsure)) return;
  blame(instance, fmt::format("{} ended with {} for no reason", kept.spec.name, event.reason.text()));
}

void TreeAccount::gave_up(Instance& instance, const SupervisionEvent& event) {
  ++give_ups_;
  if (instance.must_give_up) {
    instance.must_give_up = false;
    return;
  }
  Kept* kept = find(instance, event.child);
  if (kept == nullptr) kept = find(instance, event.pid);
  const SupervisorFlags& flags = instance.model->flags;
  if (kept != nullptr && kept->pending && !kept->counted &&
      !room(instance.window, flags.intensity, flags.period, event.at)) {
    instance.must_end = true;
    drop(instance, *kept);
    return;
  }
  blame(instance, fmt::format("gives up because of {} with restarts left", event.child));
}

void TreeAccount::parked(Instance& instance, const SupervisionEvent& event) {
  Kept* kept = find(instance, event.child);
  if (kept == nullptr) kept = find(instance, event.pid);
  if (kept == nullptr || !kept->spec.isolated) {
    blame(instance, fmt::format("parks {}, which is not isolated", event.child));
    return;
  }
  const bool retry_refused = kept->pending && !kept->counted &&
                             !room(kept->own, kept->spec.budget.intensity, kept->spec.budget.period, event.at);
  if (instance.must_park != kept->spec.name && !retry_refused) {
    blame(instance, fmt::format("parks {} with restarts left", kept->spec.name));
  }
  instance.must_park.clear();
  wait(*kept, true);
  kept->parked = true;
}

// While one waits its group is down, and so are the retries that others of it waited for.
void TreeAccount::quiet_group(Instance& instance, const SupervisionEvent& event) {
  const Kept* kept = find(instance, event.child);
  if (kept == nullptr) return;
  for (Kept* each : group(instance, *kept)) {
    if (each != kept && each->pending) drop(instance, *each);
  }
}

void TreeAccount::stopped(Instance& instance, const SupervisionEvent& event) {
  Kept* kept = find(instance, event.pid);
  if (kept == nullptr) return;
  const bool asked =
      instance.call && instance.call->verb == CallVerb::terminate && instance.call->child == kept->spec.name;
  if (!asked && instance.model->flags.strategy != Strategy::simple_one_for_one) {
    for (std::size_t later = instance.children.size(); later > 0; --later) {
      const Kept& each = instance.children[later - 1];
      if (&each == kept) break;
      if (each.state == State::running && alive_(each.pid)) {
        blame(instance, fmt::format("stopped {} before {}, which was started later", event.child, each.spec.name));
      }
    }
  }
  drop(instance, *kept);
}

void TreeAccount::call_begins(Pid supervisor, CallVerb verb, const std::string& child) {
  const auto found = instances_.find(supervisor.bits());
  if (found != instances_.end()) found->second.call = Call{verb, child, ++serial_};
}

bool TreeAccount::has_call(Pid supervisor) const {
  const auto found = instances_.find(supervisor.bits());
  return found == instances_.end() || found->second.call.has_value();
}

void TreeAccount::call_ended(Pid supervisor, bool ok) {
  const auto found = instances_.find(supervisor.bits());
  if (found == instances_.end() || !found->second.call) return;
  Instance& instance = found->second;
  const Call call = *std::exchange(instance.call, std::nullopt);
  Kept* kept = find(instance, call.child);
  if (!ok || kept == nullptr) return;
  if (call.verb == CallVerb::remove) {
    kept->state = State::absent;
    std::erase(instance.agenda, call.child);
  }
  if (call.verb != CallVerb::terminate || !kept->pending) return;
  // The group that would have been started with it is not either.
  const Strategy strategy = instance.model->flags.strategy;
  const bool groups = strategy == Strategy::one_for_all || strategy == Strategy::rest_for_one;
  for (Kept& each : instance.children) {
    if (groups && &each != kept && each.pending) each.optional = true;
  }
  // Whether what came up during the call came before or after its answer cannot be told from here.
  if (kept->since < call.since) {
    drop(instance, *kept);
  } else {
    kept->optional = true;
  }
}

std::optional<TreeAccount::Edge> TreeAccount::edge(Instant now) const {
  for (const auto& [bits, instance] : instances_) {
    const SupervisorFlags& flags = instance.model->flags;
    if (instance.must_end || instance.unsure || flags.intensity == 0 || instance.window.size() < flags.intensity)
      continue;
    const Instant at = instance.window[instance.window.size() - flags.intensity] + flags.period;
    if (at < now || !alive_(Pid::from_bits(bits))) continue;
    for (const Kept& each : instance.children) {
      if (each.state != State::running || each.spec.restart == Restart::temporary || each.spec.isolated) continue;
      return Edge{at, each.pid};
    }
  }
  return std::nullopt;
}

void TreeAccount::at_rest(Pid supervisor, const std::string& name, const std::vector<ChildInfo>& children) {
  Instance& instance = open(supervisor, name);
  const bool pool = instance.model->flags.strategy == Strategy::simple_one_for_one;
  if (instance.must_end) blame(instance, "lives although it must end");
  if (instance.must_give_up || !instance.must_park.empty()) blame(instance, "did not act on a spent budget");
  if (!instance.agenda.empty()) blame(instance, fmt::format("never started {}", instance.agenda.front()));
  for (const Kept& kept : instance.children) {
    if (kept.optional && kept.pending) continue;
    const auto info = std::ranges::find_if(
        children, [&](const ChildInfo& each) { return pool ? each.pid == kept.pid : each.id == kept.spec.name; });
    const bool listed = info != children.end();
    const bool running = listed && info->state == ChildState::running;
    if (kept.pending) {
      blame(instance, fmt::format("never restarted {}", kept.spec.name));
    } else if (kept.state == State::running && (!running || info->pid != kept.pid)) {
      blame(instance, fmt::format("{} should run as {}", kept.spec.name, kept.pid.text()));
    } else if (kept.state == State::down && (!listed || running)) {
      blame(instance, fmt::format("{} should be down", kept.spec.name));
    } else if (kept.state == State::absent && listed) {
      blame(instance, fmt::format("{} should be gone", kept.spec.name));
    }
  }
}

}  // namespace skein::sim
