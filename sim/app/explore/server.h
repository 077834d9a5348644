#pragma once
// The page's web server, on 127.0.0.1 alone. It reads no file: the page is text in memory, and runs are the
// worker's.
#include <memory>
#include <string>

#include "sim/app/explore/explored.h"
#include "sim/app/explore/runs.h"

namespace weir {

class ExploreServer {
 public:
  // Listens from here on, and answers. Port 0: any that is free. Throws ConfigError for one that is not.
  ExploreServer(const Explored& explored, Runs& runs, int port);
  ~ExploreServer();  // ends what it is answering

  const std::string& address() const;  // the token in it

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace weir
