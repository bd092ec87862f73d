#include "sim/raft_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <utility>

namespace skein::sim::raft {

using consensus::Position;

namespace {

// What the decided log says, replayed by rules of its own.
struct Replay {
  struct Batch {
    Position first = 0;
    Position last = 0;
    std::uint64_t value = 0;
    std::uint32_t done = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Batch> batches;          // by client and serial
  std::array<std::vector<std::pair<Position, std::uint64_t>>, k_keys> keys;  // every value, and from where on

  explicit Replay(const std::vector<DecidedCommand>& decided) {
    std::map<std::uint32_t, std::uint32_t> newest;
    for (const auto& [position, command] : decided) {
      std::uint32_t& serial = newest[command.client];
      if (command.serial < serial) continue;
      serial = command.serial;
      Batch& batch = batches[{command.client, command.serial}];
      if (batch.done != command.index) continue;
      if (batch.done++ == 0) batch.first = position;
      batch.last = position;
      batch.value = mixed(value_at(command.key, position), command.value);
      keys[command.key].emplace_back(position, batch.value);
    }
  }

  [[nodiscard]] std::uint64_t value_at(std::size_t key, Position position) const {
    const auto after = std::ranges::upper_bound(keys[key], position, {}, &std::pair<Position, std::uint64_t>::first);
    return after == keys[key].begin() ? 0 : std::prev(after)->second;
  }
};

std::string name_of(const Operation& operation) {
  return fmt::format("{} {} of client {}", operation.is_read ? "read" : "batch", operation.serial, operation.client);
}

}  // namespace

std::optional<std::string> wrong_by_positions(const std::vector<Operation>& operations,
                                              const std::vector<DecidedCommand>& decided) {
  std::vector<const Operation*> by_question;
  std::vector<const Operation*> by_answer;
  for (const Operation& each : operations) {
    if (!each.answered) continue;
    by_question.push_back(&each);
    by_answer.push_back(&each);
  }
  std::ranges::sort(by_question, {}, [](const Operation* each) { return std::pair(each->asked, each); });
  std::ranges::sort(by_answer, {}, [](const Operation* each) { return std::pair(*each->answered, each); });
  const Replay replay(decided);
  auto answered = by_answer.begin();
  const Operation* highest = nullptr;
  for (const Operation* each : by_question) {
    for (; answered != by_answer.end() && *(*answered)->answered < each->asked; ++answered) {
      if (highest == nullptr || (*answered)->last > highest->last) highest = *answered;
    }
    if (highest != nullptr && (each->is_read ? each->last < highest->last : each->first <= highest->last)) {
      return fmt::format("{} stands at {}, but {}, which was answered before it was asked, at {}", name_of(*each),
                         each->first, name_of(*highest), highest->last);
    }
    if (each->is_read) {
      if (each->result != replay.value_at(each->key, each->last)) {
        return fmt::format("{} at {} has a result that the log does not give", name_of(*each), each->last);
      }
      continue;
    }
    const auto batch = replay.batches.find({each->client, each->serial});
    if (batch == replay.batches.end()) return fmt::format("{} was answered and is not decided", name_of(*each));
    const auto& [first, last, value, done] = batch->second;
    if (first != each->first || last != each->last || value != each->result || done != each->values.size()) {
      return fmt::format("{} was answered with positions {} to {}, and stands at {} to {}, or gives another result",
                         name_of(*each), each->first, each->last, first, last);
    }
  }
  return std::nullopt;
}

namespace {

using Done = std::bitset<k_searched_operations>;

struct LessDone {
  bool operator()(const std::pair<Done, std::uint64_t>& one, const std::pair<Done, std::uint64_t>& other) const {
    if (one.second != other.second) return one.second < other.second;
    if (one.first == other.first) return false;
    const Done differs = one.first ^ other.first;
    return other.first[differs._Find_first()];
  }
};

class Search {
 public:
  explicit Search(const std::vector<Operation>& operations) {
    for (const Operation& each : operations) {
      // A read that was never answered tells nothing.
      if (each.answered || !each.is_read) operations_.push_back(&each);
    }
    std::ranges::sort(operations_, {}, [](const Operation* each) { return std::pair(each->asked, each); });
    for (const Operation* each : operations_) left_ += each->answered ? 1 : 0;
  }

  [[nodiscard]] SearchResult run() {
    if (operations_.size() > k_searched_operations) return SearchResult::too_many;
    // Most operations that nobody answered were not done, or a few in a row: those orders are tried first.
    for (const std::size_t in_a_row : {std::size_t{1}, std::size_t{3}, k_searched_operations}) {
      in_a_row_ = in_a_row;
      seen_.clear();
      if (explain(0, 0)) return SearchResult::explained;
      if (looks_ > k_looks) return SearchResult::too_many;
    }
    return SearchResult::unexplained;
  }

 private:
  static constexpr std::size_t k_looks = 20'000;

  static std::uint64_t after(const Operation& operation, std::uint64_t value) {
    for (const std::uint64_t each : operation.values) value = mixed(value, each);
    return value;
  }

  // Whether the operations that are not done can follow, from this value on; the last `unanswered` were not answered.
  bool explain(std::uint64_t value, std::size_t unanswered) {
    if (left_ == 0) return true;
    if (++looks_ > k_looks) return false;
    const auto [seen, is_new] = seen_.try_emplace({done_, value}, unanswered);
    if (!is_new) {
      if (seen->second <= unanswered) return false;
      seen->second = unanswered;
    }
    // What is asked after some operation was answered can't be done before that one.
    Instant end = Instant::max();
    std::size_t to = first_;
    for (std::size_t i = first_; i < operations_.size() && operations_[i]->asked <= end; ++i) {
      if (!done_[i] && operations_[i]->answered) end = std::min(end, *operations_[i]->answered);
      to = i + 1;
    }
    for (const bool answered : {true, false}) {
      if (!answered && unanswered >= in_a_row_) break;
      for (std::size_t i = first_; i < to && operations_[i]->asked <= end; ++i) {
        if (done_[i] || operations_[i]->answered.has_value() != answered) continue;
        const std::uint64_t next = after(*operations_[i], value);
        if (answered && next != operations_[i]->result) continue;
        done_.set(i);
        left_ -= answered ? 1 : 0;
        const std::size_t first = first_;
        while (first_ < operations_.size() && done_[first_]) ++first_;
        if (explain(next, answered ? 0 : unanswered + 1)) return true;
        first_ = first;
        left_ += answered ? 1 : 0;
        done_.reset(i);
      }
    }
    return false;
  }

  std::vector<const Operation*> operations_;
  std::size_t left_ = 0;  // that were answered, and are not done
  Done done_;
  std::map<std::pair<Done, std::uint64_t>, std::size_t, LessDone> seen_;
  std::size_t first_ = 0;  // all before it are done
  std::size_t in_a_row_ = 0;
  std::size_t looks_ = 0;
};

}  // namespace

SearchResult explained_by_search(const std::vector<Operation>& operations) { return Search(operations).run(); }

}  // namespace skein::sim::raft
