// What can be known of a process from outside, at any time, without disturbing it: a moment's view of its counters.
//
// A plain value, made by Runtime::processes() and info(). Its fields were read one after the other while the process
// may have been running: each was true, all of them together need not have been.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

enum class ProcessState : std::uint8_t {
  starting,     // init has not finished
  idle,         // waits for a message
  waiting,      // its handler waits: for an answer, a Down, a job or some time
  runnable,     // waits for a worker
  running,      // on a worker now
  terminating,  // terminate has not finished
  ending,       // waits for its blocking jobs
  stuck,        // in one handler, or waiting in terminate or for blocking jobs, for longer than stuck_limit
};

[[nodiscard]] std::string_view state_name(ProcessState state);

struct ProcessInfo {
  Pid pid;
  std::string name;  // registered, or empty
  std::string_view type;
  Pid parent;
  ProcessState state = ProcessState::idle;
  std::uint32_t mailbox = 0;     // messages waiting
  std::uint32_t high_water = 0;  // the most that ever waited
  std::uint32_t handled = 0;     // messages; begins again after 4,294,967,295
  Duration handler_time{};       // an estimate: one turn of 64 is timed; long ones are counted as they are
  std::string_view handling;     // the type of the message its handler is at, on a worker or waiting
  std::size_t memory = 0;        // bytes of slot, state and waiting messages; not what these point to
};

}  // namespace skein::inline v0
