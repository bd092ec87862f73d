// Judges of what clients of the simulated group saw: whether their operations could have been done one at a time, each
// between its question and its answer. Two judges that know nothing of each other. Pure functions.
//
// By positions: every answer says where in the log it stands, so no search is needed. What was answered before
// another was asked stands before it (a read may stand at the same position), and every result is what a replay of the
// decided log gives.
//
// By search (Wing and Gong 1993, with the memory of Lowe): some order of the operations of a key explains all results.
// An operation that was never answered may have been done at any time after it was asked, or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/raft_machine.hpp"
#include "skein/base/time.hpp"

namespace skein::sim::raft {

// The search is for at most as many operations of one key; more are refused.
inline constexpr std::size_t k_searched_operations = 200;

struct Operation {
  bool is_read = false;
  std::uint32_t client = 0;
  std::uint32_t serial = 0;
  std::size_t key = 0;
  std::vector<std::uint64_t> values;  // appended, in this order
  Instant asked;
  std::optional<Instant> answered;
  consensus::Position first = 0;  // of its entries; of a read: where it was done
  consensus::Position last = 0;
  std::uint64_t result = 0;  // the key's value after it
};

struct DecidedCommand {
  consensus::Position position = 0;
  Command command;
};

// What is wrong, by positions; nothing when all is well. `decided` is the log's commands in order.
[[nodiscard]] std::optional<std::string> wrong_by_positions(const std::vector<Operation>& operations,
                                                            const std::vector<DecidedCommand>& decided);

enum class SearchResult { explained, unexplained, too_many };

// All operations must be of one key.
[[nodiscard]] SearchResult explained_by_search(const std::vector<Operation>& operations);

}  // namespace skein::sim::raft
