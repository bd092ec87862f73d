// skein log verify|dump|repair|skip, skein backup, skein restore: the journal's folder from outside, with no node
// needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/verbs.hpp"
#include "skein/journal/backup.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/log_repair.hpp"
#include "skein/journal/log_tools.hpp"

namespace skein::cli {
namespace {

using journal::file_disk;

struct Arguments {
  std::string dir;
  std::string dest;
  std::uint64_t position = 1;
  bool json = false;
  bool yes = false;
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "skein: {}\n", why);
  throw CLI::RuntimeError(1);
}

void verify(const Arguments& args) {
  const auto image = journal::verify_journal(file_disk(), args.dir);
  if (!image) fail(image.error().describe());
  fmt::print("{}whole\n", image->describe());
}

void dump(const Arguments& args) {
  const auto format = args.json ? journal::DumpFormat::json : journal::DumpFormat::text;
  const auto ok = journal::dump_journal(file_disk(), args.dir, format, args.position, [](std::string_view line) {
    return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF;
  });
  if (!ok) fail(ok.error().describe());
}

bool asked_and_agreed(std::string_view question) {
  fmt::print("{} [y/N] ", question);
  std::fflush(stdout);
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

void repair(const Arguments& args) {
  auto& disk = file_disk();
  if (!journal::is_journal(disk, args.dir)) fail(journal::not_a_journal(args.dir).describe());
  const auto lock = disk.lock(args.dir);
  if (!lock) fail(journal::from_disk(lock.error()).describe());
  const auto plan = journal::plan_repair(disk, args.dir);
  if (!plan) fail(plan.error().describe());
  fmt::print("{}", plan->describe());
  if (!plan->needed) return;
  if (!args.yes && !asked_and_agreed("Drop this for good? The old files stay beside it as *.damaged.")) {
    fail("nothing was changed; --yes repairs without asking");
  }
  if (const auto ok = journal::carry_out_repair(disk, args.dir, *plan); !ok) fail(ok.error().describe());
  fmt::print("repaired: the log goes up to position {}\n", plan->keep_last);
}

void skip(const Arguments& args) {
  const auto line = journal::show_skip(file_disk(), args.dir, args.position);
  if (!line) fail(line.error().describe());
  fmt::print("{}\n", *line);
  if (!args.yes && !asked_and_agreed("Have this entry passed over for good, on every start?")) {
    fail("nothing was changed; --yes skips without asking");
  }
  const auto at = journal::append_skip(file_disk(), args.dir, args.position);
  if (!at) fail(at.error().describe());
  fmt::print("position {} will be passed over; position {} says so\n", args.position, *at);
}

void backup(const Arguments& args) {
  const auto image = journal::back_up_journal(file_disk(), args.dir, args.dest);
  if (!image) fail(image.error().describe());
  fmt::print("{} holds everything up to position {}\n", args.dest, image->log.last);
}

void restore(const Arguments& args) {
  const auto image = journal::restore_journal(file_disk(), args.dir, args.dest);
  if (!image) fail(image.error().describe());
  fmt::print("{} goes on after position {}\n", args.dest, image->log.last);
}

CLI::App& verb(CLI::App& parent, const std::string& name, const std::string& what,
               const std::shared_ptr<Arguments>& args, void (*run)(const Arguments&)) {
  CLI::App& app = *parent.add_subcommand(name, what);
  app.callback([args, run] { run(*args); });
  return app;
}

}  // namespace

void add_log(CLI::App& app) {
  CLI::App& log = *app.add_subcommand("log", "Check, show or repair the folder of a journal");
  log.require_subcommand(1);
  const auto args = std::make_shared<Arguments>();
  const char* const k_dir_help = "Folder of the journal";

  CLI::App& verify_app = verb(log, "verify", "Read everything and check every checksum", args, verify);
  verify_app.add_option("DIR", args->dir, k_dir_help)->required();

  CLI::App& dump_app = verb(log, "dump", "Print the entries, one a line", args, dump);
  dump_app.add_option("DIR", args->dir, k_dir_help)->required();
  dump_app.add_option("--from", args->position, "First position to print");
  dump_app.add_flag("--json", args->json, "An object per line, with the bytes as hex");

  CLI::App& repair_app = verb(log, "repair", "Say what has to be dropped to start again, ask, and do it", args, repair);
  repair_app.add_option("DIR", args->dir, k_dir_help)->required();
  repair_app.add_flag("--yes", args->yes, "Do not ask");

  CLI::App& skip_app =
      verb(log, "skip", "Show an entry that stops every start, ask, and have it passed over", args, skip);
  skip_app.add_option("DIR", args->dir, k_dir_help)->required();
  skip_app.add_option("POSITION", args->position, "The entry's position, as the error named it")->required();
  skip_app.add_flag("--yes", args->yes, "Do not ask");
}

void add_backup(CLI::App& app) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& backup_app =
      verb(app, "backup", "Copy a journal, also of a running node, and check the copy", args, backup);
  backup_app.add_option("DIR", args->dir, "Folder of the journal")->required();
  backup_app.add_option("DEST", args->dest, "Folder to make")->required();
}

void add_restore(CLI::App& app) {
  const auto args = std::make_shared<Arguments>();
  CLI::App& restore_app = verb(app, "restore", "Make a journal's folder from a backup", args, restore);
  restore_app.add_option("BACKUP", args->dir, "Folder of the backup")->required();
  restore_app.add_option("DEST", args->dest, "Folder to make")->required();
}

}  // namespace skein::cli
