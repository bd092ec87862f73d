// Many lists over one set of small numbers (slots), each slot in at most one list at a time.
//
// The links live in one array, so adding, removing and turning are a few stores whatever the size. For
// least_connections and round robin inside a pool. A value; one thread at a time. Invariants:
// 1. A list is circular; its head is the slot whose turn it is.
// 2. `links_[slot].list` is k_none exactly when the slot is in no list.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skein::inline v0 {

class SlotLists {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;

  [[nodiscard]] bool contains(std::uint32_t slot) const { return slot < links_.size() && links_[slot].list != k_none; }
  // The list's first slot, or k_none.
  [[nodiscard]] std::uint32_t front(std::uint32_t list) const { return list < heads_.size() ? heads_[list] : k_none; }
  // The slot after this one in its list; k_none after the last.
  [[nodiscard]] std::uint32_t after(std::uint32_t slot) const {
    const Link& link = links_[slot];
    return link.next == heads_[link.list] ? k_none : link.next;
  }

  void push_back(std::uint32_t list, std::uint32_t slot) {
    if (list >= heads_.size()) heads_.resize(std::size_t{list} + 1, k_none);
    if (slot >= links_.size()) links_.resize(std::size_t{slot} + 1);
    Link& link = links_[slot];
    assert(link.list == k_none);
    link.list = list;
    const std::uint32_t head = heads_[list];
    if (head == k_none) {
      link.next = link.previous = slot;
      heads_[list] = slot;
      return;
    }
    link.next = head;
    link.previous = links_[head].previous;
    links_[link.previous].next = slot;
    links_[head].previous = slot;
  }

  // Returns the list it was in, or k_none if it was in none.
  std::uint32_t remove(std::uint32_t slot) {
    if (!contains(slot)) return k_none;
    Link& link = links_[slot];
    const std::uint32_t list = link.list;
    if (link.next == slot) {
      heads_[list] = k_none;
    } else {
      links_[link.previous].next = link.next;
      links_[link.next].previous = link.previous;
      if (heads_[list] == slot) heads_[list] = link.next;
    }
    link = Link{};
    return list;
  }

  // Its turn is over: it goes to the end of its list.
  void move_to_back(std::uint32_t slot) {
    const Link& link = links_[slot];
    if (heads_[link.list] == slot) {
      heads_[link.list] = link.next;
    } else {
      const std::uint32_t list = remove(slot);
      push_back(list, slot);
    }
  }

 private:
  struct Link {
    std::uint32_t next = k_none;
    std::uint32_t previous = k_none;
    std::uint32_t list = k_none;
  };
  std::vector<Link> links_;
  std::vector<std::uint32_t> heads_;
};

}  // namespace skein::inline v0
