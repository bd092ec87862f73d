// Benchmarks of MCP: a whole node, started with exec, and native clients beside it on the same machine. With
// SKEIN_BENCH_MCP_PORT the HTTP workloads ask whatever listens at that port instead, with SKEIN_BENCH_MCP_COMMAND those
// on standard input and output start that: so another server is measured with the same load.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/mcp_load.hpp"
#include "bench/program.hpp"
#include "bench/workload.hpp"

namespace skein::bench {
namespace {

constexpr std::chrono::milliseconds k_mcp_warm_up{500};
constexpr std::chrono::seconds k_mcp_measured{3};
constexpr std::size_t k_mcp_clients = 64;
constexpr std::size_t k_mcp_idle = 10'000;
constexpr int k_mcp_starts = 9;
constexpr int k_mcp_wait_ms = 30'000;

const char* environment(const char* name) {
  return std::getenv(name);
}  // NOLINT(concurrency-mt-unsafe): nobody sets it

// The number behind `mark`.
std::uint16_t port_after(const std::string& said, std::string_view mark) {
  std::uint16_t port = 0;
  const std::size_t at = said.find(mark);
  if (at == std::string::npos) throw std::runtime_error("the node does not say where it listens");
  std::from_chars(said.data() + at + mark.size(), said.data() + said.size(), port);
  return port;
}

// A node with HTTP and TCP on ports of its own, or the server that was named.
class McpServer {
 public:
  McpServer() {
    if (const char* given = environment("SKEIN_BENCH_MCP_PORT")) {
      port_ = static_cast<std::uint16_t>(std::stoul(given));
      return;
    }
    folder_.emplace("mcp");
    const std::vector<std::string> words{"--http", "127.0.0.1:0",           "--tcp", "127.0.0.1:0", "--auth",
                                         "none",   "--conformance-fixtures"};
    program_ = std::make_unique<Program>(folder_->path(), words);
    std::ifstream log(folder_->path() + "/program.log");
    std::ostringstream text;
    text << log.rdbuf();
    const std::string said = text.str();
    port_ = port_after(said, "MCP is at http://127.0.0.1:");
    tcp_port_ = port_after(said, "is at tcp 127.0.0.1:");
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t tcp_port() const {
    if (tcp_port_ == 0) throw std::runtime_error("only a node of our own has MCP on TCP");
    return tcp_port_;
  }
  [[nodiscard]] const Program& program() const {
    if (!program_) throw std::runtime_error("only a node of our own can be looked into");
    return *program_;
  }

 private:
  std::optional<BenchDir> folder_;
  std::unique_ptr<Program> program_;
  std::uint16_t port_ = 0;
  std::uint16_t tcp_port_ = 0;
};

LoadResult load(std::size_t connections, McpWay way = McpWay::http_sessions) {
  const McpServer server;
  McpLoad clients(way == McpWay::lines ? server.tcp_port() : server.port(), connections, way);
  return clients.run(k_mcp_warm_up, k_mcp_measured);
}

double http_1() { return load(1).requests_s; }
double http_64() { return load(k_mcp_clients).requests_s; }
double modern_64() { return load(k_mcp_clients, McpWay::http_modern).requests_s; }
double tcp_64() { return load(k_mcp_clients, McpWay::lines).requests_s; }
double http_p50_1() { return percentile(load(1).latencies_us, 0.5); }
double http_p99_64() { return percentile(load(k_mcp_clients).latencies_us, 0.99); }

// Each has asked something once.
double idle_connection() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const McpServer server;
  const auto ask_once = [&] {
    Fd fd = connect_to(server.port());
    (void)exchange(fd.get(), modern_call());
    return fd;
  };
  (void)ask_once();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double before = server.program().resident_mb();
  std::vector<Fd> all;
  all.reserve(k_mcp_idle);
  for (std::size_t i = 0; i < k_mcp_idle; ++i) all.push_back(ask_once());
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return (server.program().resident_mb() - before) * 1e6 / static_cast<double>(k_mcp_idle);
}

// A server on standard input and output: `skein mcp`, or the command that was given. Its end is its input's.
class StdioServer {
 public:
  explicit StdioServer(const std::string& folder) {
    const char* given = environment("SKEIN_BENCH_MCP_COMMAND");
    std::vector<std::string> words;
    std::istringstream text(given != nullptr ? given : skein_program() + " mcp --data data");
    for (std::string word; text >> word;) words.push_back(word);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& each : words) argv.push_back(each.data());
    argv.push_back(nullptr);
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("no socket pair");
    fd_ = Fd(pair[0]);
    const Fd theirs(pair[1]);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
    begun_ = Clock::now();
    const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error(words[0] + " cannot be started");
  }
  ~StdioServer() {
    fd_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  StdioServer(const StdioServer&) = delete;
  StdioServer& operator=(const StdioServer&) = delete;

  [[nodiscard]] Clock::time_point begun() const { return begun_; }
  std::string ask(const std::string& line) {
    if (::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("the server does not read");
    }
    while (in_.find('\n') == std::string::npos) {
      pollfd poll{fd_.get(), POLLIN, 0};
      std::array<char, 1U << 16U> buffer{};
      const bool is_there = ::poll(&poll, 1, k_mcp_wait_ms) == 1;
      const auto got = is_there ? ::recv(fd_.get(), buffer.data(), buffer.size(), 0) : 0;
      if (got <= 0) throw std::runtime_error("the server does not answer");
      in_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const std::size_t end = in_.find('\n');
    std::string answer = in_.substr(0, end);
    in_.erase(0, end + 1);
    return answer;
  }
  void tell(const std::string& line) const { (void)::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL); }

 private:
  Fd fd_;
  pid_t pid_ = -1;
  Clock::time_point begun_;
  std::string in_;
};

double stdio() {
  const BenchDir folder("mcp");
  std::optional<Program> node;
  const std::vector<std::string> words{"--conformance-fixtures"};
  if (environment("SKEIN_BENCH_MCP_COMMAND") == nullptr) node.emplace(folder.path(), words);
  StdioServer server(folder.path());
  (void)server.ask(fmt::format("{}\n", initialize_body()));
  server.tell("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  std::uint64_t count = 0;
  const auto begin = Clock::now();
  while (Clock::now() - begin < k_mcp_measured) {
    const std::string answer = server.ask(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"test_simple_text","arguments":{{}}}}}})"
        "\n",
        ++count));
    if (answer.find("This is a simple text response") == std::string::npos) throw std::runtime_error(answer);
  }
  return static_cast<double>(count) / seconds_since(begin);
}

// No node runs: it is started, and ends with the program.
double first_answer() {
  std::vector<double> times;
  times.reserve(k_mcp_starts);
  for (int i = 0; i < k_mcp_starts; ++i) {
    const BenchDir folder("mcp");
    StdioServer server(folder.path());
    (void)server.ask(fmt::format("{}\n", initialize_body()));
    times.push_back(us_since(server.begun()) / 1000);
  }
  return percentile(std::move(times), 0.5);
}

const Registrar k_mcp_http_1{{.group = "mcp", .name = "http_1", .unit = "request/s", .run = http_1}};
const Registrar k_mcp_http_64{{.group = "mcp", .name = "http_64", .unit = "request/s", .run = http_64}};
const Registrar k_mcp_modern_64{{.group = "mcp", .name = "http_64_modern", .unit = "request/s", .run = modern_64}};
const Registrar k_mcp_p50_1{{.group = "mcp", .name = "http_p50_1", .unit = "us", .run = http_p50_1}};
const Registrar k_mcp_p99_64{{.group = "mcp", .name = "http_p99_64", .unit = "us", .run = http_p99_64}};
const Registrar k_mcp_stdio{{.group = "mcp", .name = "stdio", .unit = "request/s", .run = stdio}};
const Registrar k_mcp_tcp_64{{.group = "mcp", .name = "tcp_64", .unit = "request/s", .run = tcp_64}};
const Registrar k_mcp_first_answer{{.group = "mcp", .name = "first_answer", .unit = "ms", .run = first_answer}};
const Registrar k_mcp_idle_connection{
    {.group = "mcp", .name = "idle_connection", .unit = "B/connection", .run = idle_connection}};

}  // namespace
}  // namespace skein::bench
