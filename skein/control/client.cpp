#include "skein/control/client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "skein/base/version.hpp"
#include "skein/control/limits.hpp"
#include "skein/control/protocol_version.hpp"
#include "skein/control/unix_socket.hpp"
#include "skein/operations/json_exact.hpp"

namespace skein::inline v0::control {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t k_answer_read_bytes = 256ULL << 10U;
constexpr std::size_t k_answer_depth = 1024;
constexpr std::size_t k_out_bytes = 64ULL << 10U;
// The engine restarts in a moment; a node that goes down asks for more patience than this and is not waited for.
constexpr std::chrono::milliseconds k_away_limit{10'000};
constexpr std::uint64_t k_away_pause_ms = 200;
constexpr std::chrono::seconds k_hello_timeout{10};
constexpr const char* k_other_version_code = "other_version";

ClientError unreachable(std::string message, std::string advice) {
  return {ClientError::Kind::unreachable, {}, std::move(message), std::move(advice), 0};
}
ClientError lost() {
  return unreachable("the node closed the connection",
                     "see the node's log; 'skein status' says whether the node is running");
}

ClientError no_answer() {
  return {
      ClientError::Kind::timeout, {}, "the node did not answer in time", "try again, or with a longer --timeout", 0};
}

ClientError refused(const json::value& error) {
  ClientError made{ClientError::Kind::refused, "internal", "the node sent an error that cannot be read", {}, 0};
  const json::object* object = error.if_object();
  if (object == nullptr) return made;
  const auto text = [&](const char* key) {
    const json::value* value = object->if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  made.code = text("code");
  made.message = text("message");
  made.advice = text("advice");
  if (const json::value* after = object->if_contains("retry_after_ms")) {
    made.retry_after_ms = after->to_number<std::uint64_t>();
  }
  return made;
}

}  // namespace

ClientResult<Client> Client::connect(const std::string& data, std::chrono::milliseconds timeout) {
  timeout = std::min<std::chrono::milliseconds>(timeout, k_hello_timeout);
  auto fd = connect_to(data + "/" + k_socket_file, timeout);
  if (!fd) {
    if (fd.error().failure == ConnectFailure::timeout) return std::unexpected(no_answer());
    if (fd.error().failure == ConnectFailure::other) {
      return std::unexpected(unreachable(fd.error().message, "run skein as the user who runs the node"));
    }
    return std::unexpected(unreachable(fmt::format("no node is running in {}", data),
                                       "start one with 'skein up', or name its data folder with --data"));
  }
  Client client(std::move(*fd));
  json::object said{{"version", k_protocol_version}, {"client", "skein " + std::string(skein::version())}};
  // What a node gives to the programs of its agents, or a user to have less than the owner's rights.
  const char* const token = std::getenv("SKEIN_TOKEN");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  if (token != nullptr && *token != '\0') said["token"] = token;
  auto hello = client.ask("hello", said, timeout);
  const auto differs = [](std::uint64_t node_version) {
    auto error = other_version({"this skein program", k_protocol_version}, {"the node", node_version});
    return std::unexpected(ClientError{ClientError::Kind::refused, k_other_version_code, std::move(error.message),
                                       std::move(error.advice), 0});
  };
  if (!hello) {
    const auto refused_by = version_in_refusal(hello.error().message);
    if (refused_by && *refused_by != k_protocol_version) return differs(*refused_by);
    return std::unexpected(std::move(hello.error()));
  }
  if (hello->is_object()) client.node_ = hello->get_object();
  const json::value* spoken = client.node_.if_contains("protocol");
  const auto version = spoken != nullptr && spoken->is_number() ? spoken->to_number<std::uint64_t>() : 0;
  if (version != k_protocol_version) return differs(version);
  return client;
}

ClientResult<std::uint64_t> Client::send(std::string_view op, const json::object& params) {
  const std::uint64_t id = ++last_id_;
  out_ += fmt::format("{{\"id\":{},\"op\":\"{}\",\"params\":{}}}\n", id, op, json::serialize(params));
  if (out_.size() >= k_out_bytes) {
    if (auto ok = flush(); !ok) return std::unexpected(std::move(ok.error()));
  }
  return id;
}

ClientResult<void> Client::flush() {
  std::size_t at = 0;
  while (at < out_.size()) {
    // Taking in answers meanwhile: neither side may wait for the other for ever.
    pollfd poll{fd_.get(), POLLIN | POLLOUT, 0};
    if (::poll(&poll, 1, -1) < 0 && errno != EINTR) return std::unexpected(lost());
    // A client that is turned away is first told why: that is read before the loss of the connection is noticed.
    if ((poll.revents & POLLIN) != 0 && !fill(Clock::now())) break;
    if ((poll.revents & POLLOUT) == 0) continue;
    const auto sent = ::send(fd_.get(), out_.data() + at, out_.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) break;
    at += static_cast<std::size_t>(sent);
  }
  out_.clear();
  return {};
}

ClientResult<void> Client::fill(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  pollfd poll{fd_.get(), POLLIN, 0};
  const int ready =
      ::poll(&poll, 1, left.count() > 0 ? static_cast<int>(std::min<std::int64_t>(left.count() + 1, 1 << 30)) : 0);
  if (ready < 0) return errno == EINTR ? ClientResult<void>() : std::unexpected(lost());
  if (ready == 0) {
    return std::unexpected(no_answer());
  }
  if (in_at_ > 0 && in_at_ == in_.size()) {
    in_.clear();
    in_at_ = 0;
  }
  const std::size_t before = in_.size();
  in_.resize(before + k_answer_read_bytes);
  const auto got = ::recv(fd_.get(), in_.data() + before, k_answer_read_bytes, MSG_DONTWAIT);
  in_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (got <= 0) return std::unexpected(lost());
  return {};
}

ClientResult<Client::Line> Client::read_line(Clock::time_point until) {
  std::size_t end = in_.find('\n', in_at_);
  while (end == std::string::npos) {
    const std::size_t seen = in_.size() - in_at_;
    if (auto ok = fill(until); !ok) return std::unexpected(std::move(ok.error()));
    end = in_.find('\n', in_at_ + (in_at_ + seen <= in_.size() ? seen : 0));
  }
  // A task's result has numbers that only its reader knows how to hold.
  const auto value = operations::exact_json(std::string_view(in_).substr(in_at_, end - in_at_), k_answer_depth);
  in_at_ = end + 1;
  constexpr std::size_t k_compact = 1ULL << 20U;
  if (in_at_ > k_compact) {
    in_.erase(0, in_at_);
    in_at_ = 0;
  }
  const json::object* object = value ? value->if_object() : nullptr;
  const json::value* id = object != nullptr ? object->if_contains("id") : nullptr;
  if (id == nullptr)
    return std::unexpected(
        unreachable("the node sent an answer that cannot be read", "use the skein program of the node's release"));
  Line line{id->to_number<std::uint64_t>(), false, json::value()};
  if (const json::value* ok = object->if_contains("ok")) {
    line.result = *ok;
  } else if (const json::value* part = object->if_contains("part")) {
    line.is_part = true;
    line.result = *part;
  } else {
    line.result = std::unexpected(refused(object->contains("error") ? object->at("error") : json::value()));
  }
  return line;
}

ClientResult<json::value> Client::ask(std::string_view op, const json::object& params,
                                      std::chrono::milliseconds timeout, const PartFn& on_part) {
  const auto until = Clock::now() + std::min(timeout, k_away_limit);
  while (true) {
    auto answer = ask_once(op, params, timeout, on_part);
    const bool is_away = !answer && answer.error().code == "stopped" && answer.error().retry_after_ms > 0;
    if (!is_away || answer.error().retry_after_ms > k_away_pause_ms || Clock::now() >= until) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(answer.error().retry_after_ms));
  }
}

ClientResult<json::value> Client::ask_once(std::string_view op, const json::object& params,
                                           std::chrono::milliseconds timeout, const PartFn& on_part) {
  auto id = send(op, params);
  if (!id) return std::unexpected(std::move(id.error()));
  if (auto ok = flush(); !ok) return std::unexpected(std::move(ok.error()));
  const auto until = Clock::now() + timeout;
  while (true) {
    auto line = read_line(until);
    if (!line) return std::unexpected(std::move(line.error()));
    if (line->id != *id && line->id != 0) continue;
    if (!line->is_part) return std::move(line->result);
    if (on_part && !on_part(*line->result)) return json::value();
  }
}

ClientResult<Client::Answered> Client::next(std::chrono::milliseconds timeout) {
  if (auto ok = flush(); !ok) return std::unexpected(std::move(ok.error()));
  const auto until = Clock::now() + timeout;
  while (true) {
    auto line = read_line(until);
    if (!line) return std::unexpected(std::move(line.error()));
    if (!line->is_part) return Answered{line->id, std::move(line->result)};
  }
}

}  // namespace skein::inline v0::control
