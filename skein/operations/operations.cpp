#include "skein/operations/operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "skein/base/comma_list.hpp"
#include "skein/dispatch/capability.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/fallback.hpp"
#include "skein/ledger/retry_key.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/operations/operations_calls.hpp"
#include "skein/swarm/definition.hpp"

namespace skein::inline v0::operations {
namespace {

using namespace std::chrono_literals;

constexpr Duration k_listen_again = 10ms;  // when the journal had no room for the question

// Two gates of one node, and those of two nodes, have command ids of their own.
std::uint64_t space_of(std::uint64_t seed, std::uint64_t gate) { return Random(seed * 2 + gate).next(); }

constexpr std::string_view k_removed_text =
    "it is no longer in the config: it accepts no tasks, and is removed when its open tasks have finished";

Error swarm_exists(const std::string& name) {
  return {Code::swarm_exists, swarm_text(name) + " already exists",
          fmt::format("change its settings with 'skein swarm set {}', or choose another name", name), 0ms};
}

}  // namespace

Operations::Operations(const Parts& parts, const OperationsLimits& limits)
    : parts_(parts),
      limits_(limits),
      ids_(parts.seed),
      submits_(std::make_shared<Gate>(parts.journal, parts.timers, journal::Urgency::ordinary, space_of(parts.seed, 0),
                                      limits.gate)),
      controls_(std::make_shared<Gate>(parts.journal, parts.timers, journal::Urgency::completion,
                                       space_of(parts.seed, 1), limits.gate)),
      waiters_(limits.waiters),
      notices_(limits.notices),
      events_(limits.events, parts.seed, [timers = &parts.timers] { return timers->wall_now(); }) {}

std::shared_ptr<Operations> Operations::start(const Parts& parts, const OperationsLimits& limits) {
  const std::shared_ptr<Operations> ops(new Operations(parts, limits));  // the constructor is private
  ops->listen();
  ops->subscription_ =
      parts.journal.subscribe([raw = ops.get()](const journal::JournalEvent& event) { raw->events_.publish(event); });
  return ops;
}

void Operations::listen() {
  parts_.journal.read(journal::Read::local(), [ops = shared_from_this()](const journal::ReadAnswer& answer) {
    if (ops->is_stopped_) return;
    if (answer.outcome == journal::Outcome::applied) {
      ops->parts_.ledger.add_sink(*ops);
      ops->note_paused();
      if (ops->parts_.access) ops->parts_.access->set_tokens(ops->parts_.ledger.tokens());
    }
    if (answer.outcome == journal::Outcome::overloaded) {
      ops->parts_.timers.post_after(k_listen_again, [ops] { ops->listen(); });
    }
  });
}

void Operations::stop() {
  is_stopped_ = true;
  parts_.journal.unsubscribe(subscription_);
  submits_->stop();
  controls_->stop();
  journal::visit(parts_.journal, [&](journal::Outcome) { parts_.ledger.remove_sink(*this); });
  end_waits();
  const auto untold = notices_.take_all();
}

void Operations::take(const std::shared_ptr<const ledger::ChangeBatch>& batch) {
  std::uint64_t ended[3] = {};
  std::uint64_t fell_back = 0;
  bool has_tokens = false;
  bool has_pauses = false;
  for (const auto& change : batch->changes) {
    if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
      const auto state = finished->finished->task.state;
      ++ended[state == State::completed ? 0 : state == State::failed ? 1 : 2];
      if (parts_.access) parts_.access->end_attempts(finished->finished->task.id);
    } else if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) {
      if (queued->why == ledger::TaskQueued::Why::fell_back) ++fell_back;
      if (parts_.access) parts_.access->end_attempts(queued->task.id);
    } else if (std::holds_alternative<ledger::TokenChanged>(change) ||
               std::holds_alternative<ledger::TokenRevoked>(change)) {
      has_tokens = true;
    } else if (std::holds_alternative<ledger::SwarmChanged>(change) ||
               std::holds_alternative<ledger::SwarmRemoved>(change) ||
               std::holds_alternative<ledger::AgentChanged>(change) ||
               std::holds_alternative<ledger::AgentRemoved>(change)) {
      has_pauses = true;
    }
  }
  if (has_tokens && parts_.access) tell_access(*batch);
  if (has_pauses) note_paused();
  completed_.fetch_add(ended[0], std::memory_order_relaxed);
  failed_.fetch_add(ended[1], std::memory_order_relaxed);
  cancelled_.fetch_add(ended[2], std::memory_order_relaxed);
  fell_back_.fetch_add(fell_back, std::memory_order_relaxed);
  events_.publish(batch);
  waiters_.on_changes(*batch);
  notices_.on_changes(*batch);
}

void Operations::control(const ledger::Op& op, std::string what, Reply<Nothing> reply) {
  controls_->append(op, [what = std::move(what), reply = counted(std::move(reply))](
                            const Result<ledger::OpResult>& result, std::string_view) mutable {
    if (!result) return reply.fail(result.error());
    if (result->refused()) return reply.fail(error_of(*result, what));
    reply(Nothing{});
  });
}

// Under the names and in the form that the ledger keeps; or what is wrong with them, field by field.
std::optional<Error> Operations::store_fields(SwarmRequest& request) const {
  auto stored = ledger::stored_fields(request.fields);
  if (!stored) return invalid(fmt::format("{}: {}", swarm_text(request.name), fmt::join(stored.error(), "; ")));
  request.fields = std::move(*stored);
  const auto capabilities = request.fields.find("capabilities");
  for (const std::string_view each :
       comma_list(capabilities != request.fields.end() ? capabilities->second : std::string_view())) {
    if (auto problem = dispatch::capability_problem(each)) return invalid(std::move(*problem));
  }
  return unknown_executor(request);
}

std::optional<Error> Operations::unknown_executor(const SwarmRequest& request) const {
  const auto executor = request.fields.find(dispatch::k_field_executor);
  if (executor == request.fields.end() || executor->second.empty()) return std::nullopt;
  const auto changed = executors_known_.load();
  const auto& known = changed ? *changed : parts_.executors;
  if (known.empty() || std::ranges::find(known, executor->second) != known.end()) return std::nullopt;
  return invalid(fmt::format("there is no executor '{}' in the config", executor->second),
                 fmt::format("executors are defined in skein.toml only; there are {}", fmt::join(known, ", ")));
}

void Operations::swarm_create(SwarmRequest request, Reply<Nothing> reply) {
  if (const auto bad = store_fields(request)) return counted(std::move(reply)).fail(*bad);
  if (const auto bad = bad_swarm(request)) return counted(std::move(reply)).fail(*bad);
  on_ledger(std::move(reply), [self = shared_from_this(), request = std::move(request)](Reply<Nothing> answer) mutable {
    if (self->parts_.ledger.find_swarm(request.name)) {
      return self->counted(std::move(answer)).fail(swarm_exists(request.name));
    }
    if (const auto bad = self->bad_fallback(request)) return self->counted(std::move(answer)).fail(*bad);
    self->create(std::move(request), std::move(answer));
  });
}

// The ledger takes a swarm that it has for a change of it, so two that are made at once are told apart here.
void Operations::create(SwarmRequest request, Reply<Nothing> reply) {
  const std::string name = request.name;
  {
    const std::scoped_lock lock(creating_mutex_);
    if (!creating_.insert(name).second) return counted(std::move(reply)).fail(swarm_exists(name));
  }
  Reply<Nothing> then([self = shared_from_this(), name, reply = std::move(reply)](Result<Nothing> result) mutable {
    {
      const std::scoped_lock lock(self->creating_mutex_);
      self->creating_.erase(name);
    }
    reply(std::move(result));
  });
  control(ledger::SwarmPut{std::move(request.name), ledger::Origin::api, std::move(request.fields)}, swarm_text(name),
          std::move(then));
}

std::optional<Error> Operations::bad_swarm(const SwarmRequest& request) const {
  if (request.name.empty()) return invalid("a swarm needs a name");
  if (!is_plain_name(request.name)) {
    return invalid(fmt::format("'{}' is not a valid name for a swarm", request.name), std::string(k_plain_name_advice));
  }
  ledger::Swarm swarm;
  swarm.name = request.name;
  swarm.definition = request.fields;
  return bad_definition(std::move(swarm));
}

std::optional<Error> Operations::bad_definition(ledger::Swarm swarm) const {
  const std::string what = swarm_text(swarm.name);
  if (!dispatch::has_own_agents(swarm)) {
    swarm.overrides[std::string(dispatch::k_field_executor)] = "none";  // it has no agents; the rest must be right
    swarm.name.clear();
  }
  const auto definition = swarm::definition_of(swarm);
  if (definition) return std::nullopt;
  return invalid(fmt::format("{}: {}", what, fmt::join(definition.error(), "; ")));
}

std::optional<Error> Operations::bad_fallback(const SwarmRequest& request) const {
  const auto field = request.fields.find(ledger::k_field_fallback);
  if (field == request.fields.end()) return std::nullopt;
  const auto problem = ledger::fallback_problem(
      request.name, field->second, [this](std::string_view name) -> std::optional<std::string> {
        const auto swarm = parts_.ledger.find_swarm(name);
        if (!swarm) return std::nullopt;
        return std::string(swarm->field(ledger::k_field_fallback).value_or(""));
      });
  if (!problem) return std::nullopt;
  return invalid(fmt::format("the fallback of {}: {}", swarm_text(request.name), *problem),
                 "name an existing swarm whose own fallbacks do not lead back to this one");
}

std::optional<std::string> Operations::fallback_in_vain(const ledger::Swarm& swarm) const {
  const auto to = swarm.field(ledger::k_field_fallback);
  if (!to || to->empty()) return std::nullopt;
  const auto there = parts_.ledger.find_swarm(*to);
  if (there && there->takes_tasks()) return std::nullopt;
  return fmt::format(
      "its fallback, swarm '{}', {}: tasks that use up their attempts fail here; name another one", *to,
      there ? fmt::format("is {} and takes no tasks", ledger::name_of(there->state)) : std::string("does not exist"));
}

SwarmView Operations::view_of(ledger::Swarm swarm) const {
  SwarmView view{std::move(swarm)};
  view.limits = parts_.ledger.limits();
  if (view.state == ledger::SwarmState::removed) view.problems.emplace_back(k_removed_text);
  if (auto problem = fallback_in_vain(view)) view.problems.push_back(std::move(*problem));
  const std::scoped_lock lock(problems_mutex_);
  if (const auto found = problems_.find(view.name); found != problems_.end()) {
    view.problems.insert(view.problems.end(), found->second.begin(), found->second.end());
  }
  for (const dispatch::PassedOver& each : types_held_) {
    if (each.subject == view.name) view.passed_over.push_back(each);
  }
  return view;
}

void Operations::set_type_held(const dispatch::PassedOver& type, bool is_held) {
  const std::scoped_lock lock(problems_mutex_);
  std::erase_if(types_held_, [&](const auto& each) { return each.subject == type.subject && each.type == type.type; });
  if (is_held && types_held_.size() < k_types_held) types_held_.push_back(type);
}

void Operations::forget_types_held() {
  const std::scoped_lock lock(problems_mutex_);
  types_held_.clear();
}

void Operations::set_swarm_problems(const std::string& name, std::vector<std::string> problems) {
  const std::scoped_lock lock(problems_mutex_);  // held while they are told, so that events come in order
  std::vector<std::string>& known = problems_[name];
  const auto tell = [&](Event::Kind kind, const std::string& problem) {
    Event event;
    event.kind = kind;
    event.name = name;
    event.message = problem;
    events_.publish(std::move(event));
  };
  for (const std::string& each : problems) {
    if (std::ranges::find(known, each) == known.end()) tell(Event::Kind::swarm_problem, each);
  }
  for (const std::string& each : known) {
    if (std::ranges::find(problems, each) == problems.end()) tell(Event::Kind::swarm_mended, each);
  }
  known = std::move(problems);
  if (known.empty()) problems_.erase(name);
}

void Operations::swarm_list(Reply<std::vector<SwarmView>> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this()](Reply<std::vector<SwarmView>> answer) {
    std::vector<SwarmView> all;
    for (ledger::Swarm& each : self->parts_.ledger.swarms()) all.push_back(self->view_of(std::move(each)));
    answer(std::move(all));
  });
}

void Operations::swarm_status(std::string name, Reply<SwarmView> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), name = std::move(name)](Reply<SwarmView> answer) {
    auto swarm = self->parts_.ledger.find_swarm(name);
    if (swarm) return answer(self->view_of(std::move(*swarm)));
    answer.fail(error_of({ledger::Verdict::no_such_swarm, std::nullopt, 0, {}}, swarm_text(name)));
  });
}

void Operations::swarm_override(SwarmRequest request, Reply<Nothing> reply) {
  if (const auto bad = store_fields(request)) return counted(std::move(reply)).fail(*bad);
  on_ledger(std::move(reply), [self = shared_from_this(), request = std::move(request)](Reply<Nothing> answer) mutable {
    if (const auto bad = self->bad_fallback(request)) return self->counted(std::move(answer)).fail(*bad);
    if (auto swarm = self->parts_.ledger.find_swarm(request.name)) {
      for (const auto& [name, value] : request.fields) {
        if (value.empty()) {
          swarm->overrides.erase(name);
        } else {
          swarm->overrides.insert_or_assign(name, value);
        }
      }
      if (const auto bad = self->bad_definition(std::move(*swarm))) return self->counted(std::move(answer)).fail(*bad);
    }
    const auto what = swarm_text(request.name);
    self->control(ledger::SwarmOverride{std::move(request.name), std::move(request.fields)}, what, std::move(answer));
  });
}

void Operations::swarm_drop_overrides(std::string name, Reply<Nothing> reply) {
  const auto what = swarm_text(name);
  control(ledger::SwarmDropOverrides{std::move(name)}, what, std::move(reply));
}

void Operations::swarm_scale(const ScaleRequest& request, Reply<ScaleAnswer> reply) {
  if (!request.agents_min && !request.agents_max) {
    return counted(std::move(reply)).fail(invalid("neither min nor max is given", "give one of them, or both"));
  }
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), request](Reply<ScaleAnswer> answer) {
    auto scaled = self->scaled(request);
    if (!scaled) return answer.fail(std::move(scaled.error()));
    Fields fields;
    if (request.agents_min) fields.emplace(k_field_agents_min, std::to_string(scaled->agents_min));
    if (request.agents_max) fields.emplace(k_field_agents_max, std::to_string(scaled->agents_max));
    Reply<Nothing> then([scaled = *scaled, answer = std::move(answer)](Result<Nothing> done) mutable {
      if (!done) return answer.fail(std::move(done.error()));
      answer(std::move(scaled));
    });
    self->control(ledger::SwarmOverride{request.name, std::move(fields)}, swarm_text(request.name), std::move(then));
  });
}

Result<ScaleAnswer> Operations::scaled(const ScaleRequest& request) const {
  const auto swarm = parts_.ledger.find_swarm(request.name);
  if (!swarm) {
    return std::unexpected(error_of({ledger::Verdict::no_such_swarm, std::nullopt, 0, {}}, swarm_text(request.name)));
  }
  const auto in_force = [&](const char* field, std::uint32_t otherwise) {
    std::uint32_t number = otherwise;
    const auto text = swarm->field(field).value_or("");
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  ScaleAnswer scaled{request.name, 0, 0};
  // A default gives way to what was chosen.
  const std::uint32_t most = request.agents_max.value_or(in_force(k_field_agents_max, ledger::SwarmFields{}.max));
  scaled.agents_min =
      request.agents_min.value_or(in_force(k_field_agents_min, std::min(ledger::SwarmFields{}.min, most)));
  scaled.agents_max =
      request.agents_max.value_or(in_force(k_field_agents_max, std::max(scaled.agents_min, ledger::SwarmFields{}.max)));
  if (scaled.agents_max == 0 || scaled.agents_max > ledger::k_swarm_agents_limit) {
    return std::unexpected(invalid(fmt::format("max must be from 1 to {}", ledger::k_swarm_agents_limit)));
  }
  if (scaled.agents_min > scaled.agents_max) {
    return std::unexpected(
        invalid(fmt::format("{} to {} agents cannot be: the minimum of {} would be above its maximum",
                            scaled.agents_min, scaled.agents_max, swarm_text(request.name)),
                request.agents_min ? "also give a larger max" : "also give a smaller min"));
  }
  return scaled;
}

void Operations::set_swarm_state(std::string name, ledger::SwarmState state, Reply<Nothing> reply) {
  const auto what = swarm_text(name);
  control(ledger::SwarmSetState{std::move(name), state}, what, std::move(reply));
}

void Operations::swarm_pause(std::string name, Reply<Nothing> reply) {
  set_swarm_state(std::move(name), ledger::SwarmState::paused, std::move(reply));
}
void Operations::swarm_resume(std::string name, Reply<Nothing> reply) {
  on_ledger(std::move(reply), [self = shared_from_this(), name = std::move(name)](Reply<Nothing> answer) mutable {
    // An active swarm would accept tasks; one that left the config only finishes those that it has.
    if (!self->is_undeclared(name)) {
      return self->set_swarm_state(std::move(name), ledger::SwarmState::active, std::move(answer));
    }
    self->swarm_withdraw(std::move(name), Reply<bool>([answer = std::move(answer)](Result<bool> done) mutable {
                           if (!done) return answer.fail(std::move(done.error()));
                           answer(Nothing{});
                         }));
  });
}
void Operations::swarm_drain(std::string name, Reply<Nothing> reply) {
  set_swarm_state(std::move(name), ledger::SwarmState::draining, std::move(reply));
}
void Operations::swarm_stop(std::string name, Reply<Nothing> reply) {
  set_swarm_state(std::move(name), ledger::SwarmState::stopped, std::move(reply));
}

void Operations::swarm_remove(std::string name, Reply<Nothing> reply) {
  const auto what = swarm_text(name);
  auto removed = [self = shared_from_this(), name, reply = std::move(reply)](Result<Nothing> result) mutable {
    if (result) self->forget_pauses_of(name);
    reply(std::move(result));
  };
  control(ledger::SwarmRemove{std::move(name)}, what, Reply<Nothing>(std::move(removed)));
}

void Operations::set_limits(const ledger::Limits& limits, Reply<Nothing> reply) {
  const std::uint64_t must_be_some[] = {limits.open_tasks,  limits.open_bytes,     limits.swarm_tasks,
                                        limits.swarm_bytes, limits.finished_tasks, limits.finished_bytes,
                                        limits.name_bytes,  limits.attempts,       limits.swarms};
  for (const auto each : must_be_some) {
    if (each == 0)
      return counted(std::move(reply)).fail(invalid("a limit must not be 0: the node would refuse everything"));
  }
  const std::uint64_t largest = limits_.gate.command_bytes / 2;
  if (limits.params_bytes > largest || limits.result_bytes > largest) {
    return counted(std::move(reply))
        .fail(invalid(fmt::format("params and results cannot be larger than {} bytes", largest),
                      "store large data elsewhere and pass a reference to it"));
  }
  if (const auto shortest = ledger::retry_key(TaskId{}).size(); limits.key_bytes < shortest) {
    return counted(std::move(reply))
        .fail(invalid(fmt::format("keys of {} bytes are too short", limits.key_bytes),
                      fmt::format("give at least {}, or no archived task could be retried", shortest)));
  }
  control(ledger::SetLimits{limits}, "the limits", std::move(reply));
}

void Operations::status(Reply<NodeStatus> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this()](Reply<NodeStatus> answer) {
    const auto events = self->events_.status();
    NodeStatus status;
    status.ledger = self->parts_.ledger.counters();
    status.limits = self->parts_.ledger.limits();
    status.epoch = self->parts_.ledger.epoch();
    status.journal = self->parts_.journal.status();
    status.submits = self->submits_->status();
    status.controls = self->controls_->status();
    status.submitted = self->submitted_;
    status.repeated = self->repeated_;
    status.completed = self->completed_;
    status.failed = self->failed_;
    status.cancelled = self->cancelled_;
    status.fell_back = self->fell_back_;
    for (std::size_t i = 0; i < k_code_count; ++i) {
      if (const std::uint64_t count = self->errors_[i]; count != 0) {
        status.errors.emplace_back(static_cast<Code>(i), count);
      }
    }
    status.waiters = self->waiters_.size();
    status.notices = self->promised_.load();
    status.events = events.published;
    status.events_missed = events.missed;
    status.subscribers = events.subscribers;
    if (self->parts_.archiver) status.archiver = self->parts_.archiver();
    if (self->parts_.archive == nullptr) return answer(std::move(status));
    self->on_archive(std::move(answer),
                     [status = std::move(status)](archive::Store& store, Reply<NodeStatus> last) mutable {
                       const auto marks = store.marks();
                       const auto losses = store.losses();
                       if (marks) status.archive_marks = *marks;
                       if (marks) status.archived = marks->rows;
                       if (losses) status.losses = *losses;
                       if (!marks) status.archive_error = marks.error().describe();
                       last(std::move(status));
                     });
  });
}

}  // namespace skein::inline v0::operations
