// Finds the item with a text, without a copy of the text: the owner of the items is asked for the text.
//
// A value, for tables of very many: an item takes eight bytes here and a share of what is free. One thread at a time.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace skein::inline v0 {

class IdIndex {
 public:
  // `text_of(number)` says the text of an item that is in here.
  template <class TextOf>
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text, const TextOf& text_of) const {
    const auto found = items_.find(Question<TextOf>{text, hash_of(text), text_of});
    if (found == items_.end()) return std::nullopt;
    return found->number;
  }
  // No item of that text is in here.
  void add(std::string_view text, std::uint32_t number) { items_.insert(Item{number, hash_of(text)}); }
  void remove(std::string_view text, std::uint32_t number) { items_.erase(Item{number, hash_of(text)}); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    std::uint32_t number = 0;
    std::uint32_t hash = 0;
  };
  template <class TextOf>
  struct Question {
    std::string_view text;
    std::uint32_t hash;
    const TextOf& text_of;
  };
  struct Hash {
    using is_transparent = void;
    template <class Asked>
    std::size_t operator()(const Asked& asked) const {
      return asked.hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Item& one, const Item& other) const { return one.number == other.number; }
    template <class TextOf>
    bool operator()(const Question<TextOf>& asked, const Item& item) const {
      return asked.hash == item.hash && asked.text_of(item.number) == asked.text;
    }
    template <class TextOf>
    bool operator()(const Item& item, const Question<TextOf>& asked) const {
      return (*this)(asked, item);
    }
  };

  [[nodiscard]] static std::uint32_t hash_of(std::string_view text) {
    const std::uint64_t hash = std::hash<std::string_view>()(text);
    return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
  }

  boost::unordered_flat_set<Item, Hash, Equal> items_;
};

}  // namespace skein::inline v0
