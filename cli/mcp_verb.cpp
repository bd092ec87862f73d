// skein mcp: MCP on standard input and output, for clients that start their servers themselves.
//
// The node speaks it; this program only carries bytes between the client and the node's socket, so it is there at once
// and holds nothing. Without a node in the data folder it starts one. Others may attach to that node too, so it ends
// with the last of them and not with this program; with --keep it ends when it is told to.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <sys/socket.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/child_node.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto k_session_limit = 24h * 365;
constexpr auto k_node_stop_limit = 40s;  // longer than a node takes to finish what runs
constexpr auto k_folder_limit = 30s;     // for another's node in the folder to come up, or to be gone
constexpr auto k_folder_try = 500ms;     // then it may be free for a node of ours
constexpr auto k_folder_look = 5ms;
constexpr auto k_info_limit = 5s;
constexpr std::size_t k_carry_bytes = 64ULL << 10U;

struct McpArguments {
  std::string config;
  std::string data;
  bool keep = false;
};

// One direction: what was read and is not yet written.
struct Carried {
  std::array<char, k_carry_bytes> bytes{};
  std::size_t from = 0;
  std::size_t to = 0;
  bool is_over = false;  // nothing more will be read

  [[nodiscard]] bool is_empty() const { return from == to; }
};

// False: the other side is gone.
bool read_into(Carried& carried, int fd) {
  const auto got = ::read(fd, carried.bytes.data(), carried.bytes.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  carried.from = 0;
  carried.to = static_cast<std::size_t>(got);
  carried.is_over = got == 0;
  return true;
}

bool write_from(Carried& carried, int fd) {
  const auto sent = ::write(fd, carried.bytes.data() + carried.from, carried.to - carried.from);
  if (sent < 0) return errno == EINTR || errno == EAGAIN;
  carried.from += static_cast<std::size_t>(sent);
  return true;
}

// Until the node has said all it had to say; the program's exit code. `patience`: null when signals end the program.
int carry(int node, const Patience* patience) {
  std::signal(SIGPIPE, SIG_IGN);
  Carried in;
  Carried out;
  bool is_shut = false;
  bool is_cut = false;
  while (!out.is_over || !out.is_empty()) {
    if (in.is_over && !is_shut) {
      ::shutdown(node, SHUT_WR);  // the client is done; the node still answers what it was asked
      is_shut = true;
    }
    const auto when = [](bool wanted, short what) { return static_cast<short>(wanted ? what : 0); };
    const bool reads_in = in.is_empty() && !in.is_over;
    const bool reads_out = out.is_empty() && !out.is_over;
    const auto of_node = static_cast<short>(when(reads_out, POLLIN) | when(!in.is_empty(), POLLOUT));
    // A node that is gone is told of at once whatever is asked; when nothing is, that would be for ever.
    std::array<pollfd, 3> all{{{reads_in ? STDIN_FILENO : -1, POLLIN, 0},
                               {of_node != 0 ? node : -1, of_node, 0},
                               {out.is_empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}}};
    if (::poll(all.data(), all.size(), -1) < 0) {
      if (errno != EINTR) return k_exit_failed;
      if (patience != nullptr) patience->check("serving");
      continue;
    }
    if (all[0].revents != 0 && !read_into(in, STDIN_FILENO)) in.is_over = true;
    if (reads_out && (all[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_into(out, node)) break;
    if (!in.is_empty() && (all[1].revents & (POLLOUT | POLLHUP | POLLERR)) != 0 && !write_from(in, node)) {
      // The node will not hear more; why may be in what it has said, which is carried to its end.
      in.from = in.to;
      is_cut = in.is_over = true;
    }
    if (all[2].revents != 0 && !write_from(out, STDOUT_FILENO)) return k_exit_ok;  // nobody listens any more
  }
  if (in.is_over && !is_cut) return k_exit_ok;
  return complain(k_exit_unreachable, "the node closed the connection: look at its log, then start 'skein mcp' again");
}

// Nothing: the node went away before it was asked, as one does whose last client has just gone.
std::optional<int> serve(control::ClientResult<control::Client> client, const Patience* patience) {
  if (!client) return complain(client.error());
  const auto begun = client->ask("mcp", {});
  const bool is_gone = !begun && begun.error().kind != control::ClientError::Kind::refused;
  if (is_gone) return std::nullopt;
  if (!begun) return complain(begun.error());
  const Fd node = std::move(*client).release();
  return carry(node.get(), patience);
}

// Another program may have started a node in this folder at the same moment: then that one is used. One that is about
// to end is waited for.
std::expected<void, std::string> start_or_find(ChildNode& node, const Patience& patience) {
  const auto until = Patience::Clock::now() + k_folder_limit;
  while (true) {
    auto started = node.start();
    if (started) return {};
    const bool is_taken = !node.is_running() && node.exit_code() == k_exit_in_use;
    if (!is_taken || Patience::Clock::now() >= until) return std::unexpected(std::move(started.error()));
    const auto is_there = [&] { return node.connect().has_value(); };
    if (patience.wait("the other node came up", k_folder_try, k_folder_look, is_there)) return {};
  }
}

// Until the node has ended, or others are attached to it and it goes on for them.
void await_its_end(ChildNode& node) {
  const Patience last(k_node_stop_limit);  // the signal that came is done with
  const auto is_done = [&] {
    if (!node.is_running()) return true;
    auto client = node.connect();
    const auto info = client ? client->ask("info", {}, k_info_limit) : std::unexpected(client.error());
    return info && count_of(*info, "mcp_clients") > 0;
  };
  last.wait("the node ended", k_node_stop_limit, k_folder_look, is_done);
}

int run_mcp(const McpArguments& args) {
  Session session;
  session.data = args.data;
  const std::string data = std::filesystem::absolute(session.data_folder()).lexically_normal().string();
  if (auto running = control::Client::connect(data)) {
    if (const auto code = serve(std::move(running), nullptr)) return *code;
  }
  std::filesystem::create_directories(data);
  const Patience patience(k_session_limit);
  ChildNode node({args.config, data, data + "/node.log", "", true, true, !args.keep}, patience);
  int code = k_exit_ok;
  try {
    std::optional<int> served;
    while (!served) {
      if (auto started = start_or_find(node, patience); !started) return complain(k_exit_failed, started.error());
      served = serve(node.connect(), &patience);
    }
    code = *served;
  } catch (const GaveUp& why) {
    code = complain(why.code, why.what());
  }
  if (!args.keep) await_its_end(node);
  return code;
}

}  // namespace

void add_mcp(Verb& root) {
  const auto args = std::make_shared<McpArguments>();
  Verb verb = root.verb("mcp", "Speak MCP on standard input and output");
  verb.optional_place("CONFIG", args->config, "Config file for a node that is started here");
  verb.folder("--data", args->data, "Data folder of the node; without a node there, one is started");
  verb.flag("--keep", args->keep, "Leave a node that was started here running at the end");
  verb.run([args] { return run_mcp(*args); });
}

}  // namespace skein::cli
