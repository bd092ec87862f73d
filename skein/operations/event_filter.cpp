#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "skein/base/suggestion.hpp"
#include "skein/operations/event_stream.hpp"

namespace skein::inline v0::operations {

Result<EventFilter> event_filter(ledger::TaskId task, const std::vector<std::string>& kinds) {
  std::vector<std::string_view> names;
  names.reserve(k_event_kinds);
  for (std::size_t i = 0; i < k_event_kinds; ++i) names.push_back(name_of(static_cast<Event::Kind>(i)));
  EventFilter filter;
  filter.task = task;
  for (const std::string& each : kinds) {
    const auto found = std::ranges::find(names, each);
    if (found == names.end()) {
      const std::string meant = suggestion(each, names);
      return std::unexpected(invalid(fmt::format("there is no kind of event '{}'{}", each,
                                                 meant.find("did you mean") != std::string::npos ? meant : ""),
                                     fmt::format("choose among {}", fmt::join(names, ", "))));
    }
    filter.kinds.insert(static_cast<Event::Kind>(found - names.begin()));
  }
  return filter;
}

}  // namespace skein::inline v0::operations
