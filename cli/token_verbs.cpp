// skein token create|list|revoke|rotate.
#include <fmt/format.h>

#include "cli/operation_verbs.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

// A dash for none.
std::string or_dash(const json::value& token, std::string_view key) {
  const std::string text = text_of(token, key);
  return text.empty() ? "-" : text;
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
               coloured(state, state == "valid" ? Colour::green : Colour::yellow), or_dash(each, "made_time"),
               or_dash(each, "expires_time"), or_dash(each, "previous_until_time"), bounds_of(each)});
  }
  table.print();
}

// The secret alone on standard output, so that a script can take it.
void show_made(const json::value& made) {
  const std::string name = text_of(made, "name");
  fmt::print("{}\n", text_of(made, "token"));
  std::fflush(stdout);
  const std::string expires = text_of(made, "expires_time");
  fmt::print(stderr, "skein: token '{}', rank {}{}; it is shown this once{}\n", name, text_of(made, "rank"),
             expires.empty() ? "" : ", until " + expires,
             name == "first" ? ", and is in the file 'token' of the data folder" : "");
  const std::string before = text_of(made, "previous_until_time");
  if (!before.empty()) fmt::print(stderr, "skein: the secret before works until {}\n", before);
}

}  // namespace

void add_tokens(Verb& root) {
  Verb token = root.verb("token", "Create, list, revoke or rotate the tokens of clients");
  token.needs_verb();
  add_operation(root, "token_create", {.show = show_made});
  add_operation(root, "token_list", {.show = show_tokens});
  add_operation(root, "token_revoke", {.run = [](const Invocation& invocation) {
                  return ask_and_show(invocation.session, "token_revoke", invocation.params, [&](const json::value&) {
                    fmt::print("token '{}' is revoked\n", text_of(invocation.params, "name"));
                  });
                }});
  add_operation(root, "token_rotate", {.show = show_made});
}

}  // namespace skein::cli
