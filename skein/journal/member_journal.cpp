#include "skein/journal/member_journal.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "skein/base/thread_name.hpp"
#include "skein/journal/file_disk.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::chrono::milliseconds k_look_at_disk_every{1000};
constexpr const char* k_is_closed = "the journal is closed";
constexpr Duration k_close_wait = std::chrono::seconds(1);  // for others of a group to store what was accepted

}  // namespace

namespace {

Instant now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

MemberJournal::MemberJournal(std::unique_ptr<MemberCore> core, Threads threads)
    : core_(std::move(core)), threads_(threads) {
  core_->on_event([this](const JournalEvent& event) { emit(event); });
  if (Disk* const disk = core_->job_disk(); disk != nullptr) {
    const auto done = [this](AsideResult result) { core_->job_done(std::move(result)); };
    spare_thread_ = std::make_unique<AsideThread>(*disk, done);
    slow_thread_ = std::make_unique<AsideThread>(*disk, done);
  }
  core_->on_work([this](MemberCore::Part part) { wake(part); });
  hand_out_jobs();
  publish_leader();
  if (threads_ == Threads::one) {
    thread_ = std::thread([this] { run_all(); });
    return;
  }
  thread_ = std::thread([this] { run_applying(); });
  storing_thread_ = std::thread([this] { run_storing(); });
  deciding_thread_ = std::thread([this] { run_deciding(); });
}

MemberJournal::~MemberJournal() { close(); }

template <class Fn>
bool MemberJournal::post(Fn fn) {
  const std::lock_guard lock(closing_mutex_);
  if (is_closing_) return false;
  fn();
  return true;
}

void MemberJournal::wake(MemberCore::Part part) {
  if (part == MemberCore::Part::beside) return hand_out_jobs();
  if (threads_ == Threads::one) return deciding_bed_.wake();
  switch (part) {
    case MemberCore::Part::deciding:
      return deciding_bed_.wake();
    case MemberCore::Part::storing:
      return storing_bed_.wake();
    case MemberCore::Part::applying:
      return applying_bed_.wake();
    case MemberCore::Part::beside:
      return;
  }
}

void MemberJournal::append(Batch batch, AnswerFn done, Urgency urgency) {
  if (auto refusal = core_->admission().admit(batch, urgency)) {
    done(std::move(*refusal));
    return;
  }
  const std::uint64_t charged = Admission::charge(batch);
  if (post([&] { core_->submit(std::move(batch), std::move(done)); })) return;
  core_->admission().release(charged);
  AppendAnswer answer;
  answer.outcome = Outcome::stopped;
  answer.why = k_is_closed;
  done(std::move(answer));
}

void MemberJournal::read(Read what, ReadFn fn) {
  if (!core_->admission().admit_read()) {
    fn({Outcome::overloaded, 0, {}, "reads_waiting is used up: try later"});
    return;
  }
  if (post([&] { core_->read(what, std::move(fn)); })) return;
  core_->admission().release_read();
  // Its thread may still be applying accepted entries, and readers touch the machine.
  if (std::this_thread::get_id() != own_thread_.load()) has_ended_.wait(false);
  fn({Outcome::stopped, 0, {}, k_is_closed});
}

void MemberJournal::snapshot(SnapshotFn done) {
  if (post([&] { core_->request_snapshot(std::move(done)); })) return;
  done(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, k_is_closed}));
}

void MemberJournal::trim(Position up_to) {
  (void)post([&] { core_->request_trim(up_to); });
}

void MemberJournal::set_trim_limit(Position limit) {
  (void)post([&] { core_->set_trim_limit(limit); });
}

void MemberJournal::skip(Position position, AnswerFn done) {
  if (post([&] { core_->skip(position, std::move(done)); })) return;
  AppendAnswer answer;
  answer.outcome = Outcome::stopped;
  answer.why = k_is_closed;
  done(std::move(answer));
}

void MemberJournal::change(std::vector<consensus::MemberChange> changes, MemberCore::ChangeFn done) {
  if (!post([&] { core_->change(std::move(changes), std::move(done)); })) done(std::unexpected(k_is_closed));
}

void MemberJournal::transfer_to(consensus::MemberId member, MemberCore::ChangeFn done) {
  if (!post([&] { core_->transfer_to(member, std::move(done)); })) done(std::unexpected(k_is_closed));
}

// Also while it is being closed: what was accepted waits for answers.
void MemberJournal::receive(consensus::PeerMessage message) {
  if (!is_ending_) core_->receive(std::move(message));
}

// When to look whether the disk has room again, or when the log has been quiet.
class Quiet {
 public:
  explicit Quiet(const JournalLimits& limits) : after_(limits.idle_after) {}
  [[nodiscard]] Instant next(bool wants_idle) const {
    if (!is_marked_) return later(last_, after_);
    return wants_idle ? later(last_, k_look_at_disk_every) : Instant::max();
  }
  void worked(Instant at) {
    last_ = at;
    is_marked_ = false;
  }
  void idled(Instant at) {
    last_ = at;
    is_marked_ = true;
  }

 private:
  Duration after_;
  Instant last_{};
  bool is_marked_ = true;
};

// Alone, the core finishes what was accepted by itself.
bool MemberJournal::may_end() const {
  if (!is_closing_) return false;
  return core_->next_tick() == Instant::max() || core_->admission().in_flight() == 0 || now() >= close_by_.load();
}

void MemberJournal::run_all() {
  name_this_thread("skein-journal");
  own_thread_ = std::this_thread::get_id();
  Quiet quiet(core_->limits());
  while (!may_end()) {
    const Instant idle_at = quiet.next(core_->wants_idle());
    const bool closes = is_closing_;
    const Instant until = std::min({core_->next_tick(), idle_at, closes ? close_by_.load() : Instant::max()});
    const bool has_work =
        deciding_bed_.sleep(until, [&] { return may_end() || core_->has_queued() || closes != is_closing_.load(); });
    const Instant at = now();
    if (has_work) quiet.worked(at);
    if (!has_work && at >= idle_at) {
      core_->idle();
      quiet.idled(at);
    }
    core_->round(at);
    publish_leader();
  }
  end();
}

void MemberJournal::run_deciding() {
  name_this_thread("skein-decide");
  while (!is_ending_) {
    (void)deciding_bed_.sleep(core_->next_tick(), [&] { return is_ending_.load() || core_->has_to_decide(); });
    core_->decide(now());
  }
}

void MemberJournal::run_storing() {
  name_this_thread("skein-log");
  Quiet quiet(core_->limits());
  while (!is_ending_) {
    const Instant idle_at = quiet.next(core_->wants_idle());
    if (storing_bed_.sleep(idle_at, [&] { return is_ending_.load() || core_->has_to_store(); })) {
      quiet.worked(now());
      (void)core_->write();
      core_->sync();
    } else {
      core_->idle();
      quiet.idled(now());
    }
  }
}

void MemberJournal::run_applying() {
  name_this_thread("skein-journal");
  own_thread_ = std::this_thread::get_id();
  while (!may_end()) {
    const bool closes = is_closing_;
    (void)applying_bed_.sleep(closes ? close_by_.load() : Instant::max(),
                              [&] { return may_end() || core_->has_to_apply() || closes != is_closing_.load(); });
    core_->apply();
    publish_leader();
  }
  is_ending_ = true;
  deciding_bed_.wake();
  storing_bed_.wake();
  deciding_thread_.join();
  storing_thread_.join();
  end();
}

void MemberJournal::end() {
  is_ending_ = true;
  core_->close(now());
  publish_leader();
  has_ended_ = true;
  has_ended_.notify_all();
}

void MemberJournal::hand_out_jobs() {
  while (auto job = core_->take_job()) {
    auto& thread = std::holds_alternative<SpareJob>(*job) ? spare_thread_ : slow_thread_;
    thread->post(std::move(*job));
  }
}

// For those who ask from other threads.
void MemberJournal::publish_leader() {
  auto leader = core_->stopped() ? std::nullopt : core_->leader();
  const std::lock_guard lock(leader_mutex_);
  if (leader == leader_) return;
  leader_ = std::move(leader);
  leader_changed_.notify_all();
}

std::uint64_t MemberJournal::subscribe(EventFn fn) {
  auto shared = std::make_shared<EventFn>(std::move(fn));
  std::uint64_t subscription = 0;
  {
    const std::lock_guard lock(subscribers_mutex_);
    subscription = next_subscription_++;
    subscribers_[subscription] = {shared, false};
  }
  if (!post([&] { core_->subscribed([this, subscription] { tell_present(subscription); }); })) {
    (*shared)({JournalEvent::Kind::stopped, core_->status().applied, k_is_closed});
  }
  return subscription;
}

void MemberJournal::tell_present(std::uint64_t subscription) {
  std::shared_ptr<EventFn> fn;
  {
    const std::lock_guard lock(subscribers_mutex_);
    const auto at = subscribers_.find(subscription);
    if (at == subscribers_.end()) return;
    at->second.told = true;
    fn = at->second.fn;
  }
  for (const auto& event : core_->present()) (*fn)(event);
}

void MemberJournal::unsubscribe(std::uint64_t subscription) {
  const std::lock_guard lock(subscribers_mutex_);
  subscribers_.erase(subscription);
}

void MemberJournal::emit(const JournalEvent& event) {
  std::vector<std::shared_ptr<EventFn>> listeners;
  {
    const std::lock_guard lock(subscribers_mutex_);
    for (const auto& [number, subscriber] : subscribers_) {
      if (subscriber.told) listeners.push_back(subscriber.fn);
    }
  }
  publish_leader();
  for (const auto& fn : listeners) (*fn)(event);
}

std::optional<std::string> MemberJournal::leader() const {
  const std::lock_guard lock(leader_mutex_);
  return leader_;
}

bool MemberJournal::has_quorum() const { return leader().has_value(); }

bool MemberJournal::wait_leader(std::chrono::milliseconds timeout) {
  std::unique_lock lock(leader_mutex_);
  leader_changed_.wait_for(lock, timeout, [this] { return leader_.has_value() || core_->status().stopped; });
  return leader_.has_value();
}

JournalStatus MemberJournal::status() const { return core_->status(); }

void MemberJournal::close() {
  const std::lock_guard only_one(close_mutex_);
  {
    const std::lock_guard lock(closing_mutex_);
    if (!is_closing_) close_by_ = later(now(), k_close_wait);
    is_closing_ = true;
  }
  (threads_ == Threads::one ? deciding_bed_ : applying_bed_).wake();
  if (thread_.joinable()) thread_.join();
  if (spare_thread_) spare_thread_->stop();
  if (slow_thread_) slow_thread_->stop();
  core_->release();
}

}  // namespace skein::inline v0::journal
