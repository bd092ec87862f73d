// Clients that want to know what changes: resources/subscribe of the legacy era, subscriptions/listen of the modern
// one.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/core.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/net/http_status.hpp"

namespace skein::inline v0::mcp {
namespace {

// A resource that changes all the time is told of so often.
constexpr std::chrono::milliseconds k_update_pause{200};
constexpr const char* k_task_ids = "taskIds";

constexpr std::string_view notification_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::tools:
      return "notifications/tools/list_changed";
    case Change::Kind::prompts:
      return "notifications/prompts/list_changed";
    case Change::Kind::resources:
      return "notifications/resources/list_changed";
    case Change::Kind::resource:
    case Change::Kind::task:
      break;
  }
  return "notifications/resources/updated";
}

constexpr const char* filter_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::tools:
      return "toolsListChanged";
    case Change::Kind::prompts:
      return "promptsListChanged";
    case Change::Kind::resources:
      return "resourcesListChanged";
    case Change::Kind::resource:
    case Change::Kind::task:
      break;
  }
  return "resourceSubscriptions";
}

bool wants(const json::object& filter, const Change& change) {
  const json::value* found = filter.if_contains(filter_of(change.kind));
  if (found == nullptr) return false;
  if (change.kind != Change::Kind::resource) return *found == true;
  const json::array* uris = found->if_array();
  return uris != nullptr && std::ranges::find(*uris, json::value(change.uri)) != uris->end();
}

}  // namespace

void McpCore::subscribe(Exchange& exchange, const json::object& params) {
  const json::string* uri = string_in(params, "uri");
  if (uri == nullptr) return exchange.fail({k_invalid_params, "resources/subscribe needs a uri", nullptr});
  if (setup_.catalog->resource(*uri).resource == nullptr) {
    return exchange.fail({k_resource_not_found, "there is no such resource", json::object{{"uri", *uri}}});
  }
  if_may_watch(exchange, {std::string(*uri)}, [this, uri = std::string(*uri)](Exchange& asked) {
    if (subscriptions_.size() >= k_subscriptions_max) {
      return asked.fail({k_internal_error, "too many subscriptions; end some with resources/unsubscribe", nullptr});
    }
    subscriptions_.insert(uri);
    asked.finish({});
  });
}

// A list, such as skein://tasks, changes with what a bound token may not see: only single things can be watched.
void McpCore::if_may_watch(Exchange& exchange, std::vector<std::string> uris, Exchange::OnTime then) {
  if (!setup_.who->is_bound() || uris.empty()) return then(exchange);
  const std::string uri = std::move(uris.back());
  uris.pop_back();
  const Catalog::Found found = setup_.catalog->resource(uri);
  const Resource::Source* one = found.resource != nullptr ? &found.resource->resource.source : nullptr;
  if (one == nullptr || one->member.empty()) {
    return exchange.fail(
        {k_invalid_params,
         fmt::format("{} is limited to some swarms or tasks, and may subscribe to these only", setup_.who->words()),
         json::object{{"uri", uri}}});
  }
  exchange.ask_node(
      one->operation, {{one->member, found.variable}},
      [this, uri, uris = std::move(uris), then = std::move(then)](Exchange& asked, const NodeAnswer& answer) {
        if (answer.kind == NodeAnswer::Kind::error) {
          return asked.fail({k_invalid_params, error_text(answer.value), json::object{{"uri", uri}}});
        }
        if_may_watch(asked, uris, then);
      });
}

void McpCore::unsubscribe(Exchange& exchange, const json::object& params) {
  const json::string* uri = string_in(params, "uri");
  if (uri == nullptr) return exchange.fail({k_invalid_params, "resources/unsubscribe needs a uri", nullptr});
  subscriptions_.erase(std::string(*uri));
  exchange.finish({});
}

void McpCore::listen(Exchange& exchange, const json::object& params) {
  const json::object* asked = object_in(params, "notifications");
  if (asked == nullptr) {
    return exchange.fail({k_invalid_params, "subscriptions/listen needs notifications, an object", nullptr});
  }
  json::object filter;
  std::vector<std::string> watched;
  for (const Change::Kind each : {Change::Kind::tools, Change::Kind::prompts, Change::Kind::resources}) {
    const json::value* wanted = asked->if_contains(filter_of(each));
    if (wanted != nullptr && *wanted == true) filter[filter_of(each)] = true;
  }
  if (const json::value* wanted = asked->if_contains(filter_of(Change::Kind::resource))) {
    const json::array* uris = wanted->if_array();
    const auto is_text = [](const json::value& each) { return each.is_string(); };
    if (uris == nullptr || uris->size() > k_subscriptions_max || !std::ranges::all_of(*uris, is_text)) {
      return exchange.fail({k_invalid_params,
                            fmt::format("resourceSubscriptions must be a list of at most {} uris", k_subscriptions_max),
                            nullptr});
    }
    filter[filter_of(Change::Kind::resource)] = *uris;
    for (const json::value& each : *uris) watched.emplace_back(each.get_string());
  }
  json::array tasks;
  if (const json::value* wanted = asked->if_contains(k_task_ids)) {
    const json::array* handles = wanted->if_array();
    if (!exchange.can_task()) return missing_tasks(exchange);
    if (handles == nullptr || handles->size() > k_subscriptions_max) {
      return exchange.fail(
          {k_invalid_params, fmt::format("taskIds must be a list of at most {}", k_subscriptions_max), nullptr});
    }
    filter[k_task_ids] = json::array();
    tasks = *handles;
  }
  if_may_watch(exchange, std::move(watched),
               [this, filter = std::move(filter), tasks = std::move(tasks)](Exchange& then) {
                 begin_listening(then, filter, tasks);
               });
}

void McpCore::begin_listening(Exchange& exchange, json::object filter, const json::array& handles) {
  if (listening() >= k_listens_max) {
    return exchange.fail({k_internal_error, "too many subscriptions at once; end one of them", nullptr});
  }
  if (filter.contains(k_task_ids)) filter[k_task_ids] = watch_tasks(exchange, handles);
  exchange.is_listening_ = true;
  exchange.filter_ = std::move(filter);
  send(exchange,
       make_notification("notifications/subscriptions/acknowledged",
                         {{"_meta", {{k_meta_subscription, exchange.id_}}}, {"notifications", exchange.filter_}}));
  tell_tasks(exchange);  // one of them may have ended meanwhile
}

std::size_t McpCore::listening() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      exchanges_, [](const auto& each) { return each.second->is_listening_ && !each.second->is_over_; }));
}

void McpCore::watch_if_needed() {
  const auto of_resources = [](const auto& each) {
    return each.second->filter_.contains(filter_of(Change::Kind::resource)) || !each.second->watched_.empty();
  };
  Outlet::Watch needed = Outlet::Watch::nothing;
  if (session_ || listening() > 0) needed = Outlet::Watch::lists;
  if (!subscriptions_.empty() || std::ranges::any_of(exchanges_, of_resources)) needed = Outlet::Watch::everything;
  if (needed == watched_) return;
  watched_ = needed;
  outlet_.watch(needed);
}

void McpCore::changed(const Change& change) {
  if (change.kind == Change::Kind::task) return task_changed(change.uri);
  if (change.kind != Change::Kind::resource) return tell(change);
  const auto is_wanted = [&](const auto& each) { return wants(each.second->filter_, change); };
  if (!subscriptions_.contains(change.uri) && std::ranges::none_of(exchanges_, is_wanted)) return;
  if (pause_timer_ != 0) {
    held_back_.insert(change.uri);
    return;
  }
  tell(change);
  pause_updates();
}

std::set<std::string> McpCore::resources_watched() const {
  std::set<std::string> all(subscriptions_.begin(), subscriptions_.end());
  for (const auto& each : exchanges_) {
    const json::value* uris = each.second->filter_.if_contains(filter_of(Change::Kind::resource));
    if (uris == nullptr) continue;
    for (const json::value& uri : uris->as_array()) all.emplace(uri.as_string());
  }
  return all;
}

void McpCore::lost_track() {
  look_at_tasks();
  for (const std::string& each : resources_watched()) changed({Change::Kind::resource, each});
}

void McpCore::pause_updates() {
  pause_timer_ = ++last_number_;
  outlet_.wake_after(pause_timer_, k_update_pause);
}

void McpCore::tell(const Change& change) {
  if (!setup_.who->holds()) return;
  json::object params;
  if (change.kind == Change::Kind::resource) params["uri"] = change.uri;
  if (session_ && (change.kind != Change::Kind::resource || subscriptions_.contains(change.uri))) {
    outlet_.send(k_own_stream, make_notification(notification_of(change.kind), params), Outlet::Then::more,
                 net::http_status::k_ok);
  }
  for (const auto& each : exchanges_) {
    Exchange& exchange = *each.second;
    if (!exchange.is_listening_ || exchange.is_over_ || !wants(exchange.filter_, change)) continue;
    json::object tagged = params;
    tagged["_meta"] = json::object{{k_meta_subscription, exchange.id_}};
    send(exchange, make_notification(notification_of(change.kind), std::move(tagged)));
  }
}

}  // namespace skein::inline v0::mcp
