// Tokens: made, listed, revoked, rotated; and what tokens with bounds may see.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/secret.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

using ledger::OpResult;
using ledger::Token;
using namespace std::chrono_literals;

// How long a rotated secret may go on working.
constexpr std::chrono::milliseconds k_overlap_max = std::chrono::hours(24) * 30;

std::string token_text(const std::string& name) { return fmt::format("token '{}'", name); }

WallMs wall_after(WallMs now, std::chrono::milliseconds time) {
  return time == 0ms ? 0 : now + static_cast<WallMs>(time.count());
}

std::optional<Error> bad_token(const TokenRequest& request) {
  if (!is_plain_name(request.name)) {
    return invalid(fmt::format("'{}' is no name of a token", request.name), std::string(k_plain_name_advice));
  }
  if (request.name == k_first_token) {
    return Error{Code::token_exists, "the token 'first' is that of the data folder",
                 "choose another name, or rotate it", 0ms};
  }
  if (!request.bounds.task.none() && request.rank != ledger::Rank::operate) {
    return invalid("a token for a task has the rank operate", "leave out the task, or give that rank");
  }
  if (request.bounds.task.none() && (request.bounds.depth != 0 || request.bounds.children != 0)) {
    return invalid("depth and children are about the children of a task, and the token names none",
                   "give the task, or leave them out");
  }
  return std::nullopt;
}

bool is_within(const Scope& scope, const ledger::Task& task) {
  if (!scope.task.none()) return task.id == scope.task || task.more().parent == scope.task;
  return (task.shape && task.shape->swarm == scope.swarm) || task.first_swarm() == scope.swarm;
}

Error too_many_tokens() {
  return {Code::ledger_full, fmt::format("there are {} tokens, as many as there may be", ledger::k_tokens_max),
          "revoke one that nobody needs: 'skein token list' shows them, 'skein token revoke NAME' ends one", 0ms};
}

Error attempt_is_over(TaskId task) {
  return error_of({ledger::Verdict::stale_fence, std::nullopt, 0, {}}, "task " + task.text());
}

}  // namespace

void Operations::tell_access(const ledger::ChangeBatch& batch) const {
  for (const auto& change : batch.changes) {
    if (const auto* changed = std::get_if<ledger::TokenChanged>(&change)) parts_.access->put(changed->token);
    if (const auto* revoked = std::get_if<ledger::TokenRevoked>(&change)) parts_.access->remove(revoked->name);
  }
}

void Operations::put_token(ledger::TokenPut op, std::string secret, Reply<MadeToken> reply) {
  auto made = std::make_shared<MadeToken>(MadeToken{op.token, std::move(secret)});
  const std::string what = token_text(op.token.name);
  controls_->append(std::move(op), [made, what, reply = counted(std::move(reply))](const Result<OpResult>& result,
                                                                                   std::string_view) mutable {
    if (!result) return reply.fail(result.error());
    if (result->verdict == ledger::Verdict::ledger_full) return reply.fail(too_many_tokens());
    if (result->refused()) return reply.fail(error_of(*result, what));
    reply(std::move(*made));
  });
}

void Operations::token_create(TokenRequest request, Reply<MadeToken> reply) {
  if (auto bad = bad_token(request)) return counted(std::move(reply)).fail(std::move(*bad));
  const WallMs now = parts_.timers.wall_now();
  std::string secret = std::string(k_token_prefix) + random_secret();
  ledger::TokenPut op;
  op.token.name = std::move(request.name);
  op.token.secret = sha256(secret);
  op.token.rank = request.rank;
  op.token.made_at = now;
  op.token.expires_at = wall_after(now, request.ttl);
  op.token.bounds = std::move(request.bounds);
  on_ledger(std::move(reply), [self = shared_from_this(), op = std::move(op),
                               secret = std::move(secret)](Reply<MadeToken> answer) mutable {
    const auto all = self->parts_.ledger.tokens();
    const auto is_other = [](const Token& each) { return each.name != k_first_token; };
    // The last place is that of the first token, so that it can be rotated when there are as many as there may be.
    const bool is_new = std::ranges::find(all, op.token.name, &Token::name) == all.end();
    if (is_new && static_cast<std::size_t>(std::ranges::count_if(all, is_other)) + 1 >= ledger::k_tokens_max) {
      return self->counted(std::move(answer)).fail(too_many_tokens());
    }
    self->put_token(std::move(op), std::move(secret), std::move(answer));
  });
}

void Operations::token_list(Reply<TokensAnswer> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this()](Reply<TokensAnswer> answer) {
    TokensAnswer all{self->parts_.ledger.tokens(), self->parts_.timers.wall_now()};
    const Digest first = self->parts_.access ? self->parts_.access->first_digest() : Digest{};
    const auto listed = std::ranges::find(all.tokens, k_first_token, &Token::name);
    // The ledger knows of the first one only what its last rotation left.
    if (listed != all.tokens.end() && listed->secret != first) all.tokens.erase(listed);
    const bool is_there = std::ranges::find(all.tokens, k_first_token, &Token::name) != all.tokens.end();
    if (first != Digest{} && !is_there) {
      Token made;
      made.name = k_first_token;
      made.rank = ledger::Rank::administer;
      all.tokens.insert(std::ranges::lower_bound(all.tokens, made.name, {}, &Token::name), std::move(made));
    }
    answer(std::move(all));
  });
}

void Operations::token_revoke(std::string name, Reply<Nothing> reply) {
  if (name == k_first_token) {
    return counted(std::move(reply))
        .fail(invalid("the token 'first' is that of the data folder and cannot be revoked",
                      "rotate it: 'skein token rotate first'"));
  }
  const std::string what = token_text(name);
  control(ledger::TokenRevoke{std::move(name)}, what, std::move(reply));
}

void Operations::token_rotate(const RotateRequest& request, Reply<MadeToken> reply) {
  if (request.overlap < 0ms || request.overlap > k_overlap_max) {
    return counted(std::move(reply)).fail(invalid("the overlap must be at most 30 days"));
  }
  if (request.name == k_first_token) return rotate_first(request.overlap, std::move(reply));
  on_ledger(std::move(reply), [self = shared_from_this(), request](Reply<MadeToken> answer) {
    const auto all = self->parts_.ledger.tokens();
    const auto found = std::ranges::find(all, request.name, &Token::name);
    if (found == all.end()) {
      return self->counted(std::move(answer))
          .fail(error_of({ledger::Verdict::no_such_token, std::nullopt, 0, {}}, token_text(request.name)));
    }
    const WallMs now = self->parts_.timers.wall_now();
    std::string secret = std::string(k_token_prefix) + random_secret();
    ledger::TokenPut op{*found, found->secret};
    op.token.secret = sha256(secret);
    op.token.previous = found->secret;
    op.token.previous_until = wall_after(now, request.overlap);
    op.token.made_at = now;
    if (found->expires_at != 0)
      op.token.expires_at = now + (found->expires_at - std::min(found->made_at, found->expires_at));
    self->put_token(std::move(op), std::move(secret), std::move(answer));
  });
}

// The ledger first: if the program ends before the file is written, the file has the secret that works. See
// Access::rebuild().
void Operations::rotate_first(std::chrono::milliseconds overlap, Reply<MadeToken> reply) {
  const Digest present = parts_.access ? parts_.access->first_digest() : Digest{};
  if (present == Digest{} || !parts_.keep_first) {
    return counted(std::move(reply))
        .fail(invalid("this node has no first token: none of its transports wants one",
                      "set auth = \"token\" in [http] or [tcp]"));
  }
  on_ledger(std::move(reply), [self = shared_from_this(), present, overlap](Reply<MadeToken> answer) {
    const auto all = self->parts_.ledger.tokens();
    const auto found = std::ranges::find(all, k_first_token, &Token::name);
    const WallMs now = self->parts_.timers.wall_now();
    std::string secret = random_secret();
    ledger::TokenPut op;
    op.token.name = k_first_token;
    op.token.secret = sha256(secret);
    op.token.rank = ledger::Rank::administer;
    op.token.made_at = now;
    op.token.previous = present;
    op.token.previous_until = wall_after(now, overlap);
    if (found != all.end()) op.was = found->secret;
    Reply<MadeToken> then([self, last = std::move(answer)](Result<MadeToken> made) mutable {
      if (!made) return last.fail(std::move(made.error()));
      self->keep_first(std::move(*made), std::move(last));
    });
    self->put_token(std::move(op), std::move(secret), std::move(then));
  });
}

void Operations::keep_first(MadeToken made, Reply<MadeToken> reply) {
  reply.when_dropped(Code::overloaded);
  parts_.reads.post([self = shared_from_this(), made = std::move(made), reply = std::move(reply)]() mutable {
    reply.when_dropped(Code::stopped);
    const auto kept = self->parts_.keep_first(made.secret);
    if (!kept) {
      return self->counted(std::move(reply))
          .fail({Code::internal, "the new token could not be kept: " + kept.error(), "the old one works on", 0ms});
    }
    self->parts_.access->set_first(made.secret);
    reply(std::move(made));
  });
}

void Operations::check_scope(const Scope& scope, std::vector<TaskId> tasks, Reply<std::string> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), scope,
                                        tasks = std::move(tasks)](Reply<std::string> answer) {
    std::string swarm = scope.swarm;
    if (!scope.task.none()) {
      const auto own = self->parts_.ledger.find(scope.task);
      const bool runs = own && ledger::is_running(own->task.state) && own->task.fence == scope.fence;
      if (scope.fence != 0 && !runs) {
        if (self->parts_.access) self->parts_.access->end_attempt(scope.task, scope.fence);
        return answer.fail(attempt_is_over(scope.task));
      }
      if (own && own->task.shape) swarm = own->task.shape->swarm;
    }
    std::vector<TaskId> elsewhere;
    for (const TaskId each : tasks) {
      const auto found = self->parts_.ledger.find(each);
      if (!found) elsewhere.push_back(each);
      if (found && !is_within(scope, found->task)) return answer.fail(task_not_found(each));
    }
    if (elsewhere.empty()) return answer(std::move(swarm));
    if (self->parts_.archive == nullptr) return answer.fail(task_not_found(elsewhere.front()));
    self->on_archive(std::move(answer), [scope, swarm, elsewhere](archive::Store& store, Reply<std::string> last) {
      for (const TaskId each : elsewhere) {
        const auto found = store.find(each);
        if (!found) return last.fail(error_of(found.error()));
        if (!*found || !is_within(scope, (*found)->task)) return last.fail(task_not_found(each));
      }
      last(swarm);
    });
  });
}

Reply<SubmitAnswer> Operations::only_own(const ledger::ChildOf& child, Reply<SubmitAnswer> reply) {
  return Reply<SubmitAnswer>([self = shared_from_this(), task = child.task,
                              reply = std::move(reply)](Result<SubmitAnswer>&& made) mutable {
    // Whose task it is must not be told.
    if (!made && made.error().code == Code::key_reused) {
      return reply.fail({Code::key_reused, "the key belongs to a task of another type or with other params", "choose another key", 0ms});
    }
    if (!made || !made->existing) return reply(std::move(made));
    Reply<std::string> then([made = *made, reply = std::move(reply)](Result<std::string> found) mutable {
      if (found) return reply(made);
      reply.fail(
          {Code::forbidden, "the key belongs to a task that is no child of this one", "choose another key", 0ms});
    });
    self->check_scope({task, 0, {}}, {made->id}, std::move(then));
  });
}

}  // namespace skein::inline v0::operations
