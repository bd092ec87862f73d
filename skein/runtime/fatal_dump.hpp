// What a fatal signal leaves behind: every process written to a file before the program ends as it would have.
//
// The handler allocates nothing and takes no lock it might wait for. It opens the file itself, so that the dump of the
// last crash stays where it is until there is another. One runtime at a time; a later one replaces it.
#pragma once

#include <cstddef>
#include <string>

namespace skein::inline v0::detail {

class Core;

// On SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. False when the file could not be written, or its path is too long.
bool install_fatal_dump(Core& core, const std::string& path);
// Gives the signals back to the system (SIG_DFL), if it is this runtime that has them.
void remove_fatal_dump(const Core& core);

// A stack of its own for the handlers of this thread, for the signal that says that the other one is used up.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t k_bytes = std::size_t{64} << 10U;
  void* memory_ = nullptr;
};

}  // namespace skein::inline v0::detail
