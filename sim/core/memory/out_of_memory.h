#pragma once
// Memory runs out in many ways: what is thrown (std::bad_alloc, a thread or a child that cannot be started),
// what is thrown where it cannot be caught, and SimGrid, which aborts. Each ends in the same words and with
// exit 1.
#include <exception>
#include <string>

namespace weir {

// An error's text for people: "out of memory" where it is that, else what().
std::string words_of_error(const std::exception& error);

[[noreturn]] void end_out_of_memory() noexcept;

// For std::set_terminate: tells what was not caught.
[[noreturn]] void end_by_uncaught() noexcept;

}  // namespace weir
