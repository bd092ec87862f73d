#include "cli/verbs.hpp"

#include <CLI/CLI.hpp>

#include "cli/operation_verbs.hpp"

namespace skein::cli {

void add_verbs(CLI::App& app, std::string_view first) {
  app.require_subcommand(0, 1);
  Verb root(app);
  if (first == "up" || first == "mcp") {
    if (first == "up") add_up(root);
    if (first == "mcp") add_mcp(root);
    add_examples(root, first);
    return;
  }
  add_config(root);
  add_up(root);
  add_mcp(root);
  add_demo(app);
  add_tasks(root);
  add_swarms(root);
  add_node(root);
  add_tokens(root);
  add_chaos(root);
  add_log(app);
  add_backup(app);
  add_restore(app);
  add_archive(app);
  add_completion(root);
  add_operations_verb(root);
  add_other_operations(root);
  add_examples(root, {});
  group_verbs(app);
}

}  // namespace skein::cli
