#include "sim/fairness_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/fairness_agent.hpp"
#include "skein/agent/agent.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/runtime/inspect.hpp"

namespace skein::sim {
namespace {

constexpr ledger::WallMs k_lab_wall_start = 1'700'000'000'000;
constexpr std::uint64_t k_lab_id_high = 0x0190'0000'0000'7000ULL;
constexpr std::uint64_t k_lab_steps_max = 50'000'000;  // of a scenario; more is a loop
constexpr std::size_t k_lab_submits_at_once = 1'000;   // in one command

RuntimeOptions lab_runtime(std::uint64_t seed) {
  RuntimeOptions options;
  options.seed = seed;
  return options;
}

Duration some_length(const std::vector<Length>& lengths, Random& random) {
  double all = 0;
  for (const Length& each : lengths) all += each.share;
  double at = random.unit() * all;
  for (const Length& each : lengths) {
    if (at < each.share) return each.takes;
    at -= each.share;
  }
  return lengths.back().takes;
}

const char* lab_word(LabStep step) {
  switch (step) {
    case LabStep::queued:
      return "is queued";
    case LabStep::began:
      return "begins";
    case LabStep::completed:
      return "completes";
    case LabStep::lied:
      return "is lied about";
    case LabStep::failed:
      return "fails";
    case LabStep::gave_back:
      return "is given back";
    case LabStep::over:
      return "is over";
    case LabStep::agent_up:
      return "is up";
    case LabStep::agent_down:
      return "is down";
  }
  return "";
}

}  // namespace

LabWorld::LabWorld(LabPlan plan, std::uint64_t seed, bool trace)
    : plan_(std::move(plan)),
      random_(seed),
      is_tracing_(trace),
      journal_(ledger_),
      runtime_(lab_runtime(random_.next())) {
  start_ = runtime_.now();
  make_tasks(random_);
  journal_.start(runtime_);
  ledger_.add_sink(*this);
}

LabWorld::~LabWorld() {
  runtime_.shutdown();
  ledger_.remove_sink(*this);
}

void LabWorld::make_tasks(Random& random) {
  for (const Load& load : plan_.loads) {
    Duration at = load.starts;
    for (std::size_t i = 0; i < load.count; ++i) {
      planned_.push_back(
          {at, {load.swarm, load.type, load.priority, some_length(load.lengths, random)}, load.attempts});
      const double mean = std::chrono::duration<double>(load.every).count();
      const double pause = load.is_random ? -mean * std::log(1 - random.unit()) : mean;
      at += std::chrono::nanoseconds(static_cast<std::int64_t>(pause * 1e9));
    }
  }
  // Not std::stable_sort, which uses what C++17 deprecates: clang says so.
  for (std::size_t i = 0; i < planned_.size(); ++i) planned_[i].order = i;
  std::ranges::sort(planned_, {}, [](const Planned& each) { return std::pair(each.at, each.order); });
  tasks_.reserve(planned_.size());
  for (const Planned& each : planned_) tasks_.push_back(each.task);
}

LabFigures LabWorld::play() {
  start_dispatcher();
  declare_swarms();
  runtime_.spawn<LabKeeper>(this);
  runtime_.spawn<LabClient>(this);
  const Instant until = start_ + plan_.horizon;
  std::uint64_t steps = 0;
  while (over_ < tasks_.size()) {
    if (++steps > k_lab_steps_max) throw std::runtime_error("the scenario does not come to an end");
    if (!runtime_.step() && !inspect::pass_time(runtime_, until)) break;
  }
  return judge_fairness(plan_, tasks_, events_);
}

void LabWorld::declare_swarms() {
  for (const SwarmPlan& swarm : plan_.swarms) {
    append(ledger::SwarmPut{swarm.name, ledger::Origin::config, swarm.fields});
  }
}

void LabWorld::start_dispatcher() {
  auto setup = std::make_unique<dispatch::DispatcherSetup>();
  setup->runtime = &runtime_;
  setup->journal = &journal_;
  setup->ledger = &ledger_;
  setup->options = plan_.options;
  setup->wall_clock = [this] { return wall(); };
  setup->entropy = [this] { return random_.next(); };
  // For readers of the trace; the judge does not hear of it.
  setup->on_event = [this](const dispatch::DispatchEvent& event) {
    if (!is_tracing_) return;
    const auto task = event.task == 0 ? std::string() : fmt::format(" task {}", event.task);
    tell(fmt::format("  dispatcher: {} {}{} {}", name_of(event.kind), event.subject, task, event.detail));
  };
  SpawnOptions spawn;
  spawn.name = dispatch::k_dispatcher_name;
  runtime_.spawn_with<dispatch::Dispatcher>(spawn, std::move(setup));
}

Pid LabWorld::start_agent(std::uint32_t index) {
  const AgentPlan& plan = plan_.agents[index];
  auto setup = std::make_unique<agent::AgentSetup>();
  setup->name = plan.id;
  setup->capabilities = plan.types;
  setup->swarm = RareText(plan.swarm);
  setup->shared_executor = RareText(plan.executor);
  setup->prefetch = plan.prefetch;
  setup->executor = std::make_unique<LabExecutor>(*this, index, random_.next());
  return runtime_.spawn<agent::Agent>(std::move(setup));
}

Instant LabWorld::submit_due() {
  ledger::CommandBuilder builder;
  const auto send = [&] {
    if (builder.count() == 0) return;
    journal::Batch batch;
    batch.push_back({{99, ++commands_}, builder.take()});
    journal_.append(std::move(batch), [](const journal::AppendAnswer&) {}, journal::Urgency::completion);
  };
  for (; submitted_ < planned_.size() && planned_[submitted_].at <= elapsed(); ++submitted_) {
    const Planned& planned = planned_[submitted_];
    ledger::Submit op;
    op.id = id_of(submitted_);
    op.at = wall();
    op.spec.swarm = planned.task.swarm;
    op.spec.type = planned.task.type;
    op.spec.priority = planned.task.priority;
    op.spec.attempts_max = planned.attempts;
    op.spec.params = ledger::body_of(std::to_string(submitted_));
    builder.add(op);
    if (builder.count() == k_lab_submits_at_once) send();
  }
  send();
  return submitted_ == planned_.size() ? Instant::max() : start_ + planned_[submitted_].at;
}

void LabWorld::append(const ledger::Op& op) {
  journal::Batch batch;
  batch.push_back({{99, ++commands_}, ledger::encode_command(op)});
  journal_.append(
      std::move(batch),
      [](const journal::AppendAnswer& answer) {
        if (answer.outcome != journal::Outcome::applied) throw std::runtime_error("the journal refuses a command");
      },
      journal::Urgency::completion);
}

void LabWorld::saw(LabStep step, std::uint32_t agent, std::uint32_t task) {
  events_.push_back({runtime_.now(), step, task, agent, {}, {}, ledger::State::queued});
  if (!is_tracing_) return;
  const std::string& id = plan_.agents[agent].id;
  if (step == LabStep::agent_up || step == LabStep::agent_down) return tell(fmt::format("{} {}", id, lab_word(step)));
  tell(fmt::format("task {} {} at {}", task + 1, lab_word(step), id));
}

void LabWorld::take(const std::shared_ptr<const ledger::ChangeBatch>& batch) {
  for (const ledger::Change& change : batch->changes) {
    LabEvent event;
    event.at = runtime_.now();
    if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) {
      event.task = task_of(queued->task.id);
      event.due = instant_of(queued->task.not_before);
      event.swarm = queued->task.shape->swarm;
      if (is_tracing_) {
        tell(fmt::format("task {} is queued in {}: {}, priority {}, takes {:.3f} s", event.task + 1, event.swarm,
                         tasks_[event.task].type, queued->task.effective_priority,
                         std::chrono::duration<double>(tasks_[event.task].length).count()));
      }
    } else if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
      event.step = LabStep::over;
      event.task = task_of(finished->finished->task.id);
      event.state = finished->finished->task.state;
      ++over_;
      if (is_tracing_) tell(fmt::format("task {} is over: {}", event.task + 1, name_of(event.state)));
    } else {
      continue;
    }
    events_.push_back(std::move(event));
  }
}

void LabWorld::tell(std::string text) {
  trace_.push_back(fmt::format("{:>12.3f} s  {}", std::chrono::duration<double>(elapsed()).count(), text));
}

ledger::WallMs LabWorld::wall() const {
  return k_lab_wall_start +
         static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed()).count());
}

Instant LabWorld::instant_of(ledger::WallMs at) const {
  return at <= k_lab_wall_start ? start_ : start_ + std::chrono::milliseconds(at - k_lab_wall_start);
}

ledger::TaskId LabWorld::id_of(std::size_t task) const { return {k_lab_id_high, task + 1}; }

std::uint32_t LabWorld::task_of(const ledger::TaskId& id) { return static_cast<std::uint32_t>(id.low - 1); }

}  // namespace skein::sim
