// What the config declares and withdraws, and what is kept of agents by name.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/dispatch/agent_protocol.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::string_view k_default_swarm = "default";

// The same answer as another type.
template <class Fn>
Reply<std::monostate> then(Reply<bool> reply, bool value, Fn otherwise) {
  return Reply<std::monostate>(
      [reply = std::move(reply), value, otherwise = std::move(otherwise)](Result<std::monostate> done) mutable {
        if (done) return reply(bool(value));
        otherwise(std::move(done.error()), std::move(reply));
      });
}

}  // namespace

void Operations::know_executors(std::vector<std::string> executors) {
  executors_known_.store(std::make_shared<const std::vector<std::string>>(std::move(executors)));
}

void Operations::know_config_swarms(std::vector<std::string> swarms) {
  config_swarms_.store(std::make_shared<const std::vector<std::string>>(std::move(swarms)));
}

bool Operations::is_undeclared(const std::string& name) const {
  const auto declared = config_swarms_.load();
  if (!declared || name == k_default_swarm) return false;
  const auto swarm = parts_.ledger.find_swarm(name);
  return swarm && swarm->origin == ledger::Origin::config && swarm->state != ledger::SwarmState::removed &&
         std::ranges::find(*declared, name) == declared->end();
}

void Operations::swarm_declare(SwarmRequest request, Reply<Nothing> reply) {
  const auto what = swarm_text(request.name);
  control(ledger::SwarmPut{std::move(request.name), ledger::Origin::config, std::move(request.fields)}, what,
          std::move(reply));
}

void Operations::swarm_withdraw(std::string name, Reply<bool> reply) {
  const auto what = swarm_text(name);
  const auto fail = [](Error error, Reply<bool> to) { to.fail(std::move(error)); };
  if (name == k_default_swarm) {
    return control(ledger::SwarmPut{std::move(name), ledger::Origin::api, {}}, what,
                   then(std::move(reply), true, fail));
  }
  // Whether it has open tasks is decided by the ledger, at one moment.
  auto has_tasks = [self = shared_from_this(), name, what, fail](Error error, Reply<bool> to) {
    if (error.code != Code::swarm_busy) return to.fail(std::move(error));
    self->control(ledger::SwarmSetState{name, ledger::SwarmState::removed}, what, then(std::move(to), false, fail));
  };
  control(ledger::SwarmRemove{std::move(name)}, what, then(std::move(reply), true, std::move(has_tasks)));
}

// A swarm of the same name may come later, with agents of the same names, which nobody has paused.
void Operations::forget_pauses_of(const std::string& swarm) {
  on_ledger(Reply<Nothing>([](const Result<Nothing>&) {}),
            [self = shared_from_this(), prefix = swarm + "-"](Reply<Nothing> answer) {
              for (const ledger::AgentNote& each : self->parts_.ledger.agents()) {
                const bool is_its_own = each.name.starts_with(prefix) && each.name.size() > prefix.size() &&
                                        each.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
                if (!is_its_own) continue;
                self->control(ledger::AgentRemove{each.name}, each.name, Reply<Nothing>([](const Result<Nothing>&) {}));
              }
              answer(Nothing{});
            });
}

void Operations::agent_set_paused(std::string name, bool is_paused, std::function<bool(const std::string&)> is_gone,
                                  Reply<Nothing> reply) {
  on_ledger(std::move(reply), [self = shared_from_this(), name = std::move(name), is_paused,
                               is_gone = std::move(is_gone)](Reply<Nothing> answer) {
    bool is_there = false;
    for (const ledger::AgentNote& each : self->parts_.ledger.agents()) {
      is_there = is_there || each.name == name;
      if (each.name != name && is_gone(each.name)) {
        self->control(ledger::AgentRemove{each.name}, each.name, Reply<Nothing>([](const Result<Nothing>&) {}));
      }
    }
    const auto what = fmt::format("agent '{}'", name);
    if (is_paused) {
      ledger::Fields fields{{std::string(dispatch::k_agent_field_paused), std::string(dispatch::k_agent_is_paused)}};
      return self->control(ledger::AgentPut{name, std::move(fields)}, what, std::move(answer));
    }
    if (!is_there) return answer(Nothing{});
    self->control(ledger::AgentRemove{name}, what, std::move(answer));
  });
}

}  // namespace skein::inline v0::operations
