// What the dispatcher has learned (routing and retries), kept while the dispatcher restarts and, in the data folder,
// while the node does.
//
// The file `learned` is small, checksummed and replaced as a whole; it is a memory, not a promise: when it is missing
// or damaged the dispatcher learns afresh, and a line of the log says so. Any thread. keep() only remembers the text; a
// thread of its own writes it, one write at a time and always the newest. The destructor writes what is left.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "skein/base/thread_job_queue.hpp"

namespace skein::inline v0::node {

inline constexpr const char* k_learned_file = "learned";

class LearnedTable {
 public:
  using Warn = std::function<void(const std::string& line)>;  // any thread

  // Reads the file, if there is one. May block.
  LearnedTable(std::string folder, Warn warn);
  ~LearnedTable();
  LearnedTable(const LearnedTable&) = delete;
  LearnedTable& operator=(const LearnedTable&) = delete;

  // The newest there is; empty: nothing was learned yet.
  [[nodiscard]] std::string text() const;
  void keep(std::string text);

 private:
  void write_newest();

  const std::string path_;
  const Warn warn_;
  mutable std::mutex mutex_;
  std::string text_;
  bool is_posted_ = false;  // a job will write
  bool is_written_ = true;
  bool has_failed_ = false;  // to write, and said so
  ThreadJobQueue writing_{"skein-learned", 16};
};

}  // namespace skein::inline v0::node
