// Names of capabilities that people and programs may give to agents: in the config, when one is started, in a hello.
// Some are the node's own: they say whose agent it is, so nobody else may announce them. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0::dispatch {

// Why no agent may be given this capability, and what to do; nothing when one may.
[[nodiscard]] std::optional<std::string> capability_problem(std::string_view capability);
// The same for what a task requires, which may also be a capability of the node's own.
[[nodiscard]] std::optional<std::string> capability_text_problem(std::string_view capability);
// The same for one that a ledger has already. Earlier releases allowed spaces, and what they wrote stays usable.
[[nodiscard]] std::optional<std::string> stored_capability_problem(std::string_view capability);

}  // namespace skein::inline v0::dispatch
