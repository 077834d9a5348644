#include "sim/app/results/store.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>

#include "sim/app/results/sqlite.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t application_id = 0x57656972;  // "Weir"; SQLite keeps it at byte 68 of the file

constexpr const char* schema = R"sql(
CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE points (
  point INTEGER PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
  error TEXT NOT NULL,
  varied TEXT NOT NULL,
  version TEXT NOT NULL,
  summary TEXT,
  given TEXT,
  seed INTEGER AS (coalesce(json_extract(summary, '$.scenario.seed'), json_extract(given, '$.seed'))),
  scenario TEXT AS (coalesce(json_extract(summary, '$.scenario'), given))
);
CREATE TABLE costs (point INTEGER PRIMARY KEY, wall_s REAL, cpu_s REAL, peak_rss_bytes INTEGER);
)sql";

std::string dumped(const Json& json) {  // a text may hold bytes that are not UTF-8: an error's, say
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string legible(const std::string& text) {
  return Json::parse(dumped(text)).get<std::string>();
}

std::map<std::string, std::string> facts(const Sweep& sweep) {
  return {{"name", sweep.name},
          {"varied", dumped(sweep.varied)},
          {"resolved", dumped(sweep.resolved)},
          {"points", std::to_string(sweep.points.size())},
          {"fingerprint", fingerprint(sweep)},
          {"version", WEIR_VERSION}};
}

std::map<std::string, std::string> facts(const Database& database) {
  std::map<std::string, std::string> found;
  Statement rows(database, "SELECT key, value FROM sweep");
  while (rows.step()) found[rows.text(0)] = rows.text(1);
  return found;
}

std::string to_json(const Varied& varied) {
  Json object = Json::object();
  for (const auto& [pointer, value] : varied) object[pointer] = value;
  return dumped(object);
}

}  // namespace

std::string fingerprint(const Sweep& sweep) {  // FNV-1a
  std::uint64_t hash = 14695981039346656037u;
  for (const Point& point : sweep.points)
    for (const char c : dumped(point.scenario))
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

struct ResultStore::Connection {
  explicit Connection(const fs::path& file)
      : database(file, Database::Access::write),
        point(database,
              "INSERT OR REPLACE INTO points (point, status, error, varied, version, summary, given) "
              "VALUES (?, ?, ?, ?, ?, ?, ?)"),
        costs(database, "INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?)") {}
  Database database;
  Statement point, costs;
};

void ResultStore::create(const fs::path& file, const Sweep& sweep) {
  Database database(file, Database::Access::create);
  database.run("BEGIN");
  database.run(fmt::format("PRAGMA application_id = {}", application_id));
  database.run(schema);
  Statement insert(database, "INSERT INTO sweep VALUES (?, ?)");
  for (const auto& [key, value] : facts(sweep)) {
    insert.bind(key).bind(value).step();
    insert.reset();
  }
  database.run("COMMIT");
}

ResultStore::ResultStore(const fs::path& file, const Sweep& sweep)
    : synced_(std::chrono::steady_clock::now()) {
  connection_ = std::make_unique<Connection>(file);
  const auto ours = facts(sweep), theirs = facts(connection_->database);
  for (const auto& [key, value] : ours) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || found->second != value)
      throw ConfigError(
          file.string(), "",
          fmt::format("holds the results of another sweep: its {} differs. Run without --resume "
                      "to replace them, or choose another directory",
                      key == "resolved"      ? "sweep file"
                      : key == "fingerprint" ? "scenario"
                                             : key));
  }
  connection_->database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
}

ResultStore::~ResultStore() {
  connection_->point.reset();
  connection_->costs.reset();
  try {  // one file, readable where nothing can be written beside it; somebody who reads now keeps the log
    connection_->database.run("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
  } catch (const std::runtime_error&) {
  }
}

std::vector<bool> ResultStore::done() const {
  std::vector<bool> done;
  Statement rows(connection_->database, "SELECT point FROM points WHERE status = 'done' ORDER BY point");
  while (rows.step()) {
    const auto index = static_cast<std::size_t>(rows.integer(0));
    done.resize(index + 1);
    done[index] = true;
  }
  return done;
}

void ResultStore::put(const Point& point, const EndedPoint& result) {
  Connection& c = *connection_;
  const bool failed = !result.error.empty();
  const std::string varied = to_json(point.varied), error = legible(result.error),
                    given = failed ? dumped(point.scenario) : "";
  c.database.run("BEGIN IMMEDIATE");
  c.point.reset();
  c.point.bind(point.index).bind(std::string_view(failed ? "failed" : "done")).bind(error).bind(varied);
  c.point.bind(std::string_view(WEIR_VERSION));
  failed ? c.point.bind_null().bind(given) : c.point.bind(result.summary).bind_null();
  c.point.step();
  c.costs.reset();
  c.costs.bind(point.index).bind(result.wall_s).bind(result.cpu_s).bind(result.peak_rss_bytes).step();
  c.point.reset();
  c.costs.reset();
  c.database.run("COMMIT");
  if (const auto now = std::chrono::steady_clock::now(); now - synced_ > std::chrono::seconds(1)) {
    c.database.sync();
    synced_ = now;
  }
}

void ResultStore::update_summaries(const std::vector<PointResult>& points) {
  Connection& c = *connection_;
  c.database.run("BEGIN IMMEDIATE");
  Statement update(c.database, "UPDATE points SET summary = ? WHERE point = ? AND status = 'done'");
  for (const PointResult& point : points) {
    if (point.status != "done") continue;
    const std::string summary = dumped(point.summary);
    update.bind(summary).bind(point.index).step();
    update.reset();
  }
  c.database.run("COMMIT");
}

bool is_store(const fs::path& file) {
  std::array<unsigned char, 72> head{};
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(head.data()), head.size());
  const auto id = std::uint32_t{head[68]} << 24 | std::uint32_t{head[69]} << 16 |
                  std::uint32_t{head[70]} << 8 | std::uint32_t{head[71]};
  return std::equal(head.begin(), head.begin() + 16, "SQLite format 3") && id == application_id;
}

ResultSet read_store(const fs::path& file) {
  if (!is_store(file)) throw ConfigError(file.string(), "", "is not the results of weir sweep");
  const Database database(file, Database::Access::read);
  auto known = facts(database);
  ResultSet results;
  results.directory = file.parent_path();
  results.sweep = true;
  results.name = known["name"];
  results.varied = parse_json(known["varied"], file.string()).get<std::vector<std::string>>();
  Statement rows(database, "SELECT point, status, error, varied, summary FROM points ORDER BY point");
  while (rows.step()) {
    PointResult point;
    point.index = rows.integer(0);
    point.status = rows.text(1);
    point.error = rows.text(2);
    const Json varied = parse_json(rows.text(3), file.string());
    for (const auto& [pointer, value] : varied.items()) point.varied.emplace_back(pointer, value);
    if (point.status == "done") point.summary = Json::parse(rows.text(4));
    results.points.push_back(std::move(point));
  }
  return results;
}

}  // namespace weir
