// Starting a supervisor and its children, and what it tells others. See also supervisor_restart, _stop, _leftovers and
// _calls.
#include "skein/supervision/supervisor.hpp"

#include <fmt/format.h>
#include <cstdio>

#include <boost/unordered/unordered_flat_set.hpp>

#include "skein/base/must_hold.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0 {
namespace {

// A temporary child is never started again: what its start holds would only take up memory.
std::shared_ptr<const ChildSpec> without_start(const ChildSpec& spec) {
  auto kept = std::make_shared<ChildSpec>(spec);
  kept->start = nullptr;
  return kept;
}

}  // namespace

Supervisor::Supervisor(Self self, SupervisorSpec spec)
    : spec_(std::move(spec)), self_(self), random_(self.pid().bits()) {
  open_view(self);
  const std::scoped_lock lock(view_->mutex);  // who draws the tree reads it from now on
  view_->name = spec_->name;
}

Supervisor::Supervisor(Self self, SupervisorInit init)
    : init_(std::move(init)), self_(self), random_(self.pid().bits()) {
  open_view(self);
}

void Supervisor::open_view(Self self) {
  self.trap_exit(true);
  view_ = std::make_shared<SupervisorView>();
  view_->pid = self.pid();
  view_->parent = detail::find_view(self, self.parent());
  if (view_->parent != nullptr) {
    const std::scoped_lock lock(view_->parent->mutex);
    view_->sink = view_->parent->sink;
  }
  detail::publish_view(self, self.pid(), view_);
}

Supervisor::~Supervisor() {
  Remains remains{self_.pid(), {}};
  for (const auto& [ref, leftover] : leftovers_) remains.pids.push_back(leftover.pid);
  if (!clean_) {
    boost::unordered_flat_set<Pid, std::hash<Pid>> tied;
    for (const Pid pid : inspect::links(self_)) {
      if (pid == self_.parent()) continue;
      tied.insert(pid);
      // A child, or one that is just being started; a stranger may link itself to a supervisor too, and outlive it.
      if (children().find(pid) || inspect::is_started_by(self_, pid)) remains.pids.push_back(pid);
    }
    for (Children::Index index = children().first(); index != Children::k_none; index = children().after(index)) {
      const Child& child = at(index);
      if (child.state != ChildState::running || tied.contains(child.pid)) continue;
      // It unlinked itself, so this supervisor's death does not reach it.
      self_.exit(child.pid, ExitReason::kill());
      remains.pids.push_back(child.pid);
    }
  }
  detail::withdraw_view(self_, self_.pid());
  view_->close(std::move(remains));
}

Async<Init> Supervisor::init(Self self) {
  if (init_) {
    auto said = init_();
    if (std::holds_alternative<IgnoreStart>(said)) {
      clean_ = true;
      co_return Init::ignore();
    }
    spec_ = std::get<SupervisorSpec>(std::move(said));
    init_ = nullptr;
  }
  const std::optional<SpecError> fault = check_specs(spec_->flags, spec_->children);
  if (fault) {
    clean_ = true;
    co_return Init::stop(ExitReason::custom("bad_supervisor: " + fault->message));
  }
  load_children(*spec_);
  spec_.reset();
  Async<Init> starting = start_all(self);
  Init result = co_await starting;
  if (!result.is_stop()) report(self, EventKind::supervisor_started, EventLevel::debug, nullptr);
  co_return result;
}

void Supervisor::load_children(const SupervisorSpec& spec) {
  const std::scoped_lock lock(view_->mutex);
  view_->name = spec.name;
  view_->flags = spec.flags;
  if (spec.sink != nullptr) view_->sink = spec.sink;
  if (spec.seed != 0) random_ = Random(spec.seed);
  view_->window = RestartWindow(spec.flags.intensity, spec.flags.period);
  view_->children = Children(row_of(spec.flags.strategy).is_pool);
  for (const ChildSpec& each : spec.children) {
    auto kept = std::make_shared<const ChildSpec>(each);
    if (is_pool()) {
      view_->pool_template = std::move(kept);
    } else {
      children().add(std::move(kept));
    }
  }
}

// Makes what the coroutine throws a failed start, and keeps the spec whose start function it may belong to.
Async<ChildStart> Supervisor::guard_start(std::shared_ptr<const ChildSpec> spec, Async<ChildStart> waiting) {
  std::optional<ChildStart> start;
  try {
    start = co_await waiting;
  } catch (...) {
    start = ChildStart::error(ExitReason::crash_of_current_exception("the start of " + spec->id));
  }
  co_return std::move(*start);
}

ChildStarting Supervisor::run_start(Self self, const std::shared_ptr<const ChildSpec>& spec, const std::any& extra) {
  try {
    ChildStarting starting = spec->start(self, extra);
    if (starting.is_done()) return starting;
    return guard_start(spec, starting.take_waiting());
  } catch (...) {
    return ChildStart::error(ExitReason::crash_of_current_exception("the start of " + spec->id));
  }
}

ChildStarting Supervisor::start_process(Self self, Index index) {
  must_hold(!has_leftovers(at(index).key), "supervisor.hpp 2: nothing of the child's old subtree lives");
  return run_start(self, at(index).spec, at(index).extra);
}

void Supervisor::set_started(Self self, Index index, Pid pid) {
  const std::scoped_lock lock(view_->mutex);
  children().set_running(index, pid, self.now());
  if (at(index).spec->restart == Restart::temporary && at(index).spec->start && !is_pool()) {
    children().replace_spec(index, without_start(*at(index).spec));
  }
}

Async<Init> Supervisor::start_all(Self self) {
  for (Index index = children().first(); index != Children::k_none;) {
    const Index next = children().after(index);
    ChildStarting starting = start_process(self, index);
    const ChildStart start = co_await starting;
    if (start.failed()) {
      const std::string term = fmt::format("failed_to_start_child({})", at(index).spec->id);
      settle_remains(self, owner(index));
      report(self, EventKind::child_start_failed, EventLevel::error, &at(index), start.reason());
      Async<void> stopping = stop_children(self);
      co_await stopping;
      Async<bool> waiting = leftovers_gone(self, std::string(), k_forever);
      co_await waiting;
      clean_ = true;
      co_return Init::stop(ExitReason::shutdown(term, start.reason()));
    }
    if (start.kind() == ChildStart::Kind::ok) {
      set_started(self, index, start.pid());
      report(self, EventKind::child_started, EventLevel::info, &at(index));
    } else if (at(index).spec->restart == Restart::temporary) {
      const std::scoped_lock lock(view_->mutex);
      children().remove(index);
    }
    index = next;
  }
  co_return Init::ok();
}

Async<void> Supervisor::handle_info(Self self, Message message) {
  if (const auto* exit = message.get_if<Exit>()) return on_exit(self, exit->from, exit->reason);
  if (const auto* retry = message.get_if<Retry>()) return on_retry(self, *retry);
  if (const auto* down = message.get_if<Down>()) on_leftover_down(self, down->ref.id);
  return Async<void>();
}

void Supervisor::tell(Self self, EventKind kind, EventLevel level, const Child* child, const ExitReason& reason,
                      Duration delay, std::uint64_t count) const {
  if (!*view_->sink) return;
  SupervisionEvent event;
  event.kind = kind;
  event.level = level;
  event.at = self.now();
  event.supervisor = view_->name;
  event.supervisor_pid = self.pid();
  if (child != nullptr) {
    event.child = child->spec->id;
    event.pid = child->pid;
  }
  event.reason = reason;
  event.delay = delay;
  event.used = view_->window.last_used();
  event.intensity = view_->flags.intensity;
  event.count = count;
  event.children = view_->children.size();
  try {
    (*view_->sink)(event);
  } catch (...) {  // an observer's trouble is not the tree's
    std::fputs(
        ("skein: an event sink threw: " + ExitReason::crash_of_current_exception("event sink").text() + "\n").c_str(),
        stderr);
  }
}

std::string Supervisor::describe() const {
  const Children& all = view_->children;
  return fmt::format("supervisor {} ({}, {} of {} restarts used): {} children, {} active", view_->name,
                     strategy_name(view_->flags.strategy), view_->window.last_used(), view_->flags.intensity,
                     all.size(), all.active());
}

void Supervisor::release_memory() noexcept {
  const std::scoped_lock lock(view_->mutex);
  children().release_memory();
  view_->window.release_memory();
  leftovers_.rehash(0);
  leftover_refs_.rehash(0);
  ++view_->memory_releases;
}

ChildSpec supervisor_child(std::string id, SupervisorSpec spec) {
  ChildSpec child;
  child.id = std::move(id);
  if (spec.name.empty()) spec.name = child.id;
  child.type = ChildType::supervisor;
  child.what = "Supervisor";
  child.start = named_start_function<Supervisor>({}, k_supervisor_mailbox_limit, std::move(spec));
  return child;
}

ChildSpec supervisor_child(std::string id, SupervisorInit init) {
  ChildSpec child;
  child.id = std::move(id);
  child.type = ChildType::supervisor;
  child.what = "Supervisor";
  child.start = named_start_function<Supervisor>({}, k_supervisor_mailbox_limit, std::move(init));
  return child;
}

}  // namespace skein::inline v0
