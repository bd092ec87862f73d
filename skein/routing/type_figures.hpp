// What the router knows of one type of task: how long its runs usually take, and whether an agent that fails all of
// them for good is alone with that.
//
// Latency is judged against the type's own median, so that slow work is not poor work. The thresholds of health and
// learning (50, 200, 1000 ms) were made for calls; scaled() turns a run's time into what they are applied to:
// - a type whose median is below k_scaled_from, or a task without a type: the time unchanged. Below that bound a factor
//   is noise: 20 ms beside a median of 2 ms is no illness.
// - else: 100 ms for each median. Half of it is 50 ms (quick), twice 200 ms (slow), five times 500 ms (ill).
// - a type with fewer than k_known runs: nothing from k_scaled_from on, since the usual time is not known yet.
//
// Permanent errors are the task's fault as long as others fail the type as well. suspects() is true for an agent whose
// permanent errors in a row would, at the rate at which others fail, be a coincidence of less than k_coincidence; while
// nothing is known of the others, for `in_row` of them. An agent that nobody works beside is never suspected: there is
// nobody to compare it with and nobody to do the work instead.
//
// Values; one thread at a time. Everything costs O(1): times are counted in buckets of a quarter of an octave (the
// median is right within 12%), suspects are at most k_suspects_max.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/routing/agent_handle.hpp"

namespace skein::inline v0 {

// Names a type of one router; one that was forgotten is nobody's.
struct TypeRef {
  std::uint32_t slot = UINT32_MAX;
  std::uint32_t incarnation = 0;
  friend constexpr bool operator==(const TypeRef&, const TypeRef&) = default;
};

// The median of what was recorded lately: older times fade as newer ones come.
class RunTimes {
 public:
  static constexpr std::uint32_t k_known = 5;  // fewer are no median

  void record(Duration took);
  [[nodiscard]] std::optional<Duration> median() const {
    return recorded_ < k_known ? std::nullopt : std::optional(median_);
  }

 private:
  static constexpr std::size_t k_buckets = 4 * 27 + 1;  // up to 37 hours; what is longer counts as that
  static constexpr std::uint32_t k_fades_at = 256;      // then all counts are halved

  [[nodiscard]] static std::size_t bucket_of(Duration took);
  [[nodiscard]] static Duration middle_of(std::uint32_t bucket);
  void settle();

  std::array<std::uint16_t, k_buckets> counts_{};
  std::uint32_t total_ = 0;
  std::uint32_t below_ = 0;  // in buckets before the one the median is in
  std::uint32_t at_ = 0;     // that one
  std::uint32_t recorded_ = 0;
  Duration median_{};  // of bucket at_
};

class TypeFigures {
 public:
  static constexpr Duration k_scaled_from = std::chrono::milliseconds(200);
  static constexpr Duration k_scaled_median = std::chrono::milliseconds(100);
  static constexpr std::size_t k_suspects_max = 8;
  static constexpr double k_coincidence = 0.002;

  [[nodiscard]] std::optional<Duration> median() const { return times_.median(); }
  [[nodiscard]] std::optional<Duration> scaled(std::optional<Duration> took) const;

  void given(AgentHandle agent) {
    if (agent == workers_[0]) return;
    workers_[1] = workers_[0];
    workers_[0] = agent;
  }
  void completed(AgentHandle agent, std::optional<Duration> took);
  void failed_for_good(AgentHandle agent);
  // Whom to ask whether it is there: the last one besides `agent` that was given a task of this type.
  [[nodiscard]] AgentHandle worker_beside(AgentHandle agent) const {
    return workers_[0] == agent ? workers_[1] : workers_[0];
  }
  // How many tasks of this type the agent failed for good since it last completed one.
  [[nodiscard]] std::uint32_t in_row(AgentHandle agent) const;
  [[nodiscard]] bool suspects(AgentHandle agent, std::uint32_t in_row) const;
  // How often a task of this type fails for good at the others; zero while nothing is known of them.
  [[nodiscard]] double failing_beside(AgentHandle agent) const;

 private:
  struct Suspect {
    AgentHandle agent;
    std::uint32_t in_row = 0;
    std::uint32_t counted = 0;  // of permanent_
  };
  void fade();

  RunTimes times_;
  std::array<AgentHandle, 2> workers_{};
  std::uint32_t completed_ = 0;    // lately
  std::uint32_t permanent_ = 0;    // lately
  std::vector<Suspect> suspects_;  // the one that failed longest ago first
};

// Types by name, at most `types_max`; the one not asked for longest makes room.
class TypeTable {
 public:
  explicit TypeTable(std::size_t types_max) : types_max_(types_max) {}

  [[nodiscard]] TypeRef find_or_add(std::string_view name);
  // nullptr: it was never there, or has made room.
  [[nodiscard]] TypeFigures* at(TypeRef type) {
    if (type.slot >= types_.size() || types_[type.slot].incarnation != type.incarnation) return nullptr;
    return &types_[type.slot].figures;
  }
  [[nodiscard]] const TypeFigures* at(TypeRef type) const { return const_cast<TypeTable*>(this)->at(type); }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    TypeFigures figures;
    std::string name;
    std::uint64_t used = 0;
    std::uint32_t incarnation = 0;
  };

  std::size_t types_max_;
  std::vector<Entry> types_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> names_;
  std::uint64_t uses_ = 0;
};

}  // namespace skein::inline v0
