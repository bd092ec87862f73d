#include "sim/log_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "skein/base/bytes.hpp"
#include "skein/base/crc32c.hpp"

namespace skein::sim {

using journal::Position;

namespace {

class FrozenHistory final : public journal::Frozen {
 public:
  explicit FrozenHistory(std::vector<Step> steps) : steps_(std::move(steps)) {}
  void write(journal::SnapshotSink& sink) const override {
    std::string out;
    ByteWriter w(out);
    for (const Step& step : steps_) {
      w.u64(step.position);
      w.u64(step.serial);
    }
    sink.write(out);
  }

 private:
  std::vector<Step> steps_;
};

std::string show(const Step& step) { return fmt::format("command {} at position {}", step.serial, step.position); }

}  // namespace

std::optional<Serial> serial_of(std::string_view bytes) {
  ByteReader r(bytes);
  const Serial serial = r.u64();
  if (!r.ok()) return std::nullopt;
  return serial;
}

std::string result_of(Position position, Serial serial, std::size_t steps_before) {
  return fmt::format("{}@{}+{}", serial, position, steps_before);
}

std::string HistoryMachine::apply(Position position, std::string_view bytes) {
  if (on_apply) on_apply(position, bytes);
  const Serial serial = serial_of(bytes).value_or(~Serial{0});
  steps_.push_back({position, serial});
  return result_of(position, serial, steps_.size() - 1);
}

std::shared_ptr<const journal::Frozen> HistoryMachine::freeze() { return std::make_shared<FrozenHistory>(steps_); }

bool HistoryMachine::restore(std::string_view bytes) {
  steps_.clear();
  ByteReader r(bytes);
  while (r.ok() && r.left() > 0) {
    Step step;
    step.position = r.u64();
    step.serial = r.u64();
    if (r.ok()) steps_.push_back(step);
  }
  return r.done();
}

Digest HistoryMachine::digest() const {
  journal::HashSink sink;
  FrozenHistory(steps_).write(sink);
  return sink.hash.digest();
}

void LogOracle::violated(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

std::string LogOracle::bytes_for(Serial serial, std::size_t bytes) const {
  std::string out;
  ByteWriter(out).u64(serial);
  // Every sector of a long command differs from every other sector, so that a mixed-up one shows.
  for (std::size_t i = 8; i < bytes; ++i) out.push_back(static_cast<char>('a' + (serial * 31 + i * 7 + i / 512) % 26));
  return out;
}

journal::Batch LogOracle::new_batch(std::size_t commands, std::size_t bytes_each) {
  const Serial first = commands_.size();
  for (std::size_t i = 0; i < commands; ++i) {
    const std::string bytes = bytes_for(first + i, bytes_each);
    Known known;
    known.crc = crc32c(bytes);
    known.bytes = bytes.size();
    known.batch_first = first;
    known.batch_size = commands;
    commands_.push_back(std::move(known));
  }
  return again(first);
}

journal::Batch LogOracle::again(Serial first) const {
  journal::Batch batch;
  for (Serial serial = first; serial < first + commands_[first].batch_size; ++serial) {
    batch.push_back({{1, serial + 1}, bytes_for(serial, commands_[serial].bytes)});
  }
  return batch;
}

void LogOracle::submitted(Serial first) {
  for (Serial s = first; s < first + commands_[first].batch_size; ++s) ++commands_[s].copies;
}

LogOracle::Known* LogOracle::known(Serial serial) { return serial < commands_.size() ? &commands_[serial] : nullptr; }

void LogOracle::applied(Position position, std::string_view bytes) {
  const auto serial = serial_of(bytes);
  if (!serial) return violated(fmt::format("position {}: the machine was given {} bytes", position, bytes.size()));
  check_step({position, *serial}, crc32c(bytes), bytes.size());
  auto* command = known(*serial);
  if (command == nullptr) return;
  command->result = result_of(position, *serial, steps_.size());
  if (command->first_applied == 0) command->first_applied = position;
  steps_.push_back({position, *serial});
  seen_ = std::max(seen_, position);
}

void LogOracle::replayed(Position position, std::string_view bytes) {
  const auto serial = serial_of(bytes);
  const auto* command = serial ? known(*serial) : nullptr;
  if (command == nullptr || command->crc != crc32c(bytes)) {
    violated(fmt::format("the log has a command at position {} that nobody submitted like that", position));
  }
}

void LogOracle::check_step(const Step& step, std::uint32_t crc, std::size_t bytes) {
  const auto* command = known(step.serial);
  if (command == nullptr) return violated(fmt::format("{} was applied, but nobody submitted it", show(step)));
  if (command->crc != crc || command->bytes != bytes) violated(fmt::format("{} was changed on its way", show(step)));
  if (step.position <= seen_) {
    violated(fmt::format("{} was applied after position {} had been: out of order or twice", show(step), seen_));
  }
  if (command->copies == 0) violated(fmt::format("{} was applied although it had been turned away", show(step)));
  if (!ids_forgotten_ && command->first_applied != 0) {
    violated(fmt::format("{} was applied before, at position {}", show(step), command->first_applied));
  }
}

void LogOracle::answered(Serial first, const journal::AppendAnswer& answer) {
  using journal::Outcome;
  const std::size_t size = commands_[first].batch_size;
  if (answer.outcome == Outcome::applied) {
    if (answer.results.size() != size) {
      return violated(fmt::format("{} results for a batch of {}", answer.results.size(), size));
    }
    for (std::size_t i = 0; i < size; ++i) check_result(first + i, answer.results[i]);
    return;
  }
  if (answer.outcome == Outcome::unknown) return;
  for (Serial s = first; s < first + size; ++s) --commands_[s].copies;
}

void LogOracle::check_result(Serial serial, const journal::Applied& applied) {
  const auto& command = commands_[serial];
  if (!command.result) return violated(fmt::format("command {} was answered but never applied", serial));
  if (ids_forgotten_) return;
  if (applied.position != command.first_applied) {
    violated(fmt::format("command {} stands at position {}, its client was told {}", serial, command.first_applied,
                         applied.position));
  }
  if (applied.result_kept && applied.result != *command.result) {
    violated(fmt::format("command {} had the result '{}', its client was told '{}'", serial, *command.result,
                         applied.result));
  }
}

void LogOracle::check_hash(Position position, const Digest& hash) {
  const auto [at, fresh] = hashes_.try_emplace(position, hash);
  if (!fresh && at->second != hash) {
    violated(fmt::format("the running hash at position {} is not what it was before", position));
  }
}

void LogOracle::reached(Position position, const Digest& hash) {
  seen_ = std::max(seen_, position);
  check_hash(position, hash);
}

bool LogOracle::exactly(Position position, const Digest& hash, const std::vector<Step>& steps) const {
  const auto at = hashes_.find(position);
  return position == seen_ && steps == steps_ && (at == hashes_.end() || at->second == hash);
}

void LogOracle::started(Position position, const Digest& hash, const std::vector<Step>& steps) {
  if (position < seen_) {
    return violated(fmt::format("the log ends at position {}, but position {} had been seen", position, seen_));
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i >= steps.size()) return violated(fmt::format("{} was lost", show(steps_[i])));
    if (!(steps[i] == steps_[i])) {
      return violated(fmt::format("{} was seen, now there is {}", show(steps_[i]), show(steps[i])));
    }
  }
  const std::size_t before = steps_.size();
  for (std::size_t i = before; i < steps.size(); ++i) {
    auto* command = known(steps[i].serial);
    if (command == nullptr) return violated(fmt::format("{} was found, but nobody submitted it", show(steps[i])));
    check_step(steps[i], command->crc, command->bytes);
    command->result = result_of(steps[i].position, steps[i].serial, i);
    if (command->first_applied == 0) command->first_applied = steps[i].position;
    steps_.push_back(steps[i]);
    seen_ = std::max(seen_, steps[i].position);
  }
  if (!ids_forgotten_) check_batches(before);
  seen_ = std::max(seen_, position);
  check_hash(position, hash);
}

void LogOracle::check_batches(std::size_t from) {
  for (std::size_t i = from; i < steps_.size(); ++i) {
    const auto& command = commands_[steps_[i].serial];
    const Step next{steps_[i].position + 1, steps_[i].serial + 1};
    const bool last = steps_[i].serial + 1 == command.batch_first + command.batch_size;
    if (last || (i + 1 < steps_.size() && steps_[i + 1] == next)) continue;
    return violated(fmt::format("{} is there without the rest of its batch", show(steps_[i])));
  }
}

}  // namespace skein::sim
