#include "skein/archive/archiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "skein/archive/caretaker.hpp"
#include "skein/journal/append_again.hpp"

namespace skein::inline v0::archive {

// One round: read (journal's thread), insert (job), perhaps seal (job), append, answered (journal's thread), next
// round. `busy_` is set from the first to the last step, so at most one round is under way, and what only rounds touch
// needs no lock. Callbacks hold the loop by a shared pointer: they may come late.
class Archiver::Loop final : public ledger::ChangeSink, public std::enable_shared_from_this<Loop> {
 public:
  Loop(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs, const ArchiverLimits& limits,
       NewsFn on_news)
      : journal_(journal),
        ledger_(ledger),
        store_(store),
        jobs_(jobs),
        limits_(limits),
        on_news_(std::move(on_news)),
        caretaker_(std::make_shared<Caretaker>(store, jobs, limits, on_news_)) {}

  void start() {
    listen();
    caretaker_->start();
  }

  void listen() {
    journal_.read(journal::Read::local(), [self = shared_from_this()](const journal::ReadAnswer& answer) {
      if (self->stopped_) return;
      if (answer.outcome == journal::Outcome::overloaded) {
        self->jobs_.post_after(self->limits_.linger, [self] { self->listen(); });
        return;
      }
      if (answer.outcome != journal::Outcome::applied) return;
      self->ledger_.add_sink(*self);
      self->listening_ = true;
      self->inserted_up_to_ = self->archived_up_to_ = self->ledger_.counters().archived_up_to;
      self->count_waiting();
      self->begin(Duration::zero());
      self->link_open();
    });
  }

  void stop() {
    stopped_ = true;
    caretaker_->stop();
    journal::visit(journal_, [&](journal::Outcome) {
      if (std::exchange(listening_, false)) ledger_.remove_sink(*this);
    });
  }

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
    std::uint64_t some = 0;
    for (const auto& change : batch->changes) {
      if (std::holds_alternative<ledger::TaskFinished>(change)) {
        ++some;
      } else if (const auto* retried = std::get_if<ledger::TaskRetried>(&change)) {
        relink({{retried->old_task, retried->new_task}});
      } else if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) {
        const auto& extras = queued->task.extras;
        if (queued->why == ledger::TaskQueued::Why::submitted && extras && !extras->retry_of.none()) {
          relink({{extras->retry_of, queued->task.id}});
        }
      }
    }
    if (some == 0) return;
    waiting_ += some;
    if (!is_wanted()) return;
    begin(linger());
  }

  [[nodiscard]] ArchiverStatus status() const {
    ArchiverStatus status = caretaker_->status();
    const std::lock_guard lock(mutex_);
    status.archived_up_to = status_.archived_up_to;
    status.tasks = status_.tasks;
    status.batches = status_.batches;
    status.seals = status_.seals;
    status.failures += status_.failures;
    status.failing = status_.failing.empty() ? status.failing : status_.failing;
    return status;
  }

 private:
  using Batch = std::vector<Finished>;
  using Links = std::vector<std::pair<ledger::TaskId, ledger::TaskId>>;  // the old task, and the one in its stead

  // On the journal's thread.
  [[nodiscard]] bool is_wanted() const {
    if (!limits_.only_when_half_full) return true;
    const auto& counters = ledger_.counters();
    const auto& limits = ledger_.limits();
    return counters.finished_tasks >= limits.finished_tasks / 2 || counters.finished_bytes >= limits.finished_bytes / 2;
  }

  [[nodiscard]] Duration linger() const {
    const bool is_urgent = waiting_ >= limits_.batch_tasks || limits_.only_when_half_full;
    return is_urgent ? Duration::zero() : Duration(limits_.linger);
  }

  // Where nobody keeps them only the oldest go, never all at once.
  [[nodiscard]] std::size_t batch_tasks() const {
    if (!limits_.only_when_half_full) return limits_.batch_tasks;
    const std::size_t quarter = static_cast<std::size_t>(ledger_.counters().finished_tasks / 4);
    return std::min(limits_.batch_tasks, std::max<std::size_t>(quarter, 1));
  }

  // A full batch need not wait for the round that lingers: it is begun at once, and the lingering one finds it busy.
  void begin(Duration after) {
    if (stopped_ || busy_) return;
    if (after > Duration::zero()) {
      if (lingering_.exchange(true)) return;
      const bool posted = jobs_.post_after(after, [self = self()] {
        self->lingering_ = false;
        self->round();
      });
      if (!posted) lingering_ = false;
      return;
    }
    round();
  }

  void round() {
    if (stopped_ || busy_.exchange(true)) return;
    journal_.read(journal::Read::local(), [self = self()](const journal::ReadAnswer& answer) {
      if (answer.outcome == journal::Outcome::applied) return self->read();
      self->journal_failed();
    });
  }

  // On the journal's thread.
  void count_waiting() { waiting_ = ledger_.counters().last_finished - inserted_up_to_; }

  void read() {
    Batch batch;
    inserted_up_to_ = std::max(inserted_up_to_, ledger_.counters().archived_up_to);
    if (is_wanted()) batch = ledger_.finished_after(inserted_up_to_, batch_tasks());
    if (batch.empty() && !is_seal_due()) return rest();
    std::uint64_t bytes = 0;
    std::size_t fitting = 0;
    while (fitting < batch.size()) {
      const std::uint64_t charge = ledger::charge_of(*batch[fitting]);
      if (fitting > 0 && bytes + charge > limits_.batch_bytes) break;
      bytes += charge;
      ++fitting;
    }
    batch.resize(fitting);
    // The job holds the batch until the store has it; should the queue drop it, the next round reads it again.
    if (!jobs_.post([self = self(), batch = std::move(batch), bytes] { self->insert(batch, bytes); }))
      failed("the job queue is full");
  }

  void insert(const Batch& batch, std::uint64_t bytes) {
    if (!batch.empty()) {
      const auto ok = store_.insert(batch);
      if (!ok) return failed(ok.error().describe());
      if (const auto linked = link_retried(batch); !linked) return failed(linked.error().describe());
      if (unsealed_tasks_ == 0) seal_at_ = later(jobs_.now(), limits_.seal_after);
      inserted_up_to_ = batch.back()->finish_number;
      unsealed_tasks_ += batch.size();
      unsealed_bytes_ += bytes;
      const std::lock_guard lock(mutex_);
      status_.tasks += batch.size();
      ++status_.batches;
    }
    if (is_seal_due()) return seal();
    journal_.read(journal::Read::local(), [self = self()](const journal::ReadAnswer& answer) {
      if (answer.outcome != journal::Outcome::applied) {
        return self->journal_failed();
      }
      self->count_waiting();
      if (self->waiting_ >= self->limits_.batch_tasks) return self->read();
      self->rest();
    });
  }

  [[nodiscard]] bool is_seal_due() const {
    if (unsealed_tasks_ == 0) return false;
    return limits_.only_when_half_full || unsealed_tasks_ >= limits_.seal_tasks ||
           unsealed_bytes_ >= limits_.seal_bytes || jobs_.now() >= seal_at_;
  }

  // The end of a round. On the journal's thread.
  void rest() {
    const bool is_unsealed = unsealed_tasks_ > 0;
    const Duration until_seal = std::max(seal_at_ - jobs_.now(), Duration::zero());
    busy_ = false;
    if (waiting_ > 0 && is_wanted()) begin(linger());
    // A timer for each would do no harm; one is enough.
    if (!is_unsealed || is_seal_timed_.exchange(true)) return;
    const bool posted = jobs_.post_after(until_seal, [self = self()] {
      self->is_seal_timed_ = false;
      self->round();
    });
    if (!posted) is_seal_timed_ = false;
  }

  void seal() {
    [[maybe_unused]] const auto noted = store_.keep_note(k_note_position, std::to_string(journal_.status().applied));
    if (const auto sealed = store_.seal(); !sealed) return seal_failed(sealed.error());
    seal_waits_until_.reset();
    works_again();
    append_archived();
  }

  // A batch at a time: to drop them takes the journal's thread a while.
  void append_archived() {
    const auto up_to = std::min<ledger::FinishNumber>(inserted_up_to_, archived_up_to_ + limits_.batch_tasks);
    // Finish numbers are never used twice, so this can be said once and for all.
    journal::Batch entry;
    entry.push_back({{k_command_space, up_to}, ledger::encode_command(ledger::Archived{up_to})});
    journal_.append(
        std::move(entry),
        [self = self(), up_to](const journal::AppendAnswer& answer) {
          if (answer.outcome == journal::Outcome::applied) return self->archived(up_to);
          self->journal_failed();
        },
        journal::Urgency::completion);
  }

  void seal_failed(const ArchiveError& error) {
    if (error.kind != ArchiveError::Kind::busy) return failed(error.describe());
    if (!seal_waits_until_) seal_waits_until_ = later(jobs_.now(), limits_.seal_wait);
    if (jobs_.now() >= *seal_waits_until_) return failed(error.describe());
    again_after(limits_.retry_first);
  }

  void archived(ledger::FinishNumber up_to) {
    {
      const std::lock_guard lock(mutex_);
      status_.archived_up_to = up_to;
      if (up_to >= inserted_up_to_) ++status_.seals;
    }
    archived_up_to_ = up_to;
    if (up_to < inserted_up_to_) return append_archived();
    unsealed_tasks_ = unsealed_bytes_ = 0;
    again_.reset();
    caretaker_->nudge();
    count_waiting();
    busy_ = false;
    if (waiting_ > 0 && is_wanted()) begin(linger());
  }

  void works_again() {
    std::string was;
    {
      const std::lock_guard lock(mutex_);
      was = std::exchange(status_.failing, {});
    }
    if (was.empty()) return;
    again_.reset();
    tell({ArchiverNews::Kind::works_again, "the archive works again; it had failed: " + was, 0});
  }

  // It tells its own news.
  void journal_failed() {
    {
      const std::lock_guard lock(mutex_);
      ++status_.failures;
    }
    try_again();
  }

  void failed(const std::string& why) {
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      is_new = status_.failing != why;
      status_.failing = why;
      ++status_.failures;
    }
    if (is_new && !stopped_) {
      tell({ArchiverNews::Kind::failing, "finished tasks stay in the ledger, the archive fails: " + why, 0});
    }
    try_again();
  }

  // Stays busy until the time to try again has come, so that nothing else begins meanwhile.
  void try_again() { again_after(again_.next_wait({.first = limits_.retry_first, .max = limits_.retry_max})); }

  void again_after(Duration wait) {
    const bool posted = jobs_.post_after(wait, [self = self()] {
      self->busy_ = false;
      self->round();
    });
    if (!posted) busy_ = false;
  }

  void tell(const ArchiverNews& news) const {
    if (on_news_) on_news_(news);
  }

  // Before a task that stands in for another leaves the ledger the other names it, whatever became of relink().
  ArchiveResult<void> link_retried(const Batch& batch) {
    for (const auto& each : batch) {
      if (const auto linked = link(each->task.more().retry_of, each->task.id); !linked) return linked;
    }
    return {};
  }

  ArchiveResult<void> link(ledger::TaskId old_task, ledger::TaskId new_task) {
    if (old_task.none()) return {};
    const auto found = store_.find(old_task);
    if (!found) return std::unexpected(found.error());
    // Not archived yet: it will be, with the link.
    if (!*found || !(*found)->retried_as.none()) return {};
    if (const auto linked = store_.link_retry(old_task, new_task); !linked) return std::unexpected(linked.error());
    return {};
  }

  // The record may be in the archive already, without the link.
  void relink(Links links) {
    if (!jobs_.post([self = self(), links = std::move(links)] { self->link_all(links); })) link_open_later();
  }

  void link_all(const Links& links) {
    for (const auto& [old_task, new_task] : links) {
      if (const auto ok = link(old_task, new_task); ok) continue;
      {
        const std::lock_guard lock(mutex_);
        ++status_.failures;
      }
      return link_open_later();
    }
  }

  // What a crash or a failing archive has left without its link: the keys of retries do not live for ever. The journal
  // waits only until the ledger is frozen: to look at a million tasks takes long.
  void link_open() {
    const bool posted = jobs_.post([self = self(), frozen = ledger_.freeze()] {
      Links links;
      for (const auto& task : frozen->open_tasks()) {
        if (!task.more().retry_of.none()) links.emplace_back(task.more().retry_of, task.id);
      }
      self->link_all(links);
    });
    if (!posted) link_open_later();
  }

  void link_open_later() {
    if (stopped_ || is_linking_.exchange(true)) return;
    const bool posted = jobs_.post_after(limits_.retry_max, [self = self()] {
      self->is_linking_ = false;
      if (self->stopped_) return;
      self->journal_.read(journal::Read::local(), [self](const journal::ReadAnswer& answer) {
        if (answer.outcome == journal::Outcome::applied) self->link_open();
      });
    });
    if (!posted) is_linking_ = false;
  }

  std::shared_ptr<Loop> self() { return shared_from_this(); }

  static constexpr std::uint64_t k_command_space = 0xA4C417EDULL;

  journal::Journal& journal_;
  ledger::Ledger& ledger_;
  Store& store_;
  JobQueue& jobs_;
  const ArchiverLimits limits_;
  const NewsFn on_news_;
  const std::shared_ptr<Caretaker> caretaker_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> busy_{false};
  std::atomic<bool> lingering_{false};
  std::atomic<bool> is_linking_{false};
  std::atomic<bool> is_seal_timed_{false};
  bool listening_ = false;                 // journal's thread
  std::atomic<std::uint64_t> waiting_{0};  // finished and not inserted, about
  // Of the round under way.
  ledger::FinishNumber inserted_up_to_ = 0;
  ledger::FinishNumber archived_up_to_ = 0;
  std::uint64_t unsealed_tasks_ = 0;
  std::uint64_t unsealed_bytes_ = 0;
  Instant seal_at_{};
  std::optional<Instant> seal_waits_until_;
  journal::AppendAgain again_;
  mutable std::mutex mutex_;
  ArchiverStatus status_;
};

Archiver::Archiver(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs,
                   const ArchiverLimits& limits, NewsFn on_news)
    : loop_(std::make_shared<Loop>(journal, ledger, store, jobs, limits, std::move(on_news))) {}

Archiver::~Archiver() { stop(); }

void Archiver::start() { loop_->start(); }
void Archiver::stop() { loop_->stop(); }
ArchiverStatus Archiver::status() const { return loop_->status(); }

}  // namespace skein::inline v0::archive
