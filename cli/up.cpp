// skein up: runs a node in the foreground until it is told to end.
//
// SIGTERM and SIGINT drain and stop, a second one stops at once; SIGHUP reloads. This thread does nothing but wait for
// them; the node lives on the runtime's.
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "cli/held_signals.hpp"
#include "cli/patience.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/base/fd.hpp"
#include "skein/base/thread_name.hpp"
#include "skein/base/version.hpp"
#include "skein/launcher/launcher.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/launcher/role.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/node/config_values.hpp"
#include "skein/node/last_run.hpp"
#include "skein/node/node_host.hpp"
#include "skein/node/sd_notify.hpp"
#include "skein/node/secret_file.hpp"
#include "skein/supervision/stop_tree.hpp"

namespace skein::cli {
namespace {

struct UpArguments {
  std::string file;
  std::string data;
  std::string http;
  std::string tcp;
  std::string auth;
  std::vector<std::string> settings;
  bool fixtures = false;
  bool attended = false;
  bool started_by_mcp = false;
  bool accept_loss = false;
};

constexpr Duration k_stop_limit = std::chrono::seconds(20);     // of the tree, after draining
constexpr Duration k_hurry_limit = std::chrono::seconds(3);     // the same when told a second time
constexpr int k_first_client_limit_ms = 30'000;                 // of an attended node
constexpr Duration k_shutdown_limit = std::chrono::seconds(5);  // of the runtime

// What the main thread is woken for.
class Wakes {
 public:
  Wakes() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    // Before any thread exists, so that all inherit it and only signals_ hears them.
    const sigset_t set = hold_signals();
    signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    std::signal(SIGPIPE, SIG_IGN);
  }
  // Any thread.
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
  }
  // A signal, or 0 after wake() or when the time is up.
  int wait(int timeout_ms) const {
    pollfd both[2] = {{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(both, 2, timeout_ms);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(wake_.get(), &count, sizeof(count));
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) return static_cast<int>(info.ssi_signo);
    return 0;
  }

 private:
  Fd signals_;
  Fd wake_;
};

// What other threads found out.
struct News {
  std::atomic<bool> is_stop_asked{false};
  std::atomic<bool> is_tree_gone{false};
  std::mutex mutex;
  std::string fatal;  // guarded by mutex
};

std::vector<std::string> all_settings(const UpArguments& args) {
  std::vector<std::string> all = args.settings;
  const auto listen = [&](const char* section, const std::string& given) {
    if (given.empty()) return;
    all.push_back(fmt::format("{}.enabled={}", section, given == "off" ? "false" : "true"));
    if (given != "off") all.push_back(fmt::format("{}.listen=\"{}\"", section, given));
  };
  listen("http", args.http);
  listen("tcp", args.tcp);
  if (!args.auth.empty()) {
    for (const char* section : {"http", "tcp"}) all.push_back(fmt::format("{}.auth=\"{}\"", section, args.auth));
  }
  return all;
}

// Those of any node, and a dump when a fatal signal ends the program.
RuntimeOptions with_dump(const node::Config& config) {
  RuntimeOptions options = node::runtime_options(config);
  options.dump_file = config.node.data + "/dump-fatal.txt";
  return options;
}

// Used before there is a node. Writes in the format of its log, so that a reader of the log as JSON can read this too.
int fail_to_start(node::LogFormat format, int code, const std::string& why) {
  if (format == node::LogFormat::text) return complain(code, why);
  node::Log log(node::LogLevel::error);
  log.set_format(format);
  log.error(why);
  return code;
}

class Up {
 public:
  // `is_attended`: it ends with the last MCP client on its socket.
  Up(Wakes& wakes, std::shared_ptr<node::NodeHost> node, Runtime& runtime, std::shared_ptr<News> news, bool is_attended)
      : wakes_(wakes), node_(std::move(node)), runtime_(runtime), news_(std::move(news)), is_attended_(is_attended) {}

  int run() {
    const auto started = node_->start();
    if (!started) {
      const std::string why = started.error().what();
      node_->context().log.error(why);
      // Every line is JSON where somebody reads them as JSON; text is repeated without its time, for people.
      const bool is_said = node_->context().log.format() == node::LogFormat::json;
      return is_said ? static_cast<int>(k_exit_failed) : complain(k_exit_failed, why);
    }
    root_ = *started;
    const auto config = node_->context().config();
    node_->context().log.info(
        fmt::format("skein {} is up: node '{}', data in {}", skein::version(), config->node.name, config->node.data));
    say_where_it_listens();
    node_->context().log.info("OS processes are held by " + launcher::OsProcesses::containment());
    node::sd_notify(fmt::format("READY=1\nSTATUS=running\nMAINPID={}", ::getpid()));
    std::thread watcher([this] {
      name_this_thread("skein-watcher");
      runtime_.wait_for_end(root_);
      news_->is_tree_gone = true;
      wakes_.wake();
    });
    const int code = loop();
    watcher.join();
    return code;
  }

 private:
  // The commands and not the token: logs are read by others.
  void say_where_it_listens() {
    node::NodeContext& context = node_->context();
    const auto config = context.config();
    const std::string token = fmt::format("$(cat {}/{})", config->node.data, node::k_token_file);
    if (context.http.is_open()) {
      const std::string url = fmt::format("http://{}/mcp", context.http.address());
      context.log.info("MCP is at " + url);
      context.log.info(
          fmt::format("REST is at http://{0}/api/v1, MCP in a WebSocket at ws://{0}/mcp/ws", context.http.address()));
      warn_of_no_token("HTTP", config->http.auth);
      context.log.info(
          fmt::format("claude mcp add --transport http skein {}{}", url,
                      config->http.auth == "none" ? "" : fmt::format(" --header \"Authorization: Bearer {}\"", token)));
    }
    if (!context.tcp.is_open()) return;
    context.log.info("MCP, a message per line, is at tcp " + context.tcp.address());
    warn_of_no_token("TCP", config->tcp.auth);
  }

  void warn_of_no_token(std::string_view transport, std::string_view auth) {
    if (auth != "none") return;
    node_->context().log.warning(
        fmt::format("{} asks for no token: every program on this machine can use this node", transport));
  }

  // Of an attended node: nobody came in time, or the last has gone.
  [[nodiscard]] bool is_deserted(bool has_waited) const {
    if (!is_attended_) return false;
    const auto& attendance = *node_->context().attendance;
    return attendance.is_over() || (has_waited && attendance.present() == 0);
  }

  int loop() {
    const auto first_client = Patience::Clock::now() + std::chrono::milliseconds(k_first_client_limit_ms);
    while (true) {
      const int signal = wakes_.wait(is_attended_ ? k_first_client_limit_ms : -1);
      {
        const std::scoped_lock lock(news_->mutex);
        if (!news_->fatal.empty()) return fatal();
      }
      if (news_->is_tree_gone) return collapsed();
      if (signal == SIGHUP) {
        reload();
      } else if (signal != 0 || news_->is_stop_asked) {
        return stop();
      } else if (is_deserted(Patience::Clock::now() >= first_client)) {
        node_->context().log.info("the last MCP client has gone, and the node was started for them");
        return stop();
      }
    }
  }

  void reload() {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    node::sd_notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                                std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count()));
    node_->context().log.info("SIGHUP: reading the config again");
    const auto answer =
        operations::ask<operations::ReloadAnswer>([&](auto reply) { node_->hooks().reload(std::move(reply)); });
    if (answer && answer->changed.empty()) node_->context().log.info("reload: nothing has changed");
    if (!answer) node_->context().log.error(answer.error().describe());
    node::sd_notify("READY=1");
  }

  int stop() {
    const Duration limit = node_->context().config()->node.drain;
    node::sd_notify("STOPPING=1\nSTATUS=finishing what runs");
    node_->context().log.info(fmt::format("stopping: what runs has {} to finish", time_text(limit)));
    bool is_hurried = false;
    const bool is_idle = node_->drain(limit, [&] {
      const int signal = wakes_.wait(0);
      is_hurried = is_hurried || signal == SIGTERM || signal == SIGINT;
      return is_hurried || news_->is_tree_gone;
    });
    if (is_hurried) node_->context().log.warning("told to stop a second time: stopping at once");
    if (!is_idle && !is_hurried) node_->context().log.warning("the time is up: what still runs is returned");
    node_->context().state = node::NodeState::stopping;
    const StopReport report = stop_tree(runtime_, root_, is_hurried ? k_hurry_limit : k_stop_limit);
    node_->context().log.info(report.clean ? "stopped" : "stopped: " + report.text());
    return report.stuck.empty() ? k_exit_ok : k_exit_failed;
  }

  int collapsed() {
    node_->context().log.error("the supervision tree gave up: too many failures in too short a time");
    return k_exit_collapsed;
  }

  int fatal() {
    node_->context().log.error("the journal's disk failed, so the node ends: " + news_->fatal);
    runtime_.exit(root_, ExitReason::kill());
    return k_exit_disk;
  }

  Wakes& wakes_;
  std::shared_ptr<node::NodeHost> node_;
  Runtime& runtime_;
  std::shared_ptr<News> news_;
  const bool is_attended_;
  Pid root_;
};

// A connection is a descriptor: as many as the system allows. What agents run has its own limits.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::int64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// What is written down of this run, for `skein mcp`.
node::LastRun run_of(const UpArguments& args, const std::string& file, const std::string& data) {
  node::LastRun run;
  run.is_operator = !args.attended && !args.started_by_mcp;
  if (!file.empty()) run.config = std::filesystem::absolute(file).lexically_normal().string();
  run.command = "skein up";
  if (!run.config.empty()) run.command += " " + run.config;
  run.command += " --data " + data;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) run.command += fmt::format(" {} {}", option, value);
  };
  add("--http", args.http);
  add("--tcp", args.tcp);
  add("--auth", args.auth);
  for (const std::string& each : args.settings) add("--set", each);
  return run;
}

void note_run(node::NodeHost& node, const std::string& data, const node::LastRun& run) {
  if (const std::string why = node::write_last_run(data, run); !why.empty()) {
    node.context().log.warning("who runs the node could not be written down for 'skein mcp': " + why);
  }
}

// What is wrong with an address of the command line, complete, for people.
std::optional<std::string> bad_address(const char* option, const std::string& given) {
  if (given.empty() || given == "off") return std::nullopt;
  const auto place = net::parse_host_port(given);
  if (place) return std::nullopt;
  return fmt::format("{} {}: {}; give HOST:PORT or off", option, given, place.error());
}

int up(const UpArguments& args) {
  for (const auto& [option, given] : {std::pair("--http", args.http), {"--tcp", args.tcp}}) {
    if (const auto wrong = bad_address(option, given)) return complain(k_exit_usage, *wrong);
  }
  std::string file = args.file;
  if (file.empty() && std::filesystem::exists(node::k_config_file)) file = node::k_config_file;
  auto config = node::load_config(file, all_settings(args));
  if (!config) {
    fmt::print(stderr, "{}", config.error().describe());
    return k_exit_config;
  }
  const char* data = std::getenv("SKEIN_DATA");
  if (!args.data.empty()) {
    config->node.data = args.data;
  } else if (data != nullptr && *data != '\0') {
    config->node.data = data;
  } else {
    config->data_of_file = config->node.data;
    if (config->node.data.empty()) config->node.data = node::default_data_folder();
  }
  config->conformance_fixtures = args.fixtures;
  config->node.data = std::filesystem::absolute(config->node.data).lexically_normal().string();
  const std::string folder = config->node.data;
  const auto format = node::log_format_named(config->node.log_format).value_or(node::LogFormat::text);
  node::LastRun run = run_of(args, file, folder);
  launcher::Launcher::fork_early();  // before any thread exists
  if (!config->node.core_dumps) launcher::hide_from_others();
  raise_descriptor_limit();
  // For the runtime's dump of a fatal signal; taking the lock says what is wrong with it.
  std::error_code ignored;
  if (std::filesystem::create_directories(config->node.data, ignored)) {
    std::filesystem::permissions(config->node.data, std::filesystem::perms::owner_all, ignored);
  }
  Wakes wakes;
  const auto news = std::make_shared<News>();
  Runtime runtime(with_dump(*config));
  int code = k_exit_failed;
  {
    node::NodeSetup setup;
    setup.config = std::move(*config);
    setup.accept_loss = args.accept_loss;
    setup.on_fatal = [&wakes, news](const std::string& why) {
      const std::scoped_lock lock(news->mutex);
      news->fatal = why.empty() ? "no reason was given" : why;
      wakes.wake();
    };
    setup.on_stop_asked = [&wakes, news] {
      news->is_stop_asked = true;
      wakes.wake();
    };
    auto node = node::NodeHost::prepare(runtime, std::move(setup));
    if (!node) {
      const bool is_in_use = node.error().kind() == NodeError::Kind::folder_in_use;
      return fail_to_start(format, is_in_use ? k_exit_in_use : k_exit_failed, node.error().what());
    }
    (*node)->context().attendance->when_alone([&wakes] { wakes.wake(); });
    note_run(**node, folder, run);
    code = Up(wakes, *node, runtime, news, args.attended).run();
    if (code == k_exit_ok) {
      run.has_stopped = true;
      run.stopped_at = wall_ms();
      note_run(**node, folder, run);
    }
    // Before the node goes: its processes refer to it.
    const ShutdownReport report = runtime.shutdown(k_shutdown_limit);
    if (!report.clean) fmt::print(stderr, "skein: {}\n", report.text());
  }
  return code;
}

}  // namespace

void add_up(Verb& root) {
  const auto args = std::make_shared<UpArguments>();
  Verb verb = root.verb("up", "Run a node in the foreground");
  verb.optional_place("CONFIG", args->file, "Config file (default: skein.toml if it is there)");
  verb.filled("--data", args->data, "Data folder");
  verb.option("--http", args->http, "Address to listen on, HOST:PORT, or off");
  verb.option("--tcp", args->tcp, "Address to listen on, HOST:PORT, or off");
  verb.option("--auth", args->auth, "Authentication: token, or none (on loopback only)");
  verb.option("--set", args->settings, "Override a setting of the file: section.key=value; may be repeated");
  verb.flag("--attended", args->attended, "Stop when the last MCP client on the socket disconnects");
  verb.flag("--started-by-mcp", args->started_by_mcp, "Record that 'skein mcp' started this node, not an operator");
  verb.flag("--accept-loss", args->accept_loss,
            "Start even if data is missing from journal or archive, and record what was lost");
  verb.flag("--conformance-fixtures", args->fixtures, "Offer the fixtures of the MCP conformance suite");
  verb.run([args] { return up(*args); });
}

}  // namespace skein::cli
