#include "skein/control/protocol_version.hpp"

#include <fmt/format.h>

namespace skein::inline v0::control {

operations::Error other_version(const ProtocolSide& program, const ProtocolSide& node) {
  const bool is_node_older = node.version < program.version;
  const ProtocolSide& older = is_node_older ? node : program;
  const ProtocolSide& newer = is_node_older ? program : node;
  return operations::invalid(
      fmt::format("{} is older than {}: they speak versions {} and {} of the protocol", older.who, newer.who,
                  older.version, newer.version),
      is_node_older ? "restart the node with the skein program that is installed now"
                    : "use the skein program of the node's release: 'skein version' shows which one this is");
}

}  // namespace skein::inline v0::control
