// The router against a model that looks at every agent: after any operations it chooses only those who may be chosen,
// finds one whenever there is one, and balances as its strategies promise.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skein/routing/router.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t k_agents = 8;
const std::vector<std::vector<std::string>> k_sets{{}, {"a"}, {"b"}, {"a", "b"}, {"a", "b", "c"}};

// What the model knows of an agent; breakers and health are asked of the router's own view.
struct Known {
  AgentHandle handle;
  std::set<std::string> capabilities;
  std::uint32_t capacity = 1;
  std::uint32_t load = 0;
  bool paused = false;
  int executor = 0;
};

class Model {
 public:
  Model() {
    RouterOptions options;
    options.pools_max = 3;  // so that pools are dropped and made again
    options.health_minimum = 3;
    router_ = std::make_unique<Router>(options);
    RC_ASSERT(router_->add_executor("one", 2).has_value());
    RC_ASSERT(router_->add_executor("two", 3).has_value());
  }

  void step(std::uint32_t what, std::uint32_t which, std::uint32_t how) {
    auto& known = agents_[which % k_agents];
    now_ += milliseconds(how % 7 == 0 ? 40'000 : 10);
    if (what == 0 && !known) {
      join(which % k_agents, how);
    } else if (what == 1 && known) {
      RC_ASSERT(router_->leave(known->handle));
      drop_tasks_of(known->handle);
      known.reset();
    } else if (what == 2 && known) {
      known->paused = how % 2 == 0;
      RC_ASSERT(router_->set_paused(known->handle, known->paused, now_).has_value());
    } else if (what == 3 && known) {
      const auto& set = k_sets[how % k_sets.size()];
      known->capabilities = {set.begin(), set.end()};
      RC_ASSERT(router_->set_capabilities(known->handle, set, now_).has_value());
    } else if (what == 4 && known) {
      known->capacity = how % 4 + 1;
      RC_ASSERT(router_->set_capacity(known->handle, known->capacity, now_).has_value());
    } else if (what == 5) {
      finish(how);
    } else if (what > 5) {
      decide(k_sets[which % k_sets.size()], static_cast<Balance>(how % k_balances), how);
    }
  }

 private:
  void join(std::uint32_t number, std::uint32_t how) {
    static const std::vector<std::string> k_executors{"", "one", "two"};
    const auto& set = k_sets[how % k_sets.size()];
    Known known;
    known.capabilities = {set.begin(), set.end()};
    known.capacity = how % 3 + 1;
    known.executor = static_cast<int>(how / 5 % 3);
    const auto joined = router_->join({.name = "agent-" + std::to_string(number),
                                       .capabilities = set,
                                       .capacity = known.capacity,
                                       .executor = k_executors[static_cast<std::size_t>(known.executor)]},
                                      now_);
    RC_ASSERT(joined.has_value());
    known.handle = *joined;
    agents_[number] = known;
  }

  [[nodiscard]] bool has_room(int executor) const {
    const auto inside = std::ranges::count_if(tasks_, [&](const auto& task) { return task.executor == executor; });
    return executor == 0 || inside < executor + 1;
  }

  // How readily it could be chosen, by looking at everything; nothing: it may not be.
  [[nodiscard]] std::optional<Readiness> may(const Known& known, const std::vector<std::string>& needed) {
    const bool able = std::ranges::all_of(needed, [&](const auto& each) { return known.capabilities.contains(each); });
    if (!able || known.paused || known.load >= known.capacity || !has_room(known.executor)) return std::nullopt;
    const auto view = router_->view(known.handle, now_);
    RC_ASSERT(view && view->load == known.load);
    if (view->breaker == BreakerState::open) return std::nullopt;
    if (view->readiness == Readiness::not_now) {
      RC_ASSERT(view->breaker == BreakerState::half_open);
      return std::nullopt;
    }
    return view->readiness;
  }

  void decide(const std::vector<std::string>& needed, Balance strategy, std::uint32_t how) {
    std::map<AgentHandle, Readiness> allowed;
    for (const auto& known : agents_) {
      if (!known) continue;
      if (const auto ready = may(*known, needed)) allowed[known->handle] = *ready;
    }
    const bool any_ready =
        std::ranges::any_of(allowed, [](const auto& each) { return each.second == Readiness::ready; });
    const std::vector<std::string_view> views(needed.begin(), needed.end());
    const std::string key = "key-" + std::to_string(how);
    const auto choice = router_->decide({.capabilities = views, .strategy = strategy, .key = key}, random_, now_);
    RC_ASSERT(choice.has_value() == !allowed.empty());
    if (!choice) return;
    RC_ASSERT(allowed.contains(choice->agent));
    Known& chosen =
        **std::ranges::find_if(agents_, [&](const auto& known) { return known && known->handle == choice->agent; });
    if (strategy == Balance::consistent_hash) {
      if (any_ready) RC_ASSERT(allowed[choice->agent] == Readiness::ready);
    } else {
      // Idle before busy, then healthy before poorly.
      const auto rank = [&](const Known& known) { return std::pair(known.load > 0, allowed[known.handle]); };
      for (const auto& known : agents_) {
        if (known && allowed.contains(known->handle)) RC_ASSERT(rank(chosen) <= rank(*known));
      }
    }
    if (strategy == Balance::least_connections) {
      for (const auto& known : agents_) {
        if (!known || !allowed.contains(known->handle)) continue;
        if (allowed[known->handle] == allowed[choice->agent]) RC_ASSERT(chosen.load <= known->load);
      }
    }
    auto assignment = router_->assigned(choice->agent, now_);
    RC_ASSERT(assignment.has_value());
    ++chosen.load;
    tasks_.push_back({std::move(*assignment), chosen.executor});
  }

  void finish(std::uint32_t how) {
    if (tasks_.empty()) return;
    const auto task = tasks_.begin() + static_cast<std::ptrdiff_t>(how % tasks_.size());
    for (auto& known : agents_) {
      if (known && known->handle == task->assignment.agent) --known->load;
    }
    AttemptOutcome outcome{.latency = milliseconds(how % 5 == 0 ? 3000 : 20)};
    if (how % 3 == 0) outcome.error = RetryClass::transient;
    RC_ASSERT(router_->finished(std::move(task->assignment), outcome, now_));
    tasks_.erase(task);
  }

  void drop_tasks_of(AgentHandle agent) {
    for (auto task = tasks_.begin(); task != tasks_.end();) {
      if (task->assignment.agent != agent) {
        ++task;
        continue;
      }
      RC_ASSERT(!router_->finished(std::move(task->assignment), {}, now_));
      task = tasks_.erase(task);
    }
  }

  struct Given {
    Assignment assignment;
    int executor = 0;
  };
  std::unique_ptr<Router> router_;
  Random random_{1};
  Instant now_{};
  std::vector<std::optional<Known>> agents_{k_agents};
  std::vector<Given> tasks_;
};

TEST(RouterProperty, chooses_as_a_model_that_looks_at_everybody_would) {
  const bool holds = rc::check([] {
    Model model;
    const auto steps = *rc::gen::resize(
        400, rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 1'000'000'000)));
    for (const std::uint32_t step : steps) model.step(step % 11, step / 11 % 1000, step / 11'000);
  });
  EXPECT_TRUE(holds);
}

TEST(RouterProperty, round_robin_visits_all_who_stay_evenly_whoever_else_comes_and_goes) {
  const bool holds = rc::check([](std::uint64_t seed) {
    constexpr std::string_view needed[] = {"work"};
    Router router;
    Random random(seed);
    std::set<AgentHandle> staying;
    const auto count = 2 + random.below(10);
    const auto join = [&](const std::string& id) {
      return *router.join({.name = id, .capabilities = {"work"}, .capacity = 1000}, Instant());
    };
    for (std::size_t i = 0; i < count; ++i) staying.insert(join("staying-" + std::to_string(i)));
    std::map<AgentHandle, int> seen;
    std::optional<AgentHandle> guest;
    for (int i = 0; i < 500; ++i) {
      if (random.chance(0.2)) {
        if (guest) router.leave(*guest);
        guest = guest ? std::nullopt : std::optional(join("guest"));
      }
      ++seen[router.decide({.capabilities = needed}, random, Instant())->agent];
    }
    int least = 1000;
    int most = 0;
    for (const AgentHandle& each : staying) {
      least = std::min(least, seen[each]);
      most = std::max(most, seen[each]);
    }
    RC_ASSERT(most - least <= 1);
  });
  EXPECT_TRUE(holds);
}

TEST(RouterProperty, consistent_hash_moves_only_keys_of_the_agent_that_leaves_and_at_most_1_3_nths) {
  constexpr std::string_view needed[] = {"work"};
  constexpr std::size_t k_keys = 10'000;
  constexpr std::size_t k_there = 25;
  Router router;
  Random random(3);
  std::vector<AgentHandle> agents;
  for (std::size_t i = 0; i < k_there; ++i) {
    agents.push_back(*router.join({.name = "agent-" + std::to_string(i), .capabilities = {"work"}}, Instant()));
  }
  const auto home = [&](std::size_t number) {
    const std::string key = "key-" + std::to_string(number);
    return router.decide({.capabilities = needed, .strategy = Balance::consistent_hash, .key = key}, random, Instant())
        ->agent;
  };
  std::vector<AgentHandle> before;
  for (std::size_t i = 0; i < k_keys; ++i) before.push_back(home(i));
  ASSERT_TRUE(router.leave(agents[7]));
  std::size_t moved = 0;
  for (std::size_t i = 0; i < k_keys; ++i) {
    const bool has_moved = home(i) != before[i];
    ASSERT_EQ(has_moved, before[i] == agents[7]);
    moved += has_moved ? 1 : 0;
  }
  EXPECT_GT(moved, 0U);
  EXPECT_LE(static_cast<double>(moved), 1.3 * k_keys / k_there);
}

TEST(RouterProperty, consistent_hash_depends_on_who_is_there_and_not_on_who_was) {
  constexpr std::string_view needed[] = {"work"};
  const bool holds = rc::check([&](std::uint64_t seed) {
    Random random(seed);
    Router old;
    Router fresh;
    std::set<std::string> there;
    for (int i = 0; i < 60; ++i) {
      const std::string id = "agent-" + std::to_string(random.below(12));
      if (there.insert(id).second) {
        RC_ASSERT(old.join({.name = id, .capabilities = {"work"}}, Instant()).has_value());
      } else {
        RC_ASSERT(old.leave(*old.find(id)));
        there.erase(id);
      }
      static_cast<void>(old.prepare({.capabilities = needed, .strategy = Balance::consistent_hash}, Instant()));
    }
    for (const std::string& id : there)
      RC_ASSERT(fresh.join({.name = id, .capabilities = {"work"}}, Instant()).has_value());
    for (int i = 0; i < 100 && !there.empty(); ++i) {
      const std::string key = "key-" + std::to_string(i);
      const auto home = [&](Router& router) {
        const auto choice = router.decide({.capabilities = needed, .strategy = Balance::consistent_hash, .key = key},
                                          random, Instant());
        return router.view(choice->agent, Instant())->name;
      };
      RC_ASSERT(home(old) == home(fresh));
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace skein
