#include "skein/mcp/event_id.hpp"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>

#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/seal.hpp"

namespace skein::inline v0::mcp {
namespace {

// The request's id in the ending of an event's id; null when it is none.
boost::json::value asked_in(std::string_view ending) {
  const auto text = from_base64(ending);
  if (!text) return nullptr;
  boost::json::error_code error;
  boost::json::value id = boost::json::parse(*text, error);
  const boost::json::string* name = id.if_string();
  const bool is_id = (name != nullptr && name->size() <= k_id_bytes_max) || id.is_int64() || id.is_uint64();
  return !error && is_id ? std::move(id) : boost::json::value();
}

}  // namespace

std::optional<EventId> parse_event_id(std::string_view text) {
  EventId id;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto stamp = std::from_chars(begin, end, id.stamp, 16);
  if (stamp.ec != std::errc() || stamp.ptr == end || *stamp.ptr != '-') return std::nullopt;
  const auto stream = std::from_chars(stamp.ptr + 1, end, id.stream);
  if (stream.ec != std::errc() || stream.ptr == end || *stream.ptr != '-') return std::nullopt;
  const auto number = std::from_chars(stream.ptr + 1, end, id.number);
  if (number.ec != std::errc()) return std::nullopt;
  if (number.ptr == end) return id;
  if (*number.ptr != '-') return std::nullopt;
  id.asked = asked_in({number.ptr + 1, end});
  return id;
}

std::string event_id_ending(const boost::json::value& asked) {
  return asked.is_null() ? std::string() : "-" + to_base64url(boost::json::serialize(asked));
}

std::string event_id_text(std::uint64_t stamp, StreamId stream, std::uint64_t number, std::string_view ending) {
  return fmt::format("{:x}-{}-{}{}", stamp, stream, number, ending);
}

}  // namespace skein::inline v0::mcp
