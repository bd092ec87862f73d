// What each part of a journal does with what the others post.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "skein/journal/member_core.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::uint64_t k_check_disk_every_bytes = 1U << 20U;

template <class... Fns>
struct Overloaded : Fns... {
  using Fns::operator()...;
};

std::expected<void, std::string> in_words(const std::expected<void, consensus::Refusal>& result) {
  if (result) return {};
  return std::unexpected(result.error().why);
}

}  // namespace

// Deciding.

void MemberCore::decide(Instant now) {
  consensus_->tick(now);
  deciding_.clear();
  to_decide_.take(deciding_);
  for (auto& item : deciding_) take_in(item);
  hand_out();
}

void MemberCore::take_in(ToDecide& item) {
  const Overloaded each{
      [&](ToAppend& append) {
        if (const auto why = stopped()) {
          AppendAnswer answer;
          answer.outcome = Outcome::stopped;
          answer.why = *why;
          to_apply(ApplyStep(AnsweredAppend{std::move(append.done), std::move(answer), append.charged}));
          return;
        }
        consensus_->append(std::move(append.batch), std::move(append.done), append.charged, append.in_term);
      },
      [&](ToReadLinear& read) {
        if (!stopped()) return consensus_->read_linear(std::move(read.fn));
        to_apply(ApplyStep(ReadAt{0, std::move(read.fn)}));
      },
      [&](ToSkip& skip) { consensus_->skip(skip.position, std::move(skip.done)); },
      [&](ToChange& change) {
        const auto proposed = consensus_->change(change.changes);
        std::expected<void, std::string> result;
        if (!proposed) result = std::unexpected(proposed.error().why);
        to_apply(ChangeAnswer{std::move(change.done), std::move(result)});
      },
      [&](ToTransfer& transfer) {
        to_apply(ChangeAnswer{std::move(transfer.done), in_words(consensus_->transfer_to(transfer.member))});
      },
      [&](consensus::PeerMessage& message) { consensus_->step(std::move(message)); },
      [&](const Stored& stored) { consensus_->stored(stored.number); },
      [&](const StoreRefused& refused) {
        // All that is to be stored is with the part that stores before some of it is taken back.
        hand_out();
        if (consensus_->store_refused(refused.why)) to_store(DropWaiting{});
      },
      [&](const AppliedTo& applied) { consensus_->applied(applied.position); },
      [&](Fetched& fetched) { consensus_->fetched(fetched.fetch, std::move(fetched.entries)); },
      [&](ChunkRead& read) { consensus_->chunk_read(std::move(read)); },
      [&](const ChunkWritten& written) { consensus_->chunk_written(written); },
      [&](const TakenSnapshot& taken) { consensus_->snapshot_taken(taken.offer); },
      [&](const TrimWanted& trim) { to_store(TrimUpTo{std::min(trim.up_to, consensus_->core().needed_after())}); },
      [&](const Trimmed& trimmed) { consensus_->log_trimmed(trimmed.up_to); },
      [&](const LittleDisk& disk) { consensus_->set_little_disk(disk.is_little); },
  };
  std::visit(each, item);
}

void MemberCore::hand_out() {
  consensus_->take(output_);
  for (auto& store : output_.stores) to_store(std::move(store));
  for (auto& fetch : output_.fetches) to_store(fetch);
  if (!output_.messages.empty() && send_) send_(std::move(output_.messages));
  for (auto& step : output_.steps) to_apply(std::move(step));
  for (auto& wanted : output_.chunks_wanted) put_job(ReadChunkJob{disk_ ? disk_->dir() : "", wanted});
  for (auto& chunk : output_.chunks) put_job(WriteChunkJob{disk_ ? disk_->dir() : "", std::move(chunk.chunk)});
  output_.stores.clear();
  output_.fetches.clear();
  output_.messages.clear();
  output_.steps.clear();
  output_.chunks_wanted.clear();
  output_.chunks.clear();
  output_.events.clear();
  next_tick_.store(consensus_->next_tick(), std::memory_order_release);
  decided_.store(consensus_->core().decided(), std::memory_order_release);
  term_.store(consensus_->core().term(), std::memory_order_release);
}

// Storing.

void MemberCore::take_store_queue() {
  storing_.clear();
  to_store_.take(storing_);
  for (auto& item : storing_) take_in(item);
}

void MemberCore::take_in(ToStore& item) {
  const Overloaded each{
      [&](consensus::ToStore& store) { log_->take(std::move(store)); },
      [&](const consensus::Fetch& wanted) { fetch(wanted); },
      [&](const TrimUpTo& up_to) { trim(up_to.up_to); },
      [&](const TrimRequest& request) { want_trim(request.up_to); },
      [&](const TrimLimit& limit) {
        const bool is_higher = limit.limit > trim_limit_;
        trim_limit_ = limit.limit;
        if (is_higher) want_trim(k_no_trim_limit);
      },
      [&](const DropWaiting&) {
        log_->drop_waiting();
        is_refused_ = false;
      },
      [&](const SnapshotRequest&) { snapshot_wanted_ = true; },
      [&](const NoSnapshot& none) {
        snapshot_under_way_ = false;
        if (none.error) snapshot_failed(*none.error, none.at);
      },
      [&](const SnapshotWritten& written) { snapshot_done(written); },
      [&](const StoreResult<Spare>& spare) {
        disk_->store().spare_done(spare);
        if (spare) segment_refused({});
        if (!spare) stop_after(spare.error());
        check_disk();
      },
      [&](const StoreResult<std::vector<Spare>>& spares) {
        disk_->store().discard_done(spares);
        if (!spares) stop_after(spares.error());
        check_disk();
      },
  };
  std::visit(each, item);
}

bool MemberCore::write() {
  take_store_queue();
  bool is_written = false;
  if (!has_failed_ && !is_refused_) {
    const auto wrote = log_->write();
    if (wrote) {
      is_written = *wrote;
      if (is_written && disk_) count_written();
    } else {
      store_failed(wrote.error());
    }
  }
  may_write_ = !has_failed_ && !is_refused_ && log_->has_waiting();
  if (disk_) plan_jobs();
  return is_written;
}

void MemberCore::sync() {
  if (has_failed_) return;
  if (auto ok = log_->sync(); !ok) {
    store_failed(ok.error());
  } else if (log_->stored() > told_stored_) {
    told_stored_ = log_->stored();
    to_decide(Stored{told_stored_});
  }
  may_write_ = !has_failed_ && !is_refused_ && log_->has_waiting();
}

void MemberCore::store_failed(const StoreError& error) {
  if (!error.is_harmless()) {
    has_failed_ = true;
    return stop(error.describe());
  }
  check_disk();
  if (error.kind == StoreError::Kind::no_space) segment_refused(error.describe());
  is_refused_ = true;
  // A single member takes the batch back and answers. In a group it waits here for room; others can decide without it.
  if (log_->waits_for_entries_only()) to_decide(StoreRefused{error.describe()});
}

void MemberCore::count_written() {
  const std::uint64_t bytes = disk_->appended_bytes() - counted_bytes_;
  counted_bytes_ = disk_->appended_bytes();
  log_bytes_ += bytes;
  unchecked_bytes_ += bytes;
  if (const auto installed = disk_->take_installed()) {
    snapshot_ = *installed;
    snapshot_position_ = snapshot_.position;
    log_bytes_ = 0;
    want_trim(k_no_trim_limit);
  }
  if (admission_.segment_refused() && disk_->store().segment_id() != refused_in_) segment_refused({});
  if (unchecked_bytes_ >= k_check_disk_every_bytes) check_disk();
}

void MemberCore::fetch(const consensus::Fetch& wanted) {
  auto entries = (disk_ ? static_cast<Storage&>(*disk_) : *memory_).read_batches(wanted.from, wanted.max_bytes);
  if (!entries) {
    has_failed_ = true;
    stop(entries.error().describe());
    entries = std::vector<consensus::Entry>();
  }
  to_decide(Fetched{wanted, std::move(*entries)});
}

void MemberCore::check_disk() {
  if (!disk_) return;
  unchecked_bytes_ = 0;
  const auto room = disk_->disk().free_bytes(disk_->dir());
  const bool low = room && *room < limits_.disk_low_water_bytes;
  if (low == admission_.disk_low()) return;
  admission_.set_disk_low(low);
  to_decide(LittleDisk{low});
  if (!low) disk_->store().retry_spares();
  tell_event(low ? JournalEvent::Kind::disk_low : JournalEvent::Kind::disk_ok,
             fmt::format("{} bytes left on the disk", room.value_or(0)));
}

// With an empty cause: there is room again. A disk that is low was told of already.
void MemberCore::segment_refused(const std::string& cause) {
  const bool is_refused = !cause.empty();
  if (is_refused == admission_.segment_refused() || (is_refused && admission_.disk_low())) return;
  admission_.set_segment_refused(is_refused);
  refused_in_ = disk_->store().segment_id();
  tell_event(is_refused ? JournalEvent::Kind::disk_low : JournalEvent::Kind::disk_ok, cause);
}

void MemberCore::idle() {
  take_store_queue();
  if (has_failed_ || !disk_) return;
  is_refused_ = false;
  may_write_ = log_->has_waiting();
  if (admission_.segment_refused()) {
    // A spare shows whether there is room; where none is wanted, the next append does.
    disk_->store().retry_spares();
    if (!disk_->store().wants_spare()) segment_refused({});
  }
  if (auto ok = disk_->mark_idle(); !ok && !ok.error().is_harmless()) {
    has_failed_ = true;
    stop(ok.error().describe());
  }
  check_disk();
  plan_jobs();
}

void MemberCore::want_trim(Position up_to) {
  to_decide(TrimWanted{std::min({up_to, snapshot_.position, trim_limit_})});
}

void MemberCore::trim(Position up_to) {
  if (!disk_) return;
  const Position base = disk_->trim(up_to);
  to_decide(Trimmed{std::min(base, snapshot_.position)});
  if (auto job = disk_->take_discard()) put_job(std::move(*job));
}

void MemberCore::plan_jobs() {
  if (has_failed_) return;
  if (auto job = disk_->store().take_spare_job()) put_job(std::move(*job));
  plan_snapshot();
}

bool MemberCore::snapshot_due() const {
  return snapshot_wanted_ || log_bytes_ >= std::max({limits_.snapshot_bytes, 2 * snapshot_.bytes, retry_at_bytes_});
}

void MemberCore::plan_snapshot() {
  if (snapshot_under_way_ || !snapshot_due()) return;
  snapshot_wanted_ = false;
  snapshot_under_way_ = true;
  snapshot_from_ = log_bytes_;
  to_apply(Freeze{snapshot_});
}

void MemberCore::snapshot_done(const SnapshotWritten& written) {
  snapshot_under_way_ = false;
  if (!written.result) {
    snapshot_failed(written.result.error(), written.meta.position);
    stop_after(written.result.error());
    check_disk();
    return;
  }
  const SnapshotInfo& info = *written.result;
  if (info.position > snapshot_.position) {
    snapshot_ = info;
    snapshot_position_ = info.position;
    log_bytes_ -= std::min(snapshot_from_, log_bytes_);
    retry_at_bytes_ = 0;
    if (auto membership = consensus::Membership::decode(written.meta.membership)) {
      to_decide(TakenSnapshot{{info.position, written.meta.term, std::move(*membership), info.bytes}});
    }
    want_trim(k_no_trim_limit);
    tell_event(JournalEvent::Kind::snapshot_taken, fmt::format("{} bytes", info.bytes), info.position);
  }
  to_apply(SnapshotEnded{info, info.position});
  check_disk();
}

void MemberCore::snapshot_failed(const StoreError& error, Position at) {
  retry_at_bytes_ = log_bytes_ + limits_.snapshot_bytes / 4;
  tell_event(JournalEvent::Kind::snapshot_failed, error.describe());
  to_apply(SnapshotEnded{std::unexpected(error), at});
}

// A sync that failed beside the log may have been the one that was to make the log's own names safe. Want of room or of
// descriptors and a machine that can't write its state harm nothing.
void MemberCore::stop_after(const StoreError& error) {
  if (error.is_harmless() || error.kind == StoreError::Kind::machine) return;
  has_failed_ = true;
  stop(StoreError{StoreError::Kind::io, error.file, error.offset, error.what}.describe());
}

void MemberCore::stop(const std::string& why) {
  if (note_stopped(why)) to_apply(Stop{why});
}

// False when it had stopped before.
bool MemberCore::note_stopped(const std::string& why) {
  const std::lock_guard lock(stopped_mutex_);
  if (stopped_) return false;
  stopped_ = why;
  is_stopped_.store(true, std::memory_order_release);
  return true;
}

void MemberCore::tell_event(JournalEvent::Kind kind, std::string detail, Position position) {
  to_apply(TellEvent{kind, std::move(detail), position});
}

// Applying.

void MemberCore::apply() {
  applying_.clear();
  to_apply_.take(applying_);
  for (auto& item : applying_) take_in(item);
  tell_applied();
}

void MemberCore::take_in(ToApply& item) {
  const Overloaded each{
      [&](ApplyStep& step) {
        const auto* restored = std::get_if<Restore>(&step);
        if (restored != nullptr) return restore(restored->position);
        apply_.take(std::move(step));
      },
      [&](AskSnapshot& ask) {
        const bool is_stopped = apply_.stopped().has_value();
        apply_.request_snapshot(std::move(ask.done));
        if (is_stopped) return;
        if (disk_) return to_store(SnapshotRequest{});
        const SnapshotInfo info{apply_.replica().position(), 0, {}};
        apply_.emit(JournalEvent::Kind::snapshot_taken, info.position, "in memory: nothing was written");
        apply_.answer_snapshots(info, info.position);
      },
      [&](const Freeze& wanted) { freeze(wanted.newest); },
      [&](const SnapshotEnded& ended) {
        apply_.answer_snapshots(ended.result, ended.covered);
        if (apply_.snapshots_awaited()) to_store(SnapshotRequest{});
      },
      [&](const TellEvent& event) {
        apply_.emit(event.kind, event.position != 0 ? event.position : apply_.replica().position(), event.detail);
      },
      [&](const Stop& end) { apply_.stop(end.why); },
      [&](ChangeAnswer& answer) { answer.done(std::move(answer.result)); },
      [&](Tell& tell) { tell.tell(); },
  };
  std::visit(each, item);
}

void MemberCore::tell_applied() {
  const Position position = apply_.replica().position();
  if (position > told_applied_) {
    told_applied_ = position;
    to_decide(AppliedTo{position});
  }
}

void MemberCore::freeze(const SnapshotInfo& newest) {
  const Position at = apply_.replica().position();
  if (apply_.stuck() || apply_.stopped()) return to_store(NoSnapshot{});
  if (at == newest.position && newest.position > 0) {
    apply_.answer_snapshots(newest, newest.position);
    return to_store(NoSnapshot{});
  }
  try {
    return put_job(SnapshotJob{disk_->dir(), apply_.replica().freeze()});
  } catch (const std::exception& error) {
    to_store(NoSnapshot{StoreError{StoreError::Kind::machine, {}, 0, error.what()}, at});
  } catch (...) {
    to_store(NoSnapshot{StoreError{StoreError::Kind::machine, {}, 0, k_no_exception}, at});
  }
}

void MemberCore::restore(Position position) {
  const auto snapshot = newest_snapshot(disk_->disk(), disk_->dir());
  if (!snapshot) return stop(snapshot.error().describe());
  if (!*snapshot || (*snapshot)->meta.position < position) {
    return stop(corrupt(disk_->dir(), StoreError::k_nowhere,
                        fmt::format("the snapshot of position {} that was installed is not there", position))
                    .describe());
  }
  bool is_restored = false;
  try {
    is_restored = apply_.replica().restore((*snapshot)->meta, (*snapshot)->body());
  } catch (const std::exception& error) {
    return stop(fmt::format("the machine can't restore the snapshot of position {}: {}", position, error.what()));
  } catch (...) {
    return stop(k_no_exception);
  }
  if (!is_restored) return stop(fmt::format("the machine does not know the snapshot of position {}", position));
  apply_.restored();
}

}  // namespace skein::inline v0::journal
