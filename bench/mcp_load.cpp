#include "bench/mcp_load.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace skein::bench {
namespace {

constexpr int k_load_wait_ms = 10'000;
constexpr const char* k_call =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","arguments":{})";

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  return out;
}

// The value of a header, "" when there is none. `name` in small letters.
std::string header_of(std::string_view head, std::string_view name) {
  const std::size_t at = small(head).find(fmt::format("\r\n{}:", name));
  if (at == std::string::npos) return {};
  std::string_view value = head.substr(at + name.size() + 3);
  value = value.substr(0, value.find("\r\n"));
  while (value.starts_with(' ')) value.remove_prefix(1);
  return std::string(value);
}

bool receive(int fd, std::string& in) {
  std::array<char, 1U << 16U> buffer{};
  const auto got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) throw std::runtime_error("the server closed a connection");
  in.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

}  // namespace

Fd connect_to(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    throw std::runtime_error("cannot connect to the server");
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

std::size_t response_bytes(std::string_view in) {
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  const std::size_t head = end + 4;
  const std::string length = header_of(in.substr(0, head), "content-length");
  if (length.empty()) return in.ends_with("\r\n0\r\n\r\n") ? in.size() : 0;
  std::size_t body = 0;
  std::from_chars(length.data(), length.data() + length.size(), body);
  return in.size() >= head + body ? head + body : 0;
}

std::string exchange(int fd, std::string_view request) {
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    throw std::runtime_error("the server does not read");
  }
  std::string in;
  while (response_bytes(in) == 0) {
    pollfd poll{fd, POLLIN, 0};
    if (::poll(&poll, 1, k_load_wait_ms) != 1) throw std::runtime_error("the server does not answer");
    receive(fd, in);
  }
  return in;
}

std::string post(std::string_view body, std::string_view headers) {
  return fmt::format(
      "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\n{}Content-Length: {}\r\n\r\n{}",
      headers, body.size(), body);
}

std::string initialize_body() {
  return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
         R"("clientInfo":{"name":"bench","version":"1"}}})";
}

std::string modern_call() {
  static constexpr const char* k_rest = R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                        R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
  return post(fmt::format("{}{}", k_call, k_rest),
              "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test_simple_text\r\n");
}

McpLoad::McpLoad(std::uint16_t port, std::size_t connections, McpWay way)
    : way_(way), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  clients_.resize(connections);
  for (std::size_t i = 0; i < connections; ++i) {
    Client& client = clients_[i];
    client.fd = connect_to(port);
    switch (way) {
      case McpWay::http_sessions:
        begin_session(client, port);
        break;
      case McpWay::http_modern:
        client.request = modern_call();
        break;
      case McpWay::lines:
        begin_lines(client);
        break;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.fd.get(), &event);
  }
}

void McpLoad::begin_session(Client& client, std::uint16_t port) {
  // The SDK's server ends the connection of some requests; the one that is measured is a new one.
  const Fd first = connect_to(port);
  const std::string begun = exchange(first.get(), post(initialize_body(), ""));
  const std::string session = header_of(begun, "mcp-session-id");
  if (session.empty()) throw std::runtime_error("the server began no session");
  const std::string headers = fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-11-25\r\n", session);
  (void)exchange(first.get(), post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", headers));
  client.request = post(fmt::format("{}{}", k_call, "}}"), headers);
}

void McpLoad::begin_lines(Client& client) {
  client.request = fmt::format("{}\n", initialize_body());
  ask(client);
  while (client.in.find('\n') == std::string::npos) {
    pollfd poll{client.fd.get(), POLLIN, 0};
    if (::poll(&poll, 1, k_load_wait_ms) != 1) throw std::runtime_error("the server does not answer");
    receive(client.fd.get(), client.in);
  }
  if (client.in.find("protocolVersion") == std::string::npos) throw std::runtime_error("no session: " + client.in);
  client.in.clear();
  client.request = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
  ask(client);
  client.request = fmt::format("{}{}", k_call, "}}\n");
}

void McpLoad::ask(Client& client) {
  client.asked = Clock::now();
  const auto sent = ::send(client.fd.get(), client.request.data(), client.request.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(client.request.size())) throw std::runtime_error("the server does not read");
}

bool McpLoad::take_answer(Client& client) {
  receive(client.fd.get(), client.in);
  const std::size_t bytes = way_ == McpWay::lines ? client.in.find('\n') + 1 : response_bytes(client.in);
  if (bytes == 0) return false;
  if (client.in.find("This is a simple text response") == std::string::npos) {
    throw std::runtime_error("not the tool's answer: " + client.in);
  }
  client.in.erase(0, bytes);
  return true;
}

LoadResult McpLoad::run(Clock::duration warm_up, Clock::duration measured) {
  LoadResult result;
  const auto begin = Clock::now() + warm_up;
  const auto end = begin + measured;
  for (Client& client : clients_) ask(client);
  std::array<epoll_event, 256> events{};
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), k_load_wait_ms);
    if (count == 0) throw std::runtime_error("the server does not answer");
    for (int i = 0; i < count; ++i) {
      Client& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
      if (!take_answer(client)) continue;
      if (client.asked >= begin) result.latencies_us.push_back(us_since(client.asked));
      ask(client);
    }
  }
  const double seconds = std::chrono::duration<double>(measured).count();
  result.requests_s = static_cast<double>(result.latencies_us.size()) / seconds;
  return result;
}

}  // namespace skein::bench
