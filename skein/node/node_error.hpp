// The one error of a node: why it could not be started, or could not do what was asked. A kind for programs, words for
// people: what happened, to what, what to do next. An exception where skein::Node throws it, a plain value elsewhere.
// Any thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skein::inline v0 {

class NodeError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    bad_config,       // the config has errors; the words name each with its line
    folder_in_use,    // another node has the data folder
    folder_unusable,  // the data folder cannot be read or written, or lacks something that was there
    no_address,       // HTTP or TCP cannot listen at its address: in use, not allowed, not of this machine
    start_failed,     // the supervision tree did not come up
    invalid,          // the request makes no sense: correct it
    not_found,        // no such task, swarm or agent
    refused,          // what was asked is not possible in the present state
    overloaded,       // a queue or limit is full; nothing was done, and later it may work
    timed_out,        // the time was up first; nothing is known to be wrong
    unknown,          // it may or may not have been done: ask, or submit again with the same key
    stopped,          // the node is stopping or has ended
    internal,         // a bug
  };

  NodeError(Kind kind, const std::string& words) : std::runtime_error(words), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// As in the enumeration.
[[nodiscard]] std::string_view name_of(NodeError::Kind kind);

}  // namespace skein::inline v0
