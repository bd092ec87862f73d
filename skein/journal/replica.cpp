#include "skein/journal/replica.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "skein/base/bytes.hpp"

namespace skein::inline v0::journal {
namespace {

class FrozenReplica final : public Frozen {
 public:
  FrozenReplica(std::string hash, std::shared_ptr<const Frozen> ids, std::shared_ptr<const Frozen> machine)
      : hash_(std::move(hash)), ids_(std::move(ids)), machine_(std::move(machine)) {}

  void write(SnapshotSink& sink) const override {
    StringSink table;
    ids_->write(table);
    std::string head;
    ByteWriter w(head);
    w.raw(hash_);
    w.u64(table.text.size());
    sink.write(head);
    sink.write(table.text);
    machine_->write(sink);
  }

 private:
  std::string hash_;
  std::shared_ptr<const Frozen> ids_;
  std::shared_ptr<const Frozen> machine_;
};

}  // namespace

std::string ApplyFailure::describe() const {
  return fmt::format(
      "applying position {} failed: {}; the journal stops here: fix the program, or pass over the entry with "
      "`skein log skip DIR {}`",
      position, what, position);
}

Replica::Replica(MachineRef machine, IdLimits limits) : machine_(machine), ids_(limits) {}

std::expected<Applied, ApplyFailure> Replica::apply(const EntryView& entry) {
  if (failure_) return std::unexpected(*failure_);
  Applied applied;
  applied.position = entry.position;
  try {
    if (entry.position != position_ + 1) {
      failure_ = ApplyFailure{entry.position, fmt::format("position {} should come next", position_ + 1)};
    } else if (entry.kind == EntryKind::membership) {
      membership_ = entry.bytes;
    } else if (entry.kind == EntryKind::config) {
      configure(entry);
    } else if (entry.kind == EntryKind::command) {
      applied = apply_command(entry);
    }
  } catch (const std::exception& error) {
    failure_ = ApplyFailure{entry.position, error.what()};
  } catch (...) {
    failure_ = ApplyFailure{entry.position, k_no_exception};
  }
  if (failure_) return std::unexpected(*failure_);
  hash_in(entry, applied.result);
  position_ = entry.position;
  term_ = entry.term;
  return applied;
}

// The first one counts. What a folder of an earlier version had applied before it stays as it was.
void Replica::configure(const EntryView& entry) {
  const auto config = LogConfig::decode(entry.bytes);
  if (!config) {
    failure_ = ApplyFailure{entry.position, "the log's configuration can't be read: a later program wrote it"};
  } else if (cluster_ == 0) {
    cluster_ = config->cluster;
    if (position_ == 0) ids_ = IdTable(config->ids);
  }
}

Applied Replica::apply_command(const EntryView& entry) {
  Applied applied;
  applied.position = entry.position;
  if (skips_.contains(entry.position)) {
    applied.skipped = true;
    return applied;
  }
  const Remembered* before = entry.id.none() ? nullptr : ids_.find(entry.id);
  if (before != nullptr) {
    applied.position = before->position;
    applied.result = before->result;
    applied.result_kept = before->result_kept;
    applied.repeated = true;
    return applied;
  }
  applied.result = machine_.apply(entry.position, entry.bytes);
  if (!entry.id.none()) ids_.remember(entry.id, entry.position, applied.result);
  return applied;
}

void Replica::hash_in(const EntryView& entry, std::string_view result) {
  const std::uint64_t head[] = {
      entry.position,     entry.term,
      entry.id.high,      entry.id.low,
      entry.bytes.size(), (static_cast<std::uint64_t>(result.size()) << 8U) | static_cast<std::uint64_t>(entry.kind)};
  char bytes[sizeof head];
  std::memcpy(bytes, head, sizeof head);
  hash_.update({bytes, sizeof bytes});
  hash_.update(entry.bytes);
  hash_.update(result);
}

FrozenState Replica::freeze() {
  FrozenState state;
  state.meta = {position_, term_, membership_, ids_.limits(), cluster_};
  state.body = std::make_shared<FrozenReplica>(hash_.save(), ids_.freeze(), machine_.freeze());
  return state;
}

bool Replica::restore(const SnapshotMeta& meta, std::string_view body) {
  ByteReader r(body);
  const auto hash = r.raw(Sha256::k_saved_bytes);
  const std::uint64_t table_bytes = r.u64();
  const auto table = r.raw(table_bytes);
  if (!r.ok()) return false;
  ids_ = IdTable(meta.ids);
  if (!hash_.load(hash) || !ids_.restore(table) || !machine_.restore(r.raw(r.left()))) return false;
  position_ = meta.position;
  term_ = meta.term;
  membership_ = meta.membership;
  cluster_ = meta.cluster;
  failure_.reset();
  return true;
}

}  // namespace skein::inline v0::journal
