#include "cli/verbs.hpp"

namespace skein::cli {

void add_verbs(CLI::App& app) {
  app.require_subcommand(0, 1);
  add_demo(app);
}

}  // namespace skein::cli
