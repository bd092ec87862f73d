#include "skein/operations/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "skein/base/secret.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::size_t k_id_digits = 32;
constexpr std::size_t k_tag_digits = 64;
constexpr std::size_t k_attempts_untidied = 64;

std::string digits_of(ledger::TaskId id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

template <class Number>
bool read_hex(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// All zero for a text that is none.
Digest digest_in(std::string_view hex) {
  Digest out{};
  if (hex.size() != 2 * out.size()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read_hex(hex.substr(2 * i, 2), out[i])) return {};
  }
  return out;
}

std::string signed_part(ledger::TaskId task, ledger::Fence fence) {
  return fmt::format("{}_{:x}", digits_of(task), fence);
}

// Enough to tell tokens apart, and too little to find a secret by.
std::string id_of(const Digest& secret) {
  constexpr std::size_t k_id_shown = 16;
  return secret == Digest{} ? std::string() : to_hex(sha256(to_hex(secret))).substr(0, k_id_shown);
}

Principal principal_of(const ledger::Token& token) {
  Principal who;
  who.kind = Principal::Kind::token;
  who.name = token.name;
  who.rank = token.rank;
  who.bounds = token.bounds;
  who.id = id_of(token.secret);
  who.former_id = id_of(token.previous);
  return who;
}

ledger::WallMs end_of(ledger::WallMs at) { return at == 0 ? Standing::k_for_ever : at; }

// Its id apart, which a rotation changes: what the old secret opened stays open for the overlap.
bool is_same_principal(const Principal& one, const Principal& other) {
  return one.kind == other.kind && one.name == other.name && one.rank == other.rank && one.bounds == other.bounds;
}

}  // namespace

void Access::set_first(std::string_view secret) {
  const std::scoped_lock lock(mutex_);
  first_ = secret.empty() ? Digest{} : sha256(secret);
  rebuild();
}

Digest Access::first_digest() const {
  const std::scoped_lock lock(mutex_);
  return first_;
}

void Access::set_tokens(const std::vector<ledger::Token>& all) {
  const std::scoped_lock lock(mutex_);
  tokens_.clear();
  for (const ledger::Token& each : all) tokens_.emplace(each.name, each);
  rebuild();
}

void Access::put(const ledger::Token& token) {
  const std::scoped_lock lock(mutex_);
  tokens_.insert_or_assign(token.name, token);
  rebuild();
}

void Access::remove(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  tokens_.erase(name);
  rebuild();
}

void Access::add(Entries& entries, const Digest& secret, Principal who, ledger::WallMs until) const {
  const auto known = by_secret_.find(secret);
  Entry entry;
  if (known != by_secret_.end() && is_same_principal(*known->second.who, who)) {
    entry.standing = known->second.standing;
  } else {
    entry.standing = std::make_shared<Standing>();
    entry.standing->wall = wall_;
  }
  who.standing = entry.standing;
  entry.who = std::make_shared<const Principal>(std::move(who));
  entry.standing->until = until;
  entries.emplace(secret, std::move(entry));
}

void Access::rebuild() {
  Entries entries;
  if (first_ != Digest{}) {
    Principal who;
    who.kind = Principal::Kind::first;
    who.name = k_first_token;
    add(entries, first_, who, Standing::k_for_ever);
    // In the ledger is only what its rotation left, if the file is still what was written then.
    const auto rotated = tokens_.find(std::string(k_first_token));
    if (rotated != tokens_.end() && rotated->second.secret == first_ && rotated->second.previous_until != 0) {
      add(entries, rotated->second.previous, std::move(who), rotated->second.previous_until);
    }
  }
  for (const auto& [name, token] : tokens_) {
    if (name == k_first_token) continue;
    const ledger::WallMs end = end_of(token.expires_at);
    add(entries, token.secret, principal_of(token), end);
    if (token.previous_until == 0) continue;
    add(entries, token.previous, principal_of(token), std::min(end, token.previous_until));
  }
  for (const auto& [secret, entry] : by_secret_) {
    const auto still = entries.find(secret);
    if (still == entries.end() || still->second.standing != entry.standing) entry.standing->until = 0;
  }
  by_secret_ = std::move(entries);
}

PrincipalPtr Access::identify(std::string_view secret) const {
  if (secret.empty()) return nullptr;
  if (secret.starts_with(k_task_token_prefix)) return identify_task(secret);
  const Digest digest = sha256(secret);
  const std::scoped_lock lock(mutex_);
  const auto found = by_secret_.find(digest);
  if (found == by_secret_.end() || !found->second.standing->holds()) return nullptr;
  return found->second.who;
}

std::string Access::task_token(ledger::TaskId task, ledger::Fence fence) const {
  const std::string part = signed_part(task, fence);
  return fmt::format("{}{}_{}", k_task_token_prefix, part, to_hex(hmac_sha256(task_key_, part)));
}

std::shared_ptr<const Standing> Access::standing_of(const Attempt& attempt) const {
  const std::scoped_lock lock(mutex_);
  if (attempts_.size() >= 2 * attempts_kept_ + k_attempts_untidied) {
    std::erase_if(attempts_, [](const auto& each) { return each.second.expired(); });
    attempts_kept_ = attempts_.size();
  }
  std::weak_ptr<Standing>& kept = attempts_[attempt];
  if (auto known = kept.lock()) return known;
  auto made = std::make_shared<Standing>();
  made->wall = wall_;
  kept = made;
  has_attempts_ = true;
  return made;
}

void Access::end_attempts(ledger::TaskId task) {
  if (!has_attempts_) return;
  const std::scoped_lock lock(mutex_);
  auto at = attempts_.lower_bound({task, 0});
  while (at != attempts_.end() && at->first.first == task) {
    if (const auto standing = at->second.lock()) standing->until = 0;
    at = attempts_.erase(at);
  }
  has_attempts_ = !attempts_.empty();
}

void Access::end_attempt(ledger::TaskId task, ledger::Fence fence) {
  const std::scoped_lock lock(mutex_);
  const auto at = attempts_.find({task, fence});
  if (at == attempts_.end()) return;
  if (const auto standing = at->second.lock()) standing->until = 0;
}

PrincipalPtr Access::identify_task(std::string_view token) const {
  token.remove_prefix(k_task_token_prefix.size());
  const std::size_t last = token.rfind('_');
  if (last == std::string_view::npos || last <= k_id_digits + 1 || token.size() - last - 1 != k_tag_digits)
    return nullptr;
  Principal who;
  who.kind = Principal::Kind::task;
  who.rank = Rank::operate;
  ledger::TaskId& id = who.bounds.task;
  const bool is_read = read_hex(token.substr(0, k_id_digits / 2), id.high) &&
                       read_hex(token.substr(k_id_digits / 2, k_id_digits / 2), id.low) && token[k_id_digits] == '_' &&
                       read_hex(token.substr(k_id_digits + 1, last - k_id_digits - 1), who.fence);
  if (!is_read || id.none() || who.fence == 0) return nullptr;
  const Digest shown = digest_in(token.substr(last + 1));
  const Digest right = hmac_sha256(task_key_, signed_part(id, who.fence));
  if (!equal_digests(shown, right)) return nullptr;
  who.name = "task " + id.text();
  who.standing = standing_of({id, who.fence});
  return std::make_shared<const Principal>(std::move(who));
}

}  // namespace skein::inline v0::operations
