// Tokens: made, listed, revoked, rotated. What those with bounds may see: operations_scope.cpp.
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
    return invalid(fmt::format("'{}' is not a valid name for a token", request.name), std::string(k_plain_name_advice));
  }
  if (request.name == k_first_token) {
    return Error{Code::token_exists, "the token 'first' is the token of the data folder",
                 "choose another name, or rotate it", 0ms};
  }
  if (!request.bounds.task.none() && request.rank != ledger::Rank::operate) {
    return invalid("a token for a task has the rank operate", "leave out the task, or give that rank");
  }
  if (request.bounds.task.none() && (request.bounds.depth != 0 || request.bounds.children != 0)) {
    return invalid("depth and children need a task, and the token names none", "give the task, or leave them out");
  }
  return std::nullopt;
}

Error too_many_tokens() {
  return {Code::ledger_full, fmt::format("there are already {} tokens, which is the limit", ledger::k_tokens_max),
          "revoke a token that is no longer needed: 'skein token list' lists the tokens, 'skein token revoke NAME' "
          "revokes one",
          0ms};
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
  const ledger::TokenBounds bounds = op.token.bounds;
  Reply<Nothing> then([self = shared_from_this(), op = std::move(op), secret = std::move(secret),
                       reply = std::move(reply)](Result<Nothing> fits) mutable {
    if (!fits) return reply.fail(std::move(fits.error()));
    self->make_token(std::move(op), std::move(secret), std::move(reply));
  });
  check_bounds(bounds, std::move(then));
}

void Operations::make_token(ledger::TokenPut op, std::string secret, Reply<MadeToken> reply) {
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
        .fail(invalid("the token 'first' is the token of the data folder and cannot be revoked",
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
        .fail(invalid("this node has no first token, because none of its transports needs a token",
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
          .fail(
              {Code::internal, "the new token could not be stored: " + kept.error(), "the old token still works", 0ms});
    }
    self->parts_.access->set_first(made.secret);
    reply(std::move(made));
  });
}

}  // namespace skein::inline v0::operations
