#pragma once
// Recognises a file by its keys, for the message of a reader that cannot read it: one error that says which
// kind reads it, not one a record.
#include <string>
#include <string_view>

namespace weir {

struct KnownFormat {
  std::string_view kind;  // requests of this kind read it; "": none do
  std::string_view what;  // "a trace of Mooncake"
};

// Looks at the first record, or the header; null where no format with such keys is known.
const KnownFormat* known_format(std::string_view text);

// "is a trace of Mooncake: requests of kind "mooncake" read it", or what to do instead.
std::string what_it_is(const KnownFormat& format);

}  // namespace weir
