// The ids of events on the streams of a legacy session, which a client shows as Last-Event-ID to go on with a stream.
// Pure; any thread.
//
// "1f3a-7-3": the third event of the seventh stream of the process with that stamp. The events of a request's stream
// also have the request's id, "1f3a-7-3-NDE": when the process and the stream are gone, the request can still be
// answered. A client that makes one up only deceives itself.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/mcp/outlet.hpp"

namespace skein::inline v0::mcp {

struct EventId {
  std::uint64_t stamp = 0;  // of the session's process
  StreamId stream = k_own_stream;
  std::uint64_t number = 0;
  boost::json::value asked{};  // the request's id; null: none, or it is not known
};

// Nothing when it is no such id.
[[nodiscard]] std::optional<EventId> parse_event_id(std::string_view text);

// What stands at the end of the ids of a request's events.
[[nodiscard]] std::string event_id_ending(const boost::json::value& asked);
[[nodiscard]] std::string event_id_text(std::uint64_t stamp, StreamId stream, std::uint64_t number,
                                        std::string_view ending);

}  // namespace skein::inline v0::mcp
