// What a supervisor answers. The answers follow OTP's supervisor, case by case.
#include "skein/supervision/supervisor_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {
namespace {

ChildError failed(ChildFailure failure) {
  ChildError error;
  error.failure = failure;
  return error;
}

ChildError invalid(std::string message) {
  ChildError error = failed(ChildFailure::invalid);
  error.message = std::move(message);
  return error;
}

ChildError started_already(Pid pid) {
  ChildError error = failed(ChildFailure::already_started);
  error.pid = pid;
  return error;
}

ChildError of_start(const ChildStart& start, std::string child) {
  if (start.kind() == ChildStart::Kind::already_started) return started_already(start.pid());
  ChildError error = failed(ChildFailure::start_failed);
  error.reason = start.reason();
  error.child = std::move(child);
  return error;
}

PoolChildAnswer refused(ChildError error) { return {{}, std::make_unique<ChildError>(std::move(error))}; }

ChildError still_dying(std::string child) {
  ChildError error = failed(ChildFailure::start_failed);
  error.reason = ExitReason::custom("its old processes are still dying: try again when they are gone");
  error.child = std::move(child);
  return error;
}

ChildError not_started(ChildState state) {
  return failed(state == ChildState::running ? ChildFailure::running : ChildFailure::restarting);
}

}  // namespace

std::optional<Supervisor::Index> Supervisor::find(const ChildRef& child) const {
  if (const auto* id = std::get_if<std::string>(&child)) {
    if (is_pool()) return std::nullopt;
    return view_->children.find(*id);
  }
  if (!is_pool()) return std::nullopt;
  return view_->children.find(std::get<Pid>(child));
}

Async<StartChildResult> Supervisor::handle_call(Self self, StartChild request) {
  if (is_pool()) {
    co_return std::unexpected(invalid("a pool starts children from its own spec: use start_pool_child"));
  }
  const std::optional<SpecError> fault = check_spec_under(view_->flags, request.spec);
  if (fault) co_return std::unexpected(invalid(fault->message));
  const std::optional<Index> present = children().find(request.spec.id);
  if (present) {
    if (at(*present).state == ChildState::running) co_return std::unexpected(started_already(at(*present).pid));
    co_return std::unexpected(failed(ChildFailure::already_present));
  }
  const std::string id = request.spec.id;
  if (!leftovers_.empty()) {
    Async<bool> waiting = leftovers_gone(self, id, k_remains_wait);
    const bool gone = co_await waiting;
    if (!gone) co_return std::unexpected(still_dying(id));
  }
  auto spec = std::make_shared<const ChildSpec>(std::move(request.spec));
  const std::any nothing;
  ChildStarting starting = run_start(self, spec, nothing);
  ChildStart start = co_await starting;
  if (start.failed()) {
    settle_remains(self, Owner{Children::k_none, 0, id});
    co_return std::unexpected(of_start(start, id));
  }
  const bool ignored = start.kind() == ChildStart::Kind::ignore;
  if (ignored && spec->restart == Restart::temporary) co_return ChildStarted{};
  Index index = 0;
  {
    const std::scoped_lock lock(view_->mutex);
    index = children().add(std::move(spec));
  }
  if (!ignored) {
    set_started(self, index, start.pid());
    report(self, EventKind::child_started, EventLevel::debug, &at(index));
  }
  co_return ChildStarted{start.pid(), start.take_info()};
}

Async<void> Supervisor::handle_call(Self self, StartPoolChild&& request, Reply<PoolChildAnswer> reply) {
  if (!is_pool()) {
    reply(refused(invalid("this supervisor is no pool: use start_child with a child spec")));
    return {};
  }
  const Instant since = self.now();
  extra_ = std::move(request.extra);
  ChildStarting starting = run_start(self, view_->pool_template, extra_);
  if (!starting.is_done()) return answer_when_started(self, std::move(starting), std::move(reply));
  reply(pool_child_started(self, std::move(starting.outcome()), since));
  return {};
}

Async<void> Supervisor::answer_when_started(Self self, ChildStarting starting, Reply<PoolChildAnswer> reply) {
  ChildStart start = co_await starting;
  reply(pool_child_started(self, std::move(start), self.now()));
}

PoolChildAnswer Supervisor::pool_child_started(Self self, ChildStart start, Instant since) {
  std::any extra = std::move(extra_);
  if (start.failed()) {
    settle_remains(self, Owner{});
    return refused(of_start(start, std::string()));
  }
  if (start.kind() == ChildStart::Kind::ok) {
    if (view_->pool_template->restart == Restart::temporary) extra.reset();
    Index index = 0;
    {
      const std::scoped_lock lock(view_->mutex);
      index = children().add_running(view_->pool_template, std::move(extra), start.pid(), since);
    }
    report(self, EventKind::child_started, EventLevel::debug, &at(index));
  }
  return PoolChildAnswer{ChildStarted{start.pid(), start.take_info()}, nullptr};
}

Async<ChildResult> Supervisor::handle_call(Self self, TerminateChild request) {
  const bool by_pid = std::holds_alternative<Pid>(request.child);
  if (is_pool() && !by_pid) co_return std::unexpected(failed(ChildFailure::simple_one_for_one));
  const std::optional<Index> found = find(request.child);
  if (!found) {
    // A pool can't tell a child that has just ended from one it never had; only a living stranger is not_found.
    const bool dead = is_pool() && !inspect::is_present(self, std::get<Pid>(request.child));
    if (dead) co_return ChildResult();
    co_return std::unexpected(failed(ChildFailure::not_found));
  }
  exits_.begin();
  Async<void> stopping = stop_child(self, *found);
  co_await stopping;
  co_return ChildResult();
}

Async<StartChildResult> Supervisor::handle_call(Self self, RestartChild request) {
  if (is_pool()) co_return std::unexpected(failed(ChildFailure::simple_one_for_one));
  const std::optional<Index> found = find(request.child);
  if (!found) co_return std::unexpected(failed(ChildFailure::not_found));
  const Index index = *found;
  const ChildState state = at(index).state;
  if (state == ChildState::running || state == ChildState::restarting) co_return std::unexpected(not_started(state));
  const std::string id = at(index).spec->id;
  if (state == ChildState::parked) {
    cancel_retry(self, index);
    const std::scoped_lock lock(view_->mutex);
    children().set_down(index);
    children().troubles(index).budget.reset();
    children().troubles(index).park = Duration::zero();
  }
  if (has_leftovers(at(index).key)) {
    Async<bool> waiting = leftovers_gone(self, id, k_remains_wait);
    const bool gone = co_await waiting;
    if (!gone) co_return std::unexpected(still_dying(id));
  }
  ChildStarting starting = start_process(self, index);
  ChildStart start = co_await starting;
  if (start.failed()) {
    settle_remains(self, owner(index));
    co_return std::unexpected(of_start(start, id));
  }
  if (start.kind() == ChildStart::Kind::ok) {
    set_started(self, index, start.pid());
    report(self, EventKind::child_started, EventLevel::debug, &at(index));
  }
  co_return ChildStarted{start.pid(), start.take_info()};
}

ChildResult Supervisor::handle_call(Self self, const DeleteChild& request) {
  if (is_pool()) return std::unexpected(failed(ChildFailure::simple_one_for_one));
  const std::optional<Index> found = find(request.child);
  if (!found) return std::unexpected(failed(ChildFailure::not_found));
  const ChildState state = at(*found).state;
  if (state == ChildState::running || state == ChildState::restarting) return std::unexpected(not_started(state));
  cancel_retry(self, *found);
  const std::scoped_lock lock(view_->mutex);
  children().remove(*found);
  return {};
}

ChildSpecResult Supervisor::handle_call(Self self, GetChildSpec request) {
  if (is_pool()) {
    const auto* pid = std::get_if<Pid>(&request.child);
    const bool known = pid != nullptr ? (find(request.child) || !inspect::is_present(self, *pid))
                                      : std::get<std::string>(request.child) == view_->pool_template->id;
    if (!known) return std::unexpected(failed(ChildFailure::not_found));
    return *view_->pool_template;
  }
  const std::optional<Index> found = find(request.child);
  if (!found) return std::unexpected(failed(ChildFailure::not_found));
  ChildSpec spec = *at(*found).spec;
  spec.shutdown = spec.effective_shutdown();
  return spec;
}

std::vector<ChildInfo> Supervisor::handle_call(Self /*self*/, WhichChildren /*request*/) {
  std::vector<ChildInfo> infos;
  infos.reserve(children().size());
  for (Index index = children().last(); index != Children::k_none; index = children().before(index)) {
    const Child& child = at(index);
    infos.push_back(ChildInfo{is_pool() ? std::string() : child.spec->id,
                              child.state == ChildState::running ? child.pid : Pid{}, child.state, child.spec->type});
  }
  return infos;
}

ChildCount Supervisor::handle_call(Self self, CountChildren /*request*/) {
  const Children& all = children();
  ChildCount counts;
  counts.specs = is_pool() ? 1 : all.size();
  // As in OTP each is looked at: one that unlinked itself may be dead without our knowing.
  for (Index index = all.first(); index != Children::k_none; index = all.after(index)) {
    const Child& child = all.at(index);
    if (child.state == ChildState::running && inspect::is_present(self, child.pid)) ++counts.active;
  }
  counts.supervisors = all.supervisors();
  counts.workers = all.size() - all.supervisors();
  return counts;
}

ChildResult Supervisor::handle_call(Self self, const Reconfigure& request) {
  const SupervisorSpec& spec = request.spec;
  if (const auto fault = check_specs(spec.flags, spec.children)) return std::unexpected(invalid(fault->message));
  if (row_of(spec.flags.strategy).is_pool != is_pool()) {
    return std::unexpected(invalid("a pool can't become another kind of supervisor, nor the other way round"));
  }
  if (auto fault = fault_of_kept(spec)) return std::unexpected(invalid(std::move(*fault)));
  {
    const std::scoped_lock lock(view_->mutex);
    view_->flags = spec.flags;
    view_->window.change(spec.flags.intensity, spec.flags.period);
    warned_ = false;
    if (!spec.name.empty()) view_->name = spec.name;
    if (spec.sink != nullptr) view_->sink = spec.sink;
    if (is_pool()) {
      view_->pool_template = std::make_shared<const ChildSpec>(spec.children.front());
      for (Index index = children().first(); index != Children::k_none; index = children().after(index)) {
        children().replace_spec(index, view_->pool_template);
      }
    } else {
      merge_specs(spec.children);
    }
  }
  report(self, EventKind::reconfigured, EventLevel::info, nullptr);
  return {};
}

// What a spec that is no longer mentioned, and so is kept, would make impossible under the new flags.
std::optional<std::string> Supervisor::fault_of_kept(const SupervisorSpec& spec) const {
  if (may_isolate(row_of(spec.flags.strategy))) return std::nullopt;
  for (Index index = view_->children.first(); index != Children::k_none; index = view_->children.after(index)) {
    const ChildSpec& kept = *at(index).spec;
    if (!kept.isolated) continue;
    const bool replaced = std::ranges::any_of(spec.children, [&](const ChildSpec& each) { return each.id == kept.id; });
    if (replaced) continue;
    return fmt::format("child '{}' is kept and isolated, which needs one_for_one: list it without, or delete it first",
                       kept.id);
  }
  return std::nullopt;
}

// The new specs in their order, then those that are no longer mentioned; the lock is held.
void Supervisor::merge_specs(const std::vector<ChildSpec>& specs) {
  boost::unordered_flat_set<std::string_view> mentioned;
  for (const ChildSpec& spec : specs) {
    mentioned.insert(spec.id);
    const std::optional<Index> old = children().find(spec.id);
    if (!old) {
      children().add(std::make_shared<const ChildSpec>(spec));
      continue;
    }
    children().replace_spec(*old, std::make_shared<const ChildSpec>(spec));
    if (Troubles* troubles = children().at(*old).troubles.get()) troubles->budget.reset();
    children().move_to_end(*old);
  }
  std::vector<Index> others;
  for (Index index = children().first(); index != Children::k_none; index = children().after(index)) {
    if (mentioned.contains(at(index).spec->id)) break;
    others.push_back(index);
  }
  for (const Index index : others) children().move_to_end(index);
}

void Supervisor::handle_call(Self self, StopSupervisor request) { self.stop(std::move(request.reason)); }

std::string Supervisor::handle_call(Self /*self*/, SupervisorName /*request*/) { return view_->name; }

std::string_view failure_name(ChildFailure failure) {
  switch (failure) {
    case ChildFailure::already_started:
      return "already_started";
    case ChildFailure::already_present:
      return "already_present";
    case ChildFailure::running:
      return "running";
    case ChildFailure::restarting:
      return "restarting";
    case ChildFailure::not_found:
      return "not_found";
    case ChildFailure::start_failed:
      return "start_failed";
    case ChildFailure::simple_one_for_one:
      return "simple_one_for_one";
    case ChildFailure::invalid:
      return "invalid";
    case ChildFailure::noproc:
      return "noproc";
    case ChildFailure::timeout:
      return "timeout";
  }
  return "unknown";
}

std::string ChildError::text() const {
  std::string text(failure_name(failure));
  if (!child.empty()) text += fmt::format(" of child '{}'", child);
  if (pid) text += " as " + pid.text();
  if (!message.empty()) text += ": " + message;
  if (failure == ChildFailure::start_failed) text += ": " + reason.text();
  return text;
}

std::string_view child_state_name(ChildState state) {
  switch (state) {
    case ChildState::running:
      return "running";
    case ChildState::restarting:
      return "restarting";
    case ChildState::down:
      return "down";
    case ChildState::parked:
      return "parked";
  }
  return "unknown";
}

}  // namespace skein::inline v0
