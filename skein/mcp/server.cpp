#include "skein/mcp/server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/way_words.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_driver_events_at_once = 256;
constexpr Duration k_look_again = std::chrono::milliseconds(500);  // for an engine that restarts

std::int64_t wall_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

CoreSetup core_setup(const Server& server, operations::PrincipalPtr who) {
  CoreSetup setup;
  setup.catalog = server.catalog;
  setup.sealer = server.sealer;
  setup.wall_s = wall_seconds;
  setup.who = std::move(who);
  setup.log = server.log;
  return setup;
}

// An answer that cannot be made is one request's error, not the end of the connection.
NodeAnswer node_answer(NodeAnswer::Kind kind, std::move_only_function<json::value()>& make) {
  try {
    return {kind, make()};
  } catch (const std::exception& error) {
    return {NodeAnswer::Kind::error,
            {{"code", "internal"}, {"message", fmt::format("the answer could not be written: {}", error.what())}}};
  }
}

}  // namespace

void Bulletin::join(Pid pid) {
  const std::scoped_lock lock(mutex_);
  readers_.insert(pid);
}

void Bulletin::leave(Pid pid) {
  const std::scoped_lock lock(mutex_);
  readers_.erase(pid);
}

void Bulletin::post(const Change& change) {
  const std::scoped_lock lock(mutex_);
  for (const Pid each : readers_) runtime_.notify(each, Change(change));
}

Driver::Driver(Self self, ServerPtr server, operations::PrincipalPtr who, Sink& sink)
    : self_(self), server_(std::move(server)), sink_(sink), core_(core_setup(*server_, std::move(who)), *this) {}

Driver::~Driver() {
  server_->bulletin->leave(self_.pid());
  while (!waits_.empty()) give_up(waits_.begin()->first);
}

bool Driver::take(Message& message) {
  using operations::Answer;
  if (auto* answer = message.get_if<Answer>()) {
    const auto kind = answer->kind == Answer::Kind::ok     ? NodeAnswer::Kind::ok
                      : answer->kind == Answer::Kind::part ? NodeAnswer::Kind::part
                                                           : NodeAnswer::Kind::error;
    if (kind != NodeAnswer::Kind::part) waits_.erase(answer->id);
    NodeAnswer given = node_answer(kind, *answer->make);
    if (kind == NodeAnswer::Kind::ok) put_waits_in_words_for(operations::Way::mcp, *core_.who(), given.value);
    if (kind == NodeAnswer::Kind::error) put_error_in_words_for(operations::Way::mcp, *core_.who(), given.value);
    core_.answered(answer->id, given);
  } else if (const auto* wake = message.get_if<Wake>()) {
    core_.woken(wake->timer);
  } else if (const auto* change = message.get_if<Change>()) {
    core_.changed(*change);
  } else if (message.is<EventsReady>()) {
    pump_events();
  } else if (message.is<StandingCheck>()) {
    is_watching_standing_ = false;
    if (!core_.who()->holds()) {
      expel();
    } else {
      watch_standing();
    }
  } else if (message.is<operations::OperationsGone>()) {
    events_.reset();
    ops_.reset();
    is_behind_ = true;
    self_.send_after(k_look_again, self_.pid(), LookForEvents{});
  } else if (message.is<LookForEvents>()) {
    follow_events();
  } else if (message.is<Following>()) {
    if (std::exchange(is_behind_, false)) {
      core_.lost_track();
    } else {
      core_.look_at_tasks();
    }
  } else {
    return false;
  }
  return true;
}

void Driver::send(StreamId to, json::object message, Then then, int status) {
  sink_.send(to, std::move(message), then, status);
}

void Driver::send_batch(StreamId to, std::vector<json::object> answers) { sink_.send_batch(to, std::move(answers)); }

void Driver::end(StreamId stream) { sink_.end(stream); }

void Driver::let_go(StreamId stream) { sink_.let_go(stream); }

void Driver::ask_node(std::uint64_t call, std::string_view op, json::object params) {
  std::shared_ptr<operations::WaitTicket> ticket;
  if (op == "task_wait") ticket = waits_[call] = std::make_shared<operations::WaitTicket>();
  operations::carry_out(
      op, {*server_->hooks, params, operations::Responder(*server_->runtime, self_.pid(), call, std::move(ticket)),
           core_.who()});
}

void Driver::ask_standing(std::uint64_t call) {
  const operations::Responder respond(*server_->runtime, self_.pid(), call);
  operations::check_standing(*server_->hooks, *core_.who(),
                             operations::Reply<std::string>([respond](operations::Result<std::string>&& found) {
                               if (!found) return respond.fail(std::move(found.error()));
                               respond.send(operations::Answer::Kind::ok, [] { return json::value(); });
                             }));
}

void Driver::watch_standing() {
  const bool can_end = core_.who()->standing != nullptr;
  if (!can_end || std::exchange(is_watching_standing_, true)) return;
  self_.send_after(operations::until_standing_look(self_.now()), self_.pid(), StandingCheck{});
}

void Driver::expel() {
  const operations::Error why = operations::no_longer_valid(*core_.who());
  core_.expel(why);
  sink_.expelled(why);
}

void Driver::give_up(std::uint64_t call) {
  const auto found = waits_.find(call);
  if (found == waits_.end()) return;
  if (const auto ops = server_->hooks->operations()) ops->give_up(*found->second);
  waits_.erase(found);
}

void Driver::wake_after(std::uint64_t timer, std::chrono::milliseconds time) {
  self_.send_after(time, self_.pid(), Wake{timer});
}

void Driver::watch(Watch what) {
  if (what == Watch::nothing) {
    server_->bulletin->leave(self_.pid());
  } else {
    server_->bulletin->join(self_.pid());
  }
  if (what != Watch::nothing && !core_.session()) watch_standing();
  wants_events_ = what == Watch::everything;
  follow_events();
}

void Driver::announce(const Change& change) { server_->bulletin->post(change); }

void Driver::follow_events() {
  if (!wants_events_) {
    events_.reset();
    ops_.reset();
    return;
  }
  if (events_) return;
  ops_ = server_->hooks->operations();
  if (ops_ != nullptr) {
    server_->hooks->watch_operations(self_.pid());
    auto made = ops_->events().subscribe(
        {}, [runtime = server_->runtime, pid = self_.pid()] { runtime->notify(pid, EventsReady{}); });
    if (made) {
      events_ = std::move(*made);
      self_.send(self_.pid(), Following{});  // nobody told of what happened before this
      return;
    }
    ops_.reset();
  }
  is_behind_ = true;
  self_.send_after(k_look_again, self_.pid(), LookForEvents{});
}

void Driver::pump_events() {
  if (!events_) return;
  if (!core_.who()->holds()) return expel();  // nothing more is told
  const operations::EventBatch batch = events_->take(k_driver_events_at_once);
  for (const operations::Event& each : batch.events) {
    for (const Change& change : changes_of(each)) core_.changed(change);
  }
  if (batch.missed > 0) core_.lost_track();
  if (batch.more && events_) self_.send(self_.pid(), EventsReady{});
}

}  // namespace skein::inline v0::mcp
