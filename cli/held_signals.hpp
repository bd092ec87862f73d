// The signals a node is told by to end or to reload. They are held back from the first moment of the program on: one
// that comes while the node is being started is heard when it is up, and ends it gracefully.
#pragma once

#include <csignal>
#include <initializer_list>

namespace skein::cli {

// Blocks them in this thread, and so in those it starts; gives their set.
inline sigset_t hold_signals() {
  sigset_t set{};
  sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, each);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// For verbs other than `up`: what came meanwhile takes effect now.
inline void let_signals_through() {
  sigset_t set{};
  sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, each);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace skein::cli
