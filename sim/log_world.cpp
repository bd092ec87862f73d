#include "sim/log_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::sim {

using journal::EmbeddedCore;
using journal::Outcome;
using journal::StoreError;

namespace {

constexpr std::uint64_t k_lives_max = 7;
constexpr std::uint64_t k_steps_max = 250;
constexpr std::uint64_t k_steps_to_cut_max = 30;
constexpr std::uint64_t k_ids_all = 8192;  // more than a story has commands
constexpr std::size_t k_clients_max = 6;
constexpr std::uint64_t k_finish_rounds_max = 50;
constexpr double k_busy_folder_chance = 0.1;
constexpr std::uint64_t k_inner_folder_syncs_max = 4;
constexpr double k_busy_slow_sync_chance = 0.5;
constexpr std::uint64_t k_busy_folder_salt = 0x666F6C646572;  // a seed's other draws do not depend on it
constexpr double k_scarce_chance = 0.3;
constexpr std::uint64_t k_scarce_salt = 0x6E6F66647321;  // likewise

std::uint64_t pick(Random& random, std::initializer_list<std::uint64_t> from) {
  return *(from.begin() + random.below(from.size()));
}

}  // namespace

LogWorld::LogWorld(std::uint64_t seed, bool trace)
    : random_(seed),
      tracing_(trace),
      disk_(random_.next()),
      ids_forgotten_(random_.chance(0.2)),
      oracle_(ids_forgotten_),
      clients_(1 + random_.below(k_clients_max)),
      busy_folder_(Random(seed ^ k_busy_folder_salt).chance(k_busy_folder_chance)),
      luck_(seed ^ k_scarce_salt),
      is_scarce_(luck_.chance(k_scarce_chance)) {
  if (busy_folder_) disk_.set_slow_folder_sync_chance(k_busy_slow_sync_chance);
  if (random_.chance(0.4)) command_bytes_ = pick(random_, {8, 40, 200, 472});
  disk_.meanwhile = [this] { work_meanwhile(); };
  if (tracing_) disk_.on_point = [this](const std::string& what) { note("    disk: " + what); };
}

void LogWorld::note(std::string text) {
  if (tracing_) result_.trace.push_back(std::move(text));
}

StoryResult LogWorld::run() {
  const std::uint64_t lives = 1 + random_.below(k_lives_max);
  for (life_ = 1; life_ <= lives && !violated(); ++life_) live_once();
  if (!violated()) finish();
  drop_core();
  result_.violation = oracle_.violation();
  result_.commands = oracle_.steps().size();
  result_.points = disk_.points();
  for (const auto& [what, times] : disk_.tally()) result_.tally[what] += times;
  return std::move(result_);
}

// The id limits it is made with are the folder's; later lives are configured differently, which must not matter.
journal::JournalLimits LogWorld::make_limits() {
  journal::JournalLimits limits;
  limits.sector_bytes = random_.chance(0.8) ? 512 : 4096;
  limits.segment_bytes = pick(random_, {8192, 12288, 16384});
  limits.first_segment_bytes = pick(random_, {8192, 8192, 16384});
  if (random_.chance(0.2)) limits.trim_limit = random_.below(200);
  limits.snapshot_bytes = pick(random_, {2048, 6000, 20'000, 1ULL << 30U});
  limits.spares_kept = random_.below(4);
  limits.batch_bytes = pick(random_, {1000, 8000, 1ULL << 20U});
  limits.in_flight_bytes = pick(random_, {3000, 1ULL << 20U});
  limits.disk_low_water_bytes = pick(random_, {0, 20'000});
  limits.ids.ids_kept = k_ids_all;
  if (!opened_once_ ? ids_forgotten_ : random_.chance(0.3)) limits.ids.ids_kept = 1 + random_.below(12);
  if (random_.chance(0.3)) limits.ids.id_result_bytes = random_.below(12);
  return limits;
}

void LogWorld::live_once() {
  const auto ending = ending_ = static_cast<Ending>(random_.below(5));
  note(fmt::format("life {}", life_));
  if (ending == Ending::cut_at_point) disk_.cut_power_at(1 + random_.below(pick(random_, {4, 15, 60, 150})));
  if (ending == Ending::disk_failure) {
    const bool full = random_.chance(0.25);
    const auto code = full ? journal::DiskError::Code::no_space : journal::DiskError::Code::io;
    if (busy_folder_) {
      disk_.fail_inner_folder_sync_at(1 + random_.below(k_inner_folder_syncs_max), code);
    } else {
      disk_.fail_at(1 + random_.below(pick(random_, {4, 15, 60, 150})), code);
    }
    ++result_.failures;
  }
  try {
    if (start()) {
      take_steps(random_.below(pick(random_, {20, 60, k_steps_max})));
      if (ending == Ending::power_cut) {
        disk_.cut_power_at(1 + random_.below(5));
        take_steps(k_steps_to_cut_max);
      }
      end(ending);
    }
  } catch (const PowerCut&) {
    drop_core();
    if (random_.chance(0.5)) {
      note("  is killed in the middle of it");
      ++result_.tally["killed in the middle of a step"];
    } else {
      note("  the power is cut");
      ++result_.power_cuts;
      disk_.lose_power();
    }
  }
  drop_core();
  // The machine may have been off before a program is started after its disk failed.
  if (disk_.dropped_names() || (ending == Ending::disk_failure && random_.chance(0.6))) {
    note("  the power goes");
    disk_.lose_power();
  }
  disk_.cut_power_at(0);
  disk_.fail_at(0, journal::DiskError::Code::io);
  disk_.fail_inner_folder_sync_at(0, journal::DiskError::Code::io);
  disk_.set_scarcity(0);
  if (!violated() && random_.chance(0.5)) damage_a_copy(false);
}

bool LogWorld::start() {
  ++result_.starts;
  limits_ = make_limits();
  machine_ = std::make_unique<HistoryMachine>();
  machine_->on_apply = [this](journal::Position position, std::string_view bytes) {
    if (opening_) {
      oracle_.replayed(position, bytes);
    } else {
      note(fmt::format("    applied command {} at {}", serial_of(bytes).value_or(0), position));
      oracle_.applied(position, bytes);
    }
  };
  opening_ = true;
  auto core = EmbeddedCore::open(disk_, k_sim_dir, *machine_, limits_);
  opening_ = false;
  if (!core) {
    note("  does not start: " + core.error().describe());
    const auto kind = core.error().kind;
    // Nothing was damaged, so only the disk may be to blame.
    if (kind != StoreError::Kind::io && !core.error().is_harmless()) {
      oracle_.violated("an undamaged journal does not open: " + core.error().describe());
    }
    return false;
  }
  core_ = std::move(*core);
  opened_once_ = true;
  note(fmt::format("  started at position {}", core_->replica().position()));
  oracle_.started(core_->replica().position(), core_->replica().hash(), machine_->steps());
  check_marks_are_safe();
  return true;
}

// What a start read in a mark, an earlier program may have written and not synced. Once it is open, nobody can tell
// any more, so the marks that vouch for the end of the log have to be on the platter by then.
void LogWorld::check_marks_are_safe() {
  const auto image = journal::scan_log(disk_, k_sim_dir, core_->snapshot_position());
  if (!image) return oracle_.violated("an open journal can't be read: " + image.error().describe());
  for (std::size_t i = image->segments.size() < 2 ? 0 : image->segments.size() - 2; i < image->segments.size(); ++i) {
    const auto& segment = image->segments[i];
    const auto safe = journal::decode_marks(segment.header.id, disk_.platter_of(segment.path));
    if (segment.mark && (!safe || safe->next != segment.mark->next || safe->end_offset != segment.mark->end_offset)) {
      oracle_.violated(fmt::format("the mark that {} was opened with is not safe", segment.path));
    }
  }
}

void LogWorld::drop_core() {
  jobs_.clear();
  results_.clear();
  spare_running_ = false;
  slow_running_ = false;
  core_.reset();
  for (auto& client : clients_) client.waiting = false;
}

void LogWorld::take_steps(std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps && !violated() && !core_->stopped(); ++i) {
    if (is_scarce_ && luck_.chance(0.1)) change_scarcity();
    take_step();
    observe();
    if (core_->stopped() && ending_ != Ending::disk_failure) {
      oracle_.violated("the journal has stopped although its disk did not fail: " + *core_->stopped());
    }
  }
}

void LogWorld::take_step() {
  disk_.pass_time(50);
  switch (random_.below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return submit_some();
    case 5:
    case 6:
    case 7:
      core_->write();
      return;
    case 8:
    case 9:
      return core_->sync();
    case 10:
    case 11:
    case 12:
      return core_->apply();
    case 13:
      return core_->run_queued();
    case 14:
    case 15:
      return take_job();
    case 16:
      return run_job();
    case 17:
      return deliver_result();
    case 18:
      if (random_.chance(0.7)) return core_->idle();
      return ask_to_read();
    default:
      if (random_.chance(0.3)) return change_capacity();
      if (random_.chance(0.3)) return core_->request_trim(random_.chance(0.5) ? random_.below(200) : ~0ULL);
      if (random_.chance(0.1)) return core_->set_trim_limit(random_.chance(0.5) ? random_.below(200) : ~0ULL);
      note("  snapshot asked for");
      return core_->request_snapshot([](const auto&) {});
  }
}

// What the machine has applied, a reader may have seen.
void LogWorld::observe() { oracle_.reached(core_->replica().position(), core_->replica().hash()); }

void LogWorld::submit_some() {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i].waiting && clients_[i].wants_at_us <= disk_.clock_us() && random_.chance(0.7)) submit(i);
  }
}

void LogWorld::submit(std::size_t client) {
  auto& c = clients_[client];
  journal::Batch batch;
  if (c.batch) {
    batch = oracle_.again(*c.batch);
  } else {
    std::size_t bytes = command_bytes_;
    if (bytes == 0) bytes = 8 + random_.below(random_.chance(0.1) ? 3000 : 300);
    batch = oracle_.new_batch(random_.chance(0.6) ? 1 : 2 + random_.below(4), bytes);
    c.batch = batch.front().id.low - 1;
  }
  const Serial first = *c.batch;
  c.waiting = true;
  oracle_.submitted(first);
  note(fmt::format("  client {} appends {} commands from {}", client, batch.size(), first));
  const auto urgency = random_.chance(0.2) ? journal::Urgency::completion : journal::Urgency::ordinary;
  core_->append(
      std::move(batch), [this, client, first](const journal::AppendAnswer& answer) { answered(client, first, answer); },
      urgency);
}

void LogWorld::answered(std::size_t client, Serial first, const journal::AppendAnswer& answer) {
  note(fmt::format("    client {}: commands from {} {}", client, first, name_of(answer.outcome)));
  auto& c = clients_[client];
  if (!c.waiting || c.batch != first) oracle_.violated(fmt::format("client {} was answered twice", client));
  c.waiting = false;
  c.wants_at_us = disk_.clock_us() + random_.below(500);
  oracle_.answered(first, answer);
  // Some give up on what did not succeed; those are the ones that show whether a refusal was true.
  if (answer.outcome == Outcome::applied || answer.outcome == Outcome::refused) c.batch.reset();
  if (answer.outcome != Outcome::applied && !healed_ && random_.chance(0.3)) c.batch.reset();
}

void LogWorld::take_job() {
  if (auto job = core_->take_job()) jobs_.push_back(std::move(*job));
}

// Jobs run beside the log, so what they do may come any time later, and their results later still.
void LogWorld::run_job() {
  if (jobs_.empty()) return take_job();
  run_job(jobs_.begin());
}

void LogWorld::run_job(const JobAt& at) {
  const auto job = std::move(*at);
  jobs_.erase(at);
  bool& running = std::holds_alternative<journal::SpareJob>(job) ? spare_running_ : slow_running_;
  running = true;
  const bool dropped_before = disk_.dropped_names();
  auto result = run_aside(*core_->job_disk(), job);
  results_.push_back({std::move(result), disk_.dropped_names() && !dropped_before});
  running = false;
}

// Spares have a thread of their own, all other jobs share one.
bool LogWorld::may_run(const journal::AsideJob& job) const {
  if (!busy_folder_) return !spare_running_ && !slow_running_;
  return std::holds_alternative<journal::SpareJob>(job) ? !spare_running_ : !slow_running_;
}

// A sync takes its time, and work beside it goes on, in the middle of whatever the log or a job does.
void LogWorld::work_meanwhile() {
  const auto at = std::ranges::find_if(jobs_, [this](const auto& job) { return may_run(job); });
  if (at == jobs_.end()) return;
  const bool beside_job = spare_running_ || slow_running_;
  note(beside_job ? "    meanwhile, beside the job:" : "    meanwhile, beside the log:");
  ++result_.tally[beside_job ? "job beside another during a slow sync" : "job beside the log during a slow sync"];
  const bool dropped_before = disk_.dropped_names();
  run_job(at);
  if (disk_.dropped_names() && !dropped_before) ++result_.tally["name lost by a job during another's slow sync"];
}

void LogWorld::deliver_result() {
  if (results_.empty()) return run_job();
  const auto [result, lost_names] = std::move(results_.front());
  results_.pop_front();
  core_->job_done(result);
  // Want of room or of descriptors harms nothing, unless names were lost with it.
  const auto* const error = journal::error_of(result);
  const bool failed = error != nullptr && !error->is_harmless();
  if ((failed || lost_names) && !core_->stopped()) {
    oracle_.violated("the journal goes on although the disk failed beside it");
  }
}

void LogWorld::change_capacity() {
  const bool full = random_.chance(0.6);
  const auto room = disk_.free_bytes(k_sim_dir);
  if (full && room && *room == SimDisk::k_unlimited) {
    std::uint64_t used = 0;
    for (const auto& path : disk_.paths()) used += disk_.bytes_of(path).size();
    disk_.set_capacity(used + random_.below(20'000));
    note("  the disk is nearly full");
  } else {
    disk_.set_capacity(SimDisk::k_unlimited);
    note("  the disk has room");
  }
  core_->check_disk();
}

void LogWorld::change_scarcity() {
  const double chance = luck_.chance(0.5) ? 0 : luck_.chance(0.5) ? 1 : 0.3;
  note(fmt::format("  {} of the opens find no descriptor", chance));
  disk_.set_scarcity(chance);
}

void LogWorld::ask_to_read() {
  if (!core_->admission().admit_read()) return;
  const auto at_least = oracle_.seen();
  core_->read(journal::Read::linear(), [this, at_least](const journal::ReadAnswer& answer) {
    if (answer.outcome == Outcome::applied && answer.position < at_least) {
      oracle_.violated(fmt::format("a read saw position {}, but {} had been seen", answer.position, at_least));
    }
  });
}

void LogWorld::end(Ending ending) {
  if (violated()) return;
  if (ending == Ending::close && !core_->stopped()) {
    note("  closes");
    core_->run_queued();
    observe();
    disk_.set_scarcity(0);
    const bool failed = core_->stopped().has_value();
    core_->close();
    drop_core();
    // On a full disk the end of the log can't be recorded, and a log without that is as good as killed.
    const auto hard = journal::load_hard_state(disk_, k_sim_dir);
    if (failed || !hard || !*hard || (*hard)->commit != oracle_.seen()) return;
    const std::uint64_t damages = random_.below(4);
    for (std::uint64_t i = 0; i < damages && !violated(); ++i) damage_a_copy(true);
  } else if (ending == Ending::power_cut) {
    throw PowerCut{};
  } else {
    note("  is killed");
  }
}

void LogWorld::damage_a_copy(bool closed) {
  Found whole{oracle_.seen(), {}, {}};
  if (!closed) {
    auto undamaged = disk_.clone(random_.next());
    HistoryMachine machine;
    const auto core = EmbeddedCore::open(*undamaged, k_sim_dir, machine, limits_);
    if (!core) return;  // the next start will say why
    whole = {(*core)->replica().position(), (*core)->replica().hash(), machine.steps()};
  }
  auto copy = disk_.clone(random_.next());
  const auto damage = damage_something(*copy, k_sim_dir, closed, random_);
  if (!damage) return;
  ++result_.damages;
  ++result_.tally[fmt::format("{} of a {} log", damage->kind, closed ? "closed" : "crashed")];
  note("  a copy is damaged: " + damage->what);
  // What was damaged is reported again and again, not once and then forgotten.
  for (int attempt = 0; attempt < 2; ++attempt) {
    HistoryMachine machine;
    const auto core = EmbeddedCore::open(*copy, k_sim_dir, machine, limits_);
    if (!core) {
      note("    " + core.error().describe());
      if (damage->expect == Expect::complete) {
        oracle_.violated(fmt::format("{}: carries nothing, but: {}", damage->what, core.error().describe()));
      }
      continue;
    }
    const auto& replica = (*core)->replica();
    const Found found{replica.position(), replica.hash(), machine.steps()};
    if (closed && oracle_.exactly(found.position, found.hash, found.steps)) whole = found;
    return judge(*damage, found, whole);
  }
}

// What a start found that reported nothing, beside what it would have found without the damage.
void LogWorld::judge(const Damage& damage, const Found& found, const Found& whole) {
  if (damage.expect == Expect::reported) {
    return oracle_.violated(fmt::format("{}: not reported; it opens at position {}", damage.what, found.position));
  }
  if (found == whole) return;
  auto before = whole.steps;
  std::erase_if(before, [&](const Step& step) { return step.position > found.position; });
  const bool is_prefix = found.steps == before;
  const bool all_seen = found.position >= oracle_.seen();
  if (damage.expect == Expect::reported_or_last_batch_cut && is_prefix && found.position + 1 == damage.last_batch)
    return;
  if (damage.expect == Expect::reported_or_unseen_lost && is_prefix && all_seen) return;
  oracle_.violated(fmt::format("{}: not reported, and something is missing: it opens at position {} of {}", damage.what,
                               found.position, whole.position));
}

// Faults end, and everything must come right: every client gets its answer, and what was answered is there.
void LogWorld::finish() {
  healed_ = true;
  disk_.set_capacity(SimDisk::k_unlimited);
  note("all faults end");
  if (!start()) return oracle_.violated("the journal does not start although nothing is wrong any more");
  for (std::uint64_t round = 0; round < k_finish_rounds_max && !violated(); ++round) {
    disk_.pass_time(1000);
    bool idle = true;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].batch) continue;
      idle = false;
      if (!clients_[i].waiting) submit(i);
    }
    core_->run_queued();
    take_job();
    while (!jobs_.empty()) run_job();
    while (!results_.empty()) deliver_result();
    observe();
    if (idle) break;
  }
  if (core_->stopped()) return oracle_.violated("the journal stopped although nothing was wrong: " + *core_->stopped());
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].batch) return oracle_.violated(fmt::format("client {} never got its batch applied", i));
  }
  core_->close();
  drop_core();
  disk_.lose_power();
  const auto seen = oracle_.seen();
  if (!start()) return;
  if (core_->replica().position() != seen) oracle_.violated("a clean start found more than was there");
}

StoryResult tell_log_story(std::uint64_t seed, bool trace) { return LogWorld(seed, trace).run(); }

}  // namespace skein::sim
