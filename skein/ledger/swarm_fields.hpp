// What a swarm may be told: one struct and one table of its fields. Plain values and pure functions.
//
// The journal keeps a swarm's definition and its overrides as maps of texts, under names of their own (`stored`), and
// those bytes stay as they are. Everything else goes by the table: the keys of [swarms.NAME] in the config, what the
// coordinator reads, and what is accepted from any way in. A field goes by its name in the config everywhere; the name
// under which it is stored is read as well, since it was the only one once.
//
// 1. stored_fields() lets in only fields of the table, with values in their ranges.
// 2. read_swarm_fields() reads any fields that a ledger has: unknown ones are ignored, since a journal of
//    before may have some.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/ledger/change.hpp"

namespace skein::inline v0::ledger {

inline constexpr std::uint32_t k_swarm_agents_limit = 100'000;  // agents of one swarm
inline constexpr std::uint32_t k_swarm_weight_max = 1'000;
inline constexpr std::uint32_t k_swarm_prefetch_max = 100;

struct SwarmFields {
  std::string executor{};  // empty: it has no agents of its own
  std::string role = "worker";
  std::vector<std::string> capabilities{};
  std::uint32_t min = 5;
  std::uint32_t max = 100;
  std::uint32_t prefetch = 1;
  Duration idle_shrink = std::chrono::seconds(30);
  std::string topology = "star";  // in the config only
  std::uint64_t open_tasks = 10'000;
  std::uint64_t open_bytes = 1ULL << 30U;
  std::string strategy{};  // empty: the dispatcher's
  std::uint32_t breaker_crashes = 5;
  Duration breaker_open = std::chrono::seconds(60);
  std::uint32_t weight = 1;  // of its share of an executor that others use too
  std::string fallback{};    // the swarm its tasks go to when their attempts are used up; empty: none

  friend bool operator==(const SwarmFields&, const SwarmFields&) = default;
};

// Where a field's value goes.
using SwarmFieldPlace =
    std::variant<std::string*, std::uint32_t*, std::uint64_t*, Duration*, std::vector<std::string>*>;

struct SwarmField {
  std::string_view name;    // in the config
  std::string_view stored;  // in the ledger, and its older name; empty: it is not kept there
  SwarmFieldPlace (*place)(SwarmFields& fields);
  bool is_of_agents = false;  // without a good value its agents cannot be made
  std::uint64_t min = 0;      // of counts and bytes; of times in milliseconds
  std::uint64_t max = 0;
  bool is_bytes = false;
  std::span<const std::string_view> words{};  // what a text may be; none: anything
  std::string_view at_limit{};                // what happens there; empty: it is no limit
  std::string_view help{};
};

[[nodiscard]] std::span<const SwarmField> swarm_fields();
// By either name; null: there is none.
[[nodiscard]] const SwarmField* find_swarm_field(std::string_view name);
// "0 to 100000", "0s to 24h", or the words; empty: anything goes.
[[nodiscard]] std::string range_text(const SwarmField& field);

// What somebody gave for a swarm, under the names and in the form that the ledger keeps. Times are "30s" or a number of
// milliseconds, sizes "64MiB" or a number of bytes; an empty text is kept, it takes an override away. The error has a
// line per field that is unknown or out of its range.
[[nodiscard]] std::expected<Fields, std::vector<std::string>> stored_fields(const Fields& given);
// As the ledger keeps them.
[[nodiscard]] Fields all_fields_of(const SwarmFields& fields);
// All of them but those that say nothing.
[[nodiscard]] Fields fields_of(const SwarmFields& fields);
// As in force, overrides over the definition, with defaults where nothing is said. A larger minimum alone raises the
// maximum too. The error has a line per field of its agents with a value that cannot be; of the others such a value, in
// a journal of before, counts as if it were not there.
[[nodiscard]] std::expected<SwarmFields, std::vector<std::string>> read_swarm_fields(const Swarm& swarm);

}  // namespace skein::inline v0::ledger
