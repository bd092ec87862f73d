#include "skein/mcp/http_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>
#include <utility>

#include "skein/net/http_status.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_session_purpose = "session";
constexpr Duration k_session_idle = std::chrono::minutes(30);
constexpr Duration k_session_shutdown = std::chrono::seconds(5);

constexpr const char* k_lost_by_restart =
    "the node was restarted and the answer was lost: check what was done, then call again";
constexpr const char* k_lost_here = "the answer is no longer stored: check what was done, then call again";

}  // namespace

std::string session_id(const Sealer& sealer, const LegacySession& session, std::uint64_t nonce) {
  json::array capabilities;
  for (const std::string& each : session.capabilities) capabilities.emplace_back(each);
  return sealer.seal(k_session_purpose,
                     json::serialize(json::object{
                         {"v", session.version}, {"c", std::move(capabilities)}, {"n", nonce}, {"w", session.who}}));
}

std::optional<LegacySession> session_of(const Sealer& sealer, const std::string& id) {
  const auto text = sealer.open(k_session_purpose, id);
  // One session has one id, or it could come back by another after it was ended.
  if (!text || sealer.seal(k_session_purpose, *text) != id) return std::nullopt;
  const json::value state = json::parse(*text);
  // Sessions from before tokens had names belong to the holder of the first token.
  const std::string who = state.as_object().contains("w") ? std::string(state.at("w").as_string()) : "http";
  LegacySession session{std::string(state.at("v").as_string()), {}, who};
  for (const json::value& each : state.at("c").as_array()) session.capabilities.emplace(each.as_string());
  return session;
}

Pid SessionTable::find(const std::string& id, const operations::Principal& who) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  return found != sessions_.end() && who.has_label(found->second.who) ? found->second.pid : Pid{};
}

bool SessionTable::claim(const std::string& id, Pid pid, std::string who) {
  const std::scoped_lock lock(mutex_);
  if (sessions_.size() >= k_sessions_max || ended_.contains(id)) return false;
  return sessions_.emplace(id, Held{pid, std::move(who)}).second;
}

void SessionTable::leave(const std::string& id, Pid pid) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found != sessions_.end() && found->second.pid == pid) sessions_.erase(found);
}

void SessionTable::end(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  sessions_.erase(id);
  if (!ended_.insert(id).second) return;
  ended_order_.push_back(id);
  if (ended_order_.size() <= k_ended_sessions_max) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

bool SessionTable::has_ended(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  return ended_.contains(id);
}

std::size_t SessionTable::size() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

HttpSession::HttpSession(Self self, std::shared_ptr<const SessionSetup> setup, std::shared_ptr<const std::string> id)
    : setup_(std::move(setup)),
      id_(std::move(id)),
      self_(self),
      driver_(self, setup_->server, operations::anyone(), *this),
      stamp_(std::random_device()()),
      active_at_(self.now()) {}

HttpSession::~HttpSession() {
  if (is_claimed_) setup_->table->leave(*id_, self_.pid());
}

Init HttpSession::init(Self self) {
  auto session = session_of(*setup_->server->sealer, *id_);
  // Another connection may have been quicker to bring it back.
  if (!session || !setup_->table->claim(*id_, self.pid(), session->who)) return Init::ignore();
  is_claimed_ = true;
  driver_.core().resume(std::move(*session));
  streams_[k_own_stream];
  self.send_after(k_session_idle, self.pid(), IdleCheck{});
  return Init::ok();
}

std::string HttpSession::describe() const {
  return fmt::format("version {}, {} streams", driver_.core().session()->version, streams_.size());
}

void HttpSession::handle_info(Self self, Message message) {
  if (driver_.take(message)) return;
  if (auto* post = message.get_if<SessionPost>()) {
    active_at_ = self.now();
    on_post(*post);
  } else if (auto* listen = message.get_if<SessionListen>()) {
    active_at_ = self.now();
    const bool is_attempt = listen->who->kind == operations::Principal::Kind::task;
    if (is_attempt) return check_listener(std::move(*listen));
    on_listen(*listen);
  } else if (const auto* checked = message.get_if<ListenChecked>()) {
    on_checked(*checked);
  } else if (const auto* gone = message.get_if<SessionGone>()) {
    on_gone(*gone);
  } else if (message.is<SessionEnd>()) {
    self.stop();  // connections that wait for it answer for themselves
  } else if (message.is<IdleCheck>()) {
    const bool is_used = streams_.at(k_own_stream).connection || driver_.core().under_way() > 0;
    if (!is_used && between(active_at_, self.now()) >= k_session_idle) return self.stop();
    self.send_after(k_session_idle, self.pid(), IdleCheck{});
  }
}

void HttpSession::on_post(SessionPost& post) {
  driver_.core().act_for(std::move(post.who));
  const StreamId id = ++last_stream_;
  Stream& stream = streams_[id];
  stream.connection = post.connection;
  stream.exchange = post.exchange;
  if (post.batch) return driver_.core().receive(id, *post.batch);
  if (post.message->kind == RpcMessage::Kind::request) {
    stream.ending = std::make_shared<const std::string>(event_id_ending(post.message->id));
  }
  driver_.core().receive(id, std::move(*post.message));
}

// The token of an attempt may be void although nobody has said so here: the ledger knows.
void HttpSession::check_listener(SessionListen listen) {
  const auto asks = std::make_shared<const SessionListen>(std::move(listen));
  operations::Reply<std::string> then(
      [runtime = setup_->server->runtime, pid = self_.pid(), asks](operations::Result<std::string>&& found) {
        ListenChecked checked{asks};
        if (!found) checked.refusal = std::make_shared<const std::string>(found.error().describe() + "\n");
        runtime->notify(pid, std::move(checked));
      });
  operations::check_standing(*setup_->server->hooks, *asks->who, std::move(then));
}

void HttpSession::on_checked(const ListenChecked& checked) {
  if (checked.refusal == nullptr) return on_listen(*checked.listen);
  Stream none;
  none.connection = checked.listen->connection;
  none.exchange = checked.listen->exchange;
  tell(none, {.kind = SessionEvent::Kind::refused, .status = net::http_status::k_forbidden, .text = checked.refusal});
}

// A stream of a request that is not here any more must not become the session's own: the client has that one, too, and
// each would end the other, again and again.
void HttpSession::on_listen(const SessionListen& listen) {
  driver_.core().act_for(listen.who);
  driver_.watch_standing();
  const auto event = listen.last_event ? parse_event_id(*listen.last_event) : std::nullopt;
  const bool is_of_this_process = event && event->stamp == stamp_;
  if (!event || event->stream == k_own_stream) {
    return attach(k_own_stream, streams_.at(k_own_stream), listen.connection, listen.exchange,
                  is_of_this_process ? event->number : UINT64_MAX);
  }
  const auto found = is_of_this_process ? streams_.find(event->stream) : streams_.end();
  if (found == streams_.end()) return answer_lost(listen, *event);
  attach(found->first, found->second, listen.connection, listen.exchange, event->number);
}

void HttpSession::answer_lost(const SessionListen& listen, const EventId& event) {
  Stream lost;
  lost.connection = listen.connection;
  lost.exchange = listen.exchange;
  if (event.asked.is_null()) return tell(lost, {.kind = SessionEvent::Kind::refused});
  lost.ending = std::make_shared<const std::string>(event_id_ending(event.asked));
  const char* const why = event.stamp == stamp_ ? k_lost_here : k_lost_by_restart;
  auto text = std::make_shared<const std::string>(
      operations::json_text(make_error(event.asked, {k_internal_error, why, nullptr})));
  tell(lost, {.kind = SessionEvent::Kind::message, .stream = event.stream, .number = event.number});
  lost.ending = nullptr;  // SDK 1 comes back after an error, for ever; with an id that names no request it is refused
  tell(lost, {.kind = SessionEvent::Kind::last_message,
              .stream = event.stream,
              .number = event.number + 1,
              .text = std::move(text)});
}

void HttpSession::attach(StreamId id, Stream& stream, Pid connection, std::uint64_t exchange, std::uint64_t after) {
  // The newest connection is the live one: the older one is closed.
  if (stream.connection) tell(stream, {.kind = SessionEvent::Kind::end});
  stream.connection = connection;
  stream.exchange = exchange;
  // An end would be answered by another GET, once a second for ever.
  if (stream.is_over && (stream.kept.empty() || after >= stream.sent)) {
    tell(stream, {.kind = SessionEvent::Kind::refused});
    stream.connection = {};
    return;
  }
  tell(stream, {.kind = SessionEvent::Kind::message, .stream = id, .number = std::min(after, stream.sent)});
  for (const Kept& each : stream.kept) {
    if (each.number <= after) continue;
    tell(stream, {.kind = each.is_last ? SessionEvent::Kind::last_message : SessionEvent::Kind::message,
                  .stream = id,
                  .number = each.number,
                  .text = each.text});
  }
  if (stream.is_over) stream.connection = {};
}

void HttpSession::on_gone(const SessionGone& gone) {
  for (auto& [id, stream] : streams_) {
    if (stream.connection == gone.connection && stream.exchange == gone.exchange) stream.connection = {};
  }
}

void HttpSession::tell(const Stream& stream, SessionEvent event) {
  if (!stream.connection) return;
  event.exchange = stream.exchange;
  event.stamp = stamp_;
  event.ending = stream.ending;
  event.primes = driver_.core().session()->version == k_legacy_version;
  setup_->server->runtime->notify(stream.connection, std::move(event));
}

void HttpSession::send(StreamId to, json::object message, Outlet::Then then, int status) {
  const auto found = streams_.find(to);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  const bool is_last = then == Outlet::Then::end;
  auto text = std::make_shared<const std::string>(operations::json_text(message));
  const bool is_whole_answer = is_last && stream.sent == 0;
  tell(stream, {.kind = is_last ? SessionEvent::Kind::last_message : SessionEvent::Kind::message,
                .status = status,
                .stream = to,
                .number = ++stream.sent,
                .text = text});
  if (is_whole_answer && stream.connection) {
    streams_.erase(found);  // no event was seen that a client could come back with
    return;
  }
  stream.kept.push_back({stream.sent, is_last, std::move(text)});
  if (stream.kept.size() > k_kept_events_max) stream.kept.pop_front();
  if (!is_last) return;
  stream.is_over = true;
  stream.connection = {};
  forget_old_streams();
}

void HttpSession::end(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || id == k_own_stream) return;
  Stream& stream = found->second;
  tell(stream, {.kind = SessionEvent::Kind::end});
  if (stream.sent == 0) {
    streams_.erase(found);  // no event was seen that a client could come back with
    return;
  }
  // A client that cancelled its request still comes back for it.
  stream.is_over = true;
  stream.connection = {};
  stream.kept.clear();
  forget_old_streams();
}

void HttpSession::let_go(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  tell(stream, {.kind = SessionEvent::Kind::let_go, .stream = id, .number = stream.sent});
  stream.connection = {};
  if (stream.sent == 0) stream.sent = 1;  // the client has an event to come back with
}

// Answers to what was asked while the token worked still come on their own streams.
void HttpSession::expelled(const operations::Error& why) {
  Stream& own = streams_.at(k_own_stream);
  if (!own.connection) return;
  auto text = std::make_shared<const std::string>(operations::json_text(
      make_notification("notifications/message", {{"level", "error"}, {"logger", "skein"}, {"data", why.describe()}})));
  tell(own, {.kind = SessionEvent::Kind::message, .number = ++own.sent, .text = std::move(text)});
  tell(own, {.kind = SessionEvent::Kind::end});
  own.connection = {};
}

void HttpSession::forget_old_streams() {
  const auto is_old = [](const auto& each) { return each.second.is_over; };
  auto count = static_cast<std::size_t>(std::ranges::count_if(streams_, is_old));
  for (auto each = streams_.begin(); each != streams_.end() && count > k_kept_streams_max;) {
    if (is_old(*each)) {
      each = streams_.erase(each);
      --count;
    } else {
      ++each;
    }
  }
}

ChildSpec session_template(std::shared_ptr<const SessionSetup> setup) {
  return pool_child<HttpSession, std::shared_ptr<const std::string>>("session", std::move(setup))
      .with(Restart::temporary)
      .with(Shutdown::after(k_session_shutdown));
}

}  // namespace skein::inline v0::mcp
