// skein version, and skein completion bash|zsh|fish: made from the verbs themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/base/version.hpp"
#include "skein/control/protocol_version.hpp"

namespace skein::cli {
namespace {

struct Words {
  std::vector<std::string> verbs;  // "name:what it does"
  std::vector<std::string> flags;
};

// A text for between single quotes: zsh ends and begins them again around a quote, fish escapes it.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out;
  for (const char each : text) {
    if (each == '\'') {
      out += quote;
    } else {
      out += each;
    }
  }
  return out;
}

// By path; "" is the program itself.
std::map<std::string, Words> words_of(const std::vector<VerbWords>& all) {
  std::map<std::string, Words> words;
  words[""].flags = {"--help", "--version"};
  for (const VerbWords& each : all) {
    const std::size_t space = each.path.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : each.path.substr(0, space);
    const std::string name = space == std::string::npos ? each.path : each.path.substr(space + 1);
    words[parent].verbs.push_back(fmt::format("{}:{}", name, each.what));
    words[each.path].flags = each.flags;
  }
  return words;
}

// Finds the verb that is named so far: the longest path that there is. Both shells read this.
std::string path_finder(const std::map<std::string, Words>& words, std::string_view before) {
  std::string all = "|";
  for (const auto& [path, unused] : words) all += path + "|";
  return fmt::format(
      "  local verb= word next\n"
      "  for word in {}; do\n"
      "    case $word in -*) continue ;; esac\n"
      "    next=\"${{verb:+$verb }}$word\"\n"
      "    case '{}' in *\"|$next|\"*) verb=$next ;; *) break ;; esac\n"
      "  done\n",
      before, all);
}

std::string bash(const std::vector<VerbWords>& all) {
  const auto words = words_of(all);
  std::string out =
      "# bash completion for skein: source <(skein completion bash)\n"
      "_skein() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} words=\n";
  out += path_finder(words, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"");
  out += "  case $verb in\n";
  for (const auto& [path, here] : words) {
    std::string names;
    for (const std::string& each : here.verbs) names += each.substr(0, each.find(':')) + " ";
    out += fmt::format("    '{}') words='{}{}' ;;\n", path, names, fmt::join(here.flags, " "));
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}\n"
      "complete -o default -F _skein skein\n";
  return out;
}

std::string zsh(const std::vector<VerbWords>& all) {
  const auto words = words_of(all);
  std::string out =
      "#compdef skein\n"
      "# zsh completion for skein: source <(skein completion zsh), or a file _skein in a folder of fpath\n"
      "_skein() {\n"
      "  local -a verbs flags\n";
  out += path_finder(words, "${words[2,CURRENT-1]}");
  out += "  case $verb in\n";
  for (const auto& [path, here] : words) {
    std::string names;
    for (const std::string& each : here.verbs) names += fmt::format("'{}' ", quoted(each, "'\\''"));
    out += fmt::format("    '{}') verbs=({}) flags=({}) ;;\n", path, names, fmt::join(here.flags, " "));
  }
  out +=
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    compadd -- $flags\n"
      "  elif (( $#verbs )); then\n"
      "    _describe verb verbs\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "if [[ ${funcstack[1]} == _skein ]]; then _skein \"$@\"; else compdef _skein skein; fi\n";
  return out;
}

std::string fish(const std::vector<VerbWords>& all) {
  std::string out = "# fish completion for skein: skein completion fish | source\n";
  std::map<std::string, std::vector<std::string>> names;  // of the verbs below each
  for (const VerbWords& each : all) {
    const std::size_t space = each.path.rfind(' ');
    if (space != std::string::npos) names[each.path.substr(0, space)].push_back(each.path.substr(space + 1));
  }
  for (const VerbWords& each : all) {
    const std::size_t space = each.path.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : each.path.substr(0, space);
    const std::string name = space == std::string::npos ? each.path : each.path.substr(space + 1);
    const std::string within = parent.empty() ? "" : fmt::format("__fish_seen_subcommand_from {}; and ", parent);
    const std::string missing =
        parent.empty() ? "__fish_use_subcommand"
                       : fmt::format("{}not __fish_seen_subcommand_from {}", within, fmt::join(names[parent], " "));
    out += fmt::format("complete -c skein -f -n '{}' -a '{}' -d '{}'\n", missing, name, quoted(each.what, "\\'"));
    for (const std::string& flag : each.flags) {
      out += fmt::format("complete -c skein -n '{}__fish_seen_subcommand_from {}' -l '{}'\n", within, name,
                         flag.substr(2));
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
