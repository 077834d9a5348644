#pragma once
// What a file is by its keys, for the message of a reader that cannot read it: one error that says which kind
// reads it, not one a record.
#include <string>
#include <string_view>

namespace weir {

struct KnownFormat {
  std::string_view kind;  // of requests, that reads it; "": none does
  std::string_view what;  // "a trace of Mooncake"
};

// Of the first record, or the header; null where nothing is known with such keys.
const KnownFormat* known_format(std::string_view text);

// "is a trace of Mooncake: requests of kind "mooncake" read it", or what to do instead.
std::string what_it_is(const KnownFormat& format);

}  // namespace weir
