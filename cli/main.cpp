#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/verbs.hpp"
#include "skein/base/version.hpp"

namespace {

constexpr int k_exit_failed = 1;
constexpr int k_exit_usage = 2;

int run(int argc, char** argv) {
  CLI::App app{"Runs swarms of agents so that no crash loses work.", "skein"};
  app.set_version_flag("--version", fmt::format("skein {}", skein::version()), "Print the version and exit");
  skein::cli::add_verbs(app);

  const std::string first = argc > 1 ? argv[1] : "";
  const bool names_a_verb = !first.empty() && first.front() != '-';
  const auto is_first = [&](const CLI::App* verb) { return verb->check_name(first); };
  if (names_a_verb && app.get_subcommands(is_first).empty()) {
    fmt::print(stderr, "skein: unknown verb '{}'; 'skein --help' lists the verbs\n", first);
    return k_exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::RuntimeError& failed) {
    return failed.get_exit_code();
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "skein: {}; 'skein {}--help' shows what is possible\n", wrong.what(),
               names_a_verb ? first + " " : "");
    return k_exit_usage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return k_exit_usage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skein: %s\n", error.what());
    return k_exit_failed;
  }
}
