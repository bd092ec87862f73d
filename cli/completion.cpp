// skein version, and skein completion bash|zsh|fish: made from the verbs themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/base/version.hpp"
#include "skein/control/limits.hpp"

namespace skein::cli {
namespace {

struct Words {
  std::map<std::string, std::vector<std::string>> below;  // verbs below a path; "" is the program
  std::map<std::string, std::vector<std::string>> flags;
};

Words words_of(const std::vector<VerbWords>& all) {
  Words words;
  for (const VerbWords& each : all) {
    const std::size_t space = each.path.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : each.path.substr(0, space);
    words.below[parent].push_back(space == std::string::npos ? each.path : each.path.substr(space + 1));
    words.flags[each.path] = each.flags;
  }
  return words;
}

std::string bash(const std::vector<VerbWords>& all) {
  const Words words = words_of(all);
  std::string out =
      "# bash completion for skein: source <(skein completion bash)\n"
      "_skein() {\n"
      "  local path=\"\" word cur=${COMP_WORDS[COMP_CWORD]}\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case $word in -*) ;; *) path=\"${path:+$path }$word\" ;; esac\n"
      "  done\n"
      "  case $path in\n";
  for (const auto& [path, flags] : words.flags) {
    const auto below = words.below.find(path);
    out += fmt::format("    '{}') COMPREPLY=($(compgen -W '{} {}' -- \"$cur\")) ;;\n", path,
                       below != words.below.end() ? fmt::format("{}", fmt::join(below->second, " ")) : "",
                       fmt::join(flags, " "));
  }
  out += fmt::format("    '') COMPREPLY=($(compgen -W '{} --help --version' -- \"$cur\")) ;;\n",
                     fmt::join(words.below.at(""), " "));
  out += "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n  esac\n}\ncomplete -o default -F _skein skein\n";
  return out;
}

std::string zsh(const std::vector<VerbWords>& all) {
  return "#compdef skein\nautoload -U +X bashcompinit && bashcompinit\n" + bash(all);
}

std::string fish(const std::vector<VerbWords>& all) {
  std::string out = "# fish completion for skein: skein completion fish | source\n";
  for (const VerbWords& each : all) {
    const std::size_t space = each.path.rfind(' ');
    const std::string condition = space == std::string::npos
                                      ? std::string("__fish_use_subcommand")
                                      : fmt::format("__fish_seen_subcommand_from {}", each.path.substr(0, space));
    const std::string name = space == std::string::npos ? each.path : each.path.substr(space + 1);
    std::string what = each.what;
    std::erase(what, '\'');
    out += fmt::format("complete -c skein -f -n '{}' -a '{}' -d '{}'\n", condition, name, what);
    for (const std::string& flag : each.flags) {
      out += fmt::format("complete -c skein -n '__fish_seen_subcommand_from {}' -l '{}'\n", name, flag.substr(2));
    }
  }
  return out;
}

}  // namespace

void add_completion(Verb& root) {
  const auto shell = std::make_shared<std::string>();
  Verb completion = root.verb("completion", "Print completions for a shell");
  completion.place("SHELL", *shell, "bash, zsh or fish");
  completion.run([shell, app = &root.app()] {
    const auto all = all_verbs(*app);
    if (*shell == "bash") {
      fmt::print("{}", bash(all));
    } else if (*shell == "zsh") {
      fmt::print("{}", zsh(all));
    } else if (*shell == "fish") {
      fmt::print("{}", fish(all));
    } else {
      return complain(k_exit_usage, fmt::format("no completions for '{}': bash, zsh or fish", *shell));
    }
    return static_cast<int>(k_exit_ok);
  });
  const auto json = std::make_shared<bool>(false);
  Verb version_verb = root.verb("version", "Print the version");
  version_verb.flag("--json", *json, "Print JSON");
  version_verb.run([json] {
    if (*json) {
      print_json(json::object{{"version", std::string(skein::version())}, {"protocol", control::k_protocol_version}});
    } else {
      fmt::print("skein {}\n", skein::version());
    }
    return static_cast<int>(k_exit_ok);
  });
}

}  // namespace skein::cli
