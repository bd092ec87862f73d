// How tasks are shown to people, for the verbs that do.
#pragma once

#include <string>

#include "cli/session.hpp"
#include "cli/terminal.hpp"

namespace skein::cli {

[[nodiscard]] Table task_table();
void add_task_rows(Table& table, const json::value& page);
// Everything about one task; what does not apply to it is left out.
void show_task(const json::value& task);
// Its failed attempts.
void show_attempts(const json::value& task);
// The result on standard output, or why there is none on standard error.
void show_outcome(const json::value& task);
[[nodiscard]] int exit_of(const json::value& task);
// On standard error, if somebody has to do something before the task can run, unless that is what `said` says. What was
// said last.
std::string warn_if_it_waits(const json::value& task, std::string said = {});

}  // namespace skein::cli
