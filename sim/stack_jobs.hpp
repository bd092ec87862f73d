// A JobQueue on a deterministic runtime, and an archive whose disk can fail: what the operations and the archiver stand
// on in the simulation of the whole stack. One thread.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "sim/sim_disk.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/base/job_queue.hpp"
#include "skein/base/random.hpp"
#include "skein/ledger/task.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

// Jobs run in a process of the runtime, each some microseconds late. A job that loses power (PowerCut) ends the node.
class StackJobs final : public JobQueue {
 public:
  StackJobs(Runtime& runtime, std::uint64_t seed, std::uint64_t late_us, std::function<ledger::WallMs()> wall)
      : runtime_(runtime), random_(seed), late_us_(late_us), wall_(std::move(wall)) {
    driver_ = runtime_.spawn<Driver>(this);
  }
  ~StackJobs() override { crash(); }

  bool post(Job job) override { return post_after(Duration::zero(), std::move(job)); }
  bool post_after(Duration delay, Job job) override {
    if (!driver_) return false;
    const auto number = next_++;
    jobs_.emplace(number, std::move(job));
    runtime_.send(driver_, Plan{delay + std::chrono::microseconds(1 + random_.below(late_us_)), number});
    return true;
  }
  [[nodiscard]] Instant now() const override { return runtime_.now(); }
  [[nodiscard]] ledger::WallMs wall_now() const override { return wall_(); }
  [[nodiscard]] BootTime boot_now() const override {
    return {1, static_cast<std::uint64_t>(
                   std::chrono::duration_cast<std::chrono::milliseconds>(runtime_.now().time_since_epoch()).count())};
  }

  // What waits is dropped, and nothing is taken any more.
  void crash() {
    if (driver_) runtime_.exit(driver_, ExitReason::kill());
    driver_ = Pid{};
    jobs_.clear();
  }
  std::function<void()> on_power_cut;

 private:
  struct Plan {
    Duration after;
    std::uint64_t job;
  };
  struct Due {
    std::uint64_t job;
  };
  struct Driver {
    StackJobs* jobs;
    explicit Driver(StackJobs* owner) : jobs(owner) {}
    void handle_info(Self self, Message message) {
      if (const auto* plan = message.get_if<Plan>()) self.send_after(plan->after, self.pid(), Due{plan->job});
      if (const auto* due = message.get_if<Due>()) jobs->run(due->job);
    }
  };
  void run(std::uint64_t number) {
    const auto at = jobs_.find(number);
    if (at == jobs_.end()) return;
    Job job = std::move(at->second);
    jobs_.erase(at);
    try {
      job();
    } catch (const PowerCut&) {
      if (on_power_cut) on_power_cut();
    }
  }

  Runtime& runtime_;
  Random random_;
  std::uint64_t late_us_;
  std::function<ledger::WallMs()> wall_;
  Pid driver_;
  std::map<std::uint64_t, Job> jobs_;
  std::uint64_t next_ = 1;
};

// An archive in memory that outlives its node. Inserts and seals can be made to fail, and the power can go during one:
// then it is there whole or not at all. While no node runs, what was not sealed can get lost, and the whole can be cut,
// deleted, exchanged for another folder's, or one of its records damaged.
class StackStore final : public archive::Store {
 public:
  explicit StackStore(std::uint64_t seed) : random_(seed) {}

  void fail(bool is_failing, bool is_seal_failing) {
    is_failing_ = is_failing;
    is_seal_failing_ = is_seal_failing;
  }
  // During the n-th insert from here on; 0 calls it off.
  void cut_power_at(std::uint64_t insert) { cut_at_ = insert; }
  std::uint64_t failures = 0;

  // What a power cut may do.
  void lose_unsealed() { store_.become(sealed_); }
  archive::MemoryStore& inner() { return store_; }
  [[nodiscard]] const archive::MemoryStore::Image& sealed() const { return sealed_; }
  // A file that is put in its place, or the same one as it was. An empty one is one that was deleted.
  void exchange(archive::MemoryStore::Image image, bool is_there) {
    store_.become(image);
    sealed_ = std::move(image);
    is_there_ = is_there;
  }
  [[nodiscard]] bool is_there() const { return is_there_; }
  void make() { is_there_ = true; }

  [[nodiscard]] archive::ArchiveResult<void> insert(std::span<const archive::Finished> tasks) override {
    if (is_failing_) return failed();
    const bool is_cut = cut_at_ == 1;
    if (cut_at_ > 0) --cut_at_;
    if (is_cut && random_.chance(0.5)) throw PowerCut{};
    auto done = store_.insert(tasks);
    if (is_cut) throw PowerCut{};
    return done;
  }
  [[nodiscard]] archive::ArchiveResult<ledger::FinishNumber> seal() override {
    if (is_seal_failing_) return failed();
    auto done = store_.seal();
    if (done) sealed_ = store_.image();
    return done;
  }
  [[nodiscard]] archive::ArchiveResult<archive::Marks> marks() override { return store_.marks(); }
  [[nodiscard]] archive::ArchiveResult<archive::Finished> find(ledger::TaskId id) override { return store_.find(id); }
  [[nodiscard]] archive::ArchiveResult<std::vector<archive::Finished>> query(const archive::Query& query) override {
    return store_.query(query);
  }
  [[nodiscard]] archive::ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) override {
    return store_.link_retry(old_task, new_task);
  }
  [[nodiscard]] archive::ArchiveResult<std::uint64_t> retain(const archive::Retention& retention, ledger::WallMs now,
                                                             std::uint64_t at_most) override {
    return store_.retain(retention, now, at_most);
  }
  [[nodiscard]] archive::ArchiveResult<std::uint64_t> count() override { return store_.count(); }
  [[nodiscard]] archive::ArchiveResult<archive::Checked> verify(ledger::FinishNumber after,
                                                                std::size_t at_most) override {
    return store_.verify(after, at_most);
  }
  [[nodiscard]] archive::ArchiveResult<bool> upgrade(std::size_t) override { return false; }
  [[nodiscard]] archive::ArchiveResult<void> record_loss(const archive::Loss& loss) override {
    return store_.record_loss(loss);
  }
  [[nodiscard]] archive::ArchiveResult<std::vector<archive::Loss>> losses() override { return store_.losses(); }
  [[nodiscard]] archive::ArchiveResult<void> skip_to(ledger::FinishNumber number) override {
    return store_.skip_to(number);
  }
  [[nodiscard]] archive::ArchiveResult<std::string> note(std::string_view name) override { return store_.note(name); }
  [[nodiscard]] archive::ArchiveResult<void> keep_note(std::string_view name, const std::string& text) override {
    return store_.keep_note(name, text);
  }

 private:
  std::unexpected<archive::ArchiveError> failed() {
    ++failures;
    return std::unexpected(archive::ArchiveError{archive::ArchiveError::Kind::io, "archive", "made to fail"});
  }

  archive::MemoryStore store_;
  archive::MemoryStore::Image sealed_;
  Random random_;
  bool is_there_ = true;
  bool is_failing_ = false;
  bool is_seal_failing_ = false;
  std::uint64_t cut_at_ = 0;
};

}  // namespace skein::sim
