#include "skein/journal/threaded_journal.hpp"

#include <future>
#include <utility>

#include "skein/base/thread_name.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/memory_core.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::chrono::milliseconds k_disk_check_interval{1000};
constexpr std::chrono::milliseconds k_visit_again{1};
constexpr const char* k_closed = "the journal is closed";

}  // namespace

ThreadedJournal::ThreadedJournal(std::unique_ptr<JournalCore> core) : core_(std::move(core)) {
  core_->on_event([this](const JournalEvent& event) { emit(event); });
  if (Disk* const disk = core_->job_disk(); disk != nullptr) {
    const auto done = [this](AsideResult result) {
      Message message(std::move(result));
      post(message);
    };
    spare_thread_ = std::make_unique<AsideThread>(*disk, done);
    slow_thread_ = std::make_unique<AsideThread>(*disk, done);
  }
  publish_status();
  thread_ = std::thread([this] { run(); });
}

ThreadedJournal::~ThreadedJournal() { close(); }

bool ThreadedJournal::post(Message& message) {
  const std::lock_guard lock(mutex_);
  if (closing_) return false;
  inbox_.push_back(std::move(message));
  if (waiting_) wake_.notify_one();
  return true;
}

void ThreadedJournal::append(Batch batch, AnswerFn done, Urgency urgency) {
  if (auto refusal = core_->admission().admit(batch, urgency)) {
    done(std::move(*refusal));
    return;
  }
  const std::uint64_t charged = Admission::charge(batch);
  Message message(AppendMessage{std::move(batch), std::move(done)});
  if (post(message)) return;
  core_->admission().release(charged);
  AppendAnswer answer;
  answer.outcome = Outcome::stopped;
  answer.why = k_closed;
  std::get<AppendMessage>(message).done(std::move(answer));
}

void ThreadedJournal::read(Read what, ReadFn fn) {
  if (!core_->admission().admit_read()) {
    fn({Outcome::overloaded, 0, {}, "reads_waiting is used up: try later"});
    return;
  }
  Message message(ReadMessage{what, std::move(fn)});
  if (post(message)) return;
  core_->admission().release_read();
  // Its thread may still be applying accepted entries, and readers touch the machine.
  if (std::this_thread::get_id() != own_thread_.load()) has_ended_.wait(false);
  std::get<ReadMessage>(message).fn({Outcome::stopped, 0, {}, k_closed});
}

void ThreadedJournal::snapshot(SnapshotFn done) {
  Message message(SnapshotMessage{std::move(done)});
  if (post(message)) return;
  std::get<SnapshotMessage>(message).done(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, k_closed}));
}

void ThreadedJournal::trim(Position up_to) {
  Message message(TrimMessage{up_to});
  post(message);
}

void ThreadedJournal::set_trim_limit(Position limit) {
  Message message(TrimLimitMessage{limit});
  post(message);
}

void ThreadedJournal::set_leader(std::optional<std::string> leader) {
  Message message(LeaderMessage{std::move(leader)});
  post(message);
}

void ThreadedJournal::run() {
  name_this_thread("skein-journal");
  own_thread_ = std::this_thread::get_id();
  std::vector<Message> messages;
  bool quiet = false;
  while (take_messages(messages, quiet)) {
    for (auto& message : messages) handle(message);
    messages.clear();
    core_->run_queued();
    if (quiet) core_->idle();
    idle_marked_ = quiet;
    hand_out_jobs();
    publish_status();
  }
  core_->close();
  publish_status();
  has_ended_ = true;
  has_ended_.notify_all();
}

bool ThreadedJournal::take_messages(std::vector<Message>& messages, bool& quiet) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return closing_ || !inbox_.empty(); };
  quiet = false;
  if (!ready()) {
    waiting_ = true;
    if (!idle_marked_) {
      quiet = !wake_.wait_for(lock, core_->limits().idle_after, ready);
    } else if (core_->admission().disk_low() || core_->admission().segment_refused()) {
      quiet = !wake_.wait_for(lock, k_disk_check_interval, ready);
    } else {
      wake_.wait(lock, ready);
    }
    waiting_ = false;
  }
  messages.swap(inbox_);
  return !closing_ || !messages.empty();
}

void ThreadedJournal::handle(Message& message) {
  if (auto* append = std::get_if<AppendMessage>(&message))
    core_->submit(std::move(append->batch), std::move(append->done));
  if (auto* read = std::get_if<ReadMessage>(&message)) core_->read(read->what, std::move(read->fn));
  if (auto* snapshot = std::get_if<SnapshotMessage>(&message)) core_->request_snapshot(std::move(snapshot->done));
  if (const auto* trim = std::get_if<TrimMessage>(&message)) core_->request_trim(trim->up_to);
  if (const auto* limit = std::get_if<TrimLimitMessage>(&message)) core_->set_trim_limit(limit->limit);
  if (auto* leader = std::get_if<LeaderMessage>(&message)) core_->set_leader(std::move(leader->leader));
  if (const auto* subscribed = std::get_if<SubscribeMessage>(&message)) tell_present(subscribed->subscription);
  if (const auto* result = std::get_if<AsideResult>(&message)) core_->job_done(*result);
}

void ThreadedJournal::hand_out_jobs() {
  while (auto job = core_->take_job()) {
    auto& thread = std::holds_alternative<SpareJob>(*job) ? spare_thread_ : slow_thread_;
    thread->post(std::move(*job));
  }
}

void ThreadedJournal::publish_status() {
  applied_.store(core_->replica().position(), std::memory_order_release);
  snapshot_.store(core_->snapshot_position(), std::memory_order_release);
  stopped_.store(core_->stopped().has_value(), std::memory_order_release);
  const std::lock_guard lock(leader_mutex_);
  const bool led = leader_.has_value();
  leader_ = core_->stopped() ? std::nullopt : core_->leader();
  if (led != leader_.has_value()) leader_changed_.notify_all();
}

std::uint64_t ThreadedJournal::subscribe(EventFn fn) {
  auto shared = std::make_shared<EventFn>(std::move(fn));
  std::uint64_t subscription = 0;
  {
    const std::lock_guard lock(subscribers_mutex_);
    subscription = next_subscription_++;
    subscribers_[subscription] = {shared, false};
  }
  Message message(SubscribeMessage{subscription});
  if (!post(message)) (*shared)({JournalEvent::Kind::stopped, applied_.load(std::memory_order_acquire), k_closed});
  return subscription;
}

void ThreadedJournal::tell_present(std::uint64_t subscription) {
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

void ThreadedJournal::unsubscribe(std::uint64_t subscription) {
  const std::lock_guard lock(subscribers_mutex_);
  subscribers_.erase(subscription);
}

void ThreadedJournal::emit(const JournalEvent& event) {
  std::vector<std::shared_ptr<EventFn>> listeners;
  {
    const std::lock_guard lock(subscribers_mutex_);
    for (const auto& [number, subscriber] : subscribers_) {
      if (subscriber.told) listeners.push_back(subscriber.fn);
    }
  }
  publish_status();
  for (const auto& fn : listeners) (*fn)(event);
}

std::optional<std::string> ThreadedJournal::leader() const {
  const std::lock_guard lock(leader_mutex_);
  return leader_;
}

bool ThreadedJournal::has_quorum() const { return leader().has_value(); }

bool ThreadedJournal::wait_leader(std::chrono::milliseconds timeout) {
  std::unique_lock lock(leader_mutex_);
  leader_changed_.wait_for(lock, timeout,
                           [this] { return leader_.has_value() || stopped_.load(std::memory_order_acquire); });
  return leader_.has_value();
}

JournalStatus ThreadedJournal::status() const {
  JournalStatus status;
  status.applied = applied_.load(std::memory_order_acquire);
  status.snapshot = snapshot_.load(std::memory_order_acquire);
  status.in_flight_bytes = core_->admission().in_flight();
  status.disk_low = core_->admission().disk_low() || core_->admission().segment_refused();
  status.stopped = stopped_.load(std::memory_order_acquire);
  return status;
}

void ThreadedJournal::close() {
  const std::lock_guard only_one(close_mutex_);
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  if (spare_thread_) spare_thread_->stop();
  if (slow_thread_) slow_thread_->stop();
  core_->release();
}

StoreResult<std::unique_ptr<Journal>> open_journal(Disk& disk, const std::string& dir, MachineRef machine,
                                                   const JournalLimits& limits) {
  auto core = EmbeddedCore::open(disk, dir, machine, limits);
  if (!core) return std::unexpected(core.error());
  return std::make_unique<ThreadedJournal>(std::move(*core));
}

StoreResult<std::unique_ptr<Journal>> open_journal(const std::string& dir, MachineRef machine,
                                                   const JournalLimits& limits) {
  return open_journal(file_disk(), dir, machine, limits);
}

std::unique_ptr<Journal> open_memory_journal(MachineRef machine, const JournalLimits& limits) {
  return std::make_unique<ThreadedJournal>(std::make_unique<MemoryCore>(machine, limits));
}

AppendAnswer append_and_wait(Journal& journal, Batch batch, std::chrono::milliseconds timeout, Urgency urgency) {
  auto promise = std::make_shared<std::promise<AppendAnswer>>();
  auto future = promise->get_future();
  journal.append(std::move(batch), [promise](AppendAnswer answer) { promise->set_value(std::move(answer)); }, urgency);
  if (future.wait_for(timeout) == std::future_status::ready) return future.get();
  AppendAnswer late;
  late.why = "no answer in time: append the same ids again";
  return late;
}

void visit(Journal& journal, const std::function<void(Outcome)>& fn) {
  while (true) {
    const auto answered = std::make_shared<std::promise<Outcome>>();
    journal.read(Read::local(), [&fn, answered](const ReadAnswer& answer) {
      // Turned away on this thread: there the machine must not be touched.
      if (answer.outcome != Outcome::overloaded) fn(answer.outcome);
      answered->set_value(answer.outcome);
    });
    if (answered->get_future().get() != Outcome::overloaded) return;
    std::this_thread::sleep_for(k_visit_again);
  }
}

}  // namespace skein::inline v0::journal
