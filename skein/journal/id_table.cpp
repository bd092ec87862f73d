#include "skein/journal/id_table.hpp"

#include <algorithm>
#include <utility>

#include "skein/base/bytes.hpp"

namespace skein::inline v0::journal {

class IdTable::FrozenTable final : public Frozen {
 public:
  FrozenTable(std::vector<std::shared_ptr<const Chunk>> chunks, std::uint64_t skip, std::uint64_t count)
      : chunks_(std::move(chunks)), skip_(skip), count_(count) {}

  void write(SnapshotSink& sink) const override {
    std::string out;
    ByteWriter w(out);
    w.u64(count_);
    std::uint64_t index = 0;
    for (const auto& chunk : chunks_) {
      for (const auto& one : *chunk) {
        const std::uint64_t at = index++;
        if (at < skip_ || at >= skip_ + count_) continue;
        w.u64(one.id.high);
        w.u64(one.id.low);
        w.u64(one.position);
        w.u8(one.result_kept ? 1 : 0);
        w.blob(one.result);
      }
      sink.write(out);
      out.clear();
    }
    sink.write(out);
  }

 private:
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::uint64_t skip_;
  std::uint64_t count_;
};

// The index gets its room at once: growing it to a quarter of a million ids was measured to take 8 ms in one step, and
// everything that is appended would wait for it.
IdTable::IdTable(IdLimits limits) : limits_(limits) {
  index_.reserve(std::min<std::uint64_t>(limits.ids_kept + 1, k_ids_reserved_max));
}

void IdTable::clear() {
  chunks_.clear();
  index_.clear();
  first_ = 0;
  next_ = 0;
  tail_shared_ = false;
}

const Remembered& IdTable::at(std::uint64_t sequence) const {
  const std::uint64_t base = first_ - first_ % k_chunk_ids;
  return (*chunks_[(sequence - base) / k_chunk_ids])[(sequence - base) % k_chunk_ids];
}

const Remembered* IdTable::find(CommandId id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &at(found->second);
}

void IdTable::remember(CommandId id, Position position, std::string_view result) {
  if (limits_.ids_kept == 0) return;
  const bool kept = result.size() <= limits_.id_result_bytes;
  add({id, position, kept, kept ? std::string(result) : std::string()});
}

void IdTable::add(Remembered remembered) {
  if (next_ % k_chunk_ids == 0) {
    chunks_.push_back(std::make_shared<Chunk>());
    chunks_.back()->reserve(k_chunk_ids);
  } else if (tail_shared_) {
    auto copy = std::make_shared<Chunk>();
    copy->reserve(k_chunk_ids);
    copy->assign(chunks_.back()->begin(), chunks_.back()->end());
    chunks_.back() = std::move(copy);
  }
  tail_shared_ = false;
  index_[remembered.id] = next_++;
  chunks_.back()->push_back(std::move(remembered));
  while (size() > limits_.ids_kept) {
    index_.erase(at(first_).id);
    if (++first_ % k_chunk_ids == 0) chunks_.pop_front();
  }
}

std::shared_ptr<const Frozen> IdTable::freeze() {
  tail_shared_ = true;
  return std::make_shared<FrozenTable>(std::vector<std::shared_ptr<const Chunk>>(chunks_.begin(), chunks_.end()),
                                       first_ % k_chunk_ids, size());
}

bool IdTable::restore(std::string_view bytes) {
  clear();
  ByteReader r(bytes);
  const std::uint64_t count = r.u64();
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    Remembered one;
    one.id.high = r.u64();
    one.id.low = r.u64();
    one.position = r.u64();
    one.result_kept = r.u8() != 0;
    one.result = r.blob();
    if (r.ok()) add(std::move(one));
  }
  if (r.done() && size() == count) return true;
  clear();
  return false;
}

}  // namespace skein::inline v0::journal
