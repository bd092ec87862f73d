// skein mcp: MCP on standard input and output, for clients that start their servers themselves.
//
// The node speaks it; this program carries messages between the client and the node, and outlives the node: the client
// keeps its session when the node is restarted. Without a node in the data folder it starts one, unless an operator
// runs the folder's node. Others may attach to a node that was started here too, so it ends with the last of them and
// not with this program; with --keep it ends when it is told to.
#include <fmt/format.h>

#include <chrono>
#include <expected>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "cli/child_node.hpp"
#include "cli/mcp_carrier.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/node/config.hpp"
#include "skein/node/last_run.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto k_session_limit = 24h * 365;
constexpr auto k_node_stop_limit = 40s;  // longer than a node takes to finish what runs
constexpr auto k_folder_look = 5ms;
constexpr auto k_info_limit = 5s;
constexpr std::size_t k_token_bytes_max = 4096;

struct McpArguments {
  std::string config;
  std::string data;
  std::string node;
  std::string token_file;
  bool keep = false;
  bool attach = false;
  bool take_over = false;
};

std::string told(const control::ClientError& error) {
  return error.advice.empty() ? error.message : error.message + ": " + error.advice;
}

std::int64_t wall_now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// The node of a data folder: attached to, or started.
class LocalNode {
 public:
  LocalNode(const McpArguments& args, std::string data, const Patience& patience)
      : args_(args),
        data_(std::move(data)),
        config_(config_file(args)),
        child_({args.config, data_, data_ + "/" + node::k_bridge_log_file, "", true, true, !args.keep, true},
               patience) {}

  // A node that was stopped stays so until a client wants something.
  LinkResult connect(bool is_wanted) {
    auto link = attach();
    if (link || link.error().is_final || child_.is_running() || args_.attach || !is_wanted) return link;
    const auto right =
        node::right_to_start(node::read_last_run(data_), config_, wall_now_ms(), node::is_unnamed_folder(data_));
    if (!right.may_start && !args_.take_over) {
      return std::unexpected(NoLink{.why = fmt::format("no node is running in {}: {}", data_, right.why)});
    }
    std::filesystem::create_directories(data_);
    auto started = child_.start();
    if (started) return attach();
    // Another program may have started one at the same moment, or one is about to end.
    const bool is_taken = !child_.is_running() && child_.exit_code() == k_exit_in_use;
    return std::unexpected(NoLink{.why = std::move(started.error()), .is_final = !is_taken, .code = k_exit_failed});
  }

  // Until the node that was started here has ended, or others are attached to it and it goes on for them.
  void await_its_end() {
    const Patience last(k_node_stop_limit);  // the signal that came is done with
    const auto is_over = [&] {
      if (!child_.is_running()) return true;
      auto client = child_.connect();
      const auto info = client ? client->ask("info", {}, k_info_limit) : std::unexpected(client.error());
      return info && count_of(*info, "mcp_clients") > 0;
    };
    try {
      last.wait("the node ended", k_node_stop_limit, k_folder_look, is_over);
    } catch (const GaveUp&) {
      return;  // a client in a hurry: the node ends without being watched
    }
  }

 private:
  // What a node that is started here reads; as `skein up` finds it.
  static std::string config_file(const McpArguments& args) {
    std::string file = args.config;
    if (file.empty() && std::filesystem::exists(node::k_config_file)) file = node::k_config_file;
    return file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string();
  }
  [[nodiscard]] LinkResult attach() const {
    auto client = control::Client::connect(data_);
    if (!client) {
      const bool is_refused = client.error().kind == control::ClientError::Kind::refused;
      const int code = is_refused ? k_exit_refused : k_exit_unreachable;
      return std::unexpected(NoLink{.why = told(client.error()), .is_final = is_refused, .code = code});
    }
    const auto begun = client->ask("mcp", {});
    if (begun) return make_line_link(std::move(*client).release());
    const bool is_refused = begun.error().kind == control::ClientError::Kind::refused;
    return std::unexpected(NoLink{.why = told(begun.error()), .is_final = is_refused, .code = k_exit_refused});
  }

  const McpArguments& args_;
  const std::string data_;
  const std::string config_;
  ChildNode child_;
};

int run_local(const McpArguments& args) {
  Session session;
  session.data = args.data;
  const std::string data = std::filesystem::absolute(session.data_folder()).lexically_normal().string();
  const Patience patience(k_session_limit);
  LocalNode node(args, data, patience);
  Carrier carrier([&node](bool is_wanted) { return node.connect(is_wanted); }, patience);
  int code = k_exit_ok;
  try {
    code = carrier.run();
  } catch (const GaveUp&) {
    code = k_exit_ok;  // its client has ended it by a signal
  }
  if (!args.keep) node.await_its_end();
  return code;
}

// A token from its file; empty: none is to be shown. The error is complete.
std::expected<std::string, std::string> token_in(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  if (!file) return std::unexpected(fmt::format("--token-file {}: the file cannot be read", path));
  std::string token((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  const bool is_sound =
      !token.empty() && token.size() <= k_token_bytes_max && token.find_first_of(" \t\r\n") == std::string::npos;
  if (!is_sound) return std::unexpected(fmt::format("--token-file {}: the file contains no token", path));
  return token;
}

int run_remote(const McpArguments& args) {
  if (!args.data.empty() || !args.config.empty() || args.keep || args.take_over) {
    return complain(k_exit_usage, "--node is for a remote node: leave out CONFIG, --data, --keep and --take-over");
  }
  if (const std::string problem = url_problem(args.node); !problem.empty()) {
    return complain(k_exit_usage, fmt::format("--node {}: {}", args.node, problem));
  }
  const auto token = token_in(args.token_file);
  if (!token) return complain(k_exit_usage, token.error());
  const Patience patience(k_session_limit);
  // Read again each time: a token that was changed while the node was away holds then.
  const auto connect = [&](bool) -> LinkResult {
    const auto now = token_in(args.token_file);
    return connect_by_url(args.node, now.value_or(*token));
  };
  try {
    return Carrier(connect, patience).run();
  } catch (const GaveUp&) {
    return k_exit_ok;
  }
}

int run_mcp(const McpArguments& args) {
  if (!args.node.empty()) return run_remote(args);
  if (!args.token_file.empty()) return complain(k_exit_usage, "--token-file goes with --node");
  if (args.attach && (args.keep || args.take_over || !args.config.empty())) {
    return complain(k_exit_usage, "--attach starts no node: leave out CONFIG, --keep and --take-over");
  }
  return run_local(args);
}

}  // namespace

void add_mcp(Verb& root) {
  const auto args = std::make_shared<McpArguments>();
  Verb verb = root.verb("mcp", "Speak MCP on standard input and output");
  verb.optional_place("CONFIG", args->config, "Config file for the node that this command starts");
  verb.filled("--data", args->data, "Data folder of the node; a node is started if none is running there");
  verb.flag("--attach", args->attach, "Never start a node; wait until one is running");
  verb.flag("--keep", args->keep, "Keep a node that this command started running at the end");
  verb.flag("--take-over", args->take_over, "Start a node even if an operator usually runs it in this folder");
  verb.option("--node", args->node, "HTTP address of a remote node, such as http://127.0.0.1:7433 (no TLS yet)");
  verb.option("--token-file", args->token_file, "With --node: file that contains the token");
  verb.run([args] { return run_mcp(*args); });
}

}  // namespace skein::cli
