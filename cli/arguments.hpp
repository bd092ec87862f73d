// The command line as verbs see it: CLI11 behind a small face, so that only cli/arguments.cpp and main.cpp compile it.
// Called once, from main, before any thread exists; values are filled in before run() is called.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace skein::cli {

// docs/cli.md has them. A verb that a signal ends has 128 and the signal's number: 130 after Ctrl-C.
enum ExitCode : int {
  k_exit_ok = 0,
  k_exit_failed = 1,       // what was asked for could not be done
  k_exit_usage = 2,        // the command line makes no sense
  k_exit_not_found = 3,    // no such task, swarm or agent
  k_exit_timeout = 4,      // the time was up
  k_exit_unreachable = 5,  // no node is there
  k_exit_task_failed = 6,  // the task waited for failed or was cancelled
  k_exit_refused = 7,      // the node said no: full, overloaded, wrong state
  k_exit_config = 8,       // the config file is wrong
  k_exit_in_use = 9,       // another node has the data folder
  k_exit_collapsed = 10,   // up: the tree gave up
  k_exit_disk = 11,        // up: the journal's disk failed
};

class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  // A verb below this one.
  Verb verb(const std::string& name, const std::string& what);
  // The verb below this one that has verbs of its own, 'task' of 'task show'; made when it is not there.
  Verb family(const std::string& name);
  // A verb that is there, by its path from this one, such as "config check".
  Verb below(const std::string& path);
  // Shown at the end of --help.
  Verb& example(const std::string& text);
  // Needs one of its verbs.
  Verb& needs_verb();

  Verb& flag(const std::string& names, bool& value, const std::string& what);
  Verb& option(const std::string& names, std::string& value, const std::string& what);
  // An empty one is refused: a shell variable that is not set must not mean the default.
  Verb& filled(const std::string& names, std::string& value, const std::string& what);
  Verb& option(const std::string& names, std::uint64_t& value, const std::string& what);
  Verb& option(const std::string& names, std::vector<std::string>& values, const std::string& what);
  // A duration with its unit, --timeout 5s, kept in milliseconds. --timeout-ms 5000 is still taken, and not shown.
  Verb& time(const std::string& name, std::uint64_t& milliseconds, const std::string& what);
  // Words as they are given, of an option (--name) or by place (NAME); none given leaves them empty.
  struct WordRules {
    bool is_required = false;
    bool is_list = false;    // it may be given often
    bool is_hidden = false;  // from --help
    std::string type{};      // what --help says that it is; empty: TEXT
  };
  Verb& words(const std::string& name, std::vector<std::string>& words, const std::string& what,
              const WordRules& rules);
  // By place: NAME is required, and so is what is positional unless it says optional.
  Verb& place(const std::string& name, std::string& value, const std::string& what);
  Verb& optional_place(const std::string& name, std::string& value, const std::string& what);
  // Its answer is the program's exit code.
  void run(std::function<int()> call);

  [[nodiscard]] CLI::App& app() { return *app_; }

 private:
  CLI::App* app_;
};

// Names of all verbs and their flags, for completion: "task show --json".
struct VerbWords {
  std::string path;  // "task show"
  std::string what;
  std::vector<std::string> flags;
};
[[nodiscard]] std::vector<VerbWords> all_verbs(CLI::App& app);

// Puts the verbs into groups for --help, the everyday ones first.
void group_verbs(CLI::App& app);

}  // namespace skein::cli
