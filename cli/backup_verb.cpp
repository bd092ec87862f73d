// skein backup and skein restore: a copy of a node's data folder, and the way back. With one folder a running node
// makes the copy, over its socket; with two it is made from the first one here, with no node needed.
#include <fmt/format.h>

#include <filesystem>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/node/data_copy.hpp"
#include "skein/node/last_run.hpp"

namespace skein::cli {
namespace {

struct BackupArguments {
  Session session;
  std::string first;
  std::string second;
};

int show(const BackupArguments& args, const std::expected<node::DataCopy, std::string>& copy, std::string_view next) {
  if (!copy) return complain(k_exit_failed, copy.error());
  if (args.session.json) {
    json::object out{{"folder", copy->dest}, {"last", copy->last}};
    out["archived"] = copy->has_archive ? json::value(copy->archived) : json::value();
    print_json(out);
  } else {
    fmt::print("{}{}\n", copy->describe(), next);
  }
  return k_exit_ok;
}

int backup(const BackupArguments& args) {
  if (!args.second.empty()) return show(args, node::back_up_data(args.first, args.second), "");
  // The node has a folder of its own to be in.
  const std::string dest = std::filesystem::absolute(args.first).lexically_normal().string();
  return ask_and_show(args.session, "backup", {{"dest", dest}},
                      [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "copied")); });
}

}  // namespace

void add_backup(CLI::App& app) {
  const auto args = std::make_shared<BackupArguments>();
  Verb verb = Verb(app).verb(
      "backup", "Copy the journal and the archive of a running node or a data folder, and verify the copy");
  verb.place("FOLDER", args->first, "Folder to create; with DEST: the data folder to copy, without a running node");
  verb.optional_place("DEST", args->second, "Folder to create");
  args->session.add_to(verb);
  verb.run([args] { return backup(*args); });
}

void add_restore(CLI::App& app) {
  const auto args = std::make_shared<BackupArguments>();
  Verb verb = Verb(app).verb("restore", "Create a data folder from a backup");
  verb.place("BACKUP", args->first, "Folder of the backup");
  verb.place("DEST", args->second, "Folder to create");
  verb.flag("--json", args->session.json, "Print JSON");
  verb.run([args] {
    const auto restored = node::restore_data(args->first, args->second);
    if (restored) {
      // Whose config it had is not in a backup: 'skein mcp' must not start a node without it.
      const std::string command = fmt::format("skein up CONFIG --data {}", restored->dest);
      if (const std::string why = node::write_last_run(restored->dest, {.command = command}); !why.empty()) {
        fmt::print(stderr, "skein: {}\n", why);
      }
    }
    return show(*args, restored, "; a node goes on from there");
  });
}

}  // namespace skein::cli
