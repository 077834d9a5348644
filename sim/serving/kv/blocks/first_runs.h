#pragma once
// The first run of each text that a KV cache has any of, in one array: what is looked up ten times a request,
// far from the last time, shall be one line of memory each.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class FirstRuns {
 public:
  static constexpr std::int32_t none = -1;
  bool empty() const { return size_ == 0; }
  std::int32_t find(std::int32_t text) const {
    for (std::size_t at = home(text); !slots_.empty(); at = (at + 1) & mask()) {
      if (slots_[at].text == text) return slots_[at].run;
      if (slots_[at].text == none) break;
    }
    return none;
  }
  // The text's, which may be set, until the next call; none where there was no such text.
  std::int32_t& operator[](std::int32_t text) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = home(text);
    while (slots_[at].text != text && slots_[at].text != none) at = (at + 1) & mask();
    if (slots_[at].text == none) {
      slots_[at] = {text, none};
      ++size_;
    }
    return slots_[at].run;
  }
  // The text must be there. Entries behind it that would no longer be found move up.
  void erase(std::int32_t text) {
    std::size_t gap = home(text);
    while (slots_[gap].text != text) gap = (gap + 1) & mask();
    for (std::size_t at = (gap + 1) & mask(); slots_[at].text != none; at = (at + 1) & mask())
      if (((at - home(slots_[at].text)) & mask()) >= ((at - gap) & mask())) {
        slots_[gap] = slots_[at];
        gap = at;
      }
    slots_[gap] = {};
    --size_;
  }

 private:
  struct Slot {
    std::int32_t text = none, run = none;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  // Neighbours of a session lie apart, as their numbers are close (Fibonacci hashing: Knuth, TAOCP 3, 6.4).
  std::size_t home(std::int32_t text) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(text) * 0x9e3779b97f4a7c15) >> 32) &
           (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> before(slots_.empty() ? 16 : 2 * slots_.size());
    before.swap(slots_);
    size_ = 0;
    for (const Slot& slot : before)
      if (slot.text != none) (*this)[slot.text] = slot.run;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace weir
