// What the nodes that this program starts for a demonstration have in common: which programs there are, and the part of
// an executor's config that says where it runs and how its OS processes are found again. Stateless.
#pragma once

#include <string>

namespace skein::cli {

// Whether a program of that name is found in PATH.
[[nodiscard]] bool has_program(const std::string& name);
// Lines of [executors.NAME]: the folder, `mark` ("NAME=VALUE") in the environment, and how soon it is killed.
[[nodiscard]] std::string executor_lines(const std::string& folder, const std::string& mark, int kill_after_ms);
// The command of a stdio agent whose program is that file in the folder: NAME.py with Python, else NAME.sh.
[[nodiscard]] std::string stdio_command(const std::string& name, bool has_python);
void write_file(const std::string& folder, const std::string& name, const std::string& text);

}  // namespace skein::cli
