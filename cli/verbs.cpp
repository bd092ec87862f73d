#include "cli/verbs.hpp"

namespace skein::cli {

void add_verbs(CLI::App& app) {
  app.require_subcommand(0, 1);
  add_demo(app);
  add_log(app);
  add_backup(app);
  add_restore(app);
  add_archive(app);
}

}  // namespace skein::cli
