#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/held_signals.hpp"
#include "cli/patience.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/base/suggestion.hpp"
#include "skein/base/version.hpp"

namespace {

using skein::cli::k_exit_failed;
using skein::cli::k_exit_usage;

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

// The verb that the command line names, as far as it is known, and the word after it when that should be a verb too.
struct Named {
  const CLI::App* app = nullptr;
  std::string path;  // "task show"
  std::string unknown;
};

Named named_verb(const CLI::App& root, std::span<char* const> words) {
  Named named{&root, "", ""};
  for (const std::string word : words) {
    const auto verbs = verbs_of(*named.app);
    if (verbs.empty() || word.empty() || word.front() == '-') break;
    const auto is_next = [&](const CLI::App* verb) { return verb->check_name(word); };
    const auto next = named.app->get_subcommands(is_next);
    if (next.empty()) {
      named.unknown = word;
      break;
    }
    named.app = next.front();
    named.path += (named.path.empty() ? "" : " ") + word;
  }
  return named;
}

int complain(const Named& named, const std::string& problem) {
  return skein::cli::complain(k_exit_usage, fmt::format("{}; 'skein {}{}--help' shows the options", problem, named.path,
                                                        named.path.empty() ? "" : " "));
}

std::string did_you_mean(const std::string& given, const std::vector<std::string>& known) {
  return skein::suggestion(given, {known.begin(), known.end()});
}

// "--timeout excludes ": only an option and its older name, in milliseconds, exclude each other. CLI11 does not name
// the older one, which is hidden.
std::string same_options(const std::string& what) {
  const std::size_t begin = what.find("--");
  if (begin == std::string::npos) return what;
  const std::string name = what.substr(begin, what.find(' ', begin) - begin);
  return fmt::format("{0} and {0}-ms are the same option; give one of them", name);
}

// What CLI11 found wrong, in our words where ours say more.
std::string problem_of(const Named& named, const CLI::ParseError& wrong, std::span<char* const> words) {
  if (dynamic_cast<const CLI::ExcludesError*>(&wrong) != nullptr) return same_options(wrong.what());
  if (dynamic_cast<const CLI::ExtrasError*>(&wrong) == nullptr) return wrong.what();
  std::vector<std::string> flags;
  for (const CLI::Option* option : named.app->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (const std::string word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::ranges::find(flags, name) != flags.end();
    if (name.starts_with("--") && name.size() > 2 && !is_known) {
      return fmt::format("unknown option '{}'{}", name, did_you_mean(name, flags));
    }
  }
  return wrong.what();
}

// A verb that is there below others, 'wait' for one: " (did you mean 'task wait'?)".
std::string verb_below(const CLI::App& app, const std::string& word) {
  std::vector<std::string> found;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const auto below = verbs_of(*verb);
    if (std::ranges::find(below, word) != below.end()) found.push_back(fmt::format("'{} {}'", verb->get_name(), word));
  }
  return found.empty() ? "" : fmt::format(" (did you mean {}?)", fmt::join(found, " or "));
}

// What other tools call what we have, with nothing in common to guess it by.
std::string other_word_for(const std::string& word) {
  static const std::map<std::string, std::string> k_words{
      {"run", "'submit' a task or 'up' for a node"},
      {"exec", "'submit'"},
      {"start", "'up'"},
      {"serve", "'up'"},
      {"restart", "'stop', then 'up'"},
      {"down", "'stop'"},
      {"logs", "'task logs'; 'status' says where the node's log is"},
      {"describe", "'task show'"},
      {"inspect", "'task show'"},
      {"ls", "'tasks'"},
      {"list", "'tasks', 'agents' or 'swarms'"},
      {"kill", "'task cancel'; 'chaos kill' is for tests"},
      {"delete", "'task cancel' or 'swarm remove'"},
      {"rm", "'task cancel' or 'swarm remove'"},
  };
  const auto found = k_words.find(word);
  return found == k_words.end() ? "" : fmt::format(" (did you mean {}?)", found->second);
}

int run(std::span<char* const> args) {
  CLI::App app{"Runs swarms of supervised agents; no crash loses a task.", "skein"};
  app.set_version_flag("--version", fmt::format("skein {}", skein::version()), "Print the version and exit");
  skein::cli::add_verbs(app, args.size() > 1 ? args[1] : "");

  // 'skein help task wait' is 'skein task wait --help'.
  std::vector<char*> help;
  if (args.size() > 1 && std::string_view(args[1]) == "help") {
    static char k_help[] = "--help";
    help.assign(args.begin(), args.end());
    help.erase(help.begin() + 1);
    help.push_back(k_help);
    args = help;
  }
  const auto words = args.subspan(1);
  const Named named = named_verb(app, words);
  if (!named.unknown.empty() && named.path.empty()) {
    std::string meant = other_word_for(named.unknown);
    if (meant.empty()) meant = verb_below(app, named.unknown);
    if (meant.empty()) meant = did_you_mean(named.unknown, verbs_of(app));
    // They are too many to be named here.
    return skein::cli::complain(k_exit_usage,
                                fmt::format("unknown verb '{}'{}; 'skein --help' lists the verbs", named.unknown,
                                            meant.find("did you mean") != std::string::npos ? meant : ""));
  }
  if (!named.unknown.empty()) {
    return complain(named, fmt::format("unknown verb '{} {}'{}", named.path, named.unknown,
                                       did_you_mean(named.unknown, verbs_of(*named.app))));
  }
  try {
    app.parse(static_cast<int>(args.size()), args.data());
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::RuntimeError& failed) {
    return failed.get_exit_code();
  } catch (const CLI::ParseError& wrong) {
    const auto below = verbs_of(*named.app);
    const bool lacks_verb = dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr;
    if (!named.path.empty() && !below.empty() && lacks_verb) {
      return complain(named, fmt::format("'skein {}' needs one of {}", named.path, fmt::join(below, ", ")));
    }
    return complain(named, problem_of(named, wrong, words));
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return k_exit_usage;
  }
  return 0;
}

// Also of a command line that makes no sense otherwise. `skein up` has no such option, and its log is no answer.
bool wants_json(std::span<char* const> args) {
  const auto is_json = [](const char* word) { return std::string_view(word) == "--json"; };
  return args.size() > 1 && std::string_view(args[1]) != "up" && std::ranges::any_of(args, is_json);
}

}  // namespace

// Before main, and before the constructors of this program: a signal may come at any moment after exec.
[[gnu::constructor(101)]] static void hold_signals_early() { skein::cli::hold_signals(); }

int main(int argc, char** argv) {
  ::umask(S_IRWXG | S_IRWXO);  // data, copies of it and logs are for their owner alone
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb != "up") skein::cli::let_signals_through();
  const auto args = std::span(argv, static_cast<std::size_t>(argc));
  skein::cli::say_errors_as_json(wants_json(args));
  try {
    return run(args);
  } catch (const skein::cli::GaveUp& why) {
    return skein::cli::complain(why.code, why.what());
  } catch (const std::exception& error) {
    return skein::cli::complain(k_exit_failed, error.what());
  }
}
