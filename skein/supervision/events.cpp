#include "skein/supervision/events.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "skein/supervision/json_text.hpp"

namespace skein::inline v0 {

std::string_view event_name(EventKind kind) {
  switch (kind) {
    case EventKind::child_started:
      return "child_started";
    case EventKind::child_start_failed:
      return "child_start_failed";
    case EventKind::child_terminated:
      return "child_terminated";
    case EventKind::child_restarted:
      return "child_restarted";
    case EventKind::child_retried:
      return "child_retried";
    case EventKind::child_backing_off:
      return "child_backing_off";
    case EventKind::child_parked:
      return "child_parked";
    case EventKind::child_stopped:
      return "child_stopped";
    case EventKind::shutdown_error:
      return "shutdown_error";
    case EventKind::intensity_warning:
      return "intensity_warning";
    case EventKind::intensity_exceeded:
      return "intensity_exceeded";
    case EventKind::escalated:
      return "escalated";
    case EventKind::auto_shutdown:
      return "auto_shutdown";
    case EventKind::leftovers:
      return "leftovers";
    case EventKind::reconfigured:
      return "reconfigured";
    case EventKind::supervisor_started:
      return "supervisor_started";
    case EventKind::supervisor_stopped:
      return "supervisor_stopped";
  }
  return "unknown";
}

std::string_view level_name(EventLevel level) {
  switch (level) {
    case EventLevel::debug:
      return "debug";
    case EventLevel::info:
      return "info";
    case EventLevel::warning:
      return "warning";
    case EventLevel::error:
      return "error";
  }
  return "unknown";
}

std::string reason_text(const ExitReason& reason, std::size_t depth) {
  std::string text;
  for (const ExitReason* each = &reason; each != nullptr; each = each->cause()) {
    if (!text.empty()) text += ", because ";
    if (depth-- == 0) return text + "...";
    text += each->text();
  }
  return text;
}

namespace {

std::string what_happened(const SupervisionEvent& event, const EventFormat& format) {
  const std::string child =
      event.pid ? fmt::format("child {} {}", event.child, event.pid.text()) : fmt::format("child {}", event.child);
  const auto reason = [&] { return reason_text(event.reason, format.depth); };
  const auto delay_ms = std::chrono::duration_cast<std::chrono::milliseconds>(event.delay).count();
  switch (event.kind) {
    case EventKind::child_started:
      return child + " started";
    case EventKind::child_start_failed:
      return fmt::format("the start of {} failed: {}", child, reason());
    case EventKind::child_terminated:
      return fmt::format("{} ended: {}", child, reason());
    case EventKind::child_restarted:
      return child + " started again";
    case EventKind::child_retried:
      return fmt::format("the start of {} failed: {}; next attempt in {} ms", child, reason(), delay_ms);
    case EventKind::child_backing_off:
      return fmt::format("{} is started again in {} ms", child, delay_ms);
    case EventKind::child_parked:
      return fmt::format("{} spent its budget and is parked for {} ms", child, delay_ms);
    case EventKind::child_stopped:
      return child + " stopped";
    case EventKind::shutdown_error:
      return fmt::format("{} was stopped but ended with {} ({} times)", child, reason(), event.count);
    case EventKind::intensity_warning:
      return fmt::format("{} of {} restarts used, the last by {}", event.used, event.intensity, child);
    case EventKind::intensity_exceeded:
      return fmt::format("more than {} restarts, gives up over {}", event.intensity, child);
    case EventKind::escalated:
      return fmt::format("ends with the reason of {}: {}", child, reason());
    case EventKind::auto_shutdown:
      return "a significant child ended, shuts down";
    case EventKind::leftovers:
      return fmt::format("{} processes of a dead child supervisor are still dying", event.count);
    case EventKind::reconfigured:
      return "reconfigured";
    case EventKind::supervisor_started:
      return "started";
    case EventKind::supervisor_stopped:
      return fmt::format("stopped: {}", reason());
  }
  return "unknown event";
}

}  // namespace

std::string event_text(const SupervisionEvent& event, const EventFormat& format) {
  std::string text = fmt::format("{} {}: {} ({} children)", level_name(event.level), event.supervisor,
                                 what_happened(event, format), event.children);
  if (format.single_line) {
    std::ranges::replace(text, '\n', ' ');
    std::ranges::replace(text, '\r', ' ');
  }
  constexpr std::string_view k_cut = "...";
  if (text.size() > format.max_chars) {
    text.resize(std::max(format.max_chars, k_cut.size()) - k_cut.size());
    text += k_cut;
  }
  return text;
}

std::string event_json(const SupervisionEvent& event) {
  using detail::json_string;
  std::string json = fmt::format(R"({{"event":"{}","level":"{}","at_ns":{},"supervisor":{},"supervisor_pid":"{}")",
                                 event_name(event.kind), level_name(event.level), event.at.time_since_epoch().count(),
                                 json_string(event.supervisor), event.supervisor_pid.text());
  if (!event.child.empty()) json += fmt::format(R"(,"child":{})", json_string(event.child));
  if (event.pid) json += fmt::format(R"(,"pid":"{}")", event.pid.text());
  json += fmt::format(R"(,"reason":{},"delay_ns":{},"used":{},"intensity":{},"count":{},"children":{}}})",
                      json_string(event.reason.text()), event.delay.count(), event.used, event.intensity, event.count,
                      event.children);
  return json;
}

}  // namespace skein::inline v0
