// A ledger over a journal, with hands to drive it: for the tests of the archive and of what stands above it. Tasks are
// submitted, assigned and completed by appending operations, as a dispatcher would. One thread, but for the journal's.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/manual_job_queue.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::archive {

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "skein-archive-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder " << name;
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Small, so that a test's folder takes no disk to speak of.
inline journal::JournalLimits small_journal() {
  journal::JournalLimits limits;
  limits.segment_bytes = limits.first_segment_bytes = 64ULL << 10U;
  limits.spares_kept = 0;
  limits.disk_low_water_bytes = 0;
  return limits;
}

class TestWorld {
 public:
  // Without a folder: in memory.
  explicit TestWorld(const std::string& folder = {}, const journal::JournalLimits& limits = small_journal()) {
    if (folder.empty()) {
      journal_ = journal::open_memory_journal(ledger_, limits);
    } else {
      auto opened = journal::open_journal(folder, ledger_, limits);
      if (opened) journal_ = std::move(*opened);
      if (!opened) ADD_FAILURE() << opened.error().describe();
    }
  }

  journal::Journal& journal() { return *journal_; }
  ledger::Ledger& ledger() { return ledger_; }

  // Appends operations as one command and gives their answers.
  std::vector<ledger::OpResult> apply(const std::vector<ledger::Op>& ops) {
    journal::Batch batch;
    batch.push_back({{0x7E57, ++next_command_ + first_command_}, ledger::encode_command(ops)});
    const auto answer = journal::append_and_wait(*journal_, std::move(batch), std::chrono::seconds(30));
    if (answer.outcome != journal::Outcome::applied) {
      ADD_FAILURE() << journal::name_of(answer.outcome) << " " << answer.why;
      return {};
    }
    return *ledger::decode_results(answer.results.at(0).result);
  }
  ledger::OpResult apply_one(const ledger::Op& op) { return apply({op}).at(0); }

  // Runs a function on the journal's thread, where the ledger may be read.
  template <class Fn>
  auto look(Fn fn) {
    using R = decltype(fn(ledger_));
    std::promise<R> seen;
    journal_->read(journal::Read::linear(), [&](const journal::ReadAnswer&) {
      if constexpr (std::is_void_v<R>) {
        fn(ledger_);
        seen.set_value();
      } else {
        seen.set_value(fn(ledger_));
      }
    });
    return seen.get_future().get();
  }
  // Until what was asked of the journal is done, and what was asked of it in those callbacks, some steps deep.
  void wait_for_journal() {
    for (int step = 0; step < 4; ++step) look([](ledger::Ledger&) {});
  }

  // Until neither the journal nor the job queue has anything to do at this time.
  void settle(ManualJobQueue& jobs) {
    do {
      wait_for_journal();
    } while (jobs.run_ready());
  }

  static ledger::TaskId id(std::uint64_t n) { return {0x0190'0000'0000'7000ULL, 0x8000'0000'0000'0000ULL + n}; }

  ledger::TaskId submit(std::uint64_t n, ledger::TaskSpec spec = {}) {
    if (spec.type.empty()) spec.type = "echo";
    const auto answer = apply_one(ledger::Submit{id(n), 1000 + n, std::move(spec)});
    EXPECT_FALSE(answer.refused()) << ledger::name_of(answer.verdict);
    return id(n);
  }
  // Gives a queued task to an agent; answers the fence.
  ledger::Fence assign(ledger::TaskId task) {
    if (epoch_ == 0) epoch_ = apply_one(ledger::TakeDispatch{"test", 1}).number;
    const auto answer = apply_one(ledger::Assign{epoch_, task, "agent-1", 2000});
    EXPECT_FALSE(answer.refused()) << ledger::name_of(answer.verdict);
    return answer.number;
  }
  void complete(ledger::TaskId task, const std::string& result = "{\"ok\":true}", ledger::WallMs at = 3000) {
    const auto fence = assign(task);
    const auto answer = apply_one(ledger::Complete{task, fence, at, ledger::body_of(result)});
    EXPECT_FALSE(answer.refused()) << ledger::name_of(answer.verdict);
  }
  void fail(ledger::TaskId task, const std::string& message, ledger::WallMs at = 3000) {
    const auto fence = assign(task);
    const auto answer = apply_one(ledger::Fail{task, fence, at, ledger::ErrorClass::permanent, 0, message});
    EXPECT_FALSE(answer.refused()) << ledger::name_of(answer.verdict);
  }
  ledger::TaskId finish_new(std::uint64_t n, ledger::TaskSpec spec = {}, const std::string& result = "{\"ok\":true}") {
    const auto task = submit(n, std::move(spec));
    complete(task, result, 3000 + n);
    return task;
  }

 private:
  // A world that is opened again must not repeat the ids of the one before.
  const std::uint64_t first_command_ = static_cast<std::uint64_t>(++worlds()) << 40U;
  static int& worlds() {
    static int count = 0;
    return count;
  }

  ledger::Ledger ledger_;
  std::unique_ptr<journal::Journal> journal_;
  std::uint64_t next_command_ = 0;
  ledger::Epoch epoch_ = 0;
};

// A finished task as the archive gets it, the nth.
inline std::shared_ptr<const ledger::FinishedTask> finished_record(std::uint64_t n, const std::string& params) {
  auto each = std::make_shared<ledger::FinishedTask>();
  each->task.id = TestWorld::id(n);
  each->task.number = n;
  each->task.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"default", "echo", {}});
  each->task.params = ledger::body_of(params);
  each->task.state = ledger::State::completed;
  each->finish_number = n;
  return each;
}

}  // namespace skein::inline v0::archive
