#pragma once
// A real `weir explore`, and requests to it as any program of the machine could send them.
#include <sys/types.h>

#include <string>
#include <vector>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

namespace weir::test {

// Pointers and values, in the order in which they are set.
using ScenarioChanges = std::vector<std::pair<std::string, Json>>;

struct HttpAnswer {
  int status = 0;  // 0: it hung up
  std::string head, body;
};

class ExploreProcess {
 public:
  explicit ExploreProcess(const std::string& scenario, const std::vector<std::string>& more = {},
                          const std::filesystem::path& folder = ".");
  ~ExploreProcess();
  ExploreProcess(const ExploreProcess&) = delete;
  ExploreProcess& operator=(const ExploreProcess&) = delete;

  const std::string& address() const { return address_; }  // http://127.0.0.1:PORT/TOKEN/
  int port() const;
  std::string path() const;  // /TOKEN/
  pid_t process() const { return process_; }
  std::vector<pid_t> processes() const;  // it, its children and theirs
  double resident_mib() const;           // all of them

  HttpAnswer send(const std::string& request) const;  // bytes as they are
  HttpAnswer get(const std::string& path, const std::vector<std::string>& headers = {}) const;
  HttpAnswer post(const std::string& path, const std::string& body,
                  const std::vector<std::string>& headers = {"Content-Type: application/json"}) const;
  HttpAnswer run(const ScenarioChanges& changes, const std::string& page = "test") const;
  // Sends the signal and waits: the exit code, or 128 + the signal that ended it.
  int end(int signal);

 private:
  HttpAnswer ask(const std::string& method, const std::string& path, std::vector<std::string> headers,
                 const std::string& body) const;
  pid_t process_ = -1;
  std::string address_;
};

// The lines of a run's answer.
std::vector<Json> lines_of_run(const HttpAnswer& answer);

}  // namespace weir::test
