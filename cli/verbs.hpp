// The verbs of the skein program. Each lives in a file of its own, cli/<verb>.cpp, and adds itself to the program with
// one function. A verb that fails throws CLI::RuntimeError with its exit code after saying why on stderr. Called once,
// from main, before any thread exists.
#pragma once

#include <CLI/CLI.hpp>

namespace skein::cli {

// Adds every verb, in the order --help shows them. New verbs: declare add_<verb> here, call it in verbs.cpp.
void add_verbs(CLI::App& app);

void add_demo(CLI::App& app);
void add_log(CLI::App& app);
void add_backup(CLI::App& app);
void add_restore(CLI::App& app);
void add_archive(CLI::App& app);

}  // namespace skein::cli
