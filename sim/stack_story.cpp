// What happens in a story of the whole stack: the bad times, the healing, and the end.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/stack_agent.hpp"
#include "sim/stack_world.hpp"
#include "skein/runtime/inspect.hpp"
#include "skein/runtime/pause.hpp"

namespace skein::sim {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_liveness = 60s;
constexpr std::uint64_t k_no_limit = ~0ULL;

}  // namespace

StackResult StackWorld::run() {
  bad_times();
  if (!violated()) heal();
  if (!violated()) await_the_end();
  if (!violated()) check_the_end();
  oracle_.count("failed inserts of the archive", store_.failures);
  oracle_.count("disk operations", disk_.points());
  result_.violation = oracle_.violation();
  result_.counts = oracle_.counts();
  return std::move(result_);
}

void StackWorld::bad_times() {
  const std::uint64_t rounds = 40 + random_.below(200);
  for (std::uint64_t i = 0; i < rounds && !violated(); ++i) {
    keep_alive();
    if (random_.chance(0.6)) {
      run_until(runtime_.now() + 100ms, 1 + random_.below(80));
    } else {
      run_until(
          runtime_.now() + std::chrono::milliseconds(random_.chance(0.1) ? random_.below(6'000) : random_.below(200)),
          k_no_limit);
    }
    for (auto& client : clients_) {
      if (!violated() && random_.chance(0.5)) client->act();
    }
    if (!violated() && random_.chance(0.15)) do_harm();
    if (!violated() && luck_.chance(stands_still_)) stand_still();
    if (!violated() && luck_.chance(0.1) && is_scarce_) change_scarcity();
  }
}

// What can happen, and how often in so many harms. Seeds tell the same stories as long as the order stays.
void StackWorld::do_harm() {
  struct Harm {
    std::uint64_t weight;
    void (StackWorld::*happens)(Agent& agent);
  };
  static constexpr Harm k_harms[] = {
      {2, &StackWorld::node_ends},
      {2, &StackWorld::dispatcher_is_killed},
      {1, &StackWorld::archiver_begins_anew},
      {3, &StackWorld::agent_is_killed},
      {2, &StackWorld::agent_is_cut_off},
      {1, &StackWorld::archive_fails},
      {1, &StackWorld::disk_slows_down},
      {1, &StackWorld::disk_fills_up},
      {1, &StackWorld::snapshot_is_taken},
      {1, &StackWorld::is_deposed},
      {1, &StackWorld::archive_loses_power},
      {4, &StackWorld::late_word_comes},
      {2, &StackWorld::answers_are_lost},
      {2, &StackWorld::agent_is_cut_off_long},
      {2, &StackWorld::agent_is_paused},
  };
  static constexpr std::uint64_t k_total = [] {
    std::uint64_t sum = 0;
    for (const Harm& each : k_harms) sum += each.weight;
    return sum;
  }();
  auto& agent = agents_[random_.below(agents_.size())];
  std::uint64_t left = random_.below(k_total);
  for (const Harm& each : k_harms) {
    if (left < each.weight) return (this->*each.happens)(agent);
    left -= each.weight;
  }
}

void StackWorld::node_ends(Agent&) {
  if (!node_ || crashes_left_ == 0) return;
  --crashes_left_;
  if (random_.chance(0.3)) return close_node();
  end_node(random_.chance(0.5) ? End::killed : End::power_cut);
}

void StackWorld::dispatcher_is_killed(Agent&) {
  if (!node_ || is_dying() || !runtime_.is_alive(node_->dispatcher)) return;
  note([] { return std::string("the dispatcher is killed"); });
  oracle_.count("dispatchers killed");
  node_->may_end = true;
  node_->dispatcher_at = runtime_.now() + std::chrono::milliseconds(random_.below(500));
  runtime_.exit(node_->dispatcher, ExitReason::kill());
}

void StackWorld::archiver_begins_anew(Agent&) {
  if (!node_ || is_dying()) return;
  note([] { return std::string("the archiver begins anew"); });
  oracle_.count("archivers killed");
  node_->journal->answer_reads_at_once(true);
  node_->archiver.reset();
  node_->journal->answer_reads_at_once(false);
  start_archiver();
}

void StackWorld::agent_is_killed(Agent& agent) {
  if (!runtime_.is_alive(agent.pid)) return;
  note([&] { return agent.id + " is killed"; });
  oracle_.count("agents killed");
  runtime_.exit(agent.pid, random_.chance(0.2) ? ExitReason::shutdown() : ExitReason::kill());
}

void StackWorld::agent_is_cut_off(Agent& agent) {
  if (agent.is_function || !runtime_.is_alive(agent.pid)) return;
  const auto time = std::chrono::milliseconds(random_.below(random_.chance(0.4) ? 10'000 : 800));
  note([&] { return fmt::format("{} is cut off for {} ms", agent.id, time.count()); });
  oracle_.count("agents cut off");
  runtime_.send(agent.pid, StackAgent::CutOff{time});
}

// Longer than any lease.
void StackWorld::agent_is_cut_off_long(Agent& agent) {
  if (agent.is_function || !runtime_.is_alive(agent.pid)) return;
  note([&] { return agent.id + " is cut off for long"; });
  oracle_.count("agents cut off");
  runtime_.send(agent.pid, StackAgent::CutOff{std::chrono::milliseconds(6'000 + random_.below(6'000))});
}

void StackWorld::agent_is_paused(Agent& agent) {
  if (!agent.is_function || !runtime_.is_alive(agent.pid)) return;
  const bool is_paused = random_.chance(0.5);
  note([&] { return fmt::format("{} is {}", agent.id, is_paused ? "paused" : "resumed"); });
  oracle_.count("agents paused or resumed");
  if (is_paused) {
    runtime_.send(agent.pid, dispatch::PauseAgent{});
  } else {
    runtime_.send(agent.pid, dispatch::ResumeAgent{});
  }
}

void StackWorld::archive_fails(Agent&) { store_.fail(random_.chance(0.4), random_.chance(0.3)); }

void StackWorld::archive_loses_power(Agent&) {
  if (crashes_left_ == 0) return;
  --crashes_left_;
  store_.cut_power_at(1 + random_.below(4));
}

void StackWorld::disk_slows_down(Agent&) {
  if (!node_) return;
  oracle_.count("times the disk was slow or well again");
  node_->journal->slow_down(random_.chance(0.5) ? 1 : pick({20, 2'000}));
}

void StackWorld::disk_fills_up(Agent&) { fill_disk(); }

void StackWorld::snapshot_is_taken(Agent&) {
  if (!node_ || is_dying()) return;
  oracle_.count("snapshots asked for");
  node_->journal->snapshot([](const auto&) {});
}

void StackWorld::is_deposed(Agent&) { depose(); }

void StackWorld::late_word_comes(Agent&) { say_something_late(); }

void StackWorld::answers_are_lost(Agent&) {
  if (!node_) return;
  note([] { return std::string("answers of the journal are lost for a while"); });
  node_->journal->doubt_until(runtime_.now() + std::chrono::milliseconds(random_.below(1'000)));
}

void StackWorld::fill_disk() {
  if (random_.chance(0.5)) {
    std::uint64_t used = 0;
    for (const auto& path : disk_.paths()) used += disk_.bytes_of(path).size();
    disk_.set_capacity(used + random_.below(30'000));
    note([] { return std::string("the disk is nearly full"); });
    oracle_.count("times the disk was full");
  } else {
    disk_.set_capacity(SimDisk::k_unlimited);
  }
  if (node_ && !is_dying()) node_->journal->check_disk();
}

// Everything stops and goes on later, or only nobody has a turn while the clocks go on.
void StackWorld::stand_still() {
  const auto time = std::chrono::milliseconds(6'000 + luck_.below(luck_.chance(0.3) ? 120'000 : 6'000));
  const ledger::WallMs from = wall();
  if (luck_.chance(0.5)) {
    note([&] { return fmt::format("the program is stopped for {} ms", time.count()); });
    oracle_.count("pauses of the program");
    pause_program(runtime_, time);
  } else {
    note([&] { return fmt::format("nobody has a turn for {} ms", time.count()); });
    oracle_.count("times nobody had a turn");
    inspect::set_now(runtime_, runtime_.now() + time);
  }
  oracle_.stood_still(from, wall());
}

void StackWorld::change_scarcity() {
  const double chance = luck_.chance(0.5) ? 0 : luck_.chance(0.5) ? 1 : 0.3;
  note([&] { return fmt::format("{} of the opens find no descriptor", chance); });
  oracle_.count("times descriptors were scarce", chance > 0 ? 1 : 0);
  disk_.set_scarcity(chance);
}

// Another dispatcher takes over, somewhere, and is never heard of again.
void StackWorld::depose() {
  if (!node_ || is_dying()) return;
  oracle_.count("dispatchers deposed");
  node_->may_end = true;
  journal::Batch batch;
  batch.push_back({{random_.next() | 1U, 1}, ledger::encode_command(ledger::TakeDispatch{"elsewhere", wall()})});
  node_->journal->append(std::move(batch), [](const auto&) {}, journal::Urgency::completion);
}

// What a dispatcher that was deposed long ago had under way: an outcome of some assignment there once was.
void StackWorld::say_something_late() {
  const auto& account = oracle_.account();
  if (!node_ || is_dying() || account.last_fence() == 0) return;
  const ledger::Fence fence = 1 + random_.below(account.last_fence());
  const auto* given = account.assignment(fence);
  if (given == nullptr) return;
  const auto& task = *account.numbered(given->task);
  oracle_.count("late outcomes");
  ledger::Op op = ledger::Fail{task.id, fence, wall(), ledger::ErrorClass::permanent, 0, std::string(k_agents_own)};
  if (random_.chance(0.2)) {
    op = ledger::FallBack{account.epoch() - 1,
                          task.id,
                          fence,
                          wall(),
                          ledger::FallbackCause::agent_crash,
                          ledger::ErrorClass::crash,
                          0,
                          "",
                          random_.chance(0.5) ? "alpha" : "default"};
  } else if (random_.chance(0.7)) {
    const std::string result = task.fence == fence && !task.result.empty() ? task.result : "late";
    oracle_.says({task.number, fence}, result);
    op = ledger::Complete{task.id, fence, wall(), ledger::body_of(result)};
  }
  journal::Batch batch;
  batch.push_back({{random_.next() | 1U, 2}, ledger::encode_command(op)});
  node_->journal->append(std::move(batch), [](const auto&) {}, journal::Urgency::completion);
}

void StackWorld::heal() {
  note([] { return std::string("all faults end"); });
  is_healed_ = true;
  disk_.set_capacity(SimDisk::k_unlimited);
  disk_.set_scarcity(0);
  disk_.cut_power_at(0);
  disk_.fail_at(0, journal::DiskError::Code::io);
  store_.fail(false, false);
  store_.cut_power_at(0);
  if (node_) {
    node_->journal->slow_down(1);
    node_->journal->doubt_until(runtime_.now());
    if (!is_dying()) node_->journal->check_disk();
    node_->dispatcher_at = runtime_.now();
  }
  start_at_ = std::min(start_at_, runtime_.now());
  for (auto& agent : agents_) {
    agent.start_at = runtime_.now();
    if (!runtime_.is_alive(agent.pid)) continue;
    if (agent.is_function) {
      runtime_.send(agent.pid, dispatch::ResumeAgent{});
    } else {
      runtime_.send(agent.pid, StackAgent::CutOff{});
    }
  }
}

bool StackWorld::has_all_ended() const {
  for (const auto& [id, task] : oracle_.account().tasks()) {
    if (!task.is_archived) return false;
  }
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& each) { return each->is_content(); });
}

void StackWorld::await_the_end() {
  const Instant until = runtime_.now() + k_liveness;
  Instant resume_at = runtime_.now();
  while (!violated() && runtime_.now() < until) {
    keep_alive();
    if (ops() != nullptr && runtime_.now() >= resume_at) {
      resume_at = runtime_.now() + 1s;
      // It may have been refused at every start, as the disk was full.
      declare_swarms();
      for (const auto* swarm : {"default", "alpha"}) node_->ops->swarm_resume(swarm, [](const auto&) {});
    }
    for (auto& client : clients_) client->act();
    run_until(runtime_.now() + 50ms, k_no_limit);
    if (has_all_ended()) return;
  }
  if (!violated()) oracle_.violated(fmt::format("a minute after the faults ended: {}", what_is_left()));
}

std::string StackWorld::what_is_left() const {
  std::string left;
  for (const auto& [id, task] : oracle_.account().tasks()) {
    if (task.is_archived) continue;
    left += fmt::format("task {} of swarm {} is {} (fence {} at {}, {} of {} attempts{}); ", task.number, task.swarm,
                        ledger::name_of(task.state), task.fence, task.agent, task.attempts, task.attempts_max,
                        task.is_pinned() ? ", for agent " + task.for_agent : "");
  }
  for (const auto& client : clients_) {
    if (!client->is_content()) left += client->describe() + "; ";
  }
  return left;
}

void StackWorld::check_the_end() {
  keep_alive();
  if (ops() == nullptr) return oracle_.violated("the node is down although nothing is wrong");
  for (auto& client : clients_) client->check_all();
  run_until(runtime_.now() + 1s, k_no_limit);
  for (const auto& client : clients_) {
    if (!client->is_content()) oracle_.violated("questions stay without an answer: " + client->describe());
  }
  if (!violated()) check_list();
  oracle_.judge_refusals();
  if (violated()) return;
  close_node();
  disk_.lose_power();
  run_until(runtime_.now() + 10ms, k_no_limit);
  start_node();
}

// Every task once, page by page.
void StackWorld::check_list() {
  std::set<ledger::TaskId> listed;
  std::string cursor;
  do {
    operations::ListRequest request;
    request.cursor = cursor;
    request.limit = 7;
    auto answer = std::make_shared<std::optional<operations::Result<operations::ListAnswer>>>();
    ops()->task_list(request, [answer](auto page) { *answer = std::move(page); });
    run_until(runtime_.now() + 200ms, k_no_limit);
    if (!*answer || !**answer) return oracle_.violated("a list is not answered, or with an error");
    for (const auto& each : (**answer)->tasks) {
      if (!listed.insert(each.task.id).second) oracle_.violated("a list has a task twice");
    }
    cursor = (**answer)->cursor;
  } while (!cursor.empty() && !violated());
  if (listed.size() != oracle_.account().tasks().size()) {
    oracle_.violated(fmt::format("a list has {} tasks of {}", listed.size(), oracle_.account().tasks().size()));
  }
}

StackResult tell_stack_story(std::uint64_t seed, bool trace) { return StackWorld(seed, trace).run(); }

}  // namespace skein::sim
