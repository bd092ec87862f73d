#include "skein/routing/type_figures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace skein::inline v0 {
namespace {

constexpr std::uint32_t k_outcomes_fade_at = 64;

}  // namespace

// Bucket 0 is below a millisecond; then four per octave.
std::size_t RunTimes::bucket_of(Duration took) {
  const std::int64_t count = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (count <= 0) return 0;
  const auto ms = static_cast<std::uint64_t>(count);
  const auto octave = static_cast<unsigned>(std::bit_width(ms)) - 1U;
  const std::uint64_t quarter = (octave >= 2 ? ms >> (octave - 2U) : ms << (2U - octave)) & 3U;
  return std::min<std::size_t>(1 + 4 * std::size_t{octave} + static_cast<std::size_t>(quarter), k_buckets - 1);
}

void RunTimes::record(Duration took) {
  if (total_ >= k_fades_at) {
    total_ = below_ = 0;
    for (std::uint16_t& each : counts_) {
      each = static_cast<std::uint16_t>(each / 2);
      total_ += each;
    }
    for (std::uint32_t i = 0; i < at_; ++i) below_ += counts_[i];
  }
  const std::size_t bucket = bucket_of(took);
  ++counts_[bucket];
  ++total_;
  below_ += bucket < at_ ? 1 : 0;
  recorded_ = std::min(recorded_ + 1, k_known);
  settle();
}

// Moves to the first bucket up to whose end at least half of the times lie.
void RunTimes::settle() {
  const std::uint32_t before = at_;
  while (at_ > 0 && below_ * 2 >= total_) below_ -= counts_[--at_];
  while ((below_ + counts_[at_]) * 2 < total_) below_ += counts_[at_++];
  if (at_ != before || recorded_ == 1) median_ = middle_of(at_);
}

Duration RunTimes::middle_of(std::uint32_t bucket) {
  if (bucket == 0) return std::chrono::microseconds(500);
  const std::uint32_t octave = (bucket - 1) / 4;
  const std::uint32_t quarter = (bucket - 1) % 4;
  const double ms = std::ldexp(1.0 + (quarter + 0.5) / 4, static_cast<int>(octave));
  return Duration(static_cast<std::int64_t>(ms * 1e6));
}

std::optional<Duration> TypeFigures::scaled(std::optional<Duration> took) const {
  if (!took) return std::nullopt;
  const auto usual = median();
  if (!usual) return *took < k_scaled_from ? took : std::nullopt;
  if (*usual < k_scaled_from) return took;
  const double medians = static_cast<double>(took->count()) / static_cast<double>(usual->count());
  // A day beside the shortest median is a million of them: far from an overflow.
  return Duration(static_cast<std::int64_t>(medians * static_cast<double>(k_scaled_median.count())));
}

void TypeFigures::fade() {
  if (completed_ + permanent_ < k_outcomes_fade_at) return;
  completed_ /= 2;
  permanent_ /= 2;
  for (Suspect& each : suspects_) each.counted /= 2;
}

void TypeFigures::completed(AgentHandle agent, std::optional<Duration> took) {
  if (took) times_.record(*took);
  ++completed_;
  fade();
  if (!suspects_.empty()) std::erase_if(suspects_, [&](const Suspect& each) { return each.agent == agent; });
}

void TypeFigures::failed_for_good(AgentHandle agent) {
  const auto known = std::ranges::find(suspects_, agent, &Suspect::agent);
  Suspect suspect{agent, 0, 0};
  if (known != suspects_.end()) {
    suspect = *known;
    suspects_.erase(known);
  } else if (suspects_.size() == k_suspects_max) {
    suspects_.erase(suspects_.begin());
  }
  ++suspect.in_row;
  ++suspect.counted;
  suspects_.push_back(suspect);
  ++permanent_;
  fade();
}

std::uint32_t TypeFigures::in_row(AgentHandle agent) const {
  const auto known = std::ranges::find(suspects_, agent, &Suspect::agent);
  return known == suspects_.end() ? 0 : known->in_row;
}

// Laplace's estimate.
double TypeFigures::failing_beside(AgentHandle agent) const {
  const auto known = std::ranges::find(suspects_, agent, &Suspect::agent);
  const std::uint32_t own = known == suspects_.end() ? 0 : known->counted;
  const std::uint32_t of_others = permanent_ - std::min(permanent_, own);
  if (completed_ + of_others == 0) return 0;
  return (of_others + 1.0) / (of_others + completed_ + 2.0);
}

bool TypeFigures::suspects(AgentHandle agent, std::uint32_t in_row) const {
  const std::uint32_t its = this->in_row(agent);
  return its >= in_row && std::pow(failing_beside(agent), its) < k_coincidence;
}

TypeRef TypeTable::find_or_add(std::string_view name) {
  if (const auto known = names_.find(name); known != names_.end()) {
    types_[known->second].used = ++uses_;
    return {known->second, types_[known->second].incarnation};
  }
  std::uint32_t slot = 0;
  if (types_.size() < types_max_) {
    slot = static_cast<std::uint32_t>(types_.size());
    types_.emplace_back();
  } else {
    const auto oldest = std::ranges::min_element(types_, {}, &Entry::used);
    slot = static_cast<std::uint32_t>(oldest - types_.begin());
    names_.erase(oldest->name);
    oldest->figures = TypeFigures{};
    ++oldest->incarnation;
  }
  Entry& entry = types_[slot];
  entry.name = name;
  entry.used = ++uses_;
  names_.emplace(entry.name, slot);
  return {slot, entry.incarnation};
}

}  // namespace skein::inline v0
