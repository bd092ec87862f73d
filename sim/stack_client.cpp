#include "sim/stack_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/stack_world.hpp"

namespace skein::sim {

using namespace std::chrono_literals;
using operations::Code;
using operations::Result;
using operations::SubmitAnswer;

StackClient::StackClient(StackWorld& world, std::size_t number, std::uint64_t seed, std::size_t submits_max)
    : world_(world), number_(number), random_(seed), submits_max_(submits_max) {}

bool StackClient::is_content() const {
  return under_way_ == 0 && std::all_of(wishes_.begin(), wishes_.end(), [](const Wish& each) { return each.is_over; });
}

std::string StackClient::describe() const {
  std::string text = fmt::format("client {}: {} answers under way", number_, under_way_);
  for (const auto& wish : wishes_) {
    if (!wish.is_over) text += fmt::format(", key '{}' sent {} times", wish.request.key, wish.sends);
  }
  return text;
}

void StackClient::lost_node() {
  under_way_ = 0;
  for (auto& wish : wishes_) {
    if (!wish.is_under_way) continue;
    wish.is_under_way = false;
    // Nobody knows what became of it.
    if (wish.request.key.empty() && random_.chance(0.5)) wish.is_over = true;
  }
}

// An answer that comes after the node's death is none.
template <class T, class Fn>
operations::Reply<T> StackClient::reply(Fn fn) {
  ++under_way_;
  return operations::Reply<T>([this, life = world_.life(), fn = std::move(fn)](Result<T> answer) mutable {
    if (life != world_.life() || world_.is_dying()) return;
    --under_way_;
    fn(std::move(answer));
  });
}

void StackClient::act() {
  if (world_.ops() == nullptr) return;
  for (std::size_t i = 0; i < wishes_.size(); ++i) {
    const auto& wish = wishes_[i];
    if (!wish.is_over && !wish.is_under_way && (world_.is_healed() || random_.chance(0.6))) return send(i);
  }
  if (world_.is_healed()) return;
  if (wishes_.size() < submits_max_ && random_.chance(0.6)) return wish_for_something();
  if (random_.chance(0.06)) return control_swarm();
  look_at_something();
}

void StackClient::wish_for_something() {
  Wish wish;
  auto& request = wish.request;
  request.swarm = random_.chance(0.5) ? "default" : "alpha";
  request.type = random_.chance(0.7) ? "a" : "b";
  constexpr const char* k_priorities[] = {"low", "normal", "high", "critical"};
  request.priority = k_priorities[random_.below(4)];
  if (random_.chance(0.6)) request.key = fmt::format("c{}-{}", number_, wishes_.size());
  request.attempts = static_cast<std::uint32_t>(1 + random_.below(4));
  if (random_.chance(0.3)) request.timeout = std::chrono::milliseconds(100 + random_.below(3'000));
  if (random_.chance(0.2)) request.delay = std::chrono::milliseconds(random_.below(4'000));
  if (random_.chance(0.2)) request.deadline = std::chrono::milliseconds(500 + random_.below(15'000));
  if (random_.chance(0.3) && !known_.empty()) {
    const std::uint64_t count = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) request.dependencies.push_back(known_[random_.below(known_.size())]);
  }
  wish_for_agent(request);
  wishes_.push_back(std::move(wish));
  send(wishes_.size() - 1);
}

// Who may wait for ever is for an agent that can do it and comes back.
void StackClient::wish_for_agent(operations::SubmitRequest& request) {
  if (random_.chance(0.2)) request.route_key = fmt::format("r{}", random_.below(4));
  if (!random_.chance(0.35)) return;
  if (random_.chance(0.3)) {
    request.agent = world_.agent_name(0);
    if (random_.chance(0.5)) request.agent_fallback = "none";
    return;
  }
  request.agent = random_.chance(0.2) ? "nobody" : world_.agent_name(random_.next());
  request.agent_fallback = "any";
  if (random_.chance(0.7)) request.agent_wait = std::chrono::milliseconds(1 + random_.below(6'000));
}

void StackClient::send(std::size_t index) {
  auto& wish = wishes_[index];
  wish.is_under_way = true;
  ++wish.sends;
  auto request = wish.request;
  // Every send has a text of its own, also one with the same key: it tells which of them was accepted. The value is the
  // same, or the key would be refused to it.
  request.params = fmt::format("{{\"client\":{},\"wish\":{}{}\t{}}}", number_, index, std::string(wish.sends, ' '),
                               std::string(random_.chance(0.1) ? random_.below(600) : random_.below(20), ' '));
  world_.oracle().sends(request.params, request.key);
  if (wish.sends > 1) world_.oracle().count("submits sent again");
  world_.note([&] { return fmt::format("client {} submits {} with key '{}'", number_, request.params, request.key); });
  const std::string params = request.params;
  world_.ops()->task_submit(std::move(request), reply<SubmitAnswer>([this, index, params](Result<SubmitAnswer> answer) {
                              told(index, params, answer);
                            }));
}

void StackClient::told(std::size_t index, const std::string& params, const Result<SubmitAnswer>& answer) {
  auto& wish = wishes_[index];
  wish.is_under_way = false;
  world_.note([&] {
    return fmt::format("client {}: {} is answered {}", number_, params,
                       answer ? answer->id.text() : answer.error().describe());
  });
  world_.oracle().told(params, answer);
  if (answer) {
    wish.is_over = true;
    wish.id = answer->id;
    known_.push_back(answer->id);
    return;
  }
  switch (answer.error().code) {
    case Code::unknown:
    case Code::stopped:
    case Code::overloaded:
    case Code::not_leader:
    case Code::queue_full:
    case Code::ledger_full:
    case Code::archive_behind:
    case Code::swarm_closed:
    case Code::swarm_not_found:  // it comes with the first start that succeeds
    case Code::archive_unavailable:
      // With a key it knows in the end; without one it may leave it at that.
      if (wish.request.key.empty() && (world_.is_healed() || random_.chance(0.5))) wish.is_over = true;
      return;
    case Code::dependency_failed:
    case Code::dependency_not_found:
      wish.is_over = true;
      return;
    default:
      world_.oracle().violated(fmt::format("{}: {}", params, answer.error().describe()));
  }
}

void StackClient::look_at_something() {
  if (known_.empty()) return;
  const auto id = known_[random_.below(known_.size())];
  auto& oracle = world_.oracle();
  switch (random_.below(5)) {
    case 0:
      return world_.ops()->task_cancel({id, "not wanted"},
                                       reply<ledger::State>([this, id](Result<ledger::State> state) {
                                         if (!state) return world_.oracle().told_error(id, "cancel", state.error());
                                         world_.oracle().count("cancels told");
                                         const auto* task = world_.oracle().account().find(id);
                                         if (task->state != *state) world_.oracle().violated("a cancel did nothing");
                                       }));
    case 1:
      return world_.ops()->task_retry(
          id, reply<operations::RetryAnswer>([this, id](Result<operations::RetryAnswer> answer) {
            if (!answer) return world_.oracle().told_error(id, "retry", answer.error());
            world_.oracle().told_retry(id, *answer);
            known_.push_back(answer->id);
          }));
    case 2:
    case 3:
      oracle.count("waits");
      return world_.ops()->task_wait({id, std::chrono::milliseconds(random_.below(3'000))}, nullptr,
                                     reply<operations::WaitAnswer>([this, id](Result<operations::WaitAnswer> answer) {
                                       if (!answer) return world_.oracle().told_error(id, "wait", answer.error());
                                       world_.oracle().told_status(id, answer->status);
                                     }));
    default:
      return world_.ops()->task_status({id, {}, {}},
                                       reply<operations::TaskStatus>([this, id](Result<operations::TaskStatus> answer) {
                                         if (!answer) return world_.oracle().told_error(id, "status", answer.error());
                                         world_.oracle().told_status(id, *answer);
                                       }));
  }
}

void StackClient::control_swarm() {
  const std::string swarm = random_.chance(0.5) ? "default" : "alpha";
  auto nothing = reply<operations::Operations::Nothing>([](const auto&) {});
  switch (random_.below(6)) {
    case 0:
      return world_.ops()->swarm_pause(swarm, std::move(nothing));
    case 1:
      return world_.ops()->swarm_drain(swarm, std::move(nothing));
    case 2:
      return world_.ops()->swarm_stop(swarm, std::move(nothing));
    default:
      return world_.ops()->swarm_resume(swarm, std::move(nothing));
  }
}

void StackClient::check_all() {
  for (const auto id : known_) {
    world_.ops()->task_status({id, {}, {}},
                              reply<operations::TaskStatus>([this, id](Result<operations::TaskStatus> answer) {
                                if (!answer) return world_.oracle().told_error(id, "last status", answer.error());
                                world_.oracle().told_status(id, *answer);
                              }));
  }
  for (const auto& wish : wishes_) {
    if (wish.request.key.empty() || wish.id.none()) continue;
    world_.ops()->task_status(
        {{}, wish.request.swarm, wish.request.key},
        reply<operations::TaskStatus>([this, id = wish.id](Result<operations::TaskStatus> answer) {
          if (!answer) return world_.oracle().told_error(id, "status by key", answer.error());
          world_.oracle().told_status(id, *answer);
        }));
  }
}

}  // namespace skein::sim
