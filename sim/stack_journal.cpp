#include "sim/stack_journal.hpp"

#include <algorithm>

namespace skein::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t k_write_us = 300;
constexpr std::uint64_t k_apply_us = 100;
constexpr std::uint64_t k_read_us = 150;
constexpr std::uint64_t k_job_us = 20'000;
constexpr std::uint64_t k_slowest_sync_us = 2'000'000;
constexpr double k_not_led = 0.3;            // of appends while answers are in doubt
constexpr std::uint64_t k_exit_us = 60'000;  // from a failed disk to the end of the program

}  // namespace

StackJournal::StackJournal(Runtime& runtime, SimDisk& disk, std::uint64_t seed)
    : runtime_(runtime), disk_(disk), random_(seed) {}

StackJournal::~StackJournal() {
  if (driver_) runtime_.exit(driver_, ExitReason::kill());
}

journal::StoreResult<void> StackJournal::open(journal::MachineRef machine, const journal::JournalLimits& limits) {
  auto core = journal::EmbeddedCore::open(disk_, k_dir, machine, limits);
  if (!core) return std::unexpected(core.error());
  core_ = std::move(*core);
  core_->on_event([this](const journal::JournalEvent& event) {
    const auto listeners = listeners_;
    for (const auto& [number, fn] : listeners) fn(event);
  });
  driver_ = runtime_.spawn<Driver>(this);
  take_jobs();
  return {};
}

void StackJournal::crash() {
  is_dead_ = is_gone_ = true;
  if (driver_) runtime_.exit(driver_, ExitReason::kill());
  driver_ = Pid{};
  listeners_.clear();
  // Destroyed without being called: nobody is there any more to answer.
  for (auto& [what, fn] : std::exchange(reads_, {})) fn({journal::Outcome::applied, 0, {}, {}});
  jobs_.clear();
  results_.clear();
  unanswered_.clear();
  core_.reset();
}

void StackJournal::Driver::handle_info(Self self, Message message) {
  if (const auto* plan = message.get_if<Plan>()) {
    self.send_after(plan->after, self.pid(), Due{plan->step});
  } else if (const auto* due = message.get_if<Due>()) {
    journal->do_step(due->step);
  }
}

void StackJournal::later_do(Duration after, Step step) {
  if (driver_) runtime_.send(driver_, Plan{after, step});
}

template <class Fn>
void StackJournal::guarded(Fn fn) {
  if (is_dead_) return;
  try {
    fn();
  } catch (const PowerCut&) {
    is_dead_ = true;
    if (on_death) on_death(true);
    return;
  }
  if (core_->stopped() && !is_stopping_) {
    is_stopping_ = true;
    later_do(some(k_exit_us), Step::die);
  }
}

void StackJournal::append(journal::Batch batch, journal::AnswerFn done, journal::Urgency urgency) {
  if (is_dead_) {
    if (!is_gone_) unanswered_.push_back(std::move(done));
    return;
  }
  if (runtime_.now() < doubt_until_ && random_.chance(k_not_led)) {
    journal::AppendAnswer answer;
    answer.outcome = journal::Outcome::not_leader;
    answer.why = "nobody leads";
    return done(std::move(answer));
  }
  core_->append(std::move(batch), doubted(std::move(done)), urgency);
  ring();
}

journal::AnswerFn StackJournal::doubted(journal::AnswerFn done) {
  return [this, done = std::move(done)](journal::AppendAnswer answer) mutable {
    const bool is_lost = answer.outcome == journal::Outcome::applied && runtime_.now() < doubt_until_;
    if (!is_lost) return done(std::move(answer));
    if (on_doubt) on_doubt();
    journal::AppendAnswer unknown;
    unknown.outcome = journal::Outcome::unknown;
    unknown.why = "the leader is lost";
    done(std::move(unknown));
  };
}

void StackJournal::ring() {
  if (is_busy_ || is_dead_) return;
  is_busy_ = true;
  later_do(some(k_write_us), Step::write);
}

void StackJournal::read(journal::Read what, journal::ReadFn fn) {
  if (is_dead_ || at_once_) {
    fn({journal::Outcome::applied, core_ ? core_->replica().position() : 0, {}, {}});
    return;
  }
  reads_.emplace_back(what, std::move(fn));
  if (is_reading_) return;
  is_reading_ = true;
  later_do(some(k_read_us), Step::reads);
}

void StackJournal::snapshot(journal::SnapshotFn done) {
  guarded([&] { core_->request_snapshot(std::move(done)); });
  take_jobs();
}

void StackJournal::trim(journal::Position up_to) {
  if (!is_dead_) core_->request_trim(up_to);
  take_jobs();
}

void StackJournal::set_trim_limit(journal::Position limit) {
  if (!is_dead_) core_->set_trim_limit(limit);
}

std::uint64_t StackJournal::subscribe(journal::EventFn fn) {
  const auto number = next_listener_++;
  listeners_[number] = std::move(fn);
  return number;
}

void StackJournal::check_disk() {
  guarded([&] { core_->check_disk(); });
}

void StackJournal::close() {
  guarded([&] { core_->close(); });
  is_stopping_ = true;
}

void StackJournal::take_jobs() {
  if (is_dead_) return;
  guarded([&] {
    while (auto job = core_->take_job()) jobs_.push_back(std::move(*job));
  });
  if (is_working_ || jobs_.empty()) return;
  is_working_ = true;
  later_do(some(k_job_us), Step::job);
}

void StackJournal::do_step(Step step) {
  if (is_dead_) return;
  switch (step) {
    case Step::write:
      guarded([&] { core_->write(); });
      later_do(some(k_write_us), Step::sync);
      return;
    case Step::sync: {
      const auto before = disk_.clock_us();
      guarded([&] { core_->sync(); });
      const auto took = std::min((disk_.clock_us() - before) * slowness_, k_slowest_sync_us);
      later_do(std::chrono::microseconds(took) + some(k_apply_us), Step::apply);
      return;
    }
    case Step::apply:
      guarded([&] { core_->apply(); });
      take_jobs();
      is_busy_ = false;
      if (is_dead_) return;
      if (core_->has_queued()) return ring();
      if (!is_idle_due_) {
        is_idle_due_ = true;
        later_do(100ms, Step::idle);
      }
      return;
    case Step::reads:
      is_reading_ = false;
      guarded([&] {
        for (auto& [what, fn] : std::exchange(reads_, {})) {
          if (core_->admission().admit_read()) {
            core_->read(what, std::move(fn));
          } else {
            fn({journal::Outcome::overloaded, 0, {}, "too many reads wait"});
          }
        }
      });
      return;
    case Step::idle:
      is_idle_due_ = false;
      if (!is_busy_) guarded([&] { core_->idle(); });
      take_jobs();
      return;
    case Step::job:
      guarded([&] {
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        results_.push_back(run_aside(*core_->job_disk(), job));
      });
      later_do(some(k_job_us), Step::job_done);
      return;
    case Step::job_done:
      guarded([&] {
        const auto result = std::move(results_.front());
        results_.pop_front();
        core_->job_done(result);
      });
      is_working_ = false;
      take_jobs();
      return;
    case Step::die:
      is_dead_ = true;
      if (on_death) on_death(false);
      return;
  }
}

}  // namespace skein::sim
