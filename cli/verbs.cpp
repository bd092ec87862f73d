#include "cli/verbs.hpp"

namespace skein::cli {

void add_verbs(CLI::App& app) { app.require_subcommand(0, 1); }

}  // namespace skein::cli
