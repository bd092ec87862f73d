// The driver of the simulated cores: what their Ready says is done here, each part after a time of its own.
#include "sim/raft_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/planted.hpp"

namespace skein::sim::raft {

using consensus::Consensus;
using consensus::PeerMessage;
using consensus::Ready;
using namespace std::chrono_literals;

namespace {

constexpr double millis(Instant at) { return static_cast<double>(at.time_since_epoch().count()) / 1e6; }

}  // namespace

Duration RaftWorld::below(Duration limit) {
  return Duration(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(limit.count()) + 1)));
}

void RaftWorld::note(const char* what, const Host& host) {
  note([&] { return fmt::format("{:.3f} {} {}", millis(now_), host.id, what); });
}

RaftWorld::Host& RaftWorld::make_host(const std::optional<Entry>& first) {
  Host& host = hosts_.emplace_back(static_cast<MemberId>(hosts_.size() + 1), first);
  host.clock_since = now_;
  host.clock_at = now_ + below(10s);
  host.is_late = random_.chance(0.2);
  observer_.folder_made(host.id, host.disk);
  return host;
}

RaftWorld::Host* RaftWorld::host_of(MemberId member) {
  return member == 0 || member > hosts_.size() ? nullptr : &hosts_[member - 1];
}

Instant RaftWorld::local_now(const Host& host) const {
  return host.clock_at + (now_ - host.clock_since) * host.clock_permille / 1'000;
}

void RaftWorld::set_clock_speed(Host& host, std::int64_t permille) {
  host.clock_at = local_now(host);
  host.clock_since = now_;
  host.clock_permille = permille;
}

void RaftWorld::start(Host& host) {
  if (host.runs() || host.is_lost || is_over()) return;
  ++host.life;
  ++story_.counts["starts"];
  consensus::StartState state = host.disk.load();
  observer_.starts(host.id, state, local_now(host));
  host.machine = RaftMachine();
  if (const auto& snapshot = host.disk.snapshot()) {
    if (!host.machine.restore(snapshot->bytes)) return violated("a snapshot on a disk can't be read");
    observer_.restored(host.id, host.machine.position(), host.machine.hash());
  }
  const std::uint64_t seed = has_equal_seeds_ ? 7 : random_.next();
  auto core = Consensus::start(std::move(state), limits_, local_now(host), seed);
  if (!core) return violated(fmt::format("7: {} does not start: {}", host.id, core.error()));
  host.core = std::make_unique<Consensus>(std::move(*core));
  note([&] {
    return fmt::format("{:.3f} {} starts: term {}, decided {}, log {} to {}", millis(now_), host.id, host.core->term(),
                       host.core->decided(), host.disk.base(), host.disk.last());
  });
  host.tick_at = Instant::max();
  plan_tick(host);
}

void RaftWorld::crash(Host& host, bool for_good) {
  host.is_lost = host.is_lost || for_good;
  if (!host.runs()) return;
  observer_.ends(host.id, for_good);
  ++story_.counts["crashes"];
  const char* torn = host.disk.crash(random_);
  if (*torn != 0) ++story_.counts[fmt::format("torn {}", torn)];
  note([&] { return fmt::format("{:.3f} {} crashes, torn: '{}'", millis(now_), host.id, torn); });
  ++host.life;
  host.core.reset();
  host.paused_until = Instant{};
  host.will_drain = host.is_disk_busy = host.is_applying = host.takes_snapshot = false;
  host.to_apply.clear();
  host.pending.clear();
  host.reads.clear();
  host.confirmed.clear();
}

// Calls.

void RaftWorld::drain(Host& host) {
  host.will_drain = false;
  for (int turns = 0; host.core->has_ready() && !is_over(); ++turns) {
    if (turns > 1'000) return violated(fmt::format("{} is never done", host.id));
    Ready ready = host.core->ready();
    observer_.hands_out(host.id, ready, local_now(host));
    if (is_over()) return;
    do_ready(host, std::move(ready));
  }
  plan_tick(host);
}

void RaftWorld::do_ready(Host& host, Ready ready) {
  const auto who = static_cast<std::uint32_t>(host.id);
  if (ready.store) {
    if (auto problem = host.disk.ask(std::move(*ready.store))) {
      return violated(fmt::format("{} {}", host.id, *problem));
    }
  }
  for (PeerMessage& message : ready.messages) send(host, std::move(message));
  if (ready.restore) host.to_apply.push_back({.restore = ready.restore, .entries = {}});
  if (!ready.apply.empty()) host.to_apply.push_back({.restore = {}, .entries = std::move(ready.apply)});
  for (const auto& each : ready.fetches) {
    queue_.push(now_ + around(host.disk_time), EventKind::fetch, who, host.life, fetches_.put(each));
  }
  for (const auto& each : ready.chunks_wanted) {
    queue_.push(now_ + around(host.disk_time), EventKind::chunk_read, who, host.life, chunks_wanted_.put(each));
  }
  for (const auto& each : ready.chunks) {
    queue_.push(now_ + around(host.disk_time), EventKind::chunk_write, who, host.life, chunks_.put(each));
  }
  for (const auto& read : ready.reads) {
    const auto asked = host.reads.find(read.ticket);
    if (read.is_confirmed) {
      host.confirmed.emplace_back(read.position, asked->second);
    } else {
      reply(host, {.kind = Reply::Kind::not_done, .request = asked->second, .leader = host.core->leader()});
    }
    host.reads.erase(asked);
  }
  for (const auto& event : ready.events) {
    ++story_.counts[fmt::format("event {}", name_of(event.kind))];
    if (event.kind == consensus::ConsensusEvent::Kind::removed) host.knows_it_is_out = true;
    note([&] {
      return fmt::format("{:.3f} {} event {} term {} member {} position {}", millis(now_), host.id, name_of(event.kind),
                         event.term, event.member, event.position);
    });
  }
  answer_reads(host);
  plan_disk(host);
  plan_apply(host);
}

void RaftWorld::send(Host& host, PeerMessage message) {
  ++messages_sent_;
  note([&] {
    return fmt::format("{:.3f} {}->{} {}{} term {} position {} of {} commit {} hint {} entries {}", millis(now_),
                       message.from, message.to, name_of(message.kind),
                       message.rejects       ? " (no)"
                       : message.is_transfer ? " (transfer)"
                                             : "",
                       message.term, message.position, message.log_term, message.commit, message.hint,
                       message.entries.size());
  });
  const MemberId to = message.to;
  if (host_of(to) == nullptr) return;
  if (net_.is_cut(host.id, to)) {
    if (!net_.is_cut(to, host.id)) observer_.met(28);
    return;
  }
  const auto [arrives, again] = net_.fate_of(host.id, to, now_);
  const auto who = static_cast<std::uint32_t>(to);
  if (again) queue_.push(*again, EventKind::message, who, 0, messages_.put(message));
  if (arrives) queue_.push(*arrives, EventKind::message, who, 0, messages_.put(std::move(message)));
}

void RaftWorld::plan_tick(Host& host) {
  const Instant local = host.core->next_tick();
  const Duration wait = between(local_now(host), local) * 1'000 / host.clock_permille + 1us;
  const Instant at = now_ + wait;
  if (host.tick_at > now_ && host.tick_at <= at) return;
  host.tick_at = at;
  queue_.push(at, EventKind::tick, static_cast<std::uint32_t>(host.id), host.life, 0);
}

// The disk.

void RaftWorld::plan_disk(Host& host) {
  if (host.is_disk_busy || host.disk.waiting() == 0) return;
  host.is_disk_busy = true;
  const std::size_t count = 1 + random_.below(host.disk.waiting());
  const Duration time = host.disk.must_sync() ? around(host.disk_time) : 1us;
  queue_.push(std::max(now_ + time, host.disk_held_until), EventKind::disk, static_cast<std::uint32_t>(host.id),
              host.life, count);
}

void RaftWorld::disk_is_done(Host& host, std::size_t count) {
  if (now_ < host.disk_held_until) {
    queue_.push(host.disk_held_until, EventKind::disk, static_cast<std::uint32_t>(host.id), host.life, count);
    return;
  }
  host.is_disk_busy = false;
  const auto done = host.disk.sync(count);
  observer_.is_durable(host.id, done);
  if (!done.empty()) call(host, [&](Consensus& core) { core.stored(done.back().number); });
  plan_disk(host);
}

void RaftWorld::fetch(Host& host, const consensus::Fetch& fetch) {
  call(host,
       [&](Consensus& core) { core.fetched(fetch.reader, fetch.from, host.disk.read(fetch.from, fetch.max_bytes)); });
}

void RaftWorld::read_chunk(Host& host, const consensus::ChunkWanted& wanted) {
  const auto& snapshot = host.disk.snapshot();
  if (!snapshot || snapshot->offer != wanted.offer) {
    return call(host, [&](Consensus& core) { core.chunk_unreadable(wanted.to, wanted.offer.position); });
  }
  const auto bytes = std::make_shared<const std::string>(snapshot->bytes.substr(wanted.offset, wanted.max_bytes));
  call(host, [&](Consensus& core) {
    core.chunk_read(wanted.to, {.offer = wanted.offer, .offset = wanted.offset, .bytes = *bytes, .owner = bytes});
  });
}

void RaftWorld::write_chunk(Host& host, const consensus::ChunkToWrite& write) {
  const consensus::SnapshotChunk& chunk = *write.chunk;
  host.disk.write_chunk(chunk);
  auto result = consensus::ChunkResult::written;
  if (chunk.is_last()) {
    const SnapshotFile* file = host.disk.keep_incoming(chunk.offer.position);
    const bool is_right = file != nullptr && RaftMachine().restore(file->bytes);
    // Now and then a bit was flipped on the way.
    const bool is_refused = !is_right || (is_bad_ && random_.chance(0.03));
    result = is_refused ? consensus::ChunkResult::refused : consensus::ChunkResult::complete;
  }
  call(host, [&](Consensus& core) { core.chunk_written(chunk.offer.position, chunk.end(), result); });
}

// The machine.

void RaftWorld::plan_apply(Host& host) {
  if (host.is_applying || host.to_apply.empty()) return;
  host.is_applying = true;
  queue_.push(now_ + around(host.apply_time), EventKind::apply, static_cast<std::uint32_t>(host.id), host.life, 0);
}

void RaftWorld::apply_some(Host& host) {
  host.is_applying = false;
  const ToApply work = std::move(host.to_apply.front());
  host.to_apply.pop_front();
  if (work.restore) restore(host, *work.restore);
  for (const Entry& entry : work.entries) {
    // A newer snapshot is already there, and is restored next.
    if (entry.position == host.machine.position() + 1) apply_entry(host, entry);
  }
  if (is_over()) return;
  answer_reads(host);
  plan_apply(host);
  if (!work.entries.empty()) {
    call(host, [&](Consensus& core) { core.applied(work.entries.back().position); });
  }
}

void RaftWorld::restore(Host& host, Position position) {
  const auto& snapshot = host.disk.snapshot();
  if (!snapshot || snapshot->offer.position < position) {
    return violated(fmt::format("{} restores a snapshot of {} that its disk does not have", host.id, position));
  }
  if (snapshot->offer.position > position) return;
  if (!host.machine.restore(snapshot->bytes)) return violated("a snapshot on a disk can't be read");
  ++story_.counts["snapshots restored"];
  observer_.restored(host.id, host.machine.position(), host.machine.hash());
  // Whether these were done, nobody can tell any more.
  host.pending.erase(host.pending.begin(), host.pending.upper_bound(position));
}

void RaftWorld::apply_entry(Host& host, const Entry& entry) {
  host.machine.apply(entry);
  observer_.applied(host.id, entry, host.machine.hash());
  const auto [from, to] = host.pending.equal_range(entry.position);
  for (auto at = from; at != to; ++at) {
    const auto& [term, request] = at->second;
    const RaftMachine::Session* session = host.machine.session(history_[request.operation].client);
    if (term == entry.term && session != nullptr && session->serial == request.serial) {
      reply(host, {Reply::Kind::done, request, session->first, session->last, session->value, 0});
    } else if (term != entry.term) {
      reply(host, {.kind = Reply::Kind::not_done, .request = request, .leader = host.core->leader()});
    }
  }
  host.pending.erase(from, to);
}

void RaftWorld::answer_reads(Host& host) {
  std::erase_if(host.confirmed, [&](const auto& each) {
    const auto& [position, request] = each;
    if (host.machine.position() < position) return false;
    const std::uint64_t value = host.machine.value(history_[request.operation].key);
    reply(host, {Reply::Kind::done, request, host.machine.position(), host.machine.position(), value, 0});
    return true;
  });
}

void RaftWorld::take_snapshot(Host& host) {
  const bool is_restoring =
      std::ranges::any_of(host.to_apply, [](const ToApply& each) { return each.restore.has_value(); });
  const Position newest = host.disk.snapshot() ? host.disk.snapshot()->offer.position : 0;
  if (!host.runs() || host.takes_snapshot || is_restoring || host.machine.position() <= newest) return;
  host.takes_snapshot = true;
  SnapshotWork work{.file = {.offer = {}, .bytes = host.machine.freeze()}, .trims = random_.chance(0.8)};
  work.file.offer = {.position = host.machine.position(),
                     .term = host.machine.term(),
                     .membership = host.machine.membership(),
                     .total_bytes = work.file.bytes.size()};
  queue_.push(now_ + around(host.disk_time) * 4, EventKind::snapshot, static_cast<std::uint32_t>(host.id), host.life,
              snapshots_.put(std::move(work)));
}

void RaftWorld::snapshot_is_written(Host& host, SnapshotWork work) {
  host.takes_snapshot = false;
  const SnapshotOffer offer = work.file.offer;
  const auto& newest = host.disk.snapshot();
  if (newest && newest->offer.position >= offer.position) return;
  host.disk.put_snapshot(std::move(work.file));
  ++story_.counts["snapshots taken"];
  observer_.snapshot_offered(host.id, offer);
  call(host, [&](Consensus& core) { core.snapshot_taken(offer); });
  if (!work.trims || is_over()) return;
  const Position kept = random_.below(random_.chance(0.5) ? 2 : 12);
  Position up_to = offer.position - std::min(kept, offer.position);
  // What a member that takes a snapshot needs next is kept, but not without limit.
  if (!random_.chance(0.1)) up_to = std::min(up_to, host.core->needed_after());
  const Position before = host.disk.base();
  const Position base = host.disk.trim(up_to);
  if (base == before) return;
  observer_.log_trimmed(host.id);
  call(host, [&](Consensus& core) { core.log_trimmed(base); });
}

// Events.

void RaftWorld::handle_host_event(Host& host, const QueuedEvent& event) {
  switch (event.kind) {
    case EventKind::message: {
      const PeerMessage message = messages_.take(event.what);
      // What is due happens before, as in call(), so that the observer knows of it.
      if (host.core->next_tick() <= local_now(host)) call(host, [](Consensus&) {});
      if (is_over()) return;
      note([&] {
        return fmt::format("{:.3f} {} gets {} of {} term {}", millis(now_), host.id, name_of(message.kind),
                           message.from, message.term);
      });
      observer_.receives(host.id, message, local_now(host), !host.will_drain);
      return call(host, [&](Consensus& core) { core.step(message); });
    }
    case EventKind::tick:
      host.tick_at = Instant{};
      return call(host, [](Consensus&) {});
    case EventKind::drain:
      return drain(host);
    case EventKind::disk:
      return disk_is_done(host, event.what);
    case EventKind::apply:
      return apply_some(host);
    case EventKind::fetch:
      return fetch(host, fetches_.take(event.what));
    case EventKind::chunk_read:
      return read_chunk(host, chunks_wanted_.take(event.what));
    case EventKind::chunk_write:
      return write_chunk(host, chunks_.take(event.what));
    case EventKind::snapshot:
      return snapshot_is_written(host, snapshots_.take(event.what));
    case EventKind::request:
      return serve(host, requests_.take(event.what));
    default:
      return;
  }
}

void RaftWorld::handle(const QueuedEvent& event) {
  switch (event.kind) {
    case EventKind::reply:
      return is_answered(replies_.take(event.what));
    case EventKind::client:
      return client_acts(event.who, event.what);
    case EventKind::harm:
      return do_harm();
    case EventKind::heal_links:
      return net_.heal();
    case EventKind::start:
      return start(*host_of(event.who));
    default:
      break;
  }
  Host& host = *host_of(event.who);
  const bool is_of_any_life = event.kind == EventKind::message || event.kind == EventKind::request;
  if (!host.runs() || (!is_of_any_life && event.life != host.life)) return;
  if (now_ < host.paused_until) {
    queue_.push(host.paused_until, event.kind, event.who, event.life, event.what);
    return;
  }
  handle_host_event(host, event);
}

void RaftWorld::run_until(Instant until) {
  while (!is_over() && !queue_.empty() && queue_.next_at() <= until) {
    const QueuedEvent event = queue_.pop();
    now_ = std::max(now_, event.at);
    ++steps_;
    handle(event);
  }
  now_ = std::max(now_, until);
}

RaftStory tell_raft_story(std::uint64_t seed, bool trace, std::size_t members) {
  throws_what_must_hold = true;
  RaftStory story = RaftWorld(seed, trace, members).run();
  throws_what_must_hold = false;
  return story;
}

}  // namespace skein::sim::raft
