#include "skein/journal/log_part.hpp"

#include <algorithm>

namespace skein::inline v0::journal {

bool LogPart::has_new_vote(const consensus::ToStore& store) const {
  return store.hard.term != state_.hard.term || store.hard.voted_for != state_.hard.voted_for;
}

StoreResult<void> LogPart::save_vote(const consensus::ToStore& store) {
  MemberState next = state_;
  next.hard = store.hard;
  // What is decided may be said of entries that are only written with this store.
  next.hard.commit = std::min(store.hard.commit, storage_.last());
  next.hard.commit = std::max(next.hard.commit, state_.hard.commit);
  if (auto ok = storage_.save(next); !ok) return ok;
  state_ = next;
  return {};
}

StoreResult<bool> LogPart::write() {
  // Only the decided position is new in these: it may be stored some time later.
  while (!waiting_.empty()) {
    const auto& store = waiting_.front().store;
    if (store.install || !store.entries.empty() || has_new_vote(store)) break;
    written_ = store.number;
    waiting_.pop_front();
  }
  if (waiting_.empty()) return false;
  const auto& store = waiting_.front().store;
  if (store.install) {
    MemberState next = state_;
    next.hard = store.hard;
    next.hard.commit = store.install->position;
    if (auto ok = storage_.install(*store.install, next); !ok) return std::unexpected(ok.error());
    state_ = next;
    // Entries after the snapshot come with it.
    waiting_.front().store.install.reset();
    return true;
  }
  if (has_new_vote(store)) {
    if (auto ok = save_vote(store); !ok) return std::unexpected(ok.error());
    return true;
  }
  return write_entries();
}

StoreResult<bool> LogPart::write_entries() {
  entries_.clear();
  std::uint64_t bytes = 0;
  std::size_t whole = 0;         // entries up to the end of the last batch of proposals that fits
  std::size_t stores = 0;        // that are written with it
  std::size_t whole_stores = 0;  // of these, up to there
  std::size_t rest_done = 0;     // entries of the store after them that are written, too
  for (auto& each : waiting_) {
    const auto& store = each.store;
    if (store.install || has_new_vote(store)) break;
    const bool goes_on =
        entries_.empty() || store.entries.empty() || store.entries[each.done].position == entries_.back().position + 1;
    if (!goes_on) break;
    bool is_full = false;
    for (std::size_t i = each.done; i < store.entries.size(); ++i) {
      const auto& entry = store.entries[i];
      bytes += consensus::weight_of(entry);
      is_full = bytes > batch_bytes_ && whole > 0;
      if (is_full) break;
      entries_.push_back(entry);
      if (!entry.ends_batch) continue;
      whole = entries_.size();
      whole_stores = stores;
      rest_done = i + 1;
    }
    if (is_full) break;
    ++stores;
    if (whole == entries_.size()) {
      whole_stores = stores;
      rest_done = 0;
    }
  }
  // A leader hands out whole batches, so nothing is left of them but what did not fit.
  entries_.resize(whole > 0 ? whole : entries_.size());
  if (auto ok = storage_.append(entries_); !ok) return std::unexpected(ok.error());
  for (std::size_t i = 0; i < whole_stores; ++i) {
    written_ = waiting_.front().store.number;
    waiting_.pop_front();
  }
  if (rest_done > 0 && !waiting_.empty()) waiting_.front().done = rest_done;
  return true;
}

StoreResult<void> LogPart::sync() {
  if (auto ok = storage_.sync(); !ok) return ok;
  stored_ = written_;
  return {};
}

bool LogPart::waits_for_entries_only() const {
  return std::ranges::none_of(waiting_,
                              [&](const Waiting& each) { return each.store.install || has_new_vote(each.store); });
}

void LogPart::drop_waiting() {
  if (!waiting_.empty()) written_ = waiting_.back().store.number;
  waiting_.clear();
}

StoreResult<void> LogPart::save_decided(Position decided) {
  MemberState next = state_;
  next.hard.commit = std::max(state_.hard.commit, std::min(decided, storage_.last()));
  if (next == state_) return {};
  if (auto ok = storage_.save(next); !ok) return ok;
  state_ = next;
  return {};
}

}  // namespace skein::inline v0::journal
