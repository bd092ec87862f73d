#include "sim/fairness_judge.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "skein/dispatch/swarm_load.hpp"

namespace skein::sim {
namespace {

constexpr std::uint32_t k_no_run = ~0U;

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double overlap_seconds(const LabRun& run, Instant from, Instant until) {
  const Instant begin = std::max(run.from, from);
  const Instant end = std::min(run.to, until);
  return begin < end ? seconds_of(end - begin) : 0.0;
}

// Walks over the events once, with what is so at each moment.
class LabSweep {
 public:
  LabSweep(const LabPlan& plan, std::vector<LabTask> tasks) : plan_(plan) {
    figures_.tasks = std::move(tasks);
    figures_.stories.resize(figures_.tasks.size());
    tasks_.resize(figures_.tasks.size());
    turns_.resize(figures_.tasks.size());
    agents_.resize(plan.agents.size());
    for (const auto& [name, limit] : plan.options.executors) room_[name] = limit;
    for (const auto& swarm : plan.swarms) {
      const auto executor = swarm.fields.find(dispatch::k_field_executor);
      if (executor != swarm.fields.end() && !executor->second.empty()) closed_.insert(swarm.name);
    }
  }

  LabFigures run(const std::vector<LabEvent>& events) {
    if (!events.empty()) figures_.first = now_ = events.front().at;
    for (const LabEvent& event : events) {
      become_due(event.at);
      advance(event.at);
      take(event);
      look_around();
    }
    figures_.last = now_;
    for (std::uint32_t i = 0; i < agents_.size(); ++i) end_run(i, LabStep::gave_back);
    for (auto& kind : kinds_) close_stretches(kind);
    return std::move(figures_);
  }

 private:
  struct Task {
    std::uint32_t kind = 0;
    bool waits = false;
    Instant since{};
  };
  struct Agent {
    bool is_up = false;
    std::uint32_t run = k_no_run;  // in figures_.runs
  };
  // Tasks that the same agents can do.
  struct Kind {
    std::string swarm;
    std::string type;
    std::vector<std::uint32_t> able;  // agents of the plan, counted ones
    std::set<std::uint32_t> waiting;
    std::size_t idle = 0;
    Instant idle_since{};
  };
  struct Due {
    Instant at{};
    std::uint32_t task = 0;
    std::uint64_t turn = 0;  // an older one of the same task does not count
    bool operator>(const Due& other) const { return at != other.at ? at > other.at : task > other.task; }
  };

  std::uint32_t kind_of(const std::string& swarm, const std::string& type) {
    for (std::uint32_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i].swarm == swarm && kinds_[i].type == type) return i;
    }
    Kind kind{swarm, type, {}, {}, 0, {}};
    for (std::uint32_t i = 0; i < plan_.agents.size(); ++i) {
      const AgentPlan& agent = plan_.agents[i];
      const bool has_type = std::ranges::find(agent.types, type) != agent.types.end();
      if (agent.is_counted && has_type && (!closed_.contains(swarm) || agent.swarm == swarm)) kind.able.push_back(i);
    }
    kinds_.push_back(std::move(kind));
    look_around();
    return static_cast<std::uint32_t>(kinds_.size() - 1);
  }

  void become_due(Instant until) {
    while (!due_.empty() && due_.top().at <= until) {
      const Due due = due_.top();
      due_.pop();
      if (turns_[due.task] != due.turn) continue;
      advance(std::max(due.at, now_));
      wait(due.task);
    }
  }

  void advance(Instant to) {
    const double passed = seconds_of(to - now_);
    now_ = to;
    for (const Kind& kind : kinds_) {
      figures_.lost_agent_seconds += passed * static_cast<double>(std::min(kind.waiting.size(), kind.idle));
    }
  }

  void take(const LabEvent& event) {
    switch (event.step) {
      case LabStep::queued:
        return queued(event);
      case LabStep::began:
        return began(event);
      case LabStep::completed:
      case LabStep::lied:
      case LabStep::failed:
      case LabStep::gave_back:
        return end_run(event.agent, event.step);
      case LabStep::over: {
        stop_waiting(event.task);
        ++turns_[event.task];
        figures_.stories[event.task].over = event.at;
        figures_.stories[event.task].state = event.state;
        return;
      }
      case LabStep::agent_up:
        agents_[event.agent].is_up = true;
        return;
      case LabStep::agent_down:
        end_run(event.agent, LabStep::failed);
        agents_[event.agent].is_up = false;
        return;
    }
  }

  void queued(const LabEvent& event) {
    stop_waiting(event.task);
    TaskStory& story = figures_.stories[event.task];
    if (turns_[event.task]++ == 0) story.due = std::max(event.due, event.at);
    tasks_[event.task].kind = kind_of(event.swarm, figures_.tasks[event.task].type);
    if (event.due <= now_) return wait(event.task);
    due_.push({event.due, event.task, turns_[event.task]});
  }

  void began(const LabEvent& event) {
    stop_waiting(event.task);
    ++turns_[event.task];
    TaskStory& story = figures_.stories[event.task];
    story.began = std::min(story.began, event.at);
    ++story.runs;
    story.last_agent = event.agent;
    end_run(event.agent, LabStep::gave_back);
    agents_[event.agent].run = static_cast<std::uint32_t>(figures_.runs.size());
    figures_.runs.push_back({event.task, event.agent, event.at, event.at, LabStep::gave_back});
    if (const auto& executor = plan_.agents[event.agent].executor; room_.contains(executor)) --room_[executor];
  }

  void end_run(std::uint32_t index, LabStep how) {
    Agent& agent = agents_[index];
    if (agent.run == k_no_run) return;
    figures_.runs[agent.run].to = now_;
    figures_.runs[agent.run].end = how;
    agent.run = k_no_run;
    if (const auto& executor = plan_.agents[index].executor; room_.contains(executor)) ++room_[executor];
  }

  void wait(std::uint32_t index) {
    Task& task = tasks_[index];
    task.waits = true;
    task.since = now_;
    kinds_[task.kind].waiting.insert(index);
  }

  void stop_waiting(std::uint32_t index) {
    Task& task = tasks_[index];
    if (!task.waits) return;
    task.waits = false;
    Kind& kind = kinds_[task.kind];
    close_stretch(kind, index);
    kind.waiting.erase(index);
  }

  void close_stretch(const Kind& kind, std::uint32_t index) {
    if (kind.idle == 0) return;
    auto& longest = figures_.stories[index].beside_idle;
    longest = std::max(longest, now_ - std::max(kind.idle_since, tasks_[index].since));
  }

  void close_stretches(const Kind& kind) {
    if (kind.idle == 0 || kind.idle_since == now_) return;
    for (const std::uint32_t task : kind.waiting) close_stretch(kind, task);
  }

  // Who is idle for whom.
  void look_around() {
    for (Kind& kind : kinds_) {
      std::size_t idle = 0;
      for (const std::uint32_t index : kind.able) {
        const Agent& agent = agents_[index];
        const auto room = room_.find(plan_.agents[index].executor);
        if (agent.is_up && agent.run == k_no_run && (room == room_.end() || room->second > 0)) ++idle;
      }
      if (idle == 0) close_stretches(kind);
      if (kind.idle == 0 && idle > 0) kind.idle_since = now_;
      kind.idle = idle;
    }
  }

  const LabPlan& plan_;
  LabFigures figures_;
  Instant now_{};
  std::vector<Task> tasks_;
  std::vector<Agent> agents_;
  std::vector<Kind> kinds_;
  std::set<std::string> closed_;              // swarms with agents of their own
  std::map<std::string, std::int64_t> room_;  // in executors that agents share
  std::vector<std::uint64_t> turns_;          // of tasks: counts whatever ends or begins a wait
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

bool passes(const LabFigures::TaskFilter& filter, const LabTask& task) { return !filter || filter(task); }

}  // namespace

std::size_t LabFigures::count(ledger::State state, const TaskFilter& filter) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) found += passes(filter, tasks[i]) && stories[i].state == state ? 1 : 0;
  return found;
}

std::size_t LabFigures::not_completed(const TaskFilter& filter) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    found += passes(filter, tasks[i]) && stories[i].state != ledger::State::completed ? 1 : 0;
  }
  return found;
}

double LabFigures::beside_idle(const TaskFilter& filter) const {
  Duration longest{};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (passes(filter, tasks[i])) longest = std::max(longest, stories[i].beside_idle);
  }
  return seconds_of(longest);
}

std::uint32_t LabFigures::worst_task() const {
  const auto worst = std::ranges::max_element(stories, {}, &TaskStory::beside_idle);
  return static_cast<std::uint32_t>(worst - stories.begin());
}

std::size_t LabFigures::beside_idle_longer(Duration than) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(stories, [&](const TaskStory& each) { return each.beside_idle > than; }));
}

double LabFigures::longest_wait(const TaskFilter& filter) const {
  double longest = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (passes(filter, tasks[i]))
      longest = std::max(longest, seconds_of(std::min(stories[i].began, last) - stories[i].due));
  }
  return longest;
}

double LabFigures::median_wait(const TaskFilter& filter) const {
  std::vector<double> waits;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (passes(filter, tasks[i])) waits.push_back(seconds_of(std::min(stories[i].began, last) - stories[i].due));
  }
  if (waits.empty()) return 0;
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::ranges::nth_element(waits, middle);
  return *middle;
}

std::size_t LabFigures::failed_by(std::uint32_t agent) const {
  return static_cast<std::size_t>(std::ranges::count_if(stories, [&](const TaskStory& each) {
    return each.state == ledger::State::failed && each.runs > 0 && each.last_agent == agent;
  }));
}

std::size_t LabFigures::runs_at(std::uint32_t agent, LabStep end) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const LabRun& each) { return each.agent == agent && each.end == end; }));
}

std::map<std::string, double> LabFigures::run_seconds(Duration from, Duration until) const {
  std::map<std::string, double> sums;
  for (const LabRun& run : runs) sums[tasks[run.task].swarm] += overlap_seconds(run, first + from, first + until);
  return sums;
}

double LabFigures::busy_seconds(std::uint32_t agent, Duration from, Duration until) const {
  double sum = 0;
  for (const LabRun& run : runs) {
    if (run.agent == agent) sum += overlap_seconds(run, first + from, first + until);
  }
  return sum;
}

double share_deviation(const std::map<std::string, double>& run_seconds, const std::map<std::string, double>& weights) {
  double all_seconds = 0;
  double all_weights = 0;
  for (const auto& [swarm, seconds] : run_seconds) all_seconds += seconds;
  for (const auto& [swarm, weight] : weights) all_weights += weight;
  double greatest = 0;
  for (const auto& [swarm, weight] : weights) {
    const auto at = run_seconds.find(swarm);
    const double share = at == run_seconds.end() || all_seconds == 0 ? 0 : at->second / all_seconds;
    greatest = std::max(greatest, std::abs(share / (weight / all_weights) - 1));
  }
  return greatest;
}

LabFigures judge_fairness(const LabPlan& plan, std::vector<LabTask> tasks, const std::vector<LabEvent>& events) {
  return LabSweep(plan, std::move(tasks)).run(events);
}

}  // namespace skein::sim
