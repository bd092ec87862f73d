// Making a journal's core, and what may be called from any thread; its parts are in member_core_parts.cpp.
#include "skein/journal/member_core.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <exception>
#include <random>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/journal/memory_storage.hpp"

namespace skein::inline v0::journal {

namespace {

// Not 0, which means none.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    if (::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) continue;
    std::random_device device;
    number = (std::uint64_t{device()} << 32U) | device();
  }
  return number;
}

// What a log begins with that does not say whose it is.
std::vector<consensus::Entry> founding_entries(const LogConfig& config, const consensus::Membership& membership) {
  const auto bytes = std::make_shared<const std::array<std::string, 2>>(
      std::array<std::string, 2>{config.encode(), membership.encode()});
  std::vector<consensus::Entry> entries(2);
  entries[0].kind = EntryKind::config;
  entries[1].kind = EntryKind::membership;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].bytes = (*bytes)[i];
    entries[i].owner = bytes;
  }
  return entries;
}

}  // namespace

MemberCore::MemberCore(MachineRef machine, const JournalLimits& limits)
    : limits_(limits), admission_(limits), trim_limit_(limits.trim_limit), apply_(machine, limits, admission_) {
  apply_.on_end([this](const std::string& why) {
    const std::lock_guard lock(stopped_mutex_);
    stopped_ = why;
    is_stopped_.store(true, std::memory_order_release);
  });
}

MemberCore::~MemberCore() = default;

StoreResult<std::unique_ptr<MemberCore>> MemberCore::open(Disk& disk, const std::string& dir, MachineRef machine,
                                                          const JournalLimits& limits, const MemberOptions& options,
                                                          Instant now) {
  std::unique_ptr<MemberCore> core(new MemberCore(machine, limits));
  auto storage =
      DiskStorage::open(disk, dir, limits, options.self != 0 ? options.self : random_number(),
                        [&](const LoadedSnapshot& snapshot) { return core->restore_at_start(dir, snapshot); });
  if (!storage) return std::unexpected(storage.error());
  core->disk_ = std::move(*storage);
  if (auto ok = core->start(core->disk_->start(), options, now); !ok) return std::unexpected(ok.error());
  return core;
}

std::unique_ptr<MemberCore> MemberCore::in_memory(MachineRef machine, const JournalLimits& limits,
                                                  const MemberOptions& options, Instant now) {
  std::unique_ptr<MemberCore> core(new MemberCore(machine, limits));
  core->memory_ = std::make_unique<MemoryStorage>();
  StorageStart nothing;
  nothing.state.self = options.self != 0 ? options.self : random_number();
  nothing.ids = limits.ids;
  const auto started = core->start(nothing, options, now);
  must_hold(started.has_value(), "storage.hpp 1: memory refuses nothing");
  return core;
}

StoreResult<void> MemberCore::restore_at_start(const std::string& dir, const LoadedSnapshot& snapshot) {
  snapshot_ = {snapshot.meta.position, snapshot.file.size(), path_in(dir, snapshot_name(snapshot.meta.position))};
  snapshot_position_ = snapshot_.position;
  try {
    if (apply_.replica().restore(snapshot.meta, snapshot.body())) return {};
  } catch (const std::exception& error) {
    return std::unexpected(corrupt(snapshot_.path, 0, fmt::format("the machine can't restore it: {}", error.what())));
  } catch (...) {
    return std::unexpected(corrupt(snapshot_.path, 0, k_no_exception));
  }
  return std::unexpected(corrupt(snapshot_.path, 0, "the machine does not know this snapshot"));
}

StoreResult<void> MemberCore::start(const StorageStart& found, const MemberOptions& options, Instant now) {
  consensus::StartState state;
  state.self = found.state.self;
  state.hard = found.state.hard;
  state.terms = found.terms;
  state.memberships = found.memberships;
  state.applied = apply_.replica().position();
  if (auto membership = consensus::Membership::decode(found.snapshot.membership)) {
    state.membership = std::move(*membership);
    state.snapshot =
        consensus::SnapshotOffer{found.snapshot.position, found.snapshot.term, state.membership, found.snapshot_bytes};
  }
  const bool says_who = state.snapshot.has_value() || !found.memberships.empty();
  if (!says_who && !options.joins) {
    state.membership = options.founders.empty() ? consensus::Membership({state.self}, {})
                                                : consensus::Membership(options.founders, {});
    const LogConfig config{.cluster = options.cluster != 0 ? options.cluster : random_number(), .ids = found.ids};
    state.founding = founding_entries(config, state.membership);
  }
  if (found.snapshot.position == 0) apply_.replica().use_limits(found.ids);
  // Nobody else reads the entries of a journal in memory.
  consensus::ConsensusLimits group = options.limits;
  if (memory_) group.cache_bytes = ~std::uint64_t{0};
  auto core =
      consensus::Consensus::start(std::move(state), group, now, options.seed != 0 ? options.seed : random_number());
  if (!core) return std::unexpected(corrupt(disk_ ? disk_->dir() : "", StoreError::k_nowhere, core.error()));
  const bool is_alone = core->membership().size() == 1 && core->membership().is_voter(found.state.self);
  consensus_.emplace(std::move(*core), found.skips, apply_.replica().position());
  log_.emplace(disk_ ? static_cast<Storage&>(*disk_) : *memory_, found.state, limits_.batch_bytes);
  if (disk_) {
    log_bytes_ = disk_->bytes_after(snapshot_.position);
    check_disk();
  }
  if (is_alone) consensus_->campaign();
  run_queued(now);
  if (const auto why = stopped()) return std::unexpected(StoreError{StoreError::Kind::stopped, "", 0, *why});
  const bool is_ready = consensus_->leads() && apply_.replica().position() == consensus_->core().log().last();
  if (is_alone && !is_ready) {
    return std::unexpected(StoreError{StoreError::Kind::no_space, disk_ ? disk_->dir() : "", StoreError::k_nowhere,
                                      "there is no room to begin"});
  }
  return {};
}

void MemberCore::append(Batch batch, AnswerFn done, Urgency urgency, Term in_term) {
  if (auto refusal = admission_.admit(batch, urgency)) {
    done(std::move(*refusal));
    return;
  }
  submit(std::move(batch), std::move(done), in_term);
}

void MemberCore::submit(Batch batch, AnswerFn done, Term in_term) {
  const std::uint64_t charged = Admission::charge(batch);
  to_decide(ToAppend{std::move(batch), std::move(done), charged, in_term});
}

void MemberCore::read(Read what, ReadFn fn) {
  switch (what.kind) {
    case Read::Kind::linear:
      to_decide(ToReadLinear{std::move(fn)});
      return;
    case Read::Kind::at:
      to_apply(ApplyStep(ReadAt{what.position, std::move(fn)}));
      return;
    case Read::Kind::local:
      to_apply(ApplyStep(ReadAt{0, std::move(fn)}));
      return;
  }
}

void MemberCore::request_snapshot(SnapshotFn done) { to_apply(AskSnapshot{std::move(done)}); }

void MemberCore::request_trim(Position up_to) { to_store(TrimRequest{up_to}); }

void MemberCore::set_trim_limit(Position limit) { to_store(TrimLimit{limit}); }

void MemberCore::skip(Position position, AnswerFn done) { to_decide(ToSkip{position, std::move(done)}); }

void MemberCore::change(std::vector<consensus::MemberChange> changes, ChangeFn done) {
  to_decide(ToChange{std::move(changes), std::move(done)});
}

void MemberCore::transfer_to(consensus::MemberId member, ChangeFn done) {
  to_decide(ToTransfer{member, std::move(done)});
}

void MemberCore::receive(consensus::PeerMessage message) { to_decide(std::move(message)); }

void MemberCore::subscribed(std::function<void()> tell) { to_apply(Tell{std::move(tell)}); }

std::optional<std::string> MemberCore::stopped() const {
  if (!is_stopped_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(stopped_mutex_);
  return stopped_;
}

JournalStatus MemberCore::status() const {
  JournalStatus status;
  status.applied = apply_.applied();
  status.decided = decided_.load(std::memory_order_acquire);
  status.snapshot = snapshot_position_.load(std::memory_order_acquire);
  status.term = term_.load(std::memory_order_acquire);
  status.in_flight_bytes = admission_.in_flight();
  status.disk_low = admission_.disk_low() || admission_.segment_refused();
  status.stopped = is_stopped_.load(std::memory_order_acquire);
  return status;
}

void MemberCore::put_job(AsideJob job) {
  if (jobs_.post(std::move(job)) && wake_) wake_(Part::beside);
}

std::optional<AsideJob> MemberCore::take_job() {
  const std::lock_guard lock(taken_jobs_mutex_);
  if (taken_jobs_.empty()) {
    std::vector<AsideJob> fresh;
    jobs_.take(fresh);
    for (auto& job : fresh) taken_jobs_.push_back(std::move(job));
  }
  if (taken_jobs_.empty()) return std::nullopt;
  AsideJob job = std::move(taken_jobs_.front());
  taken_jobs_.pop_front();
  return job;
}

void MemberCore::job_done(AsideResult result) {
  if (auto* spare = std::get_if<StoreResult<Spare>>(&result)) to_store(std::move(*spare));
  if (auto* spares = std::get_if<StoreResult<std::vector<Spare>>>(&result)) to_store(std::move(*spares));
  if (auto* snapshot = std::get_if<SnapshotWritten>(&result)) to_store(std::move(*snapshot));
  if (auto* read = std::get_if<ChunkRead>(&result)) to_decide(std::move(*read));
  if (auto* written = std::get_if<ChunkWritten>(&result)) to_decide(std::move(*written));
}

// One thread.

bool MemberCore::step_write(Instant now) {
  decide(now);
  return has_to_store() && write();
}

void MemberCore::step_sync(Instant now) {
  sync();
  decide(now);
}

void MemberCore::step_apply(Instant now) {
  apply();
  decide(now);
}

void MemberCore::round(Instant now) {
  (void)step_write(now);
  if (may_write_) step_sync(now);
  if (has_to_apply()) step_apply(now);
}

void MemberCore::run_queued(Instant now) {
  do {
    round(now);
  } while (has_queued());
}

void MemberCore::close(Instant now) {
  run_queued(now);
  if (!has_failed_) {
    idle();
    // The one of before is right as well, only that it vouches for less.
    const auto ok = log_->save_decided(std::min(consensus_->core().decided(), consensus_->core().log().stored()));
    if (!ok && ok.error().kind != StoreError::Kind::no_descriptors) stop(ok.error().describe());
  }
  (void)note_stopped("the journal is closed");
  to_apply(Stop{"the journal is closed"});
  run_queued(now);
}

void MemberCore::release() {
  if (disk_) disk_->release();
}

}  // namespace skein::inline v0::journal
