// Operations on tokens: each declaration beside its handler. None is a tool: a model has no business with secrets.
#include <utility>

#include "skein/ledger/limits.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

Param the_token() { return Param::text("name", "The token's name").required().at("NAME"); }

void make_token(const Call& call) {
  const Arguments& in = call.in;
  TokenRequest request;
  request.name = in.text("name");
  request.rank = ledger::rank_named(in.text("rank")).value_or(Rank::read);
  request.ttl = in.milliseconds("ttl_ms");
  request.bounds.task = in.task_id("task");
  request.bounds.swarm = in.text("swarm");
  request.bounds.depth = static_cast<std::uint32_t>(in.count("depth"));
  request.bounds.children = static_cast<std::uint32_t>(in.count("children"));
  call.ops->token_create(std::move(request), call.respond.reply<MadeToken>());
}

Operation token_create() {
  return {
      .name = "token_create",
      .title = "Create a token",
      .summary = "Create a token; only this answer contains its secret",
      .params = {the_token(),
                 Param::word("rank", {"read", "operate", "administer"}, "What the holder of the token may do")
                     .or_else("read"),
                 Param::milliseconds("ttl_ms", "Time until the token expires; 0: never").as_option("ttl"),
                 Param::text("swarm", "Restrict the token to this swarm and its tasks").filled(),
                 Param::task_id("task", "Restrict the token to this task and its children; needs the rank operate"),
                 // In the ledger 0 is 'as many as there may be': from here it would read as none.
                 Param::count("depth", 1, ledger::k_child_depth_max,
                              "With task: maximum nesting depth of its children"),
                 Param::count("children", 1, ledger::k_children_max,
                              "With task: maximum number of children that it may submit")},
      .answer = "MadeToken",
      .errors = {Code::token_exists, Code::swarm_not_found, Code::task_not_found, Code::already_finished,
                 Code::ledger_full, Code::too_large},
      .rank = Rank::administer,
      .effect = Operation::Effect::adds,
      .rest = {"POST", "/tokens", net::http_status::k_created},
      .cli = {"token create", "skein token create ci --rank operate --ttl 30d"},
      .needs_engine = true,
      .handler = make_token,
  };
}

void list_tokens(const Call& call) { call.ops->token_list(call.respond.reply<TokensAnswer>()); }

Operation token_list() {
  return {
      .name = "token_list",
      .title = "List tokens",
      .summary = "List tokens, without their secrets",
      .answer = "Tokens",
      .rank = Rank::administer,
      .rest = {"GET", "/tokens"},
      .cli = {"token list", "skein token list"},
      .needs_engine = true,
      .handler = list_tokens,
  };
}

void revoke_token(const Call& call) {
  call.ops->token_revoke(call.in.text("name"), call.respond.reply<Operations::Nothing>());
}

Operation token_revoke() {
  return {
      .name = "token_revoke",
      .title = "Revoke a token",
      .summary = "Revoke a token, also on connections that are already open",
      .params = {the_token()},
      .errors = {Code::token_not_found},
      .rank = Rank::administer,
      .effect = Operation::Effect::destroys,
      .rest = {"DELETE", "/tokens/{name}"},
      .cli = {"token revoke", "skein token revoke ci"},
      .needs_engine = true,
      .handler = revoke_token,
  };
}

void rotate_token(const Call& call) {
  call.ops->token_rotate({call.in.text("name"), call.in.milliseconds("overlap_ms")}, call.respond.reply<MadeToken>());
}

Operation token_rotate() {
  return {
      .name = "token_rotate",
      .title = "Rotate a token",
      .summary = "Give a token a new secret; only this answer contains it",
      .params = {the_token(), Param::milliseconds("overlap_ms", "How long the old secret still works; 0: not at all")
                                  .as_option("overlap")},
      .answer = "MadeToken",
      .errors = {Code::token_not_found, Code::token_exists},
      .rank = Rank::administer,
      .effect = Operation::Effect::adds,
      .rest = {"POST", "/tokens/{name}/rotate"},
      .cli = {"token rotate", "skein token rotate ci --overlap 24h"},
      .needs_engine = true,
      .handler = rotate_token,
  };
}

std::vector<AnswerType> token_answers() {
  return {
      {.name = "TokenLine",
       .help = "A token without its secret",
       .members =
           {
               {"name", "string"},
               {"rank", "'read' 'operate' 'administer'"},
               {"made_at?", "Time"},
               {"made_time?", "TimeText"},
               {"expires_at?", "Time"},
               {"expires_time?", "TimeText"},
               {"previous_until?", "Time", "The secret before works until then"},
               {"previous_until_time?", "TimeText"},
               {"swarm?", "string", "It is bound to this swarm"},
               {"task?", "TaskId", "It is bound to this task"},
               {"depth?", "integer"},
               {"children?", "integer"},
           }},
      {.name = "Token", .members = {{"state", "'valid' 'expired'"}}, .base = "TokenLine"},
      {.name = "Tokens", .members = {{"tokens", "[Token]"}}},
      {.name = "MadeToken",
       .members = {{"token", "string", "The secret; show it as Authorization: Bearer"}},
       .base = "TokenLine"},
  };
}

}  // namespace

DeclaredGroup token_operations() {
  return {"tokens", {token_create(), token_list(), token_revoke(), token_rotate()}, token_answers()};
}

}  // namespace skein::inline v0::operations
