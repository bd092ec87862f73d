#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>

#include <charconv>

namespace skein::cli {
namespace {

// CLI11 lets -5 wrap around to a very large number.
std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = error == std::errc() && end == text.data() + text.size();
  return fits ? "" : "'" + text + "' is no whole number from 0 on that fits into 64 bits";
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

Verb& Verb::option(const std::string& names, std::uint64_t& value, const std::string& what) {
  app_->add_option(names, value, what)->check(whole_number);
  return *this;
}

Verb& Verb::option(const std::string& names, std::vector<std::string>& values, const std::string& what) {
  app_->add_option(names, values, what)->expected(1)->allow_extra_args(false)->take_all();
  return *this;
}

Verb& Verb::place(const std::string& name, std::string& value, const std::string& what) {
  app_->add_option(name, value, what)->required();
  return *this;
}

Verb& Verb::optional_place(const std::string& name, std::string& value, const std::string& what) {
  app_->add_option(name, value, what);
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

}  // namespace skein::cli
