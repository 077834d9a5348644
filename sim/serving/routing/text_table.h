#pragma once
// A table of texts on replicas: a value for each pair that anything is known of, listed by text, as
// routers ask who has one. Most texts are on a few replicas; one that many share (a system prompt) is found
// on each of them by its number.
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weir {

template <class Value>
class TextTable {
 public:
  static constexpr std::int32_t none = -1;
  struct Entry {
    std::int32_t text, replica;
    Value value;
    std::int32_t next;  // of the text
  };
  Entry& operator[](std::int32_t entry) { return entries_[static_cast<std::size_t>(entry)]; }
  const Entry& operator[](std::int32_t entry) const { return entries_[static_cast<std::size_t>(entry)]; }

  std::int32_t find(std::int32_t text, std::int32_t replica) const {
    if (static_cast<std::size_t>(text) >= lists_.size()) return none;
    const List& list = lists_[static_cast<std::size_t>(text)];
    if (list.count > few) {
      const std::vector<std::int32_t>& on = on_.at(text);
      return static_cast<std::size_t>(replica) < on.size() ? on[static_cast<std::size_t>(replica)] : none;
    }
    std::int32_t entry = list.first;
    while (entry != none && (*this)[entry].replica != replica) entry = (*this)[entry].next;
    return entry;
  }
  // The pair must have none.
  std::int32_t add(std::int32_t text, std::int32_t replica) {
    if (static_cast<std::size_t>(text) >= lists_.size()) lists_.resize(static_cast<std::size_t>(text) + 1);
    List& list = lists_[static_cast<std::size_t>(text)];
    auto entry = static_cast<std::int32_t>(entries_.size());
    if (unused_.empty()) {
      entries_.push_back({text, replica, {}, list.first});
    } else {
      entry = unused_.back();
      unused_.pop_back();
      (*this)[entry] = {text, replica, {}, list.first};
    }
    list.first = entry;
    if (++list.count > few) index(text, list);
    return entry;
  }
  // The entry of a text on many replicas stays, with no value.
  void erase(std::int32_t entry) {
    Entry& gone = (*this)[entry];
    List& list = lists_[static_cast<std::size_t>(gone.text)];
    gone.value = {};
    if (list.count > few) return;
    std::int32_t* link = &list.first;
    while (*link != entry) link = &(*this)[*link].next;
    *link = gone.next;
    --list.count;
    unused_.push_back(entry);
  }
  // Calls it with each entry of a text.
  template <class Visit>
  void each(std::int32_t text, Visit visit) const {
    if (static_cast<std::size_t>(text) >= lists_.size()) return;
    for (std::int32_t entry = lists_[static_cast<std::size_t>(text)].first; entry != none;
         entry = (*this)[entry].next)
      visit((*this)[entry]);
  }

 private:
  static constexpr std::int32_t few = 16;
  struct List {
    std::int32_t first = none, count = 0;
  };
  void index(std::int32_t text, const List& list) {
    std::vector<std::int32_t>& on = on_[text];
    const auto put = [&](std::int32_t entry) {
      const auto replica = static_cast<std::size_t>((*this)[entry].replica);
      if (replica >= on.size()) on.resize(replica + 1, none);
      on[replica] = entry;
    };
    if (!on.empty()) return put(list.first);
    for (std::int32_t entry = list.first; entry != none; entry = (*this)[entry].next) put(entry);
  }

  std::vector<List> lists_;  // by text
  std::vector<Entry> entries_;
  std::vector<std::int32_t> unused_;
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> on_;  // entries by replica, of texts with many
};

}  // namespace weir
