// skein top: a live view of node, tasks and agents. On a terminal it has a screen of its own, which is left as it was
// found; q, or an interrupt, ends it. Otherwise each look is printed below the last, or is a line of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/node_views.hpp"
#include "cli/screen.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/base/natural_order.hpp"

namespace skein::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TopArguments {
  Session session;
  std::uint64_t every_ms = 1000;
  std::uint64_t rounds = 0;
  std::uint64_t limit = 30;
};

constexpr std::size_t k_lines_around = 3;  // of the agents: the table's head, how many more there are, the foot
constexpr std::uint64_t k_every_min_ms = 50;

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
  // The engine may be away for a moment; the node is still shown.
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

// What it runs and for how long; a task's id fills half a line and says less.
std::string runs_of(const json::value& agent) {
  if (text_of(agent, "executing_task").empty()) return "";
  return fmt::format("{} {}", text_of(agent, "executing_type"), how_long(count_of(agent, "executing_ms")));
}

// Those that run something first, then by what they have done.
std::string agents_text(const json::value& agents, std::size_t limit) {
  const json::array* all = agents.if_array();
  if (all == nullptr) return "";
  std::vector<const json::value*> sorted;
  for (const json::value& each : *all) sorted.push_back(&each);
  std::ranges::sort(sorted, [](const json::value* a, const json::value* b) {
    const bool is_busy = !text_of(*a, "executing_task").empty();
    if (is_busy == text_of(*b, "executing_task").empty()) return is_busy;
    if (count_of(*a, "completed") != count_of(*b, "completed")) {
      return count_of(*a, "completed") > count_of(*b, "completed");
    }
    return natural_less(text_of(*a, "id"), text_of(*b, "id"));
  });
  Table table({"AGENT", "STATUS", "SWARM", "LOAD", "HEARD", "DONE", "FAILED", "RUNS"});
  for (std::size_t i = 0; i < sorted.size() && i < limit; ++i) {
    const json::value& each = *sorted[i];
    const std::string state = text_of(each, "status");
    table.row({text_of(each, "id"), coloured(state, colour_of(state)), text_of(each, "swarm"), text_of(each, "load"),
               how_long(count_of(each, "heartbeat_age_ms")), text_of(each, "completed"), text_of(each, "failed"),
               runs_of(each)});
  }
  std::string out = table.text();
  if (sorted.size() > limit) out += fmt::format("and {} more agents\n", sorted.size() - limit);
  return out;
}

// As many agents as there is room for below the rest.
std::size_t agents_shown(const std::string& above, std::uint64_t limit, bool is_on_screen) {
  if (!is_on_screen) return limit;
  const auto used = static_cast<std::size_t>(std::ranges::count(above, '\n')) + k_lines_around;
  return std::min<std::size_t>(limit, terminal_height() > used ? terminal_height() - used : 0);
}

int top(const TopArguments& args) {
  const std::chrono::milliseconds every(std::max(args.every_ms, k_every_min_ms));
  auto client = connect(args.session);
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
      const std::string above = status_text(now->node, now->tasks) + (before ? rates(*before, *now) : "\n") + "\n";
      const std::string text = above + agents_text(now->agents, agents_shown(above, args.limit, screen != nullptr));
      if (screen) {
        Screen::draw(text, coloured("q ends this", Colour::dim));
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
  Verb verb = root.verb("top", "Show a live view of node, tasks and agents");
  verb.time("--every", args->every_ms, "Refresh interval");
  verb.option("--rounds", args->rounds, "Exit after N refreshes; 0: until interrupted");
  verb.option("--limit", args->limit, "Agents shown");
  args->session.add_to(verb);
  verb.run([args] { return top(*args); });
}

}  // namespace skein::cli
