// What must hold of a journal, whatever happens to its disk and its program. The oracle is told what clients submitted,
// what the machine was given, what clients were answered and what each start found, and says what is wrong with it.
//
// 1. What the machine once had applied, or a client was told, is there after every later start: same position, same
//    command, same answer. (What is applied can be read, so it counts as seen.)
// 2. Positions only grow, a command reaches the machine unchanged, and at most once while its id is remembered.
// 3. A batch is all there or not at all, and its commands are neighbours.
// 4. A batch that was turned away (overloaded, stopped, refused) is not in the log.
// 5. The running hash at a position is the same however often it is reached.
//
// Plain and single-threaded. The first violation is kept; later ones are its consequences.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/sha256.hpp"
#include "skein/journal/journal.hpp"

namespace skein::sim {

using Serial = std::uint64_t;  // of a command, in the order of first submission

// A command as it reached the machine.
struct Step {
  journal::Position position = 0;
  Serial serial = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

// The machine of the simulation: it remembers every command, so that what was applied can be compared one by one.
class HistoryMachine {
 public:
  // Called for every command applied, before it is taken in.
  std::function<void(journal::Position, std::string_view)> on_apply;

  std::string apply(journal::Position position, std::string_view bytes);
  std::shared_ptr<const journal::Frozen> freeze();
  bool restore(std::string_view bytes);
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

class LogOracle {
 public:
  // With `ids_forgotten` ids may leave the table, so that a command may be applied again: 2 and 3 are not checked.
  explicit LogOracle(bool ids_forgotten) : ids_forgotten_(ids_forgotten) {}

  // Makes the commands of a new batch. Their serials are consecutive.
  [[nodiscard]] journal::Batch new_batch(std::size_t commands, std::size_t bytes_each);
  // The same batch once more.
  [[nodiscard]] journal::Batch again(Serial first) const;
  void submitted(Serial first);

  void applied(journal::Position position, std::string_view bytes);
  // The same from the log at a start, before started().
  void replayed(journal::Position position, std::string_view bytes);
  void answered(Serial first, const journal::AppendAnswer& answer);
  // Everything up to here is visible to readers, with this running hash.
  void reached(journal::Position position, const Digest& hash);
  // What a start found.
  void started(journal::Position position, const Digest& hash, const std::vector<Step>& steps);
  void violated(std::string what);

  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }
  [[nodiscard]] journal::Position seen() const { return seen_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  // True when a start that found this lost nothing and made nothing up.
  [[nodiscard]] bool exactly(journal::Position position, const Digest& hash, const std::vector<Step>& steps) const;

 private:
  struct Known {
    std::uint32_t crc = 0;
    std::size_t bytes = 0;
    Serial batch_first = 0;
    std::size_t batch_size = 0;
    std::optional<std::string> result;
    journal::Position first_applied = 0;
    std::uint64_t copies = 0;  // of it that may be in the log: submitted and not turned away
  };

  Known* known(Serial serial);
  void check_step(const Step& step, std::uint32_t crc, std::size_t bytes);
  void check_batches(std::size_t from);
  void check_result(Serial serial, const journal::Applied& applied);
  void check_hash(journal::Position position, const Digest& hash);
  [[nodiscard]] std::string bytes_for(Serial serial, std::size_t bytes) const;

  bool ids_forgotten_;
  std::vector<Known> commands_;  // by serial
  std::vector<Step> steps_;
  journal::Position seen_ = 0;
  std::map<journal::Position, Digest> hashes_;
  std::optional<std::string> violation_;
};

// The serial a command's bytes begin with.
[[nodiscard]] std::optional<Serial> serial_of(std::string_view bytes);
[[nodiscard]] std::string result_of(journal::Position position, Serial serial, std::size_t steps_before);

}  // namespace skein::sim
