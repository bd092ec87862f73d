// The registry against a plain model, step by step, on a deterministic runtime; RapidCheck makes the steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "skein/registry/registry_world.hpp"

namespace skein::inline v0::registry_tests {
namespace {

enum class Act : std::uint8_t {
  register_agent,
  unregister_agent,
  give_away,
  stand_by,
  load,
  add_counter,
  update_counter,
  join,
  leave,
  kill_process,
  kill_registry,
  restart_registry,
};

struct Step {
  Act act = Act::register_agent;
  std::size_t name = 0;
  std::size_t process = 0;
  std::size_t other = 0;
  unsigned capabilities = 0;  // a bit for each
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{act " << static_cast<int>(step.act) << " name " << step.name << " process " << step.process
             << " other " << step.other << " capabilities " << step.capabilities << "}";
}

constexpr std::size_t k_names = 6;
constexpr std::size_t k_processes = 5;
constexpr unsigned k_capabilities = 4;

std::string name_of(std::size_t i) {
  // Short and long, neighbours and strangers.
  return i % 2 == 0 ? "agent-" + std::to_string(i) : std::string(30 * i, 'n') + std::to_string(i);
}
std::string capability_of(unsigned i) { return "c" + std::to_string(i); }

struct Agent {
  std::size_t process;
  unsigned capabilities;
  std::uint32_t load;
};

struct Model {
  std::map<std::size_t, Agent> agents;                                   // by name
  std::map<std::size_t, std::vector<std::size_t>> standbys;              // by name: processes, oldest first
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> counters;  // by name and process
  std::set<std::pair<std::size_t, std::size_t>> members;

  void end(std::size_t name) {
    auto& waiting = standbys[name];
    const std::size_t owner = agents.at(name).process;
    const auto heir = std::find_if(waiting.begin(), waiting.end(), [&](std::size_t each) { return each != owner; });
    if (heir == waiting.end()) {
      agents.erase(name);
      return;
    }
    agents.at(name).process = *heir;
    agents.at(name).load = 0;
    waiting.erase(heir);
  }
  void kill(std::size_t process) {
    for (auto& [name, waiting] : standbys) std::erase(waiting, process);
    for (std::size_t name = 0; name < k_names; ++name) {
      if (agents.contains(name) && agents.at(name).process == process) end(name);
    }
    std::erase_if(counters, [&](const auto& each) { return each.first.second == process; });
    std::erase_if(members, [&](const auto& each) { return each.second == process; });
  }
};

// How far the runtime runs after each step: until nothing is left to do, or only a little, so that the registry's
// process is always behind with what it has to clean up.
enum class Pace : std::uint8_t { settled, behind };

class Comparison {
 public:
  explicit Comparison(Pace pace = Pace::settled, std::uint64_t seed = 1) : world_({}, seed), pace_(pace) {
    for (std::size_t i = 0; i < k_processes; ++i) pids_.push_back(world_.agent());
  }

  void take(const Step& step) {
    const std::string name = name_of(step.name);
    const Pid pid = pids_[step.process];
    const bool held = model_.agents.contains(step.name);
    switch (step.act) {
      case Act::register_agent: {
        std::vector<std::string> capabilities;
        for (unsigned i = 0; i < k_capabilities; ++i) {
          if ((step.capabilities >> i) % 2 == 1) capabilities.push_back(capability_of(i));
        }
        RC_ASSERT(world_.table.register_agent(name, pid, capabilities).has_value() == !held);
        if (!held) model_.agents.emplace(step.name, Agent{step.process, step.capabilities, 0});
        break;
      }
      case Act::unregister_agent:
        RC_ASSERT(world_.table.unregister_agent(name).has_value() == held);
        if (held) model_.end(step.name);
        break;
      case Act::give_away: {
        const bool owns = held && model_.agents.at(step.name).process == step.process;
        RC_ASSERT(world_.table.give_away(name, pid, pids_[step.other]).has_value() == owns);
        if (owns) model_.agents.at(step.name).process = step.other;
        break;
      }
      case Act::stand_by:
        // A standby takes over when the registry gets to it: known only once all is settled.
        if (pace_ == Pace::behind) break;
        RC_ASSERT(world_.table.watch_name(name, pid, WatchMode::standby).has_value());
        if (held) {
          model_.standbys[step.name].push_back(step.process);
        } else {
          model_.agents.emplace(step.name, Agent{step.process, 0, 0});
        }
        break;
      case Act::load:
        change_load(step, name, held);
        break;
      case Act::add_counter: {
        const bool is_new = model_.counters.emplace(std::pair(step.name, step.process), step.other).second;
        const auto value = static_cast<std::int64_t>(step.other);
        RC_ASSERT(world_.table.add_counter(name, pid, value).has_value() == is_new);
        break;
      }
      case Act::update_counter: {
        const auto found = model_.counters.find({step.name, step.process});
        const auto updated = world_.table.update_counter(name, pid, -3);
        RC_ASSERT(updated.has_value() == (found != model_.counters.end()));
        if (updated) RC_ASSERT(*updated == (found->second -= 3));
        break;
      }
      case Act::join: {
        const bool is_new = model_.members.emplace(step.name, step.process).second;
        RC_ASSERT(world_.table.join_group(name, pid).has_value() == is_new);
        break;
      }
      case Act::leave: {
        const bool was_member = model_.members.erase({step.name, step.process}) == 1;
        RC_ASSERT(world_.table.leave_group(name, pid).has_value() == was_member);
        break;
      }
      case Act::kill_process:
        kill(pid);
        pids_[step.process] = pace_ == Pace::behind ? world_.runtime.spawn<Idle>() : world_.agent();
        // Who dies while no registry runs hands over when somebody asks for the name, or when one runs again.
        model_.kill(step.process);
        if (!running_ && pace_ == Pace::settled) settle();
        break;
      case Act::kill_registry:
        if (running_) kill(world_.registry);
        running_ = false;
        break;
      case Act::restart_registry:
        settle();
        break;
    }
  }

  void run_a_little(std::size_t steps) {
    for (std::size_t i = 0; i < steps && world_.runtime.step(); ++i) continue;
  }

  void compare() {
    std::map<unsigned, std::vector<Pid>> by_capability;
    std::vector<Pid> all;
    std::vector<std::string> first_two;
    for (std::size_t name = 0; name < k_names; ++name) {
      const auto found = world_.table.find_agent(name_of(name));
      const auto agent = model_.agents.find(name);
      RC_ASSERT(found.has_value() == (agent != model_.agents.end()));
      if (!found) continue;
      const Pid pid = pids_[agent->second.process];
      RC_ASSERT(*found == pid);
      RC_ASSERT(*world_.table.get_load(name_of(name)) == agent->second.load);
      all.push_back(pid);
      for (unsigned i = 0; i < k_capabilities; ++i) {
        if ((agent->second.capabilities >> i) % 2 == 1) by_capability[i].push_back(pid);
      }
      if (agent->second.capabilities % 4 == 3) first_two.push_back(name_of(name));
    }
    RC_ASSERT(sorted(world_.table.find_agents_by_capability("any")) == sorted(all));
    for (unsigned i = 0; i < k_capabilities; ++i) {
      RC_ASSERT(sorted(world_.table.find_agents_by_capability(capability_of(i))) == sorted(by_capability[i]));
    }
    RC_ASSERT(sorted(*world_.table.query_agents({capability_of(0), capability_of(1)})) == sorted(first_two));
    for (std::size_t name = 0; name < k_names; ++name) {
      std::int64_t sum = 0;
      std::vector<Pid> members;
      for (const auto& [key, value] : model_.counters) sum += key.first == name ? value : 0;
      for (const auto& [group, process] : model_.members) {
        if (group == name) members.push_back(pids_[process]);
      }
      RC_ASSERT(*world_.table.sum_of_counters(name_of(name)) == sum);
      RC_ASSERT(sorted(world_.table.group_members(name_of(name))) == sorted(members));
    }
  }

  void end() {
    settle();
    world_.runtime.run_ready();
    const std::size_t expected = model_.agents.size() + model_.counters.size() + model_.members.size();
    RC_ASSERT(world_.table.entry_count() == expected);
    for (const Pid pid : pids_) world_.kill(pid);
    RC_ASSERT(world_.table.entry_count() == 0U);
    RC_ASSERT(world_.table.set_count() == 0U);
    RC_ASSERT(world_.table.watch_count() == 0U);
  }

 private:
  template <class T>
  static std::vector<T> sorted(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    return values;
  }
  void change_load(const Step& step, const std::string& name, bool held) {
    const auto by = static_cast<std::uint32_t>(step.capabilities);
    const bool up = step.other % 2 == 0;
    const auto changed = up ? world_.table.increment_load(name, by) : world_.table.decrement_load(name, by);
    const bool possible = held && (up || model_.agents.at(step.name).load >= by);
    RC_ASSERT(changed.has_value() == possible);
    if (possible) {
      std::uint32_t& load = model_.agents.at(step.name).load;
      load = up ? load + by : load - by;
      RC_ASSERT(*changed == load);
    }
  }
  void kill(Pid pid) {
    if (pace_ == Pace::settled) return world_.kill(pid);
    // Until its death can be known, and no further.
    world_.runtime.exit(pid, ExitReason::kill());
    while (world_.runtime.is_alive(pid)) world_.runtime.step();
  }
  void settle() {
    if (!running_) {
      if (pace_ == Pace::behind) {
        world_.registry = world_.runtime.spawn<Registry>(world_.shared);
      } else {
        world_.restart_registry();
      }
    }
    running_ = true;
  }

  World world_;
  Pace pace_;
  Model model_;
  std::vector<Pid> pids_;
  bool running_ = true;
};

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::act, rc::gen::map(rc::gen::inRange(0, 12), [](int i) { return static_cast<Act>(i); })),
      rc::gen::set(&Step::name, rc::gen::inRange<std::size_t>(0, k_names)),
      rc::gen::set(&Step::process, rc::gen::inRange<std::size_t>(0, k_processes)),
      rc::gen::set(&Step::other, rc::gen::inRange<std::size_t>(0, k_processes)),
      rc::gen::set(&Step::capabilities, rc::gen::inRange(0U, 1U << k_capabilities)));
}

TEST(RegistryModel, agrees_with_a_plain_model_after_every_step) {
  const bool holds = rc::check([] {
    const auto steps = *rc::gen::resize(300, rc::gen::container<std::vector<Step>>(any_step()));
    Comparison run;
    for (const Step& step : steps) {
      run.take(step);
      run.compare();
    }
    run.end();
  });
  EXPECT_TRUE(holds);
}

// In any order in which the processes, their deaths and the registry's cleaning up can meet, reads say the same.
TEST(RegistryModel, agrees_while_its_process_is_behind_in_every_order) {
  const bool holds = rc::check([] {
    const auto seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
    const auto steps = *rc::gen::resize(300, rc::gen::container<std::vector<Step>>(any_step()));
    Comparison run(Pace::behind, seed);
    for (const Step& step : steps) {
      run.take(step);
      run.compare();
      run.run_a_little(step.other);
      run.compare();
    }
    run.end();
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace skein::inline v0::registry_tests
