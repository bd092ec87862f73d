// A supervisor as a child that others find by a registered name.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0::node {

[[nodiscard]] inline ChildSpec registered(SupervisorSpec spec, std::string_view name) {
  ChildSpec child = supervisor_child(spec.name, spec);
  child.start = named_start_function<Supervisor>(std::string(name), k_supervisor_mailbox_limit, std::move(spec));
  return child;
}

}  // namespace skein::inline v0::node
