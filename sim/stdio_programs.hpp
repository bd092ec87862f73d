// Small programs that speak the stdio protocol, as text, for chaos and tests: what all of them have in common is
// here once, what one does with a task is its own. Those under examples/agents are the ones to copy from.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace skein::sim {

// Python. `work` defines work(task), which is called with each task as it came; it may use send(**message),
// done(task, result) and the modules json, os, random, sys and time. Its time to start matters: run it with -S -E.
[[nodiscard]] std::string python_stdio_program(std::string_view work);

// Plain shell, for where there is no Python. `work` defines a function of that name, which finds the line in $line, the
// task's id in $task and its fence in $fence; it may call number NAME, which prints a number of the line, and answer
// JSON.
[[nodiscard]] std::string shell_stdio_program(std::string_view work);

}  // namespace skein::sim
