#include "sim/dispatch_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "skein/base/time_text.hpp"
#include "skein/ledger/invariants.hpp"

namespace skein::sim {
namespace {

constexpr ledger::WallMs k_first_wall = 1'000'000;
constexpr std::uint64_t k_id_high = 0x0190'0000'0000'7000ULL;
constexpr Duration k_beat_every = dispatch::k_heartbeat_every;

[[noreturn]] void too_many_steps() {
  throw std::logic_error(fmt::format("still something to do after {} steps", DispatchWorld::k_steps_max));
}

}  // namespace

DispatchWorld::DispatchWorld(const dispatch::DispatcherOptions& options)
    : options_(options), core_(std::make_unique<dispatch::DispatcherCore>(options, seed_)) {
  moment_.wall = k_first_wall;
  ledger_.add_sink(*this);
  run(ledger::LedgerVersion{ledger::k_ledger_version});
  begin();
}

DispatchWorld::~DispatchWorld() { ledger_.remove_sink(*this); }

void DispatchWorld::begin() {
  const auto epoch = run(ledger::TakeDispatch{options_.node, moment_.wall}).number;
  core_->on_state(epoch, dispatch::StateView::of(*ledger_.freeze()), moment_);
  is_begun_ = true;
  settle();
}

std::vector<std::string> DispatchWorld::take_lines() { return std::exchange(lines_, {}); }

void DispatchWorld::line(std::string_view text) {
  const std::string when = waits_since_ ? time_text(moment_.now - *waits_since_) + ": " : std::string();
  lines_.push_back(fmt::format("{}{}", when, text));
}

// The ledger, and its changes on their way to the core.

void DispatchWorld::take(const std::shared_ptr<const ledger::ChangeBatch>& batch) { changes_.push_back(batch); }

void DispatchWorld::hand_over() {
  for (const auto& batch : std::exchange(changes_, {})) {
    for (const auto& change : batch->changes) {
      if (const std::string text = words_of(change, names()); !text.empty()) line(text);
    }
    if (is_begun_) core_->on_changes(*batch, moment_);
  }
}

ledger::OpResult DispatchWorld::run(const ledger::Op& op) {
  const auto answer = ledger::decode_results(ledger_.apply(++position_, ledger::encode_command(op)));
  if (!answer || answer->size() != 1) throw std::logic_error("the ledger's answer cannot be read");
  hand_over();
  return answer->front();
}

void DispatchWorld::apply(const dispatch::Append& append) {
  std::vector<std::string> answers;
  answers.reserve(append.commands.size());
  for (const auto& command : append.commands) answers.push_back(ledger_.apply(++position_, command));
  tell_refusals(answers, append);
  hand_over();
  core_->on_applied(append.id, answers, moment_);
  if (const auto broken = ledger::broken_invariant(*ledger_.freeze())) throw std::logic_error(*broken);
}

void DispatchWorld::tell_refusals(const std::vector<std::string>& answers, const dispatch::Append& append) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto results = ledger::decode_results(answers[i]);
    const auto ops = ledger::decode_command(append.commands[i]);
    if (!results || !ops || results->size() != ops->size()) throw std::logic_error("an append cannot be read back");
    for (std::size_t j = 0; j < ops->size(); ++j) {
      if (!(*results)[j].refused() || !(*ops)[j]) continue;
      line(fmt::format("refused {}: {}", words_of(*(*ops)[j], names()), ledger::name_of((*results)[j].verdict)));
    }
  }
}

// The core's turn.

void DispatchWorld::step() {
  auto out = core_->step(moment_);
  for (const auto& event : out.events) line("event " + words_of(event, names()));
  for (auto& append : out.appends) {
    std::string_view first = "append ";
    for (const auto& command : append.commands) {
      ledger::for_each_op(command, [&](const std::optional<ledger::Op>& op) {
        line(fmt::format("{}{}", first, op ? words_of(*op, names()) : "what the ledger cannot read"));
        first = "   and ";
      });
    }
    pending_.push_back(std::move(append));
  }
  for (auto& [pid, orders] : out.mail) deliver(pid, orders);
  wake_at_ = out.wake_at;
  if (const std::string problem = core_->inconsistency(); !problem.empty()) throw std::logic_error(problem);
  if (!out.wants_state || !is_begun_) return;
  line("the dispatcher takes a fresh state");
  core_->on_state(ledger_.epoch(), dispatch::StateView::of(*ledger_.freeze()), moment_);
}

void DispatchWorld::settle() {
  step();
  for (std::size_t steps = 1; !is_held_ && !pending_.empty(); ++steps) {
    if (steps == k_steps_max) too_many_steps();
    const dispatch::Append append = std::move(pending_.front());
    pending_.pop_front();
    apply(append);
    if (pending_.empty()) step();
  }
}

void DispatchWorld::deliver(Pid pid, dispatch::Orders& orders) {
  const std::string name = agent_name(pid);
  for (const auto& text : words_of(orders, names())) line(fmt::format("order {}: {}", name, text));
  const auto at = agents_.find(name);
  if (at == agents_.end() || !at->second.is_alive) return;
  Agent& agent = at->second;
  agent.seen = orders.sequence;
  if (orders.full) {
    std::erase_if(agent.held, [&](dispatch::TaskRef held) {
      return std::ranges::none_of(orders.run, [&](const auto& order) { return order.ref == held; });
    });
  }
  for (const auto& order : orders.run) {
    agent.known[task_name(order.id)] = order.ref;
    if (std::ranges::find(agent.held, order.ref) == agent.held.end()) agent.held.push_back(order.ref);
  }
  for (const auto ref : orders.settled) std::erase(agent.held, ref);
}

void DispatchWorld::hold_appends() { is_held_ = true; }

void DispatchWorld::apply_one() {
  if (pending_.empty()) throw std::invalid_argument("no append is held");
  const dispatch::Append append = std::move(pending_.front());
  pending_.pop_front();
  apply(append);
  settle();
}

void DispatchWorld::release_appends() {
  is_held_ = false;
  settle();
}

// Time.

void DispatchWorld::advance_to(Instant to) {
  elapsed_ += to - moment_.now;
  moment_.now = to;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_).count();
  moment_.wall = k_first_wall + static_cast<ledger::WallMs>(ms);
}

void DispatchWorld::wait(Duration time) {
  const Instant until = later(moment_.now, time);
  Instant next_beat = later(moment_.now, k_beat_every);
  waits_since_ = moment_.now;
  for (std::size_t steps = 0; moment_.now < until; ++steps) {
    if (steps == k_steps_max) too_many_steps();
    advance_to(std::max(moment_.now, std::min({wake_at_, until, next_beat})));
    if (next_beat <= moment_.now) {
      next_beat = later(moment_.now, k_beat_every);
      beat_all();
    }
    settle();
  }
  waits_since_.reset();
}

void DispatchWorld::stall(Duration time) {
  advance_to(later(moment_.now, time));
  settle();
}

void DispatchWorld::stand_still(Duration time) {
  elapsed_ += time;
  advance_to(moment_.now);
  core_->on_time_lost(time, moment_);
  settle();
}

// Dispatchers.

void DispatchWorld::lose_dispatcher() {
  core_ = std::make_unique<dispatch::DispatcherCore>(options_, ++seed_);
  pending_.clear();
  is_begun_ = false;
}

void DispatchWorld::restart_dispatcher() {
  lose_dispatcher();
  begin();
}

void DispatchWorld::restart_node() {
  options_.dead_fence = ledger_.counters().last_fence;
  agents_.clear();
  restart_dispatcher();
}

void DispatchWorld::take_over() {
  run(ledger::TakeDispatch{"another node", moment_.wall});
  settle();
}

void DispatchWorld::tell_wake() {
  line(wake_at_ == Instant::max() ? "no wake" : "wake in " + time_text(between(moment_.now, wake_at_)));
}

// Names.

DispatchNames DispatchWorld::names() const {
  return {.task = [this](ledger::TaskId id) { return task_name(id); },
          .task_numbered =
              [this](ledger::TaskNumber number) {
                // The first task that was accepted is the first that was named.
                return number >= 1 && number <= task_names_.size() ? task_names_[number - 1] : std::string("?");
              },
          .wall = moment_.wall};
}

ledger::TaskId DispatchWorld::task_id(std::string_view name) const {
  const auto at = std::ranges::find(task_names_, name);
  if (at == task_names_.end()) throw std::invalid_argument(fmt::format("no task is called '{}'", name));
  return {k_id_high, static_cast<std::uint64_t>(at - task_names_.begin()) + 1};
}

std::string DispatchWorld::task_name(ledger::TaskId id) const {
  return id.low >= 1 && id.low <= task_names_.size() ? task_names_[id.low - 1] : "?";
}

std::string DispatchWorld::agent_name(Pid pid) const {
  for (const auto& [name, agent] : agents_) {
    if (agent.pid == pid) return name;
  }
  return "a process that is gone";
}

}  // namespace skein::sim
