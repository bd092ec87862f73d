// What must hold: must_hold(condition, "supervisor.hpp 2: nothing of the old subtree lives").
//
// For invariants that a header numbers, where breaking one would do harm that spreads: a program that has lost track
// must not write down what follows from it. The text names the header and the number; docs/internals/invariants.md has
// the table of all of them, which tests/tidy compares with the sources.
//
// On in every build, also with NDEBUG: a compare and a branch that is never taken. What costs more is for tests and
// simulators to check. When it does not hold, the program says so on standard error and aborts. Any thread.
#pragma once

#include <source_location>

namespace skein::inline v0 {

[[noreturn, gnu::cold]] void fail_what_must_hold(const char* what, std::source_location where);

constexpr void must_hold(bool holds, const char* what, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail_what_must_hold(what, where);
}

}  // namespace skein::inline v0
