// skein init, config check, config limits.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/node/config.hpp"
#include "skein/node/config_check.hpp"
#include "skein/node/config_keys.hpp"

namespace skein::cli {
namespace {

struct ConfigArguments {
  std::string file{node::k_config_file};
  std::vector<std::string> settings;
  bool json = false;
  bool markdown = false;
};

int init(const ConfigArguments& args) {
  // O_EXCL: what somebody wrote is never written over.
  const int fd = ::open(args.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    const bool is_there = std::filesystem::exists(args.file);
    return complain(k_exit_failed, is_there ? fmt::format("{} already exists and was not changed", args.file)
                                            : fmt::format("{} cannot be written here", args.file));
  }
  const auto text = node::config_template();
  const bool is_whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!is_whole)
    return complain(k_exit_failed, fmt::format("{} could not be written completely; is the disk full?", args.file));
  if (args.json) {
    print_json(json::object{{"file", args.file}});
  } else {
    fmt::print("{}\n", args.file);
    fmt::print(stderr, "wrote {}; 'skein up' runs it\n", args.file);
  }
  return k_exit_ok;
}

// What is wrong with the file, and with what it names: programs, folders, users, functions that are not there.
int check(const ConfigArguments& args) {
  const auto config = node::load_config(args.file, args.settings);
  const node::ConfigFaults found = node::check_config(config, args.file);
  const bool is_good = found.faults.empty();
  if (args.json) {
    json::array faults;
    for (const node::ConfigFault& each : found.faults) {
      faults.push_back({{"file", found.file}, {"line", each.line}, {"message", each.message}});
    }
    print_json(json::object{{"ok", is_good}, {"faults", std::move(faults)}});
  } else if (!is_good) {
    fmt::print(stderr, "{}", found.describe());
  } else {
    const auto counted = [](std::size_t count, std::string_view what) {
      return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    fmt::print("{}: {}, {}, {}\n", args.file, counted(config->executors.size(), "executor"),
               counted(config->swarms.size(), "swarm"), counted(config->agents.size(), "named agent"));
  }
  return is_good ? k_exit_ok : k_exit_config;
}

// A value as the file has it: numbers are numbers, strings have no quotes of their own.
json::value in_json(const std::string& value) {
  json::error_code failed;
  json::value read = json::parse(value, failed);
  return failed ? json::value(value) : read;
}

int limits(const ConfigArguments& args) {
  if (args.markdown) {
    fmt::print("{}", node::limits_page());
    return k_exit_ok;
  }
  // Only the one that nobody named may be missing.
  const bool is_default = args.file == node::k_config_file && !std::filesystem::exists(args.file);
  const std::string file = is_default ? "" : args.file;
  const auto config = node::load_config(file);
  if (!config) {
    fmt::print(stderr, "{}", config.error().describe());
    return k_exit_config;
  }
  Table table({"SECTION", "KEY", "VALUE", "RANGE", "WHAT HAPPENS THERE"});
  for (const node::KeyInfo& each : node::all_keys(*config)) {
    if (args.json) {
      print_json(json::object{{"section", each.section},
                              {"key", each.key},
                              {"value", in_json(each.value)},
                              {"range", each.range},
                              {"at_limit", each.at_limit}});
    } else if (!each.at_limit.empty()) {
      table.row({each.section, each.key, each.value, each.range, each.at_limit});
    }
  }
  if (!args.json) table.print();
  return k_exit_ok;
}

}  // namespace

void add_config(Verb& root) {
  const auto args = std::make_shared<ConfigArguments>();
  Verb init_verb = root.verb("init", "Write a commented skein.toml that works as it is");
  init_verb.optional_place("FILE", args->file, "File to write (default: skein.toml)");
  init_verb.flag("--json", args->json, "Print JSON");
  init_verb.run([args] { return init(*args); });

  Verb config = root.verb("config", "Check a config file, list limits");
  config.needs_verb();
  Verb check_verb = config.verb("check", "Print everything that is wrong with a config file");
  check_verb.optional_place("FILE", args->file, "Config file (default: skein.toml)");
  check_verb.option("--set", args->settings, "Override a setting of the file: section.key=value; may be repeated");
  check_verb.flag("--json", args->json, "Print JSON");
  check_verb.run([args] { return check(*args); });
  Verb limits_verb =
      config.verb("limits", "List every limit with its value, its range and what happens when it is reached");
  limits_verb.optional_place("FILE", args->file, "Config file (default: skein.toml)");
  limits_verb.flag("--json", args->json, "Print JSON, one object per line, with all other keys too");
  limits_verb.flag("--markdown", args->markdown, "Print docs/limits.md");
  limits_verb.run([args] { return limits(*args); });
}

}  // namespace skein::cli
