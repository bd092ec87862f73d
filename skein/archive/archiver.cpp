#include "skein/archive/archiver.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "skein/archive/planted.hpp"

namespace skein::inline v0::archive {

// One round: read (journal's thread), insert (job), append, answered (journal's thread), next round. `busy_` is set
// from the first to the last step, so at most one round is under way. Callbacks hold the loop by a shared pointer: they
// may come late.
class Archiver::Loop final : public ledger::ChangeSink, public std::enable_shared_from_this<Loop> {
 public:
  Loop(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs, const ArchiverLimits& limits)
      : journal_(journal), ledger_(ledger), store_(store), jobs_(jobs), limits_(limits) {}

  void start() {
    listen();
    retain_after(limits_.retain_every);
  }

  void listen() {
    journal_.read(0, [self = shared_from_this()](const journal::ReadAnswer& answer) {
      if (self->stopped_) return;
      if (answer.outcome == journal::Outcome::overloaded) {
        self->jobs_.post_after(self->limits_.linger, [self] { self->listen(); });
        return;
      }
      if (answer.outcome != journal::Outcome::applied) return;
      self->ledger_.add_sink(*self);
      self->listening_ = true;
      self->finished_ = self->ledger_.counters().finished_tasks;
      self->begin(Duration::zero());
      self->link_open();
    });
  }

  void stop() {
    stopped_ = true;
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
    finished_ += some;
    if (!is_wanted()) return;
    begin(linger());
  }

  [[nodiscard]] ArchiverStatus status() const {
    const std::lock_guard lock(mutex_);
    return status_;
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
    const bool is_urgent = finished_ >= limits_.batch_tasks || limits_.only_when_half_full;
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
    journal_.read(0, [self = self()](const journal::ReadAnswer& answer) {
      if (answer.outcome == journal::Outcome::applied) return self->read();
      self->failed("the journal says " + std::string(journal::name_of(answer.outcome)));
    });
  }

  void read() {
    Batch batch;
    if (is_wanted()) batch = ledger_.finished_after(ledger_.counters().archived_up_to, batch_tasks());
    if (batch.empty()) {
      busy_ = false;
      return;
    }
    std::uint64_t bytes = 0;
    std::size_t fitting = 0;
    while (fitting < batch.size()) {
      bytes += ledger::charge_of(*batch[fitting]);
      if (fitting > 0 && bytes > limits_.batch_bytes) break;
      ++fitting;
    }
    batch.resize(fitting);
    // The job holds the batch until the store has it; should the queue drop it, the next round reads it again.
    if (!jobs_.post([self = self(), batch = std::move(batch)] { self->insert(batch); }))
      failed("the job queue is full");
  }

  void insert(const Batch& batch) {
    const auto ok = store_.insert(batch);
    if (!ok && !planted(Bug::archived_before_insert)) return failed(ok.error().describe());
    if (const auto linked = link_retried(batch); !linked) return failed(linked.error().describe());
    const auto up_to = batch.back()->finish_number;
    // Finish numbers are never used twice, so this can be said once and for all.
    journal::Batch entry;
    entry.push_back({{k_command_space, up_to}, ledger::encode_command(ledger::Archived{up_to})});
    const std::size_t tasks = batch.size();
    journal_.append(
        std::move(entry),
        [self = self(), up_to, tasks](const journal::Answer& answer) {
          if (answer.outcome == journal::Outcome::applied) return self->archived(up_to, tasks);
          self->failed("the journal says " + std::string(journal::name_of(answer.outcome)) + ": " + answer.why);
        },
        journal::Urgency::completion);
  }

  void archived(ledger::FinishNumber up_to, std::size_t tasks) {
    {
      const std::lock_guard lock(mutex_);
      status_.archived_up_to = up_to;
      status_.tasks += tasks;
      ++status_.batches;
      status_.failing.clear();
    }
    if (!is_retaining_.exchange(true)) retain_after(limits_.retain_every);
    retry_ = limits_.retry_first;
    finished_ = ledger_.counters().finished_tasks;
    busy_ = false;
    if (finished_ > 0) begin(linger());
  }

  // Stays busy until the time to try again has come, so that nothing else begins meanwhile.
  void failed(std::string why) {
    {
      const std::lock_guard lock(mutex_);
      status_.failing = std::move(why);
      ++status_.failures;
    }
    const Duration wait = retry_;
    retry_ = std::min(retry_ * 2, limits_.retry_max);
    const bool posted = jobs_.post_after(wait, [self = self()] {
      self->busy_ = false;
      self->round();
    });
    if (!posted) busy_ = false;
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
      self->journal_.read(0, [self](const journal::ReadAnswer& answer) {
        if (answer.outcome == journal::Outcome::applied) self->link_open();
      });
    });
    if (!posted) is_linking_ = false;
  }

  void retain() {
    if (stopped_) return;
    const auto removed = store_.retain(limits_.retention, jobs_.wall_now(), limits_.retain_tasks);
    const bool more = removed && *removed == limits_.retain_tasks;
    {
      const std::lock_guard lock(mutex_);
      if (removed) status_.removed += *removed;
      if (!removed) ++status_.failures;
    }
    retain_after(more ? Duration::zero() : Duration(limits_.retain_every));
  }

  // If the queue has no room, the next batch that is archived asks again.
  void retain_after(Duration delay) {
    is_retaining_ = jobs_.post_after(delay, [self = self()] { self->retain(); });
  }

  std::shared_ptr<Loop> self() { return shared_from_this(); }

  static constexpr std::uint64_t k_command_space = 0xA4C417EDULL;

  journal::Journal& journal_;
  ledger::Ledger& ledger_;
  Store& store_;
  JobQueue& jobs_;
  const ArchiverLimits limits_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> busy_{false};
  std::atomic<bool> lingering_{false};
  std::atomic<bool> is_linking_{false};
  std::atomic<bool> is_retaining_{true};    // a job is there that will
  bool listening_ = false;                  // journal's thread
  std::atomic<std::uint64_t> finished_{0};  // in the ledger, about
  std::chrono::milliseconds retry_{limits_.retry_first};
  mutable std::mutex mutex_;
  ArchiverStatus status_;
};

Archiver::Archiver(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs,
                   const ArchiverLimits& limits)
    : loop_(std::make_shared<Loop>(journal, ledger, store, jobs, limits)) {}

Archiver::~Archiver() { stop(); }

void Archiver::start() { loop_->start(); }
void Archiver::stop() { loop_->stop(); }
ArchiverStatus Archiver::status() const { return loop_->status(); }

}  // namespace skein::inline v0::archive
