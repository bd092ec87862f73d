#include "skein/mcp/line_session.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/message_glance.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr StreamId k_line_stream = 1;  // they all are the connection

}  // namespace

void LineSession::on_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) driver_.core().receive(k_line_stream, line);
}

void LineSession::on_long_line(std::string_view beginning) {
  send(k_line_stream,
       make_error(MessageGlance(beginning).id_to_answer(),
                  {k_invalid_request, fmt::format("a line has more than {} bytes", k_message_bytes_max), {}}),
       Outlet::Then::end, 0);
}

void LineSession::send(StreamId, json::object message, Outlet::Then, int) {
  wire_.put(operations::json_text(message));
  wire_.put("\n");
}

void LineSession::send_batch(StreamId, std::vector<json::object> answers) {
  json::array all;
  all.reserve(answers.size());
  for (json::object& each : answers) all.push_back(std::move(each));
  wire_.put(operations::json_text(all));
  wire_.put("\n");
}

}  // namespace skein::inline v0::mcp
