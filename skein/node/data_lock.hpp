// Whose data folder it is: a file with a lock that ends with the program, however that ends. Any thread.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "skein/base/fd.hpp"

namespace skein::inline v0::node {

struct DataLockError {
  std::string message;     // complete, for people; says who holds it
  bool is_in_use = false;  // by another node
};

class DataLock {
 public:
  // Makes the folder (0700) when it is not there, and keeps it and what is in it to its owner (data_folder.hpp).
  [[nodiscard]] static std::expected<DataLock, DataLockError> take(const std::string& folder);
  // What was mended on the way, a line each, for the log.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  DataLock(Fd fd, std::vector<std::string> notes) : fd_(std::move(fd)), notes_(std::move(notes)) {}
  Fd fd_;
  std::vector<std::string> notes_;
};

// $SKEIN_DATA, else $XDG_STATE_HOME/skein, else ~/.local/state/skein.
[[nodiscard]] std::string default_data_folder();
// Where in a data folder the journal is.
[[nodiscard]] std::string journal_in(const std::string& data);

}  // namespace skein::inline v0::node
