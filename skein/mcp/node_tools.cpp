#include "skein/base/version.hpp"
#include "skein/mcp/node_catalog.hpp"

namespace skein::inline v0::mcp {

std::shared_ptr<Catalog> make_node_catalog() {
  auto catalog = std::make_shared<Catalog>();
  catalog->server_version = skein::version();
  catalog->instructions =
      "skein runs tasks on a swarm of supervised agents, so that no crash loses work. Submit work with task_submit, "
      "then call task_wait with the id until finished is true. task_list and agent_list show what is going on; tree "
      "and metrics show the health of the node. Every error says what to do next.";
  add_operation_tools(*catalog);
  add_node_resources(*catalog);
  add_node_prompts(*catalog);
  return catalog;
}

}  // namespace skein::inline v0::mcp
