// The node's events as server-sent events. An event's id has the stamp of its stream, so that a reader that comes back
// after a restart of the node is not mistaken for one that has already seen the new events.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "skein/net/http_status.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/rest/rest_service.hpp"

namespace skein::inline v0::rest {
namespace {

constexpr std::size_t k_rest_events_at_once = 256;
constexpr int k_come_back_after_ms = 500;

struct SeenId {
  std::uint64_t stamp = 0;
  std::uint64_t sequence = 0;
};

// "1f3a-27": the 27th event of the stream with that stamp.
std::optional<SeenId> parse_seen(std::string_view text) {
  SeenId id;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), text.data() + text.size(), id.stamp, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, id.sequence);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return id;
}

}  // namespace

void RestService::begin_events(Self self, const net::HttpRequest& request, const json::object& params) {
  if (auto no = operations::may(*who_, "events", params)) return refuse(*no);
  const auto in = operations::read_arguments(route_->params, params);
  if (!in) return refuse(in.error());
  auto filter = operations::event_filter(in->task_id("task"), in->texts("kinds"));
  if (!filter) return refuse(filter.error());
  std::optional<std::uint64_t> after;
  if (in->has("after")) after = in->count("after");
  ops_ = setup_->hooks->operations();
  if (ops_ == nullptr) return fail(operations::to_json(operations::engine_is_away()));
  const std::string* last = request.header("last-event-id");
  const auto seen = last != nullptr ? parse_seen(*last) : std::nullopt;
  const bool is_of_before = last != nullptr && (!seen || seen->stamp != ops_->events().stamp());
  if (last != nullptr) after = is_of_before ? 0 : seen->sequence;
  call_ = std::max(call_, k_first_rest_call) + 1;
  auto made = ops_->events().subscribe(
      std::move(*filter),
      [runtime = setup_->runtime, pid = self.pid(), stream = call_] { runtime->notify(pid, EventsReady{stream}); },
      after);
  if (!made) {
    ops_.reset();
    return fail(operations::to_json(made.error()));
  }
  setup_->hooks->watch_operations(self.pid());
  events_ = std::move(*made);
  answers_.begin_stream(
      {net::http_status::k_ok,
       {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
       ""});
  answers_.send_event(fmt::format("retry: {}\n\n", k_come_back_after_ms));
  if (is_of_before) answers_.send_event("event: restarted\ndata: {}\n\n");
  self.send(self.pid(), EventsReady{call_});
  watch_standing(self);
}

void RestService::watch_standing(Self self) {
  if (!who_->holds()) return expel();
  if (who_->standing == nullptr) return;
  self.send_after(operations::until_standing_look(self.now()), self.pid(), StandingCheck{call_});
}

void RestService::expel() {
  const json::object error{{"error", operations::to_json(operations::no_longer_valid(*who_))}};
  answers_.send_event(fmt::format("event: ended\ndata: {}\n\n", operations::json_text(error)));
  end_events();
}

void RestService::pump_events(Self self) {
  if (events_ == nullptr) return;
  if (!who_->holds()) return expel();
  is_held_back_ = answers_.is_full();
  if (is_held_back_) return;
  const operations::EventBatch batch = events_->take(k_rest_events_at_once);
  if (batch.missed > 0) answers_.send_event(fmt::format("event: missed\ndata: {{\"missed\":{}}}\n\n", batch.missed));
  const std::uint64_t stamp = ops_->events().stamp();
  for (const operations::Event& each : batch.events) {
    answers_.send_event(fmt::format("id: {:x}-{}\nevent: {}\ndata: {}\n\n", stamp, each.sequence,
                                    operations::name_of(each.kind), operations::json_text(operations::to_json(each))));
  }
  if (batch.more) self.send(self.pid(), EventsReady{call_});
}

void RestService::on_drained(Self self) {
  if (is_held_back_) self.send(self.pid(), EventsReady{call_});
  is_held_back_ = false;
}

void RestService::end_events() {
  events_.reset();
  ops_.reset();
  answers_.end_stream();
}

}  // namespace skein::inline v0::rest
