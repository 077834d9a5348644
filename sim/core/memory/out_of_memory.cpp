#include "sim/core/memory/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace weir {
namespace {

// Without memory of its own.
void say(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// A thread needs memory for its stack, and the system says that as EAGAIN.
bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return true;
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  return of_system && (of_system->code() == std::errc::not_enough_memory ||
                       of_system->code() == std::errc::resource_unavailable_try_again);
}

}  // namespace

std::string words_of_error(const std::exception& error) {
  if (!is_out_of_memory(error)) return error.what();
  return dynamic_cast<const std::bad_alloc*>(&error) ? "out of memory"
                                                     : std::string("out of memory: ") + error.what();
}

void end_out_of_memory() noexcept {
  say("weir: out of memory\n");
  ::_exit(1);
}

void end_by_uncaught() noexcept {
  if (const std::exception_ptr uncaught = std::current_exception()) try {
      std::rethrow_exception(uncaught);
    } catch (const std::bad_alloc&) {
      end_out_of_memory();
    } catch (const std::exception& error) {
      say("weir: not caught: ");
      say(error.what());
      say("\n");
    } catch (...) {
      say("weir: not caught: something that is no std::exception\n");
    }
  std::abort();
}

}  // namespace weir
