// The verbs of the skein program. Each family lives in a file of its own, cli/<family>_verbs.cpp, and adds itself to
// the program with one function. A verb says what is wrong on stderr and answers its exit code (arguments.hpp). Called
// once, from main, before any thread exists.
#pragma once

#include <string_view>

#include "cli/arguments.hpp"

namespace skein::cli {

// Adds every verb, in the order --help shows them. New verbs: declare add_<family> here, call it in verbs.cpp.
// `first` is the first word of the command line. For 'up' and 'mcp', which somebody waits for, only that verb is made:
// the options of all others cost two milliseconds.
void add_verbs(CLI::App& app, std::string_view first);

void add_config(Verb& root);
void add_up(Verb& root);
void add_mcp(Verb& root);
void add_tasks(Verb& root);
void add_swarms(Verb& root);
void add_node(Verb& root);
void add_tokens(Verb& root);
void add_top(Verb& root);
void add_doctor(Verb& root);
void add_chaos(Verb& root);
void add_completion(Verb& root);
void add_demo(CLI::App& app);
void add_log(CLI::App& app);
void add_backup(CLI::App& app);
void add_restore(CLI::App& app);
void add_archive(CLI::App& app);
// After all others: to the verbs that have none yet, or only to `only`.
void add_examples(Verb& root, std::string_view only);

}  // namespace skein::cli
