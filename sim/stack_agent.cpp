#include "sim/stack_agent.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "sim/stack_world.hpp"

namespace skein::sim {

using namespace std::chrono_literals;
using dispatch::AgentReport;
using dispatch::TaskRef;

namespace {

constexpr Duration k_connect_every = 20ms;
constexpr Duration k_beat_every = 500ms;
constexpr std::uint32_t k_beats_until_again = 2;
constexpr double k_message_lost = 0.02;

}  // namespace

StackAgent::StackAgent(Self self, StackWorld* world, std::string id, std::vector<std::string> capabilities,
                       std::uint64_t seed)
    : world_(world),
      id_(std::move(id)),
      capabilities_(std::move(capabilities)),
      random_(seed),
      capacity_(static_cast<std::uint32_t>(1 + random_.below(3))),
      reports_starts_(random_.chance(0.5)),
      tells_last_words_(random_.chance(0.5)) {
  world_->oracle().agent_lives(id_);
  connect(self);
  self.send_after(k_beat_every, self.pid(), Beat{});
}

StackAgent::~StackAgent() { world_->oracle().agent_died(id_, world_->wall()); }

bool StackAgent::bad(double chance) { return !world_->is_healed() && random_.chance(chance); }

std::vector<TaskRef> StackAgent::refs() const {
  std::vector<TaskRef> refs;
  refs.reserve(held_.size());
  for (const auto& [ref, held] : held_) refs.push_back(ref);
  return refs;
}

void StackAgent::name_all() {
  for (const auto& [ref, held] : held_) world_->oracle().named(ref, world_->wall());
}

void StackAgent::connect(Self self) {
  const Pid pid = is_cut(self) ? Pid{} : self.whereis("dispatcher");
  if (!pid) {
    dispatcher_ = Pid{};
    self.send_after(k_connect_every, self.pid(), Connect{});
    return;
  }
  if (pid != dispatcher_) watch_ = self.monitor(pid);
  dispatcher_ = pid;
  seen_ = 0;
  dispatch::AgentReady ready;
  ready.name = id_;
  ready.capabilities = capabilities_;
  ready.capacity = capacity_;
  ready.reports_starts = reports_starts_;
  ready.tells_last_words = tells_last_words_;
  ready.held = refs();
  if (bad(k_message_lost)) return world_->oracle().count("announcements lost");
  name_all();
  self.send(dispatcher_, std::move(ready));
}

void StackAgent::handle_info(Self self, Message message) {
  if (auto* orders = message.get_if<dispatch::Orders>()) {
    if (message.from() != dispatcher_ || is_cut(self)) return;
    if (bad(k_message_lost)) return world_->oracle().count("orders lost");
    take(self, *orders);
  } else if (message.is<Beat>()) {
    beat(self);
  } else if (const auto* step = message.get_if<Begin>()) {
    begin(self, *step);
  } else if (const auto* done = message.get_if<Ripe>()) {
    ripe(self, done->ref);
  } else if (const auto* down = message.get_if<Down>()) {
    if (down->ref != watch_) return;
    dispatcher_ = Pid{};
    connect(self);
  } else if (message.is<Connect>()) {
    if (!dispatcher_) connect(self);
  } else if (message.is<Reconnect>()) {
    // A connection that comes back is a new one; a hiccup of the network is not noticed.
    if (random_.chance(0.6) || !dispatcher_) connect(self);
  } else if (const auto* cut = message.get_if<CutOff>()) {
    cut_until_ = self.now() + cut->time;
    self.send_after(cut->time, self.pid(), Reconnect{});
  }
}

void StackAgent::take(Self self, dispatch::Orders& orders) {
  if (orders.announce) {
    world_->oracle().count("agents asked to announce themselves");
    connect(self);
  }
  seen_ = orders.sequence;
  world_->note([&] {
    std::string text = fmt::format("  {} gets orders {}{}:", id_, orders.sequence, orders.full ? ", all there is" : "");
    for (const auto& each : orders.run) text += fmt::format(" run {}/{}", each.ref.number, each.ref.fence);
    for (const auto& each : orders.stop) text += fmt::format(" stop {}/{}", each.ref.number, each.ref.fence);
    for (const auto& ref : orders.settled) text += fmt::format(" settled {}/{}", ref.number, ref.fence);
    for (const auto& ref : orders.ask_again) text += fmt::format(" again {}/{}", ref.number, ref.fence);
    return text;
  });
  AgentReport report;
  if (orders.full) {
    for (const TaskRef ref : refs()) {
      bool is_wanted = false;
      for (const auto& order : orders.run) is_wanted |= order.ref == ref;
      if (!is_wanted) stop({ref, dispatch::StopReason::stale}, report);
    }
  }
  for (auto& order : orders.run) take_order(self, order);
  for (const TaskRef ref : orders.settled) {
    // What it gave back is nobody's outcome, whatever it said of it afterwards.
    if (given_back_.contains(ref)) continue;
    world_->oracle().settled(id_, ref);
    if (const auto at = held_.find(ref); at != held_.end() && at->second.is_done) held_.erase(at);
  }
  for (const auto& each : orders.stop) stop(each, report);
  for (const TaskRef ref : orders.ask_again) {
    if (const auto at = held_.find(ref); at != held_.end()) say(at->second, report);
  }
  send_report(self, std::move(report));
}

void StackAgent::take_order(Self self, dispatch::Order& order) {
  const TaskRef ref = order.ref;
  world_->oracle().ordered(id_, order);
  if (held_.contains(ref)) return;
  if (bad(0.03)) return world_->oracle().count("orders forgotten");
  if (bad(0.04)) {
    world_->oracle().count("agents crashed by a task");
    if (tells_last_words_) {
      AgentReport report;
      report.last_words.push_back({ref, "it was too much"});
      send_report(self, std::move(report));
    }
    throw std::runtime_error(fmt::format("crashed by task {}", ref.number));
  }
  past_.push_back(ref);
  Held held;
  held.order = std::move(order);
  Duration takes = std::chrono::microseconds(100 + random_.below(40'000));
  if (bad(0.15)) takes = std::chrono::milliseconds(random_.below(1'500));
  if (bad(0.08)) {
    takes = std::chrono::milliseconds(1'000 + random_.below(9'000));
    world_->oracle().count("slow runs");
  }
  held.is_stubborn = bad(0.3);
  held.answers_twice = bad(0.1);
  if (bad(world_->failing())) held.ends = Ends::badly;
  if (bad(0.04)) {
    held.ends = Ends::never;
    world_->oracle().count("runs that hang");
  }
  held_.emplace(ref, std::move(held));
  if (reports_starts_ && random_.chance(0.3)) {
    self.send_after(std::chrono::milliseconds(random_.below(4'000)), self.pid(), Begin{ref, takes});
  } else {
    begin(self, {ref, takes});
  }
}

void StackAgent::begin(Self self, const Begin& step) {
  const auto at = held_.find(step.ref);
  if (at == held_.end() || at->second.is_begun) return;
  at->second.is_begun = true;
  if (reports_starts_) {
    AgentReport report;
    report.started.push_back({step.ref});
    if (bad(0.1)) report.progress.push_back({step.ref, ledger::body_of("half")});
    send_report(self, std::move(report));
  }
  self.send_after(step.takes, self.pid(), Ripe{step.ref});
}

void StackAgent::stop(const dispatch::StopTask& stop, AgentReport& report) {
  const auto at = held_.find(stop.ref);
  if (at == held_.end()) {
    report.returned.push_back(stop.ref);
    return;
  }
  Held& held = at->second;
  if (held.is_done && stop.why == dispatch::StopReason::yield) return;
  if (tells_last_words_ && stop.why == dispatch::StopReason::timed_out && random_.chance(0.7)) {
    world_->oracle().count("last words of what timed out");
    report.last_words.push_back({stop.ref, "nearly done"});
  }
  if (stop.why == dispatch::StopReason::return_unbegun) {
    if (held.is_begun) return;
    world_->oracle().count("tasks taken back");
  }
  if (!held.is_done && (held.is_stubborn || held.ends == Ends::never)) {
    held.is_stopped = true;
    world_->oracle().count("stops ignored");
    return;
  }
  held_.erase(at);
  report.returned.push_back(stop.ref);
}

void StackAgent::ripe(Self self, TaskRef ref) {
  const auto at = held_.find(ref);
  if (at == held_.end() || at->second.is_done) return;
  Held& held = at->second;
  if (held.ends == Ends::never && !world_->is_healed()) {
    self.send_after(1s, self.pid(), Ripe{ref});
    return;
  }
  held.is_done = true;
  if (held.is_stopped) world_->oracle().count("answers after a stop");
  if (held.ends == Ends::badly) {
    constexpr ledger::ErrorClass k_classes[] = {ledger::ErrorClass::transient,    ledger::ErrorClass::permanent,
                                                ledger::ErrorClass::rate_limited, ledger::ErrorClass::resource,
                                                ledger::ErrorClass::timeout,      ledger::ErrorClass::crash};
    const auto error = k_classes[random_.below(std::size(k_classes))];
    held.failed = {ref, error, fmt::format("{}broken", k_agents_own), std::nullopt};
    if (random_.chance(0.2)) held.failed.retry_after = std::chrono::milliseconds(random_.below(3'000));
  } else {
    held.complete = {ref, ledger::body_of(fmt::format("{}:{}:{}", ref.number, ref.fence, id_))};
    world_->oracle().says(ref, std::string(ledger::view_of(held.complete.result)));
  }
  AgentReport report;
  say(held, report);
  if (held.answers_twice) {
    world_->oracle().count("answers said twice");
    say(held, report);
  }
  if (bad(0.1)) say_with_old_fence(report);
  if (bad(0.03)) {
    world_->oracle().count("outcomes forgotten");
    held_.erase(ref);
    return;
  }
  send_report(self, std::move(report));
}

void StackAgent::say(const Held& held, AgentReport& report) {
  if (!held.is_done) {
    if (reports_starts_ && held.is_begun) report.started.push_back({held.order.ref});
  } else if (held.ends == Ends::badly) {
    report.failed.push_back(held.failed);
  } else {
    report.complete.push_back(held.complete);
  }
}

// An assignment of long ago, or one nobody ever made.
void StackAgent::say_with_old_fence(AgentReport& report) {
  TaskRef ref = past_[random_.below(past_.size())];
  if (random_.chance(0.5) && ref.fence > 1) ref.fence -= 1;
  if (held_.contains(ref)) return;
  world_->oracle().count("answers with an old fence");
  if (random_.chance(0.3)) {
    report.failed.push_back(
        {ref, ledger::ErrorClass::permanent, fmt::format("{}too late", k_agents_own), std::nullopt});
  } else {
    // Should it be the present one after all, forgotten here and not yet missed there, it may be believed.
    world_->oracle().says(ref, "too late");
    report.complete.push_back({ref, ledger::body_of("too late")});
  }
}

void StackAgent::beat(Self self) {
  self.send_after(k_beat_every, self.pid(), Beat{});
  if (bad(0.02) && !held_.empty()) {
    world_->oracle().count("held tasks forgotten");
    held_.erase(held_.begin());
  }
  if (!dispatcher_) return;
  AgentReport report;
  for (auto& [ref, held] : held_) {
    if (++held.beats < k_beats_until_again) continue;
    held.beats = 0;
    say(held, report);
  }
  send_report(self, std::move(report));
  if (is_cut(self) || bad(k_message_lost)) return;
  name_all();
  self.send(dispatcher_, dispatch::AgentHeartbeat{seen_, refs()});
}

void StackAgent::send_report(Self self, AgentReport report) {
  const bool is_empty = report.started.empty() && report.progress.empty() && report.complete.empty() &&
                        report.failed.empty() && report.returned.empty() && report.last_words.empty();
  if (is_empty || !dispatcher_ || is_cut(self)) return;
  given_back_.insert(report.returned.begin(), report.returned.end());
  world_->note([&] {
    std::string text = fmt::format("  {} reports:", id_);
    for (const auto& each : report.complete) text += fmt::format(" complete {}/{}", each.ref.number, each.ref.fence);
    for (const auto& each : report.failed) text += fmt::format(" failed {}/{}", each.ref.number, each.ref.fence);
    for (const auto& ref : report.returned) text += fmt::format(" back {}/{}", ref.number, ref.fence);
    return text;
  });
  if (bad(k_message_lost)) return world_->oracle().count("reports lost");
  self.send(dispatcher_, std::move(report));
}

}  // namespace skein::sim
