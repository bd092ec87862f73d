// skein top: a live view of node, tasks and agents. On a terminal it has a screen of its own, which is left as it was
// found; q, or an interrupt, ends it. Otherwise each look is printed below the last, or is a line of JSON.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>
#include <tuple>

#include "cli/node_views.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TopArguments {
  Session session;
  std::uint64_t every_ms = 1000;
  std::uint64_t rounds = 0;
  std::uint64_t limit = 30;
};

constexpr std::size_t k_lines_around = 12;  // of what is shown above and below the agents
constexpr std::uint64_t k_every_min_ms = 50;

std::atomic<bool> is_interrupted{false};
void on_interrupt(int) { is_interrupted = true; }

// The terminal's other screen with keys that come one by one; both as before when it goes.
class Screen {
 public:
  Screen() {
    if (::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      takes_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    fmt::print("\033[?1049h\033[?25l");
  }
  ~Screen() {
    fmt::print("\033[?25h\033[?1049l");
    std::fflush(stdout);
    if (takes_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Drawn over what was there, so that nothing flickers.
  static void draw(const std::string& text) {
    std::string out = "\033[H";
    for (const char each : text) {
      if (each == '\n') out += "\033[K";
      out += each;
    }
    out += "\033[J";
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
  }
  // False when the person has seen enough.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const {
    const auto until = Clock::now() + time;
    while (!is_interrupted) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left <= 0) return true;
      pollfd key{takes_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(&key, 1, static_cast<int>(left)) <= 0) continue;
      char pressed = 0;
      if (::read(STDIN_FILENO, &pressed, 1) != 1 || pressed == 'q' || pressed == 'Q') return false;
    }
    return false;
  }

 private:
  termios before_{};
  bool takes_keys_ = false;
};

struct Look {
  json::value node;
  json::value tasks;
  json::value agents;
  Clock::time_point at;
};

control::ClientResult<Look> look(control::Client& client, std::chrono::milliseconds timeout) {
  Look seen;
  auto node = client.ask("info", {}, timeout);
  if (!node) return std::unexpected(std::move(node.error()));
  seen.node = std::move(*node);
  seen.at = Clock::now();
  // The engine may be away for a moment; the node is shown all the same.
  if (auto tasks = client.ask("status", {}, timeout)) seen.tasks = std::move(*tasks);
  if (auto agents = client.ask("agent_list", {}, timeout)) seen.agents = part_of(*agents, "agents");
  return seen;
}

// What went on between two looks. A counter that went back belongs to an engine that is new.
std::string rates(const Look& before, const Look& now) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  if (seconds <= 0) return "";
  const auto per_second = [&](const char* key) {
    const auto then = count_of(before.tasks, key);
    return static_cast<double>(count_of(now.tasks, key) - std::min(then, count_of(now.tasks, key))) / seconds;
  };
  const double cpu_ms = static_cast<double>(count_of(now.node, "cpu_ms") - count_of(before.node, "cpu_ms"));
  return fmt::format("a second  {:.0f} submitted, {:.0f} completed, {:.0f} failed; processor {:.1f}%\n",
                     per_second("submitted"), per_second("completed"), per_second("failed"), cpu_ms / 10 / seconds);
}

// Those that run something first, then by what they have done.
std::string agents_text(const json::value& agents, std::size_t limit) {
  const json::array* all = agents.if_array();
  if (all == nullptr) return "";
  std::vector<const json::value*> sorted;
  for (const json::value& each : *all) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, [](const json::value* each) {
    return std::tuple(text_of(*each, "executing_task").empty(), ~count_of(*each, "completed"), text_of(*each, "id"));
  });
  Table table({"AGENT", "STATUS", "SWARM", "LOAD", "HEARD", "DONE", "FAILED", "RUNS"});
  for (std::size_t i = 0; i < sorted.size() && i < limit; ++i) {
    const json::value& each = *sorted[i];
    const std::string state = text_of(each, "status");
    table.row({text_of(each, "id"), coloured(state, colour_of(state)), text_of(each, "swarm"), text_of(each, "load"),
               how_long(count_of(each, "heartbeat_age_ms")), text_of(each, "completed"), text_of(each, "failed"),
               text_of(each, "executing_task")});
  }
  std::string out = table.text();
  if (sorted.size() > limit) out += fmt::format("and {} more agents\n", sorted.size() - limit);
  return out;
}

int top(const TopArguments& args) {
  const std::chrono::milliseconds every(std::max(args.every_ms, k_every_min_ms));
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  std::unique_ptr<Screen> screen;
  if (!args.session.json && is_terminal(stdout)) screen = std::make_unique<Screen>();
  std::optional<Look> before;
  for (std::uint64_t round = 0; args.rounds == 0 || round < args.rounds; ++round) {
    auto now = look(*client, args.session.timeout());
    if (!now) {
      screen.reset();
      return complain(now.error());
    }
    if (args.session.json) {
      print_json(json::object{{"node", now->node}, {"tasks", now->tasks}, {"agents", now->agents}});
    } else {
      const std::size_t room = screen ? terminal_height() - std::min(terminal_height() - 1, k_lines_around) : SIZE_MAX;
      std::string text = status_text(now->node, now->tasks) + (before ? rates(*before, *now) : "\n") + "\n" +
                         agents_text(now->agents, std::min<std::size_t>(args.limit, room));
      if (screen) {
        Screen::draw(text + "\n" + coloured("q ends this", Colour::dim));
      } else {
        fmt::print("{}\n", text);
        std::fflush(stdout);
      }
    }
    before = std::move(*now);
    if (round + 1 == args.rounds) break;
    if (!screen) {
      std::this_thread::sleep_for(every);
    } else if (!screen->wait(every)) {
      break;
    }
  }
  return k_exit_ok;
}

}  // namespace

void add_top(Verb& root) {
  const auto args = std::make_shared<TopArguments>();
  Verb verb = root.verb("top", "A live view of node, tasks and agents");
  verb.time("--every", args->every_ms, "How often to look");
  verb.option("--rounds", args->rounds, "Look so often, then end; 0: until interrupted");
  verb.option("--limit", args->limit, "Agents shown");
  args->session.add_to(verb);
  verb.run([args] { return top(*args); });
}

}  // namespace skein::cli
