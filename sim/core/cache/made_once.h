#pragma once
// Values that a process makes once a key and keeps, as when a memory plays a million commands for one number.
#include <deque>
#include <mutex>
#include <utility>

namespace weir {

// Key: has ==; a handful are looked through. Threads may ask at once, and wait for whoever makes the value.
template <class Key, class Value>
class MadeOnce {
 public:
  // Returns what `make` returned for an equal key. The value stays where it is, so that references hold.
  template <class Make>
  const Value& of(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, value] : all_)
      if (known == key) return value;
    return all_.emplace_back(key, make()).second;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<Key, Value>> all_;
};

}  // namespace weir
