// Tasks that never cease, for a node that is being broken: submits to three swarms by turns, under idempotency keys, so
// that whatever was not answered is sent again as the same task. A thread of its own; any thread may look.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace skein::cli {

class ChaosLoad {
 public:
  // Into the node of this data folder, with at most `open_max` tasks not ended.
  ChaosLoad(std::string data, std::uint64_t open_max);
  ~ChaosLoad() { end(); }
  ChaosLoad(const ChaosLoad&) = delete;
  ChaosLoad& operator=(const ChaosLoad&) = delete;

  // Submits nothing new. It has finished when every task that was begun is accepted, for which a node must be there.
  void finish() { is_ending_ = true; }
  [[nodiscard]] bool has_finished() const { return has_finished_; }
  // At once, whatever was not answered.
  void end();
  [[nodiscard]] std::uint64_t accepted() const { return accepted_count_; }
  // Submits that had to be sent again because no answer came.
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }
  // After end(): the number in the params of each accepted task, by id; and what was wrong.
  [[nodiscard]] std::map<std::string, std::uint64_t> tasks() const;
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  void run();
  // Sends those numbers; those not answered with a task stay in it.
  void submit(std::vector<std::uint64_t>& numbers);
  void accept(std::uint64_t number, const std::string& id);

  std::string data_;
  std::uint64_t open_max_;
  std::atomic<bool> is_ending_{false};
  std::atomic<bool> is_hurried_{false};
  std::atomic<bool> has_finished_{false};
  std::atomic<std::uint64_t> accepted_count_{0};
  std::atomic<std::uint64_t> repeated_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> tasks_;  // guarded by mutex_, as is faults_
  std::vector<std::string> faults_;
  std::thread thread_;
};

}  // namespace skein::cli
