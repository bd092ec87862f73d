// Supervision trees written down so that they read like their picture:
//
//   using namespace skein::trees;
//   SupervisorSpec root = supervisor("node", one_for_one, {5, 60s}, {
//       child<Config>("config"),
//       supervisor("work", rest_for_one, {5, 60s}, {
//           child<Ledger>("ledger"),
//           pool("swarms", {10, 60s}, pool_child<Swarm, SwarmId>("swarm").with(Restart::transient)),
//       }),
//   });
//
// The same expression is a root (SupervisorSpec) or a child (ChildSpec), whichever is asked for. Plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0::trees {

using enum Strategy;

// At most `intensity` restarts within `period`.
struct Limits {
  std::uint32_t intensity = 1;
  Duration period = std::chrono::seconds(5);
};

// A supervisor in the making: a root or a child.
class Branch {
 public:
  explicit Branch(SupervisorSpec spec) : spec_(std::move(spec)) {}
  operator SupervisorSpec() const { return spec_; }                           // NOLINT(google-explicit-constructor)
  operator ChildSpec() const { return supervisor_child(spec_.name, spec_); }  // NOLINT(google-explicit-constructor)

  // From here on it is a child.
  template <class Policy>
  [[nodiscard]] ChildSpec with(Policy policy) const {
    return ChildSpec(*this).with(policy);
  }
  [[nodiscard]] ChildSpec as_isolated() const { return ChildSpec(*this).as_isolated(); }
  [[nodiscard]] ChildSpec as_significant() const { return ChildSpec(*this).as_significant(); }
  [[nodiscard]] ChildSpec labelled(std::string label) const { return ChildSpec(*this).labelled(std::move(label)); }
  [[nodiscard]] Branch shutting_down(AutoShutdown when) const {
    Branch changed(*this);
    changed.spec_.flags.auto_shutdown = when;
    return changed;
  }

 private:
  SupervisorSpec spec_;
};

[[nodiscard]] inline Branch supervisor(std::string name, Strategy strategy, Limits limits,
                                       std::vector<ChildSpec> children) {
  SupervisorSpec spec;
  spec.name = std::move(name);
  spec.flags.strategy = strategy;
  spec.flags.intensity = limits.intensity;
  spec.flags.period = limits.period;
  spec.children = std::move(children);
  return Branch(std::move(spec));
}

// Many children of one spec, started with start_pool_child.
[[nodiscard]] inline Branch pool(std::string name, Limits limits, ChildSpec of_each) {
  std::vector<ChildSpec> one;
  one.push_back(std::move(of_each));
  return supervisor(std::move(name), Strategy::simple_one_for_one, limits, std::move(one));
}

}  // namespace skein::inline v0::trees
