// What members hand out, and its order: Ready, disks, machines, the network.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/transcript_world.hpp"

namespace skein::sim {
namespace {

using consensus::Entry;
using consensus::PeerMessageKind;

constexpr int k_rounds_max = 10'000;

// Such a message says that something is stored, or could.
bool is_answer(PeerMessageKind kind) {
  return kind == PeerMessageKind::append_response || kind == PeerMessageKind::vote_response ||
         kind == PeerMessageKind::pre_vote_response;
}

template <typename T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  std::ranges::move(from, std::back_inserter(to));
  from.clear();
}

// Later entries replace those at and after the first of them.
void append_to(std::vector<Entry>& log, const std::vector<Entry>& entries) {
  if (entries.empty()) return;
  std::erase_if(log, [&](const Entry& each) { return each.position >= entries.front().position; });
  log.insert(log.end(), entries.begin(), entries.end());
}

// Whole batches, and at least one.
std::vector<Entry> read(const std::vector<Entry>& log, const consensus::Fetch& fetch) {
  std::vector<Entry> entries;
  std::uint64_t bytes = 0;
  for (auto at = std::ranges::find(log, fetch.from, &Entry::position); at != log.end(); ++at) {
    bytes += consensus::weight_of(*at);
    if (bytes > fetch.max_bytes && !entries.empty() && entries.back().ends_batch) break;
    entries.push_back(*at);
  }
  return entries;
}

void merge(std::optional<consensus::ToStore>& before, consensus::ToStore after) {
  if (before && !after.install) {
    append_to(before->entries, after.entries);
    after.entries = std::move(before->entries);
    after.install = std::move(before->install);
  }
  before = std::move(after);
}

void merge(consensus::Ready& before, consensus::Ready after) {
  move_to_end(after.messages, before.messages);
  if (after.restore) before.restore = after.restore;
  move_to_end(after.apply, before.apply);
  move_to_end(after.fetches, before.fetches);
  move_to_end(after.chunks_wanted, before.chunks_wanted);
  move_to_end(after.chunks, before.chunks);
  move_to_end(after.reads, before.reads);
  move_to_end(after.events, before.events);
}

}  // namespace

void TranscriptWorld::for_each(const TranscriptCommand& command, std::string_view header,
                               bool (TranscriptWorld::*work)(Id)) {
  const std::vector<Id> ids = ids_of(command.words);
  for (const Id id : ids) {
    if (ids.size() > 1) {
      print(fmt::format("> {} {}", id, header));
      indent_ = "  ";
    }
    (void)(this->*work)(id);
    indent_.clear();
  }
}

// Takes what the core has to say, and keeps it.
void TranscriptWorld::gather(Member& member) {
  while (member.core->has_ready()) {
    consensus::Ready ready = member.core->ready();
    if (ready.store) merge(member.to_store, std::move(*ready.store));
    merge(member.pending, std::move(ready));
  }
}

bool TranscriptWorld::has_ready(Member& member) {
  gather(member);
  const consensus::Ready& pending = member.pending;
  return member.to_store || !pending.messages.empty() || !pending.apply.empty() || pending.restore ||
         !pending.fetches.empty() || !pending.chunks_wanted.empty() || !pending.chunks.empty() ||
         !pending.reads.empty();
}

// Reading from the disk, and writing chunks of snapshots, is done at once.
void TranscriptWorld::do_io(Member& member) {
  for (gather(member);; gather(member)) {
    const auto fetches = std::exchange(member.pending.fetches, {});
    const auto wanted = std::exchange(member.pending.chunks_wanted, {});
    const auto chunks = std::exchange(member.pending.chunks, {});
    if (fetches.empty() && wanted.empty() && chunks.empty()) return;
    for (const auto& fetch : fetches) {
      member.core->fetched(fetch.reader, fetch.from, read(member.log, fetch));
    }
    for (const auto& each : wanted) {
      const auto bytes = std::make_shared<const std::string>(member.snapshot_bytes.substr(each.offset, each.max_bytes));
      member.core->chunk_read(each.to, {.offer = each.offer, .offset = each.offset, .bytes = *bytes, .owner = bytes});
    }
    for (const auto& [chunk] : chunks) {
      member.core->chunk_written(chunk->offer.position, chunk->end(),
                                 chunk->is_last() ? consensus::ChunkResult::complete : consensus::ChunkResult::written);
    }
  }
}

bool TranscriptWorld::process_ready(Id id) {
  Member& member = members_.at(id);
  if (!has_ready(member)) {
    print("<empty Ready>");
    return false;
  }
  do_io(member);
  const auto to_store = std::exchange(member.to_store, std::nullopt);
  const auto apply_now = std::exchange(member.pending.apply, {});
  if (to_store) {
    if (to_store->hard != member.handed_out_hard) print("HardState " + transcript_text(to_store->hard));
    member.handed_out_hard = to_store->hard;
    if (to_store->install) print("Snapshot " + words_.snapshot(*to_store->install));
    if (!to_store->entries.empty()) print("Entries:");
    for (const auto& entry : to_store->entries) print(words_.entry(entry));
  }
  if (!member.pending.reads.empty()) print("Reads:");
  for (const auto& read : std::exchange(member.pending.reads, {})) {
    print(read.is_confirmed ? fmt::format("read {} at {}", read.ticket, read.position)
                            : fmt::format("read {} refused", read.ticket));
  }
  if (!member.pending.messages.empty()) print("Messages:");
  for (auto& message : std::exchange(member.pending.messages, {})) {
    print(words_.message(message));
    network_.push_back(std::move(message));
  }
  if (member.pending.restore) member.applied_membership = member.snapshot.membership;
  member.pending.restore.reset();
  print_applied(apply_now);
  if (member.is_async) {
    if (to_store) member.append_work.push_back(*to_store);
    if (!apply_now.empty()) member.apply_work.push_back(apply_now);
    return true;
  }
  apply(member, apply_now);
  const consensus::Position decided = member.core->decided();
  if (to_store) store(member, *to_store);
  release(member);
  // What waited for this storing alone is applied with it. What was decided by it is for the next process-ready.
  auto& released = member.pending.apply;
  const auto later = std::ranges::find_if(released, [&](const auto& each) { return each.position > decided; });
  const std::vector<Entry> stored(released.begin(), later);
  released.erase(released.begin(), later);
  print_applied(stored);
  apply(member, stored);
  return true;
}

bool TranscriptWorld::process_append(Id id) {
  Member& member = members_.at(id);
  if (member.append_work.empty()) {
    print("no append work to perform");
    return false;
  }
  const consensus::ToStore work = std::move(member.append_work.front());
  member.append_work.pop_front();
  print("Processing:");
  print(fmt::format("{}->AppendThread MsgStorageAppend {}{}", id, transcript_text(work.hard),
                    words_.entries(work.entries)));
  print("Responses:");
  gather(member);
  store(member, work);
  release(member);
  return true;
}

bool TranscriptWorld::process_apply(Id id) {
  Member& member = members_.at(id);
  if (member.apply_work.empty()) {
    print("no apply work to perform");
    return false;
  }
  const std::vector<Entry> work = std::move(member.apply_work.front());
  member.apply_work.pop_front();
  print("Processing:");
  print(fmt::format("{}->ApplyThread MsgStorageApply{}", id, words_.entries(work)));
  apply(member, work);
  return true;
}

void TranscriptWorld::store(Member& member, const consensus::ToStore& store) {
  member.hard = store.hard;
  if (store.install) {
    member.log.clear();
    member.base = store.install->position;
    member.base_term = store.install->term;
    member.snapshot = *store.install;
  }
  append_to(member.log, store.entries);
  member.core->stored(store.number);
}

// What was stored sets answers free, which leave. All else that follows from it is for the next process-ready.
void TranscriptWorld::release(Member& member) {
  bool is_first = !member.is_async;
  while (member.core->has_ready()) {
    consensus::Ready ready = member.core->ready();
    for (auto& message : ready.messages) {
      if (!is_answer(message.kind)) continue;
      if (std::exchange(is_first, false)) print("Responses:");
      print(words_.message(message));
      network_.push_back(message);
    }
    std::erase_if(ready.messages, [](const auto& each) { return is_answer(each.kind); });
    if (ready.store) merge(member.to_store, std::move(*ready.store));
    merge(member.pending, std::move(ready));
  }
}

void TranscriptWorld::print_applied(const std::vector<Entry>& entries) {
  if (!entries.empty()) print("CommittedEntries:");
  for (const auto& entry : entries) print(words_.entry(entry));
}

void TranscriptWorld::apply(Member& member, const std::vector<Entry>& entries) {
  if (entries.empty()) return;
  for (const auto& entry : entries) {
    if (entry.kind == consensus::EntryKind::membership) {
      member.applied_membership = *consensus::Membership::decode(entry.bytes);
    }
  }
  const Entry& last = entries.back();
  member.snapshot = {.position = last.position,
                     .term = last.term,
                     .membership = member.applied_membership,
                     .total_bytes = member.snapshot_bytes.size()};
  member.core->applied(last.position);
  member.core->snapshot_taken(member.snapshot);
}

// The network.

bool TranscriptWorld::has_messages(Id id) const {
  return std::ranges::any_of(network_, [&](const auto& each) { return each.to == id; });
}

void TranscriptWorld::deliver(Id id, bool is_dropped) {
  std::vector<consensus::PeerMessage> messages;
  for (const auto& each : network_) {
    if (each.to == id) messages.push_back(each);
  }
  std::erase_if(network_, [&](const auto& each) { return each.to == id; });
  for (auto& message : messages) {
    print((is_dropped ? "dropped: " : "") + words_.message(message));
    if (!is_dropped && members_.contains(id)) members_.at(id).core->step(std::move(message));
  }
}

// All of them, and then all of them again.
void TranscriptWorld::deliver_twice(Id id) {
  std::deque<consensus::PeerMessage> again;
  std::ranges::copy_if(network_, std::back_inserter(again), [&](const auto& each) { return each.to == id; });
  deliver(id, false);
  std::ranges::move(again, std::back_inserter(network_));
  deliver(id, false);
}

void TranscriptWorld::settle_once(const std::vector<Id>& ids, bool& is_done) {
  const auto work = [&](Id id, const char* header, auto&& what) {
    is_done = false;
    print(fmt::format("> {} {}", id, header));
    indent_ = "  ";
    what();
    indent_.clear();
  };
  for (const Id id : ids) {
    if (has_ready(members_.at(id))) work(id, "handling Ready", [&] { (void)process_ready(id); });
  }
  for (const Id id : ids) {
    if (has_messages(id)) work(id, "receiving messages", [&] { deliver(id, false); });
  }
  for (const Id id : ids) {
    auto& queue = members_.at(id).append_work;
    if (queue.empty()) continue;
    work(id, "processing append thread", [&] {
      while (!queue.empty()) (void)process_append(id);
    });
  }
  for (const Id id : ids) {
    auto& queue = members_.at(id).apply_work;
    if (queue.empty()) continue;
    work(id, "processing apply thread", [&] {
      while (!queue.empty()) (void)process_apply(id);
    });
  }
}

void TranscriptWorld::stabilize(const std::vector<Id>& ids) {
  for (int round = 0; round < k_rounds_max; ++round) {
    bool is_done = true;
    settle_once(ids, is_done);
    if (is_done) return;
  }
  throw BadCommand("the group never comes to rest");
}

}  // namespace skein::sim
