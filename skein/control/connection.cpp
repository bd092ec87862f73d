#include "skein/control/connection.hpp"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <utility>

#include "skein/base/version.hpp"
#include "skein/control/protocol_version.hpp"
#include "skein/mcp/line_connection.hpp"

namespace skein::inline v0::control {
namespace {

using operations::engine_is_away;
using operations::invalid;
using operations::Request;

constexpr std::size_t k_reads_at_once = 8;           // then others get their turn
constexpr std::size_t k_streams_max = 16;            // of one connection
constexpr std::size_t k_events_at_once = 256;        // taken from the stream in one go
constexpr std::size_t k_stream_bytes = 1ULL << 20U;  // unsent, beyond which streams wait for the client
constexpr std::chrono::milliseconds k_tree_min{100};

// What a connection carries out itself.
bool is_own(const operations::Operation* operation) {
  return operation != nullptr && operation->is_on_socket && operation->handler == nullptr;
}

}  // namespace

Connection::Connection(Self self, std::shared_ptr<const ConnectionSetup> setup, const net::ClientPtr& client)
    : setup_(std::move(setup)),
      wire_(setup_->poller, client),
      active_at_(self.now()),
      who_(client->must_log_in ? nullptr : operations::the_owner()) {
  if (!who_) self.send_after(k_agent_hello, self.pid(), HelloCheck{});
  self.trap_exit(true);  // answers that are under way when the node stops are written first, see terminate()
  self.send_after(setup_->limits.idle, self.pid(), IdleCheck{});
  rearm(self);
}

Connection::~Connection() {
  setup_->open->fetch_sub(1);
  if (mcp_ != nullptr && setup_->attendance) setup_->attendance->go();
}

std::string Connection::describe() const {
  return fmt::format("{} under way, {} streams, {} bytes unsent", under_way_, streams_.size(), unsent());
}

bool Connection::may_read() const {
  return !is_closed_by_client_ && !is_ending_ && under_way_ < setup_->limits.requests && !is_full();
}

bool Connection::is_full() const { return unsent() >= setup_->limits.output_bytes / 2; }

bool Connection::has_held_lines() const {
  return mcp_ != nullptr && !is_ending_ && wire_.in().find('\n') != std::string::npos;
}

void Connection::rearm(Self self) { wire_.arm(self.pid(), may_read()); }

// A client that listens is told that the connection ends.
void Connection::terminate(Self, const ExitReason&) {
  if (mcp_ != nullptr) mcp_->shut_down();
  write_some();
}

bool Connection::is_idle() const {
  return under_way_ == 0 && streams_.empty() && (mcp_ == nullptr || !mcp_->is_owed_answers());
}

std::size_t Connection::line_bytes_max() const {
  return mcp_ != nullptr ? mcp::k_message_bytes_max : static_cast<std::size_t>(setup_->limits.line_bytes);
}

void Connection::handle_info(Self self, Message message) {
  if (mcp_ != nullptr && mcp_->take(message)) {
    if (!mcp_->is_welcome() && !std::exchange(is_ending_, true)) wire_.put(mcp::line_error(mcp_->why_unwelcome()));
    write_some();
    if (unsent() > setup_->limits.output_bytes) return self.stop();  // it does not read
  } else if (auto* answer = message.get_if<Answer>()) {
    on_answer(self, *answer);
  } else if (const auto* ready = message.get_if<FdReady>()) {
    on_ready(self, *ready);
  } else if (const auto* events = message.get_if<EventsReady>()) {
    pump_events(self, events->id);
  } else if (const auto* tick = message.get_if<TreeTick>()) {
    send_tree(self, tick->id);
  } else if (message.is<StandingCheck>()) {
    is_watching_standing_ = false;
    if (!who_->holds()) end_streams(operations::no_longer_valid(*who_));
    if (!streams_.empty()) watch_standing(self);
  } else if (message.is<operations::OperationsGone>()) {
    end_streams(engine_is_away());
  } else if (message.is<HelloCheck>()) {
    if (!who_) return self.stop();
  } else if (message.is<IdleCheck>()) {
    const Duration quiet = between(active_at_, self.now());
    // An MCP client may stay idle as long as it likes.
    if (quiet >= setup_->limits.idle && is_idle() && mcp_ == nullptr) return self.stop();
    self.send_after(setup_->limits.idle, self.pid(), IdleCheck{});
    return;
  }
  write_some();
  while (has_held_lines() && !is_full()) {
    take_lines(self);
    write_some();
  }
  const bool is_done = is_closed_by_client_ && is_idle();
  if ((is_ending_ || is_done) && unsent() == 0) return self.stop();
  rearm(self);
}

void Connection::on_ready(Self self, const FdReady& ready) {
  if (ready.has_ended && !may_read()) wire_.note_end();  // or it would be told so again and again
  if (ready.is_readable && may_read()) {
    read_some(self);
  } else if (ready.is_broken) {
    // Nobody is left to write to.
    streams_.clear();
    is_ending_ = true;
    wire_.drop_unsent();
  }
  if (ready.is_writable) {
    write_some();
    for (const auto& [id, stream] : streams_) {
      if (stream.events) self.send(self.pid(), EventsReady{id});
    }
    take_lines(self);
  }
}

void Connection::read_some(Self self) {
  for (std::size_t i = 0; i < k_reads_at_once && may_read(); ++i) {
    const auto got = wire_.read_some();
    if (got == net::Wire::Got::nothing) break;
    if (got == net::Wire::Got::end) {
      is_closed_by_client_ = true;
      streams_.clear();  // the client that followed has gone
      break;
    }
    active_at_ = self.now();
    take_lines(self);
  }
}

void Connection::take_lines(Self self) {
  const std::string& in = wire_.in();
  std::size_t at = 0;
  // Most of MCP is answered here and now: who asks for more than it reads waits. Other answers come from elsewhere.
  while (!is_ending_ && under_way_ < setup_->limits.requests && (mcp_ == nullptr || !is_full())) {
    const std::size_t end = in.find('\n', at);
    if (end == std::string::npos) break;
    if (end - at > line_bytes_max()) break;
    if (end > at) on_line(self, std::string_view(in).substr(at, end - at));
    at = end + 1;
  }
  wire_.consume(at);
  const std::size_t end = in.find('\n');
  if (!is_ending_ && (end == std::string::npos ? in.size() : end) > line_bytes_max()) {
    is_ending_ = true;
    if (mcp_ != nullptr) return mcp_->on_long_line(in);
    put(0, "error",
        operations::to_json(operations::Error{operations::Code::too_large,
                                              fmt::format("a line is longer than {} bytes", setup_->limits.line_bytes),
                                              "send less, or raise [socket] line_bytes",
                                              {}}));
  }
}

void Connection::on_line(Self self, std::string_view line) {
  if (mcp_ != nullptr) return mcp_->on_line(line);
  json::error_code error;
  json::parse_options options;
  options.max_depth = setup_->limits.depth;
  const json::value value = json::parse(line, error, {}, options);
  if (error)
    return put(0, "error",
               operations::to_json(operations::Error{operations::Code::invalid_json,
                                                     "the line is not JSON: " + error.message(),
                                                     "send one object per line",
                                                     {}}));
  const json::object* object = value.if_object();
  const json::value* id = object != nullptr ? object->if_contains("id") : nullptr;
  const json::value* op = object != nullptr ? object->if_contains("op") : nullptr;
  json::error_code no_number;
  const std::uint64_t number = id != nullptr ? id->to_number<std::uint64_t>(no_number) : 0;
  if (number == 0 || no_number || op == nullptr || !op->is_string()) {
    return put(0, "error", operations::to_json(invalid("a request is an object with an id above 0 and an op")));
  }
  static const json::object k_none;
  const json::value* params = object->if_contains("params");
  if (params != nullptr && !params->is_object()) {
    return put(number, "error", operations::to_json(invalid("params must be an object")));
  }
  on_request(self, number, op->get_string(), params != nullptr ? params->get_object() : k_none);
}

void Connection::on_request(Self self, std::uint64_t id, std::string_view op, const json::object& params) {
  ++under_way_;
  const Responder respond(*setup_->runtime, self.pid(), id);
  if (!said_hello_ && op != "hello") return respond.fail(invalid("the first request must be hello"));
  const operations::Operation* operation = operations::find_operation(op);
  if (version_ < k_protocol_version && has_first_form(op)) first_forms_.insert_or_assign(id, std::string(op));
  if (!is_own(operation)) return carry_out(op, Request{*setup_->hooks, params, respond, who_});
  if (auto no = who_ ? operations::may(*who_, op, params) : std::nullopt) return respond.fail(std::move(*no));
  const auto in = operations::read_arguments(operation->params, params);
  if (op == "mcp") return begin_mcp(self, id, in);
  if (!in) return respond.fail(in.error());
  if (op == "hello") return hello(respond, *in);
  if (op == "cancel") return cancel(respond, *in);
  if (streams_.contains(id) || streams_.size() >= k_streams_max) {
    return respond.fail(operations::overloaded("too many streams on one connection"));
  }
  watch_standing(self);
  if (op == "events") return begin_events(self, respond, *in);
  begin_tree(self, respond, *in);
}

void Connection::hello(const Responder& respond, const operations::Arguments& in) {
  if (auto no = log_in(in.text("token"))) {
    is_ending_ = true;
    --under_way_;
    return put(respond.id(), "error", operations::to_json(*no));
  }
  const auto version = in.count("version");
  if (version < k_oldest_protocol_version || version > k_protocol_version) {
    return respond.fail(other_version({"the skein program that asks", version}, {"this node", k_protocol_version}));
  }
  said_hello_ = true;
  version_ = static_cast<std::uint32_t>(version);
  const bool is_news = version_ < k_protocol_version && !setup_->has_met_older->exchange(true);
  if (is_news && setup_->log) setup_->log(older_program_notice(version_));
  answer_hello(respond);
}

std::optional<operations::Error> Connection::log_in(const std::string& token) {
  if (token.empty()) return who_ ? std::nullopt : std::optional(agents_need_token());
  const bool is_agent = who_ == nullptr;
  auto who = setup_->access ? setup_->access->identify(token) : nullptr;
  if (!who) {
    return operations::Error{
        operations::Code::forbidden,
        "the token of this connection (SKEIN_TOKEN) is unknown here: it was revoked or replaced, has expired, or "
        "belongs to another node",
        "unset SKEIN_TOKEN to act as the node's owner; 'skein token list' then lists the tokens "
        "that work",
        {}};
  }
  if (is_agent && who->bounds.task.none()) return agents_need_token();
  who_ = std::move(who);
  return std::nullopt;
}

// A client that may only look at a task and its children learns nothing of the rest of the node.
void Connection::answer_hello(const Responder& respond) const {
  const auto answer = [hooks = setup_->hooks, respond, is_bound = who_->is_bound(), spoken = version_] {
    respond.send(Answer::Kind::ok, [hooks, is_bound, spoken]() -> json::value {
      json::object all = operations::to_json(hooks->info()).as_object();
      json::object out{{"protocol", spoken}};
      if (spoken < k_protocol_version) out["notice"] = older_program_notice(spoken);
      for (auto& each : all) {
        if (!is_bound || each.key() == "name" || each.key() == "version") out[each.key()] = std::move(each.value());
      }
      return out;
    });
  };
  if (who_->kind != operations::Principal::Kind::task) return answer();
  const auto ops = setup_->hooks->operations();
  if (ops == nullptr) return respond.fail(engine_is_away());
  ops->check_scope({who_->bounds.task, who_->fence, {}}, {}, [respond, answer](operations::Result<std::string> found) {
    if (!found) return respond.fail(std::move(found.error()));
    answer();
  });
}

operations::Error agents_need_token() {
  return {operations::Code::forbidden,
          "this socket does not serve the node's agents or the programs that they start",
          "run skein outside of the agents, or set token = true for their executor and show SKEIN_TOKEN in hello; see "
          "docs/security.md",
          {}};
}

// Answered here and now: the next line is already MCP.
void Connection::begin_mcp(Self self, std::uint64_t id, const operations::Result<operations::Arguments>& in) {
  --under_way_;
  std::optional<operations::Error> error;
  if (!in) error = in.error();
  if (!error && setup_->mcp == nullptr) error = invalid("this node does not speak MCP");
  if (!error && !is_idle())
    error = invalid("this connection has unanswered requests", "open another connection for mcp");
  if (error) return put(id, "error", operations::to_json(*error));
  put(id, "ok", json::object());
  mcp_ = std::make_unique<mcp::LineSession>(self, setup_->mcp, who_, wire_);
  mcp_->watch_standing();
  if (setup_->attendance) setup_->attendance->come();
}

void Connection::begin_events(Self self, const Responder& respond, const operations::Arguments& in) {
  auto filter = operations::event_filter(in.task_id("task"), in.texts("kinds"));
  if (!filter) return respond.fail(std::move(filter.error()));
  const bool follow = in.flag("follow");
  Stream stream;
  stream.ops = setup_->hooks->operations();
  if (stream.ops == nullptr) return respond.fail(engine_is_away());
  setup_->hooks->watch_operations(self.pid());
  stream.follows = follow;
  // Without an `after` a reader who does not follow gets what is kept.
  std::optional<std::uint64_t> from;
  if (in.has("after")) from = in.count("after");
  if (!follow && !from) from = 0;
  auto made = stream.ops->events().subscribe(
      std::move(*filter), [respond] { respond.runtime().notify(respond.connection(), EventsReady{respond.id()}); },
      from);
  if (!made) return respond.fail(std::move(made.error()));
  stream.events = std::move(*made);
  streams_.emplace(respond.id(), std::move(stream));
  self.send(self.pid(), EventsReady{respond.id()});
}

void Connection::pump_events(Self self, std::uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.events) return;
  if (!who_->holds()) return end_streams(operations::no_longer_valid(*who_));
  Stream& stream = found->second;
  while (unsent() < k_stream_bytes) {
    const operations::EventBatch batch = stream.events->take(k_events_at_once);
    if (batch.missed > 0) put(id, "part", {{"missed", batch.missed}});
    for (const operations::Event& each : batch.events) put(id, "part", operations::to_json(each));
    if (batch.more) continue;
    if (stream.follows) return;
    streams_.erase(found);
    const Responder respond(*setup_->runtime, self.pid(), id);
    return respond.answer<std::monostate>(std::monostate{});
  }
}

void Connection::begin_tree(Self self, const Responder& respond, const operations::Arguments& in) {
  Stream stream;
  stream.tree_every = std::max(in.milliseconds("every_ms"), k_tree_min);
  streams_.emplace(respond.id(), std::move(stream));
  send_tree(self, respond.id());
}

void Connection::send_tree(Self self, std::uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.events) return;
  if (!who_->holds()) return end_streams(operations::no_longer_valid(*who_));
  Stream& stream = found->second;
  const auto tree = setup_->hooks->tree();
  std::string text = tree ? tree_json(*tree) : "null";
  if (text != stream.last_tree && unsent() < k_stream_bytes) {
    stream.last_tree = std::move(text);
    put(id, "part", operations::own_json(stream.last_tree));
  }
  self.send_after(stream.tree_every, self.pid(), TreeTick{id});
}

void Connection::cancel(const Responder& respond, const operations::Arguments& in) {
  const auto id = in.count("id");
  if (streams_.erase(id) != 0) {
    Responder(respond.runtime(), respond.connection(), id).answer<std::monostate>(std::monostate{});
  }
  respond.answer<std::monostate>(std::monostate{});
}

void Connection::watch_standing(Self self) {
  if (who_->standing == nullptr || std::exchange(is_watching_standing_, true)) return;
  self.send_after(operations::until_standing_look(self.now()), self.pid(), StandingCheck{});
}

void Connection::end_streams(const operations::Error& why) {
  const bool ends_all = !who_->holds();
  std::erase_if(streams_, [&](const auto& each) {
    if (!each.second.events && !ends_all) return false;
    put(each.first, "error", operations::to_json(why));
    --under_way_;
    return true;
  });
}

void Connection::on_answer(Self self, Answer& answer) {
  json::value value = (*answer.make)();
  if (const auto older = first_forms_.find(answer.id); older != first_forms_.end()) {
    if (answer.kind == Answer::Kind::ok) value = first_form(older->second, std::move(value));
    if (answer.kind != Answer::Kind::part) first_forms_.erase(older);
  }
  if (answer.kind != Answer::Kind::part) --under_way_;
  put(answer.id, answer.kind == Answer::Kind::ok ? "ok" : answer.kind == Answer::Kind::part ? "part" : "error", value);
  active_at_ = self.now();
  // Requests that had to wait.
  if (!wire_.in().empty()) take_lines(self);
}

void Connection::put(std::uint64_t id, std::string_view kind, const json::value& value) {
  if (unsent() > setup_->limits.output_bytes) {
    is_ending_ = true;
    wire_.drop_unsent();
    return;
  }
  wire_.put(fmt::format(R"({{"id":{},"{}":)", id, kind));
  wire_.put(operations::json_text(value));
  wire_.put("}\n");
}

void Connection::write_some() {
  if (wire_.write_some()) return;
  is_closed_by_client_ = true;
  is_ending_ = true;
  streams_.clear();
}

}  // namespace skein::inline v0::control
