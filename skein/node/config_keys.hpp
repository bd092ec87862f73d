// Every key of the config file: its name, where its value goes, its range, and what happens at the limit. The reader
// (config.cpp), docs/config.md, docs/limits.md and `skein config limits` go by these tables. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "skein/node/config.hpp"

namespace skein::inline v0::node {

// Where a value goes.
using Place = std::variant<std::string*, bool*, double*, std::uint32_t*, std::uint64_t*, Duration*,
                           std::chrono::milliseconds*, std::vector<std::string>*>;

struct Rule {
  std::uint64_t min = 0;  // of counts and bytes; of times in milliseconds
  std::uint64_t max = 0;
  bool is_bytes = false;
  std::span<const std::string_view> words{};  // what a string may be; none: anything
};

template <class S>
struct Key {
  std::string_view name;
  Place (*at)(S& section);
  Rule rule{};
  std::string_view at_limit{};                     // what happens there; empty: it is no limit
  bool is_live = false;                            // a reload takes it over; else it needs a restart
  const ledger::SwarmField* swarm_field{nullptr};  // a swarm's, instead of `at`

  [[nodiscard]] Place place(S& section) const {
    if constexpr (std::is_base_of_v<ledger::SwarmFields, S>) {
      return std::visit([](auto* where) -> Place { return where; }, swarm_field->place(section));
    } else {
      return at(section);
    }
  }
};

template <class S>
[[nodiscard]] std::span<const Key<S>> keys_of();
template <>
std::span<const Key<NodeSection>> keys_of<NodeSection>();
template <>
std::span<const Key<TcpSection>> keys_of<TcpSection>();
template <>
std::span<const Key<HttpSection>> keys_of<HttpSection>();
template <>
std::span<const Key<control::SocketLimits>> keys_of<control::SocketLimits>();
template <>
std::span<const Key<operations::OperationsLimits>> keys_of<operations::OperationsLimits>();
template <>
std::span<const Key<ledger::Limits>> keys_of<ledger::Limits>();
template <>
std::span<const Key<journal::JournalLimits>> keys_of<journal::JournalLimits>();
template <>
std::span<const Key<ArchiveSection>> keys_of<ArchiveSection>();
template <>
std::span<const Key<dispatch::DispatcherOptions>> keys_of<dispatch::DispatcherOptions>();
template <>
std::span<const Key<ExecutorConfig>> keys_of<ExecutorConfig>();
template <>
std::span<const Key<AgentConfig>> keys_of<AgentConfig>();
template <>
std::span<const Key<SwarmConfig>> keys_of<SwarmConfig>();

// A key as people see it.
struct KeyInfo {
  std::string section;  // "[node]", "[executors.NAME]", ...
  std::string key;
  std::string value;  // the default, as the file would write it
  std::string range;  // "1 to 10,000", or the words
  std::string at_limit;
  bool is_live = false;  // a reload takes it over
};
// All of them, with the value they have here (`config`), or else their defaults.
[[nodiscard]] std::vector<KeyInfo> all_keys(const Config& config);
// Takes over what a reload may change; returns the names of keys that differ and may not be.
template <class S>
std::vector<std::string> take_live(S& into, const S& from) {
  std::vector<std::string> left;
  S given = from;  // places are for writing
  for (const Key<S>& key : keys_of<S>()) {
    std::visit(
        [&]<class T>(T* place) {
          const T& wanted = *std::get<T*>(key.place(given));
          if (*place == wanted) return;
          if (key.is_live) {
            *place = wanted;
          } else {
            left.emplace_back(key.name);
          }
        },
        key.place(into));
  }
  return left;
}
// docs/limits.md, whole.
[[nodiscard]] std::string limits_page();

}  // namespace skein::inline v0::node
