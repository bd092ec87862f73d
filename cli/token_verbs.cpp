// skein token create|list|revoke|rotate.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/node/config_values.hpp"

namespace skein::cli {
namespace {

struct TokenArguments {
  Session session;
  std::string name;
  std::string rank = "read";
  std::string ttl;
  std::string overlap;
  std::string swarm;
  std::string task;
  std::uint64_t depth = 0;
  std::uint64_t children = 0;
};
using TokenArgumentsPtr = std::shared_ptr<TokenArguments>;

// "2026-11-18 04:30:00 UTC"; a dash for none.
std::string date_of(std::uint64_t wall_ms) {
  if (wall_ms == 0) return "-";
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "-";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string bounds_of(const json::value& token) {
  std::string text;
  for (const char* each : {"swarm", "task", "depth", "children"}) {
    const std::string value = text_of(token, each);
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each, value);
  }
  return text;
}

void show_tokens(const json::value& answer) {
  Table table({"TOKEN", "RANK", "STATE", "MADE", "EXPIRES", "OLD SECRET UNTIL", "BOUND TO"});
  for (const json::value& each : list_of(answer, "tokens")) {
    const std::string state = text_of(each, "state");
    table.row({text_of(each, "name"), text_of(each, "rank"),
               coloured(state, state == "valid" ? Colour::green : Colour::yellow), date_of(count_of(each, "made_at")),
               date_of(count_of(each, "expires_at")), date_of(count_of(each, "previous_until")), bounds_of(each)});
  }
  table.print();
}

// The secret alone on standard output, so that a script can take it.
void show_made(const json::value& made) {
  const std::string name = text_of(made, "name");
  fmt::print("{}\n", text_of(made, "token"));
  std::fflush(stdout);
  const std::uint64_t expires = count_of(made, "expires_at");
  fmt::print(stderr, "skein: token '{}', rank {}{}; it is shown this once{}\n", name, text_of(made, "rank"),
             expires == 0 ? "" : ", until " + date_of(expires),
             name == "first" ? ", and is in the file 'token' of the data folder" : "");
  const std::uint64_t before = count_of(made, "previous_until");
  if (before != 0) fmt::print(stderr, "skein: the secret before works until {}\n", date_of(before));
}

// A time such as 30d or 24h in milliseconds; -1 for a text that is none.
std::int64_t milliseconds_in(const std::string& text) {
  constexpr std::string_view k_digits = "0123456789";
  const bool is_days = text.ends_with('d') && text.find_first_not_of(k_digits) == text.size() - 1 && text.size() < 7;
  const auto time =
      is_days ? std::optional<Duration>(std::chrono::hours(24) * std::stoll(text)) : node::parse_time(text);
  if (!time) return -1;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*time).count();
}

int create_token(const TokenArguments& args) {
  json::object params{{"name", args.name}, {"rank", args.rank}};
  if (!args.ttl.empty()) {
    const std::int64_t ttl_ms = milliseconds_in(args.ttl);
    if (ttl_ms <= 0) return complain(k_exit_usage, fmt::format("--ttl {}: give a time, such as 30d or 12h", args.ttl));
    params["ttl_ms"] = ttl_ms;
  }
  if (!args.swarm.empty()) params["swarm"] = args.swarm;
  if (!args.task.empty()) params["task"] = args.task;
  if (args.depth != 0) params["depth"] = args.depth;
  if (args.children != 0) params["children"] = args.children;
  return ask_and_show(args.session, "token_create", params, show_made);
}

int rotate_token(const TokenArguments& args) {
  json::object params{{"name", args.name}};
  if (!args.overlap.empty()) {
    const std::int64_t overlap_ms = milliseconds_in(args.overlap);
    if (overlap_ms < 0) return complain(k_exit_usage, fmt::format("--overlap {}: give a time, as 24h", args.overlap));
    params["overlap_ms"] = overlap_ms;
  }
  return ask_and_show(args.session, "token_rotate", params, show_made);
}

}  // namespace

void add_tokens(Verb& root) {
  const auto args = std::make_shared<TokenArguments>();
  Verb token = root.verb("token", "Create, list, revoke or rotate the tokens that clients show");
  token.needs_verb();

  Verb create = token.verb("create", "Make a token and print it; it is shown this once");
  create.place("NAME", args->name, "Its name");
  create.option("--rank", args->rank, "What its holder may do: read, operate or administer; default: read");
  create.option("--ttl", args->ttl, "It expires after this time, such as 30d; default: never");
  create.option("--swarm", args->swarm, "It is for this swarm and its tasks only");
  create.option("--task", args->task, "It acts for this task: on it and its children only; needs --rank operate");
  create.option("--depth", args->depth, "With --task: how deep its children may be");
  create.option("--children", args->children, "With --task: how many children it may submit");
  args->session.add_to(create);
  create.run([args] { return create_token(*args); });

  Verb list = token.verb("list", "Show all tokens, without their secrets");
  args->session.add_to(list);
  list.run([args] { return ask_and_show(args->session, "token_list", {}, show_tokens); });

  Verb revoke = token.verb("revoke", "Make a token void at once, also on connections that are open");
  revoke.place("NAME", args->name, "Which one");
  args->session.add_to(revoke);
  revoke.run([args] {
    return ask_and_show(args->session, "token_revoke", {{"name", args->name}}, [args](const json::value&) {
      fmt::print(stderr, "skein: token '{}' is revoked\n", args->name);
    });
  });

  Verb rotate = token.verb("rotate", "Give a token a new secret and print it; 'first' is that of the data folder");
  rotate.place("NAME", args->name, "Which one");
  rotate.option("--overlap", args->overlap, "The old secret works for this time too, such as 24h; default: not at all");
  args->session.add_to(rotate);
  rotate.run([args] { return rotate_token(*args); });
}

}  // namespace skein::cli
