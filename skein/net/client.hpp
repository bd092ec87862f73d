// A client that was accepted: its socket and its place in the program's budget of descriptors. Handed from a listener
// to the process that serves it; both hold it by shared pointer, one at a time uses it.
#pragma once

#include <memory>

#include "skein/base/descriptor_budget.hpp"
#include "skein/base/fd.hpp"

namespace skein::inline v0::net {

struct Client {
  Fd fd;
  DescriptorPlace place{};          // empty: it is not counted
  bool must_log_in = false;         // where it comes from does not say who it is
  std::shared_ptr<void> counted{};  // what goes with it when it is gone
};
using ClientPtr = std::shared_ptr<Client>;

// To the process of a client that has not shown who it is: others need its place. It ends at once.
struct MakeRoom {};

}  // namespace skein::inline v0::net
