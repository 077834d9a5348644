#include "sim/app/explore/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>

#include "sim/app/explore/connection.h"
#include "sim/app/explore/guard.h"
#include "sim/app/explore/page.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds breath(100);  // how often a waiting answer looks whether to go on

std::vector<std::string> given(const httplib::Request& request, const char* header) {
  std::vector<std::string> values;
  for (auto [at, end] = request.headers.equal_range(header); at != end; ++at) values.push_back(at->second);
  return values;
}

Asked asked(const httplib::Request& request) {
  return {.method = request.method,
          .path = request.target,  // as it was sent: nothing in it is decoded
          .hosts = given(request, "Host"),
          .origins = given(request, "Origin"),
          .fetch_sites = given(request, "Sec-Fetch-Site"),
          .content_types = given(request, "Content-Type"),
          .content_lengths = given(request, "Content-Length"),
          .transfer_encoded = request.has_header("Transfer-Encoding"),
          .content_encoded = request.has_header("Content-Encoding")};
}

void answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain");
}

// Scripts of the page's own alone, and requests to this server alone: whatever a catalog or a scenario may
// have in it, nothing of it leaves this machine.
httplib::Headers headers(const std::string& nonce) {
  return {{"Content-Security-Policy",
           fmt::format("default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; img-src data:; "
                       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                       nonce)},
          {"Cache-Control", "no-store"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"}};
}

class PageServer final : public httplib::Server {
 public:
  Connections connections;

 private:
  // One request a connection: what is refused before its body was read cannot be taken for another request.
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(connections, socket);
    bool closed = false;
    return process_request(connection, true, closed, nullptr);
  }
};

}  // namespace

struct ExploreServer::Running {
  Running(const Explored& what, Runs& where)
      : explored(what),
        runs(where),
        token(random_token()),
        nonce(random_token()),
        page(explore_page(what, nonce)) {}

  void listen(int port);
  void run(const httplib::Request& request, httplib::Response& response);
  bool write_lines(std::int32_t job, httplib::DataSink& sink);

  const Explored& explored;
  Runs& runs;
  const std::string token, nonce, page;
  std::string address;
  int port = 0;
  std::atomic<bool> ending = false;
  PageServer server;
  std::thread thread;
};

// Lines as they come. Nothing more to say, or nobody to say it to: the job ends.
bool ExploreServer::Running::write_lines(std::int32_t job, httplib::DataSink& sink) {
  while (!ending && sink.is_writable()) {
    const std::optional<Runs::Line> line = runs.next(job, breath);
    if (!line) continue;
    const std::string text = line->text + "\n";
    if (!sink.write(text.data(), text.size())) break;
    if (line->last) sink.done();
    return true;
  }
  runs.stop(job);
  return false;
}

void ExploreServer::Running::run(const httplib::Request& request, httplib::Response& response) {
  std::int32_t job = 0;
  try {
    const Json body = parse_json(request.body, "request");
    if (!body.is_object() || !body.contains("page") || !body["page"].is_string() || !body.contains("changes"))
      return answer(response, 400, R"(expected {"page": "...", "changes": [...]})");
    job = runs.start(body["page"], changed(explored, body["changes"]));
  } catch (const ConfigError& error) {
    return answer(response, 400, error.what());
  }
  response.set_chunked_content_provider(
      "application/x-ndjson",
      [this, job](std::size_t, httplib::DataSink& sink) { return write_lines(job, sink); },
      [this, job](bool) { runs.stop(job); });
}

void ExploreServer::Running::listen(int wanted) {
  server.set_payload_max_length(most_body_bytes);
  server.set_tcp_nodelay(true);
  server.set_default_headers(headers(nonce));
  server.new_task_queue = [] { return new httplib::ThreadPool(16); };
  server.set_socket_options([](socket_t socket) {  // httplib's own would share the port with others
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    const auto refusal = refused(asked(request), token, port);
    if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
    answer(response, refusal->status, refusal->why);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/" + token + "/", [this](const httplib::Request&, httplib::Response& response) {
    // A provider, as httplib compresses content: a third of a second for what no network carries.
    response.set_content_provider(page.size(), "text/html; charset=utf-8",
                                  [this](std::size_t from, std::size_t size, httplib::DataSink& sink) {
                                    return sink.write(page.data() + from, size);
                                  });
  });
  server.Post("/" + token + "/run", [this](const httplib::Request& request, httplib::Response& response) {
    run(request, response);
  });
  constexpr const char* here = "127.0.0.1";
  port = wanted == 0 ? server.bind_to_any_port(here) : server.bind_to_port(here, wanted) ? wanted : -1;
  if (port <= 0)
    throw ConfigError(
        "--port", "",
        wanted == 0 ? "cannot listen on 127.0.0.1"
                    : fmt::format("cannot listen on 127.0.0.1:{}: it is taken, or not for you", wanted));
  address = fmt::format("http://{}:{}/{}/", here, port, token);
  thread = std::thread([this] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();  // before that, stop() would be without effect
}

ExploreServer::ExploreServer(const Explored& explored, Runs& runs, int port)
    : running_(std::make_unique<Running>(explored, runs)) {
  running_->listen(port);
}

ExploreServer::~ExploreServer() {
  running_->ending = true;
  running_->server.connections.close_all();
  running_->server.stop();
  running_->thread.join();
}

const std::string& ExploreServer::address() const {
  return running_->address;
}

}  // namespace weir
