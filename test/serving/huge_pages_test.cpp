#include "sim/serving/platform/huge_pages.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

using namespace weir;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool is_sanitized = true;  // its malloc is another
#else
constexpr bool is_sanitized = false;
#endif
constexpr std::size_t mib = std::size_t{1} << 20;

// In a child, as malloc stays as it was told to be.
bool holds_in_child(const std::function<bool()>& claim) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(claim() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether the kernel was advised to have huge pages there (proc(5), VmFlags).
bool is_in_huge_pages(const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    if (std::istringstream head(line); head >> std::hex >> from >> dash >> to && dash == '-')
      inside = from <= address && address < to;
    else if (inside && line.starts_with("VmFlags:"))
      return (line + " ").find(" hg ") != line.npos;
  }
  return false;
}

std::vector<std::unique_ptr<char[]>> allocated(std::size_t bytes) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t i = 0; i < bytes / 1000; ++i) blocks.push_back(std::make_unique<char[]>(1000));
  return blocks;
}

}  // namespace

TEST_CASE("huge pages: what is allocated after the call lies in them, what was before does not") {
  if (is_sanitized || ::access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
    WARN("skipped: this kernel has no huge pages, or malloc is not the C library's");
    return;
  }
  CHECK(holds_in_child([] {
    const auto before = allocated(8 * mib);
    allocate_in_huge_pages(64 * mib);
    const auto after = allocated(32 * mib);
    return !is_in_huge_pages(before.front().get()) && is_in_huge_pages(after.back().get());
  }));
}

TEST_CASE("huge pages: a limit that leaves no room for them changes nothing") {
  if (is_sanitized) return;
  CHECK(holds_in_child([] {
    const rlimit limit{1024 * mib, 1024 * mib};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
    allocate_in_huge_pages(2000 * mib);
    return allocated(64 * mib).size() > 60'000;
  }));
}
