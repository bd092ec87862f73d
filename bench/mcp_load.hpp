// Clients of an MCP server over HTTP or TCP, for benchmarks: each on a connection of its own that is kept, asking again
// as soon as it was answered. One thread drives them all, so that the load costs little beside the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/stopwatch.hpp"
#include "skein/base/fd.hpp"

namespace skein::bench {

struct LoadResult {
  double requests_s = 0;
  std::vector<double> latencies_us;
};

// How they ask: over HTTP in a legacy session each, over HTTP in the modern era, where each request stands alone, or a
// message per line over TCP, in a legacy session that is the connection.
enum class McpWay : std::uint8_t { http_sessions, http_modern, lines };

class McpLoad {
 public:
  // The connections are made, and the sessions begun. Throws std::runtime_error when the server does not do its part.
  McpLoad(std::uint16_t port, std::size_t connections, McpWay way);

  // tools/call of a trivial tool, over and over. What is answered in `warm_up` does not count.
  [[nodiscard]] LoadResult run(Clock::duration warm_up, Clock::duration measured);

 private:
  struct Client {
    Fd fd;
    std::string request;
    std::string in;
    std::size_t sent = 0;
    Clock::time_point asked{};
  };

  void begin_session(Client& client, std::uint16_t port);
  void begin_lines(Client& client);
  void ask(Client& client);
  // False: not all of the answer is there.
  bool take_answer(Client& client);

  McpWay way_;
  std::vector<Client> clients_;
  Fd epoll_;
};

// A connected socket of 127.0.0.1.
[[nodiscard]] Fd connect_to(std::uint16_t port);
// What an HTTP response is long, head and all; 0 when it is not whole. Its length is in the head, or it is chunked.
[[nodiscard]] std::size_t response_bytes(std::string_view in);
// Sends a request and gives the whole response.
[[nodiscard]] std::string exchange(int fd, std::string_view request);
// A request to /mcp.
[[nodiscard]] std::string post(std::string_view body, std::string_view headers);
[[nodiscard]] std::string initialize_body();
// tools/call of the trivial tool, in the modern era.
[[nodiscard]] std::string modern_call();

}  // namespace skein::bench
