// Whose data folder it is: a file with a lock that ends with the program, however that ends. Any thread.
#pragma once

#include <expected>
#include <string>

#include "skein/base/fd.hpp"

namespace skein::inline v0::node {

struct DataLockError {
  std::string message;     // complete, for people; says who holds it
  bool is_in_use = false;  // by another node
};

class DataLock {
 public:
  // Makes the folder (0700) when it is not there.
  [[nodiscard]] static std::expected<DataLock, DataLockError> take(const std::string& folder);

 private:
  explicit DataLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// $SKEIN_DATA, else $XDG_STATE_HOME/skein, else ~/.local/state/skein.
[[nodiscard]] std::string default_data_folder();
// Where in a data folder the journal is.
[[nodiscard]] std::string journal_in(const std::string& data);

}  // namespace skein::inline v0::node
