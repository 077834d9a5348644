#include "sim/app/sweep/sweep_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sim/app/output/result_directory.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

constexpr const char* store_name = "results.sqlite";

}  // namespace

SweepDirectory::SweepDirectory(const fs::path& place, const Sweep& sweep, bool resume) : place_(place) {
  const SweepRecord record = record_of(sweep);
  const bool there = is_store(place / store_name);
  if (there) lock(place);
  if (resume && !there && fs::is_directory(place) && !fs::is_empty(place))
    throw ConfigError("--out " + place.string(), "", "holds no sweep to resume");
  if (!resume || !there) {
    ResultDirectory fresh(place);
    ResultStore::create(fresh.file(store_name), record);
    lock(fresh.file(""));
    fresh.commit();
  }
  store_ = std::make_unique<ResultStore>(place / store_name, record);
}

SweepDirectory::~SweepDirectory() {
  close();
  for (const int lock : locks_) ::close(lock);
}

// By fcntl: such a lock ends with this process, while one by flock would live on in its children.
void SweepDirectory::lock(const fs::path& directory) {
  const int file = ::open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;  // whoever cannot write here learns it from the store
  locks_.push_back(file);
  struct ::flock all {};
  all.l_type = F_WRLCK;
  if (::fcntl(file, F_SETLK, &all) != 0 && (errno == EACCES || errno == EAGAIN))
    throw ConfigError("--out " + place_.string(), "", "another weir sweep is running there");
}

}  // namespace weir
