// One simulated life story of a group that agrees on a log, from a seed: members (the real Consensus, a simulated disk
// and a small machine each), links, clients, an operator who changes the membership, and harm of every kind; then
// everything heals, and the group must lead, answer and agree again. An observer watches every step.
//
// The world is the driver of the cores: it does what their Ready says, each part on its own "thread", that is, after a
// time of its own. Single-threaded; the same seed tells the same story.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/raft_disk.hpp"
#include "sim/raft_history.hpp"
#include "sim/raft_machine.hpp"
#include "sim/raft_net.hpp"
#include "sim/raft_observer.hpp"
#include "sim/raft_tally.hpp"
#include "skein/base/random.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::sim::raft {

struct RaftStory {
  std::optional<std::string> violation;
  std::vector<std::string> trace;  // only when asked for
  PitfallTally tally{};
  std::map<std::string, std::uint64_t> counts;
};

// `members`: 3, 5 or 7 voters to begin with; 0: the seed says.
[[nodiscard]] RaftStory tell_raft_story(std::uint64_t seed, bool trace, std::size_t members);

class RaftWorld {
 public:
  RaftWorld(std::uint64_t seed, bool trace, std::size_t members);

  [[nodiscard]] RaftStory run();

 private:
  struct Request {
    std::uint32_t client = 0;
    std::size_t operation = 0;  // in the history
    std::uint32_t serial = 0;
  };
  struct Reply {
    enum class Kind : std::uint8_t { done, not_done };
    Kind kind = Kind::not_done;
    Request request;
    Position first = 0;
    Position last = 0;
    std::uint64_t result = 0;
    MemberId leader = 0;  // ask that one
  };
  struct Client {
    std::uint32_t id = 0;
    std::uint32_t serial = 0;
    std::optional<std::size_t> operation;  // that it waits for
    std::uint64_t attempt = 0;
    MemberId asks = 0;
  };
  struct Pending {
    Term term = 0;
    Request request;
  };
  struct ToApply {
    std::optional<Position> restore;
    std::vector<Entry> entries;
  };
  // One machine, its folder, and the program on it.
  struct Host {
    explicit Host(MemberId own, const std::optional<Entry>& first) : id(own), disk(own, first) {}

    MemberId id;
    RaftDisk disk;
    std::unique_ptr<consensus::Consensus> core;
    std::uint32_t life = 0;
    bool is_lost = false;  // for good: its folder is gone
    bool knows_it_is_out = false;
    Instant paused_until;
    Instant tick_at = Instant::max();
    bool will_drain = false;
    bool is_late = false;  // hands out only some time after a call
    // Its clock: local = local_at_ + (now - since_) * speed.
    Instant clock_since;
    Instant clock_at;
    std::int64_t clock_permille = 1'000;
    // Its disk.
    bool is_disk_busy = false;
    Duration disk_time = std::chrono::microseconds(400);
    Instant disk_held_until;
    // Its machine.
    RaftMachine machine;
    std::deque<ToApply> to_apply;
    bool is_applying = false;
    Duration apply_time = std::chrono::microseconds(100);
    bool takes_snapshot = false;
    // What clients wait for.
    std::multimap<Position, Pending> pending;
    std::map<std::uint64_t, Request> reads;               // by ticket
    std::vector<std::pair<Position, Request>> confirmed;  // to be read once that is applied
    std::uint64_t tickets = 0;

    [[nodiscard]] bool runs() const { return core != nullptr; }
  };
  struct SnapshotWork {
    SnapshotFile file;
    bool trims = false;
  };
  using Limits = consensus::ConsensusLimits;

  // raft_world.cpp: the driver of a core
  Host& make_host(const std::optional<Entry>& first);
  [[nodiscard]] Host* host_of(MemberId member);
  void start(Host& host);
  void crash(Host& host, bool for_good);
  [[nodiscard]] Instant local_now(const Host& host) const;
  void set_clock_speed(Host& host, std::int64_t permille);
  template <class Call>
  void call(Host& host, Call what);
  void drain(Host& host);
  void do_ready(Host& host, consensus::Ready ready);
  void send(Host& host, consensus::PeerMessage message);
  void plan_tick(Host& host);
  void plan_disk(Host& host);
  void plan_apply(Host& host);
  void disk_is_done(Host& host, std::size_t count);
  void apply_some(Host& host);
  void apply_entry(Host& host, const Entry& entry);
  void restore(Host& host, Position position);
  void fetch(Host& host, const consensus::Fetch& fetch);
  void read_chunk(Host& host, const consensus::ChunkWanted& wanted);
  void write_chunk(Host& host, const consensus::ChunkToWrite& chunk);
  void snapshot_is_written(Host& host, SnapshotWork work);
  void take_snapshot(Host& host);
  void answer_reads(Host& host);
  void handle(const QueuedEvent& event);
  void handle_host_event(Host& host, const QueuedEvent& event);
  void run_until(Instant until);
  [[nodiscard]] Duration below(Duration limit);
  [[nodiscard]] Duration around(Duration time) { return time / 2 + below(time); }

  // raft_clients.cpp
  void client_acts(std::uint32_t index, std::uint64_t attempt);
  void begin_operation(Client& client);
  void ask(std::uint32_t index);
  void serve(Host& host, Request request);
  void reply(Host& host, Reply reply);
  void is_answered(Reply reply);
  void flood(Host& host);
  [[nodiscard]] std::vector<Entry> batch_of(const Operation& operation);

  // raft_story.cpp
  [[nodiscard]] Limits pick_limits();
  void bad_times();
  void do_harm();
  void heal();
  void await_leader();
  void await_answers();
  void await_agreement();
  void stay_quiet();
  void hand_over();
  void judge_history();
  [[nodiscard]] Host& any_host();
  [[nodiscard]] Host* leading_host();
  [[nodiscard]] bool may_lose(const Host& host) const;
  [[nodiscard]] bool should_live() const;
  [[nodiscard]] std::vector<Membership> memberships_in_force() const;
  [[nodiscard]] bool is_alive(MemberId member) const;
  [[nodiscard]] bool agree() const;
  void host_crashes(Host& host);
  void all_crash(Host& host);
  void leader_crashes(Host& host);
  void host_pauses(Host& host);
  void leader_pauses(Host& host);
  void group_is_parted(Host& host);
  void host_is_cut_off(Host& host);
  void leader_is_cut_off(Host& host);
  void link_is_cut_one_way(Host& host);
  void host_is_deaf_or_mute(Host& host);
  void weather_changes(Host& host);
  void disk_is_slow(Host& host);
  void disk_is_stuck(Host& host);
  void disk_is_full(Host& host);
  void clock_is_skewed(Host& host);
  void apply_is_slow(Host& host);
  void snapshot_is_taken(Host& host);
  void membership_changes(Host& host);
  void leadership_is_handed_over(Host& host);
  void folder_is_wiped(Host& host);
  void folder_rots(Host& host);
  void somebody_campaigns(Host& host);
  void leader_is_flooded(Host& host);
  void leader_reads_and_is_replaced(Host& host);
  void cut_off(MemberId member, bool in, bool out);
  void links_heal_after(Duration limit);
  void joins_anew();

  void note(const char* what, const Host& host);
  template <class Text>
  void note(Text text);
  void violated(std::string what) { observer_.violated(std::move(what)); }
  [[nodiscard]] bool is_over() const { return observer_.violation().has_value(); }

  Random random_;
  bool tracing_;
  RaftStory story_;
  Limits limits_;
  RaftObserver observer_;
  RaftNet net_;
  EventQueue queue_;
  Instant now_ = Instant(std::chrono::seconds(1));
  std::uint64_t steps_ = 0;
  std::uint64_t messages_sent_ = 0;
  bool is_healing_ = false;  // clients keep asking, and begin little
  bool is_bad_ = true;
  Instant healed_at_;
  bool has_equal_seeds_ = false;
  std::deque<Host> hosts_;  // by member id, less one
  std::vector<Client> clients_;
  std::uint32_t client_ids_ = 0;
  std::vector<Operation> history_;
  std::size_t operations_max_ = 0;
  Duration harm_every_{};
  Parcels<consensus::PeerMessage> messages_;
  Parcels<consensus::Fetch> fetches_;
  Parcels<consensus::ChunkWanted> chunks_wanted_;
  Parcels<consensus::ChunkToWrite> chunks_;
  Parcels<SnapshotWork> snapshots_;
  Parcels<Request> requests_;
  Parcels<Reply> replies_;
};

// A driver ticks first.
template <class Call>
void RaftWorld::call(Host& host, Call what) {
  host.core->tick(local_now(host));
  what(*host.core);
  if (!host.is_late) return drain(host);
  if (host.will_drain) return;
  host.will_drain = true;
  queue_.push(now_ + below(std::chrono::milliseconds(2)), EventKind::drain, static_cast<std::uint32_t>(host.id),
              host.life, 0);
}

template <class Text>
void RaftWorld::note(Text text) {
  if (tracing_) story_.trace.push_back(text());
}

}  // namespace skein::sim::raft
