// Some Consensus values, their disks and the network between them, for transcripts: nothing happens until a command
// says so, and every command answers with text. One thread, virtual time, no randomness.
//
// Differs from what drives our core elsewhere only in when things are done, which is as etcd/raft's test environment
// does them:
//   process-ready    takes a Ready and, unless async-storage-writes=true, stores it at once. Answers that waited for
//                    that leave now; all else that comes of it waits for the next process-ready.
//   append thread    with async-storage-writes=true, one ToStore is stored at a time. Its answers leave then.
//   apply thread     likewise, one hand-out at a time. Each leaves a snapshot, which is the newest that can be sent.
//   a tick           10 ms; a heartbeat is due every tick, an election after three. Members have clocks of their own.
//   add-nodes        index=K stands for a snapshot up to K. Its term is 0 here and 1 there: see transcript_words.hpp.
// Of ours are read NODE TICKET, restart NODE and deliver-msgs twice=(NODES), and what add-nodes takes as
// message-bytes=N, chunk-bytes=N and snapshot-bytes=N.
#pragma once

#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/transcript_script.hpp"
#include "sim/transcript_words.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::sim {

class TranscriptWorld {
 public:
  // What the command prints, line by line. The error says why it can't be run at all.
  [[nodiscard]] std::expected<std::vector<std::string>, std::string> run(const TranscriptCommand& command);
  // log-level none: outputs say nothing, in theirs too.
  [[nodiscard]] bool is_silent() const { return is_silent_; }

 private:
  using Id = consensus::MemberId;

  struct Member {
    std::unique_ptr<consensus::Consensus> core;
    consensus::ConsensusLimits limits;
    bool is_async = false;
    std::string snapshot_bytes;
    Instant now = Instant(std::chrono::seconds(1));
    std::uint64_t starts = 0;
    // What its disk holds.
    consensus::HardState hard;
    consensus::SnapshotOffer snapshot;  // the newest
    consensus::Position base = 0;       // the log begins after it
    consensus::Term base_term = 0;
    std::vector<consensus::Entry> log;
    consensus::Membership applied_membership;
    // What is handed out and not done.
    consensus::HardState handed_out_hard;
    consensus::Ready pending;  // all but what is to be stored
    std::optional<consensus::ToStore> to_store;
    std::deque<consensus::ToStore> append_work;
    std::deque<std::vector<consensus::Entry>> apply_work;
  };

  // transcript_world.cpp
  void add_nodes(const TranscriptCommand& command);
  void start(Id id, Member& member);
  void tick(Member& member, int ticks);
  void propose(const TranscriptCommand& command);
  void propose_change(const TranscriptCommand& command);
  void transfer(const TranscriptCommand& command);
  void compact(Id id, consensus::Position position);
  void raft_state();
  void raft_log(const Member& member);
  void status(const Member& member);

  // transcript_work.cpp
  void for_each(const TranscriptCommand& command, std::string_view header, bool (TranscriptWorld::*work)(Id));
  [[nodiscard]] bool has_ready(Member& member);
  void gather(Member& member);
  void do_io(Member& member);
  bool process_ready(Id id);
  bool process_append(Id id);
  bool process_apply(Id id);
  void store(Member& member, const consensus::ToStore& store);
  void release(Member& member);
  void print_applied(const std::vector<consensus::Entry>& entries);
  void apply(Member& member, const std::vector<consensus::Entry>& entries);
  void deliver(Id id, bool is_dropped);
  void deliver_twice(Id id);
  [[nodiscard]] bool has_messages(Id id) const;
  void stabilize(const std::vector<Id>& ids);
  void settle_once(const std::vector<Id>& ids, bool& is_done);

  void print(const std::string& text);
  [[nodiscard]] Member& member(std::string_view word);
  [[nodiscard]] std::vector<Id> ids_of(const std::vector<std::string>& words) const;

  std::map<Id, Member> members_;
  std::deque<consensus::PeerMessage> network_;
  TranscriptWords words_;
  bool is_silent_ = false;
  std::string indent_;
  std::vector<std::string> out_;
};

// A command that can't be run: what is wrong with it.
struct BadCommand : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Words such as vN (adds a voter), lN (a learner), rN (removes) and uN (changes nothing).
[[nodiscard]] std::vector<consensus::MemberChange> member_changes_of(const std::vector<std::string>& lines);

}  // namespace skein::sim
