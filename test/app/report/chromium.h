#pragma once
// The headless Chromium of this process, driven over its DevTools protocol
// (chromedevtools.github.io/devtools-protocol) by a pair of pipes: JSON ended by a zero byte, so that neither
// node nor a WebSocket is needed. The first test that asks for it starts it, which takes two seconds of a
// processor, and it ends with the process. Every call throws when it fails, or says nothing for a minute.
#include <sys/types.h>

#include <deque>
#include <map>
#include <string>

#include "sim/core/params.h"
#include "test/app/scratch_directory.h"

namespace weir::test {

class Chromium {
 public:
  static bool installed();
  static Chromium& running();
  ~Chromium();
  Chromium(const Chromium&) = delete;
  Chromium& operator=(const Chromium&) = delete;

  // The command goes to a tab's session, or with "" to the browser itself.
  Json call(const std::string& session, const std::string& method, Json parameters = Json::object());

  // A tab's events are kept for it from its first call on, until it is forgotten.
  Json next_event(const std::string& session);
  bool has_event(const std::string& session) { return !events_[session].empty(); }
  void forget(const std::string& session) { events_.erase(session); }

 private:
  Chromium();
  Json receive();

  ScratchDirectory profile_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  int last_call_ = 0;
  std::string received_;
  std::map<std::string, std::deque<Json>> events_;
};

}  // namespace weir::test
