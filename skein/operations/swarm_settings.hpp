// The settings of a swarm, under the names that the config has for them: how requests give them, how the ledger keeps
// them, how answers show them. Pure; any thread.
//
// The ledger keeps every setting as a text, under a name of its own where that is older than the config's
// (`agents_min` for `min`). Requests may use either name.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <vector>

#include "skein/ledger/change.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/operations/arguments.hpp"
#include "skein/operations/param.hpp"

namespace skein::inline v0::operations {

struct SwarmSetting {
  Param param;
  std::string_view field;  // the ledger's name for it
};
[[nodiscard]] const std::vector<SwarmSetting>& swarm_settings();

// Parameters for each setting, and `fields`: the same as an object of texts, which requests had to use before.
[[nodiscard]] std::vector<Param> swarm_setting_params();

// What a request with these parameters sets, as the ledger keeps it.
[[nodiscard]] Result<ledger::Fields> swarm_fields_in(const Arguments& in);

// What is in force, overrides before the definition, with defaults where nothing is said: numbers as numbers, times as
// "5s", under the config's names. `limits` of the node hold where the swarm has none of its own. Left out is what there
// is none of: executor, strategy, fallback. Of a swarm whose settings have a fault only what was given.
[[nodiscard]] json::object settings_json(const ledger::Swarm& swarm, const ledger::Limits& limits);

}  // namespace skein::inline v0::operations
