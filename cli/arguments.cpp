#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

#include "skein/base/time_text.hpp"

namespace skein::cli {
namespace {

// CLI11 lets -5 wrap around to a very large number.
std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = error == std::errc() && end == text.data() + text.size();
  return fits ? "" : "'" + text + "' is not a whole number between 0 and 18446744073709551615";
}

std::string is_filled(const std::string& text) {
  return text.empty() ? "it is empty; is a shell variable not set?" : "";
}

}  // namespace

Verb Verb::verb(const std::string& name, const std::string& what) { return Verb(*app_->add_subcommand(name, what)); }

Verb& Verb::needs_verb() {
  app_->require_subcommand(1);
  return *this;
}

Verb& Verb::flag(const std::string& names, bool& value, const std::string& what) {
  app_->add_flag(names, value, what);
  return *this;
}

Verb& Verb::option(const std::string& names, std::string& value, const std::string& what) {
  app_->add_option(names, value, what);
  return *this;
}

Verb& Verb::filled(const std::string& names, std::string& value, const std::string& what) {
  app_->add_option(names, value, what)->check(is_filled);
  return *this;
}

Verb& Verb::option(const std::string& names, std::uint64_t& value, const std::string& what) {
  app_->add_option(names, value, what)->check(whole_number)->type_name("NUMBER");
  return *this;
}

Verb& Verb::option(const std::string& names, std::vector<std::string>& values, const std::string& what) {
  app_->add_option(names, values, what)->expected(1)->allow_extra_args(false)->take_all();
  return *this;
}

Verb& Verb::place(const std::string& name, std::string& value, const std::string& what) {
  app_->add_option(name, value, what)->check(is_filled)->required();
  return *this;
}

Verb& Verb::optional_place(const std::string& name, std::string& value, const std::string& what) {
  app_->add_option(name, value, what)->check(is_filled);
  return *this;
}

Verb& Verb::time(const std::string& name, std::uint64_t& milliseconds, const std::string& what) {
  const std::string otherwise = time_text(std::chrono::milliseconds(milliseconds));
  const std::string older_name = name + "-ms";
  const CLI::Option* older = app_->add_option(older_name, milliseconds, what)->check(whole_number)->group("");
  const auto read = [&milliseconds, name, older_name, older](const std::string& text) {
    // Not by excludes(): the help would name an option that it does not show.
    if (older->count() > 0) throw CLI::ExcludesError(name, older_name);
    const auto time = parse_time(text);
    if (!time) throw CLI::ValidationError("'" + text + "' is no time such as 250ms, 5s or 2h");
    milliseconds = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count());
  };
  app_->add_option_function<std::string>(name, read, what + " [default: " + otherwise + "]")->type_name("DURATION");
  return *this;
}

Verb& Verb::words(const std::string& name, std::vector<std::string>& words, const std::string& what,
                  const WordRules& rules) {
  CLI::Option* option = app_->add_option(name, words, what)->expected(1)->allow_extra_args(false);
  if (rules.is_list) option->take_all();
  if (rules.is_required) option->required();
  if (rules.is_hidden) option->group("");
  if (!rules.type.empty()) option->type_name(rules.type);
  return *this;
}

Verb Verb::family(const std::string& name) {
  const auto there = app_->get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  if (!there.empty()) return Verb(*there.front());
  Verb made = verb(name, "Verbs about a " + name);
  made.needs_verb();
  return made;
}

Verb Verb::below(const std::string& path) {
  CLI::App* at = app_;
  std::istringstream names(path);
  for (std::string name; names >> name;) at = at->get_subcommand(name);
  return Verb(*at);
}

Verb& Verb::example(const std::string& text) {
  if (!text.empty()) app_->footer("Example:\n  " + text);
  return *this;
}

void Verb::run(std::function<int()> call) {
  app_->callback([call = std::move(call), app = app_] {
    if (!app->get_subcommands().empty()) return;  // a verb below it was given, and runs
    if (const int code = call(); code != k_exit_ok) throw CLI::RuntimeError(code);
  });
}

namespace {

void collect(CLI::App& app, const std::string& path, std::vector<VerbWords>& all) {
  for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) {
    VerbWords words;
    words.path = path.empty() ? each->get_name() : path + " " + each->get_name();
    words.what = each->get_description();
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) words.flags.push_back("--" + name);
    }
    all.push_back(words);
    collect(*each, words.path, all);
  }
}

}  // namespace

std::vector<VerbWords> all_verbs(CLI::App& app) {
  std::vector<VerbWords> all;
  collect(app, "", all);
  return all;
}

namespace {

struct VerbGroup {
  std::string_view title;
  std::vector<std::string_view> verbs;
};

// In the order of --help. What is in none of them comes last.
const std::vector<VerbGroup>& verb_groups() {
  static const std::vector<VerbGroup> k_groups{
      {"Every day", {"init", "up", "stop", "status", "submit", "tasks", "task", "top", "doctor"}},
      {"Swarms and agents", {"swarms", "swarm", "agents", "agent"}},
      {"A running node", {"events", "tree", "ps", "describe", "trace", "dump", "log-level", "reload", "operations"}},
      {"Clients", {"mcp", "token", "completion"}},
      {"Config and data", {"config", "backup", "restore", "log", "archive"}},
      {"Trying it out", {"demo", "chaos"}},
  };
  return k_groups;
}

// CLI11 lists groups in the order in which verbs were added; ours are listed in that of verb_groups().
class GroupedHelp final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    if (app->get_parent() != nullptr) return CLI::Formatter::make_subcommands(app, mode);
    std::string out;
    std::vector<const CLI::App*> left = app->get_subcommands([](const CLI::App*) { return true; });
    const auto add = [&](std::string_view title, const std::vector<const CLI::App*>& verbs) {
      if (verbs.empty()) return;
      out += "\n" + std::string(title) + ":\n";
      for (const CLI::App* each : verbs) out += make_subcommand(each);
    };
    for (const VerbGroup& group : verb_groups()) {
      std::vector<const CLI::App*> verbs;
      for (const std::string_view name : group.verbs) {
        const auto found = std::ranges::find(left, name, &CLI::App::get_name);
        if (found == left.end()) continue;
        verbs.push_back(*found);
        left.erase(found);
      }
      add(group.title, verbs);
    }
    add("Others", left);
    return out;
  }
};

}  // namespace

void group_verbs(CLI::App& app) {
  const auto help = std::make_shared<GroupedHelp>();
  constexpr std::size_t k_column = 28;
  help->column_width(k_column);
  app.formatter(help);
  app.footer("'skein help VERB' shows the options of a verb, with an example.");
}

}  // namespace skein::cli
