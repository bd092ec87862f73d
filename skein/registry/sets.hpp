// Named sets of entries: the agents with a capability, the owners of a counter of a name, the members of a group.
//
// read and query may be called by any thread and never wait. add and remove are for a writer that holds the entry's
// lock; they take the set's lock inside. A set without members has no name, so only sets in use count.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "skein/registry/entry_set.hpp"
#include "skein/registry/entry_table.hpp"

namespace skein::inline v0::detail {

class Sets {
 public:
  Sets(EntryTable& entries, std::uint32_t capacity) : entries_(entries), table_(capacity) {}

  // Puts the entry, which will have that incarnation, into the set; `i` counts the entry's sets. False: no room.
  [[nodiscard]] bool add(const Key& set, std::uint32_t index, std::uint32_t incarnation, std::size_t i);
  // Takes the entry out of its `i`th set. True: it was the last one there.
  bool remove(std::uint32_t index, std::size_t i);

  // Calls begin() and then call(ref) for each member until it returns false; both again if the set was moved meanwhile.
  template <class Begin, class Call>
  void read(const Key& set, Begin&& begin, Call&& call) const {
    for (;;) {
      begin();
      const EntryTable::Seen seen = table_.find(set);
      if (!seen) return;
      const bool whole = members(seen.index).each(call);
      if (whole && table_.is_live(seen.ref())) return;
    }
  }
  // The same for the entries that are in all of the sets, going through the smallest.
  template <class Begin, class Call>
  void query(std::span<const Key> sets, Begin&& begin, Call&& call) const {
    std::vector<EntryTable::Seen> seen(sets.size());
    for (bool whole = false; !whole;) {
      begin();
      std::size_t smallest = 0;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        seen[i] = table_.find(sets[i]);
        if (!seen[i]) return;
        if (members(seen[i].index).size() < members(seen[smallest].index).size()) smallest = i;
      }
      whole = members(seen[smallest].index).each([&](std::uint64_t ref) {
        for (std::size_t i = 0; i < seen.size(); ++i) {
          if (i != smallest && !entries_.is_in_set(static_cast<std::uint32_t>(ref >> 32U), seen[i].index)) return true;
        }
        return call(ref);
      });
      for (const EntryTable::Seen& each : seen) whole = whole && table_.is_live(each.ref());
    }
  }
  // The names of the sets an entry is in.
  [[nodiscard]] std::vector<std::string> names_of(std::uint64_t ref) const;
  [[nodiscard]] std::uint32_t count() const { return table_.count(); }
  [[nodiscard]] std::uint32_t capacity() const { return table_.capacity(); }

 private:
  struct Named {
    EntrySet members;
    Key key{KeyKind::group_set, {}};
  };

  [[nodiscard]] Named& named(std::uint32_t set) const;
  [[nodiscard]] const EntrySet& members(std::uint32_t set) const { return named(set).members; }
  [[nodiscard]] Named& make(std::uint32_t set, const Key& key);
  void note_move(std::uint32_t set, std::uint64_t ref, std::uint32_t place) const;

  EntryTable& entries_;
  EntryTable table_;  // an entry's value is the address of its Named, once it had one
  std::mutex mutex_;
  std::vector<std::unique_ptr<Named>> all_;
};

}  // namespace skein::inline v0::detail
