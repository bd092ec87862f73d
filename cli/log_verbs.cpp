// skein log verify|dump|repair|skip: the journal's folder from outside, with no node needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_repair.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/node/folder.hpp"

namespace skein::cli {
namespace {

using journal::file_disk;

struct LogArguments {
  std::string dir;
  std::string data;
  std::uint64_t position = 1;
  bool json = false;
  bool yes = false;
};

[[noreturn]] void fail(const std::string& why) { throw CLI::RuntimeError(complain(k_exit_failed, why)); }

// The folder that was named, itself or the data folder around it; else that of the node this user would talk to.
std::string journal_folder(const LogArguments& args) {
  if (args.dir.empty()) {
    Session session;
    session.data = args.data;
    return node::journal_in(session.data_folder());
  }
  const std::string inside = node::journal_in(args.dir);
  const bool is_data_folder = !journal::is_journal(file_disk(), args.dir) && journal::is_journal(file_disk(), inside);
  return is_data_folder ? inside : args.dir;
}

json::object image_json(const std::string& dir, const journal::JournalImage& image) {
  const auto& segments = image.log.segments;
  json::object out{{"dir", dir},
                   {"first", segments.empty() ? 0 : segments.front().header.first_position},
                   {"last", image.log.last},
                   {"durable", image.log.durable},
                   {"segments", segments.size()},
                   {"term", std::max(image.hard.term, image.log.last_term)},
                   {"clean", image.log.clean},
                   {"cut_bytes", image.log.cut_bytes}};
  out["snapshot"] = image.snapshot ? json::value(image.snapshot->position) : json::value();
  return out;
}

void verify(const LogArguments& args) {
  const std::string dir = journal_folder(args);
  const auto image = journal::verify_journal(file_disk(), dir);
  if (!image) fail(image.error().describe());
  if (args.json) return print_json(image_json(dir, *image));
  fmt::print("{}whole\n", image->describe());
}

void dump(const LogArguments& args) {
  const auto format = args.json ? journal::DumpFormat::json : journal::DumpFormat::text;
  const auto ok =
      journal::dump_journal(file_disk(), journal_folder(args), format, args.position, [](std::string_view line) {
        return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF;
      });
  if (!ok) fail(ok.error().describe());
}

bool asked_and_agreed(std::string_view question) {
  std::fflush(stdout);
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

// What was dropped may have been in the archive already: that keeps it, and numbers go on above. Says what was found.
std::string bring_archive_in_step(const std::string& journal_dir) {
  const std::string data = std::filesystem::absolute(journal_dir + "/.").lexically_normal().parent_path().parent_path();
  const std::string file = data + "/" + archive::k_archive_file;
  if (node::journal_in(data) != std::filesystem::absolute(journal_dir).lexically_normal().string() ||
      !std::filesystem::exists(file)) {
    return {};
  }
  ledger::Ledger ledger;
  const auto opened = journal::open_journal(journal_dir, ledger);
  if (!opened) fail(opened.error().describe());
  const auto last_known = ledger.counters().last_finished;
  const auto store = archive::SqliteStore::open(file);
  if (!store) return "the archive was not looked at: " + store.error().describe();
  const auto last = (*store)->last();
  if (!last) return "the archive was not looked at: " + last.error().describe();
  const auto in_step = node::bring_journal_in_step(**opened, ledger, **store);
  (*opened)->close();
  if (!in_step) return "the archive is not in step with the journal: " + in_step.error();
  if (*last <= last_known) return {};
  return fmt::format(
      "the archive has the results of {} finished tasks, finish numbers {} to {}, that the repaired "
      "journal does not know any more: they are kept, and numbers go on above them",
      *last - last_known, last_known + 1, *last);
}

void repair(const LogArguments& args) {
  auto& disk = file_disk();
  const std::string dir = journal_folder(args);
  if (!journal::is_journal(disk, dir)) fail(journal::not_a_journal(dir).describe());
  auto lock = disk.lock(dir);
  if (!lock) fail(journal::from_disk(lock.error()).describe());
  const auto plan = journal::plan_repair(disk, dir);
  if (!plan) fail(plan.error().describe());
  fmt::print(args.json ? stderr : stdout, "{}", plan->describe());
  json::object report{{"dir", dir},
                      {"needed", plan->needed},
                      {"repaired", plan->needed},
                      {"last", plan->keep_last},
                      {"dropped", plan->dropped}};
  if (!plan->needed) {
    if (args.json) print_json(report);
    return;
  }
  if (!args.yes && !asked_and_agreed("Drop this for good? The old files stay beside it as *.damaged.")) {
    fail("nothing was changed; --yes repairs without asking");
  }
  if (const auto ok = journal::carry_out_repair(disk, dir, *plan); !ok) fail(ok.error().describe());
  lock->reset();  // opening the journal takes it
  const std::string archive_said = bring_archive_in_step(dir);
  if (!archive_said.empty()) report["archive"] = archive_said;
  if (args.json) return print_json(report);
  fmt::print("repaired: the log goes up to position {}\n", plan->keep_last);
  if (!archive_said.empty()) fmt::print("{}\n", archive_said);
}

void skip(const LogArguments& args) {
  const std::string dir = journal_folder(args);
  const auto line = journal::show_skip(file_disk(), dir, args.position);
  if (!line) fail(line.error().describe());
  fmt::print(args.json ? stderr : stdout, "{}\n", *line);
  if (!args.yes && !asked_and_agreed("Have this entry passed over for good, on every start?")) {
    fail("nothing was changed; --yes skips without asking");
  }
  const auto at = journal::append_skip(file_disk(), dir, args.position);
  if (!at) fail(at.error().describe());
  if (args.json) return print_json(json::object{{"position", args.position}, {"skipped_at", *at}});
  fmt::print("position {} will be passed over; position {} says so\n", args.position, *at);
}

CLI::App& verb(CLI::App& parent, const std::string& name, const std::string& what,
               const std::shared_ptr<LogArguments>& args, void (*run)(const LogArguments&)) {
  CLI::App& app = *parent.add_subcommand(name, what);
  app.callback([args, run] { run(*args); });
  return app;
}

}  // namespace

void add_log(CLI::App& app) {
  CLI::App& log = *app.add_subcommand("log", "Verify, print or repair a journal");
  log.require_subcommand(1);
  const auto args = std::make_shared<LogArguments>();
  const char* const k_dir_help = "Folder of the journal, or the data folder (default: the node's)";
  const char* const k_json_help = "Print JSON";
  const auto add_data = [&](CLI::App& verb_app) {
    Verb(verb_app).filled("--data", args->data, "Data folder of the node");
  };

  CLI::App& verify_app = verb(log, "verify", "Read the whole journal and verify every checksum", args, verify);
  verify_app.add_option("DIR", args->dir, k_dir_help);
  verify_app.add_flag("--json", args->json, k_json_help);
  add_data(verify_app);

  CLI::App& dump_app = verb(log, "dump", "Print the entries, one per line", args, dump);
  dump_app.add_option("DIR", args->dir, k_dir_help);
  dump_app.add_option("--from", args->position, "First position to print")->type_name("NUMBER");
  dump_app.add_flag("--json", args->json, "An object per line, with the bytes as hex");
  add_data(dump_app);

  CLI::App& repair_app =
      verb(log, "repair", "Show what must be dropped so that the node can start, ask for confirmation, and drop it",
           args, repair);
  repair_app.add_option("DIR", args->dir, k_dir_help);
  repair_app.add_flag("--json", args->json, k_json_help);
  repair_app.add_flag("--yes", args->yes, "Do not ask for confirmation");
  add_data(repair_app);

  CLI::App& skip_app =
      verb(log, "skip", "Show an entry that prevents every start, ask for confirmation, and skip it", args, skip);
  skip_app.add_option("DIR", args->dir, "Folder of the journal, or the data folder")->required();
  skip_app.add_flag("--json", args->json, k_json_help);
  skip_app.add_option("POSITION", args->position, "Position of the entry, as in the error message")
      ->required()
      ->type_name("NUMBER");
  skip_app.add_flag("--yes", args->yes, "Do not ask for confirmation");
}

}  // namespace skein::cli
