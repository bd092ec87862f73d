#include "skein/journal/consensus_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "skein/journal/log_format.hpp"

namespace skein::inline v0::journal {

using consensus::Entry;

std::string name_of_member(consensus::MemberId member) { return fmt::format("{:016x}", member); }

ConsensusPart::ConsensusPart(consensus::Consensus core, std::vector<Skip> skips, Position applied)
    : core_(std::move(core)), skips_(std::move(skips)), applied_(applied) {
  tell_decided_skips();
}

Instant ConsensusPart::next_tick() const {
  const bool is_alone = leads() && core_.membership().size() == 1;
  return is_alone ? Instant::max() : core_.next_tick();
}

std::optional<std::string> ConsensusPart::leader_name() const {
  if (core_.leader() == 0) return std::nullopt;
  return core_.leader() == core_.self() ? std::string(k_self) : name_of_member(core_.leader());
}

void ConsensusPart::turn_away(AnswerFn done, Outcome outcome, std::string why, std::uint64_t charged) {
  AppendAnswer answer;
  answer.outcome = outcome;
  answer.why = std::move(why);
  if (outcome == Outcome::not_leader) answer.leader = leader_name().value_or("");
  steps_.emplace_back(AnsweredAppend{std::move(done), std::move(answer), charged});
}

void ConsensusPart::append(Batch batch, AnswerFn done, std::uint64_t charged, Term in_term) {
  // The entries share what they are made of, and keep it as long as any of them is needed.
  const auto owner = std::make_shared<const Batch>(std::move(batch));
  std::vector<Entry> entries;
  entries.reserve(owner->size());
  for (const auto& command : *owner) {
    Entry& entry = entries.emplace_back();
    entry.id = command.id;
    entry.bytes = command.bytes;
    entry.owner = owner;
  }
  if (in_term != 0 && (!leads() || core_.term() != in_term)) {
    return turn_away(std::move(done), Outcome::not_leader,
                     fmt::format("this node does not lead in term {} any more", in_term), charged);
  }
  const auto proposed = core_.propose(std::move(entries));
  if (!proposed) return turn_away(std::move(done), proposed.error(), charged);
  steps_.emplace_back(Proposal{proposed->term, proposed->first, proposed->last, charged, std::move(done)});
}

void ConsensusPart::turn_away(AnswerFn done, const consensus::Refusal& refusal, std::uint64_t charged) {
  switch (refusal.kind) {
    case consensus::Refusal::Kind::overloaded:
      return turn_away(std::move(done), Outcome::overloaded, refusal.why, charged);
    case consensus::Refusal::Kind::not_possible:
      return turn_away(std::move(done), Outcome::refused, refusal.why, charged);
    case consensus::Refusal::Kind::not_leader:
    case consensus::Refusal::Kind::transferring:
    case consensus::Refusal::Kind::not_now:
      return turn_away(std::move(done), Outcome::not_leader, refusal.why, charged);
  }
}

void ConsensusPart::skip(Position position, AnswerFn done) {
  if (leads() && position <= applied_) {
    return turn_away(std::move(done), Outcome::refused,
                     fmt::format("position {} is applied already: it can't be passed over any more", position), 0);
  }
  if (leads() && position > core_.log().last()) {
    return turn_away(std::move(done), Outcome::refused, fmt::format("position {} is not in the log", position), 0);
  }
  const auto bytes = std::make_shared<const std::string>(encode_skip(position));
  Entry entry;
  entry.kind = EntryKind::skip;
  entry.bytes = *bytes;
  entry.owner = bytes;
  const auto proposed = core_.propose({std::move(entry)});
  if (!proposed) return turn_away(std::move(done), proposed.error(), 0);
  waiting_skips_.push_back({proposed->first, proposed->term, std::move(done)});
}

void ConsensusPart::read_linear(ReadFn fn) {
  const std::uint64_t ticket = ++tickets_;
  reads_.emplace(ticket, std::move(fn));
  core_.read(ticket);
}

void ConsensusPart::applied(Position position) {
  applied_ = std::max(applied_, position);
  core_.applied(position);
}

void ConsensusPart::chunk_read(ChunkRead read) {
  if (read.chunk) {
    core_.chunk_read(read.wanted.to, std::move(*read.chunk));
  } else {
    core_.chunk_unreadable(read.wanted.to, read.wanted.offer.position);
  }
}

void ConsensusPart::chunk_written(const ChunkWritten& written) {
  const auto& chunk = *written.chunk;
  const auto result = written.result.value_or(consensus::ChunkResult::refused);
  core_.chunk_written(chunk.offer.position, chunk.end(), result);
}

bool ConsensusPart::store_refused(const std::string& why) {
  const auto from = core_.give_up_unstored();
  if (!from) return false;
  std::erase_if(skips_, [&](const Skip& skip) { return skip.at >= *from; });
  answer_skips_from(*from);
  steps_.emplace_back(GivenUp{*from, why});
  return true;
}

void ConsensusPart::take(ConsensusOutput& out) {
  // What was proposed comes before what is decided of it.
  out.steps.insert(out.steps.end(), std::make_move_iterator(steps_.begin()), std::make_move_iterator(steps_.end()));
  steps_.clear();
  while (core_.has_ready()) take_ready(out);
}

void ConsensusPart::take_ready(ConsensusOutput& out) {
  consensus::Ready ready = core_.ready();
  for (const auto& event : ready.events) {
    if (event.kind == consensus::ConsensusEvent::Kind::leader_changed) out.steps.emplace_back(Leads{leader_name()});
  }
  if (ready.store) {
    note_skips(ready.store->entries);
    if (ready.store->install)
      std::erase_if(skips_, [&](const Skip& s) { return s.at <= ready.store->install->position; });
    out.stores.push_back(std::move(*ready.store));
  }
  const auto add = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  add(out.messages, ready.messages);
  add(out.fetches, ready.fetches);
  add(out.chunks_wanted, ready.chunks_wanted);
  add(out.chunks, ready.chunks);
  add(out.events, ready.events);
  tell_decided_skips();
  add(out.steps, steps_);
  steps_.clear();
  if (ready.restore) out.steps.emplace_back(Restore{*ready.restore});
  if (!ready.apply.empty()) out.steps.emplace_back(Decided{std::move(ready.apply)});
  for (const auto& read : ready.reads) {
    auto waiting = reads_.extract(read.ticket);
    if (waiting.empty()) continue;
    if (read.is_confirmed) {
      out.steps.emplace_back(ReadAt{read.position, std::move(waiting.mapped())});
    } else {
      out.steps.emplace_back(AnsweredRead{std::move(waiting.mapped()),
                                          {Outcome::not_leader, 0, leader_name().value_or(""), k_not_leader}});
    }
  }
}

// A store begins where the log goes on, or before: what was there is replaced.
void ConsensusPart::note_skips(const std::vector<Entry>& entries) {
  if (entries.empty()) return;
  while (!skips_.empty() && skips_.back().at >= entries.front().position) skips_.pop_back();
  std::erase_if(waiting_skips_, [&](WaitingSkip& each) {
    const bool is_replaced =
        each.at >= entries.front().position && core_.log().term_at(each.at) != std::optional(each.term);
    if (is_replaced) turn_away(std::move(each.done), Outcome::not_leader, k_not_leader, 0);
    return is_replaced;
  });
  for (const auto& entry : entries) {
    if (entry.kind != EntryKind::skip) continue;
    if (const auto skipped = decode_skip(entry.bytes)) skips_.push_back({entry.position, *skipped});
  }
}

void ConsensusPart::answer_skips_from(Position from) {
  std::erase_if(waiting_skips_, [&](WaitingSkip& each) {
    if (each.at < from) return false;
    turn_away(std::move(each.done), Outcome::overloaded, "the disk has no room", 0);
    return true;
  });
}

void ConsensusPart::tell_decided_skips() {
  const auto first_open = std::ranges::find_if(skips_, [&](const Skip& skip) { return skip.at > core_.decided(); });
  for (auto at = skips_.begin(); at != first_open; ++at) steps_.emplace_back(SkipDecided{at->skipped});
  skips_.erase(skips_.begin(), first_open);
  std::erase_if(waiting_skips_, [&](WaitingSkip& each) {
    if (each.at > core_.decided()) return false;
    AppendAnswer answer;
    answer.outcome = Outcome::applied;
    steps_.emplace_back(AnsweredAppend{std::move(each.done), std::move(answer), 0});
    return true;
  });
}

}  // namespace skein::inline v0::journal
