// Reading one value of the config file, for the reader in config.cpp. Pure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "skein/base/suggestion.hpp"
#include "skein/base/toml.hpp"
#include "skein/node/config_keys.hpp"
#include "skein/node/config_values.hpp"

namespace skein::inline v0::node {

// Puts one value where it belongs. Returns what is wrong with it, or nothing.
struct Assign {
  const toml::node& node;
  const Rule& rule;

  using Fault = std::optional<std::string>;

  Fault operator()(std::string* place) const {
    const auto value = node.value_exact<std::string>();
    if (!value) return "must be a string";
    if (!rule.words.empty() && std::ranges::find(rule.words, *value) == rule.words.end()) {
      return fmt::format("unknown '{}'{}", *value, suggestion(*value, {rule.words.begin(), rule.words.end()}));
    }
    *place = *value;
    return std::nullopt;
  }
  Fault operator()(bool* place) const {
    const auto value = node.value_exact<bool>();
    if (!value) return "must be true or false";
    *place = *value;
    return std::nullopt;
  }
  Fault operator()(double* place) const {
    const auto value = node.value<double>();
    if (!value) return "must be a number";
    const bool is_within = *value >= static_cast<double>(rule.min) && *value <= static_cast<double>(rule.max);
    if (rule.max > 0 && !is_within) return fmt::format("must be from {} to {}", rule.min, rule.max);
    *place = *value;
    return std::nullopt;
  }
  Fault operator()(std::vector<std::string>* place) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return "must be an array of strings";
    std::vector<std::string> values;
    for (const toml::node& each : *array) {
      const auto value = each.value_exact<std::string>();
      if (!value) return "must be an array of strings";
      values.push_back(*value);
    }
    *place = std::move(values);
    return std::nullopt;
  }
  template <class Count>
  Fault operator()(Count* place) const {
    if constexpr (std::is_integral_v<Count>) {
      return number(*place);
    } else {
      return time(*place);
    }
  }

 private:
  template <class Count>
  Fault number(Count& place) const {
    std::optional<std::uint64_t> given;
    if (const auto whole = node.value_exact<std::int64_t>(); whole && *whole >= 0)
      given = static_cast<std::uint64_t>(*whole);
    if (const auto text = node.value_exact<std::string>(); text && rule.is_bytes) given = parse_bytes(*text);
    if (!given && rule.is_bytes) return R"(must be a size such as 65536, "256KiB" or "64MiB")";
    if (!given) return "must be a whole number";
    if (*given < rule.min || *given > rule.max) {
      if (rule.is_bytes) return fmt::format("must be from {} to {}", bytes_text(rule.min), bytes_text(rule.max));
      return fmt::format("must be from {} to {}", rule.min, rule.max);
    }
    place = static_cast<Count>(*given);
    return std::nullopt;
  }
  template <class Time>
  Fault time(Time& place) const {
    const auto text = node.value_exact<std::string>();
    const auto given = text ? parse_time(*text) : std::nullopt;
    if (!given) return R"(must be a time such as "500ms", "5s", "2min" or "1h")";
    const std::chrono::milliseconds min(rule.min);
    const std::chrono::milliseconds max(rule.max);
    if (*given < min || *given > max) return fmt::format("must be from {} to {}", time_text(min), time_text(max));
    place = std::chrono::duration_cast<Time>(*given);
    return std::nullopt;
  }
};

}  // namespace skein::inline v0::node
