// skein backup: a copy of a journal that can be restored. With one folder a running node makes it, over its socket;
// with two it is made from the first one here, with no node needed.
#include <fmt/format.h>

#include <filesystem>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/journal/backup.hpp"
#include "skein/journal/file_disk.hpp"

namespace skein::cli {
namespace {

struct Arguments {
  Session session;
  std::string first;
  std::string second;
};

int copy_here(const Arguments& args) {
  const auto image = journal::back_up_journal(journal::file_disk(), args.first, args.second);
  if (!image) return complain(k_exit_failed, image.error().describe());
  const std::string text = fmt::format("{} holds everything up to position {}", args.second, image->log.last);
  if (args.session.json) {
    print_json(json::string(text));
  } else {
    fmt::print("{}\n", text);
  }
  return k_exit_ok;
}

int backup(const Arguments& args) {
  if (!args.second.empty()) return copy_here(args);
  // The node has a folder of its own to be in.
  const std::string dest = std::filesystem::absolute(args.first).lexically_normal().string();
  return ask_and_show(args.session, "backup", {{"dest", dest}},
                      [](const json::value& answer) { fmt::print("{}\n", std::string_view(answer.get_string())); });
}

}  // namespace

void add_backup(CLI::App& app) {
  const auto args = std::make_shared<Arguments>();
  Verb verb = Verb(app).verb("backup", "Copy the journal of a running node, or of a folder, and check the copy");
  verb.place("FOLDER", args->first, "Folder to make; with DEST: the journal's folder, copied without a node");
  verb.optional_place("DEST", args->second, "Folder to make");
  args->session.add_to(verb);
  verb.run([args] { return backup(*args); });
}

}  // namespace skein::cli
