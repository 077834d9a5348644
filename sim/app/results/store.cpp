#include "sim/app/results/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "sim/app/interruption.h"
#include "sim/app/results/sqlite.h"
#include "sim/core/json/bounded_json.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

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

std::string legible(const std::string& text) {
  return Json::parse(dumped(text)).get<std::string>();
}

using Facts = std::map<std::string, std::string>;

Facts identity(const SweepRecord& sweep) {
  Facts facts = sweep.identity;
  facts["varied"] = dumped(sweep.varied);
  facts["points"] = std::to_string(sweep.points);
  facts["version"] = WEIR_VERSION;
  return facts;
}

Facts description(const SweepRecord& sweep) {
  return {{"name", sweep.name}, {"resolved", dumped(sweep.resolved)}};
}

void put(const Database& database, const Facts& facts) {
  Statement insert(database, "INSERT OR REPLACE INTO sweep VALUES (?, ?)");
  for (const auto& [key, value] : facts) {
    insert.bind(key).bind(value).step();
    insert.reset();
  }
}

Facts facts(const Database& database) {
  Facts found;
  Statement rows(database, "SELECT key, value FROM sweep");
  while (rows.step()) found[rows.text(0)] = rows.text(1);
  return found;
}

// A damaged store is reported with its file's name: it is no internal error.
Json stored_json(const Database& database, const std::string& text, const std::string& what) {
  try {
    return parse_bounded<Json>(text);
  } catch (const Json::exception&) {
  } catch (const TooDeep&) {
  }
  throw ConfigError(database.file(), "",
                    fmt::format("is damaged: {} is no JSON. Run the sweep anew, without --resume", what));
}

std::string to_json(const Varied& varied) {
  Json object = Json::object();
  for (const auto& [pointer, value] : varied) object[pointer] = value;
  return dumped(object);
}

}  // namespace

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

void ResultStore::create(const fs::path& file, const SweepRecord& sweep) {
  Database database(file, Database::Access::create);
  database.run("BEGIN");
  database.run(fmt::format("PRAGMA application_id = {}", store_application_id));
  database.run(schema);
  weir::put(database, identity(sweep));
  weir::put(database, description(sweep));
  database.run("COMMIT");
}

ResultStore::ResultStore(const fs::path& file, const SweepRecord& sweep)
    : synced_(std::chrono::steady_clock::now()) {
  connection_ = std::make_unique<Connection>(file);
  const Facts theirs = facts(connection_->database);
  for (const auto& [key, value] : identity(sweep)) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || found->second != value)
      throw ConfigError(
          file.string(), "",
          fmt::format("holds the results of another sweep: its {} differs. Run without --resume "
                      "to replace them, or choose another directory",
                      key));
  }
  connection_->database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  weir::put(connection_->database, description(sweep));
}

ResultStore::~ResultStore() {
  connection_->point.reset();
  connection_->costs.reset();
  try {  // one file, readable where nothing can be written beside it; somebody who reads now keeps the log
    connection_->database.run("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
  } catch (const std::exception&) {  // the log beside it holds the same
    return;
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

void ResultStore::put(const Point& point, const EndedPoint& result, const Json& scenario) {
  Connection& c = *connection_;
  const bool failed = !result.error.empty();
  const std::string varied = to_json(point.varied), error = legible(result.error),
                    given = failed ? dumped(scenario) : "";
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

void ResultStore::do_without(std::size_t points) {
  weir::put(connection_->database, {{"without", std::to_string(points)}});
}

void ResultStore::add_columns(const std::vector<PointResult>& points,
                              const std::vector<std::string>& columns) {
  Connection& c = *connection_;
  c.database.run("BEGIN IMMEDIATE");
  Statement find(c.database, "SELECT summary FROM points WHERE point = ? AND status = 'done'");
  Statement update(c.database, "UPDATE points SET summary = ? WHERE point = ?");
  for (const PointResult& point : points) {
    if (find.bind(point.index).step()) {
      Json summary =
          stored_json(c.database, find.text(0), fmt::format("the summary of point {}", point.index));
      for (const std::string& column : columns)
        if (point.summary.contains(column)) summary[column] = point.summary[column];
      const std::string text = dumped(summary);
      update.bind(text).bind(point.index).step();
      update.reset();
    }
    find.reset();
  }
  c.database.run("COMMIT");
}

namespace {

void each_point(const Database& database, const std::function<void(PointResult)>& take) {
  Statement rows(database, "SELECT point, status, error, varied, summary FROM points ORDER BY point");
  while (rows.step()) {
    Interruption::check();  // thousands of points take seconds
    PointResult point;
    point.index = rows.integer(0);
    point.status = rows.text(1);
    point.error = rows.text(2);
    const Json varied =
        stored_json(database, rows.text(3), fmt::format("what varies at point {}", point.index));
    point.varied.reserve(varied.size());
    for (const auto& [pointer, value] : varied.items()) point.varied.emplace_back(pointer, value);
    if (point.status == "done")
      point.summary =
          stored_json(database, rows.text(4), fmt::format("the summary of point {}", point.index));
    if (!varied.is_object() || (point.status == "done" && !point.summary.is_object()))
      throw ConfigError(database.file(), "",
                        fmt::format("is damaged: point {} is no object. Run the sweep anew, without --resume",
                                    point.index));
    take(std::move(point));
  }
}

bool is_ours(const Database& database) {
  Statement id(database, "PRAGMA application_id");
  return id.step() && static_cast<std::uint32_t>(id.integer(0)) == store_application_id;
}

// is_store() is asked last: the file must not be opened and closed beside SQLite where this process writes to
// it, as its locks would go with that, and whoever reads next would remove the log.
Database opened(const fs::path& file) try {
  Database database(file, Database::Access::read);
  if (is_ours(database)) return database;
  throw std::runtime_error(file.string());
} catch (const std::runtime_error&) {
  if (!is_store(file)) throw ConfigError(file.string(), "", "is not the results of weir sweep");
  throw;
}

ResultSet read_store(const fs::path& file, const std::function<Json(Json)>& kept) {
  const Database database = opened(file);
  Facts known = facts(database);
  ResultSet results;
  results.directory = file.parent_path();
  results.sweep = true;
  results.name = known["name"];
  const Json varied = stored_json(database, known["varied"], "what varies");
  if (!varied.is_array() || !std::ranges::all_of(varied, [](const Json& v) { return v.is_string(); }))
    throw ConfigError(file.string(), "", "is damaged: what varies is no list of pointers");
  results.varied = varied.get<std::vector<std::string>>();
  results.resolved = stored_json(database, known["resolved"], "the sweep");
  each_point(database, [&](PointResult point) {
    if (point.status == "done") point.summary = kept(std::move(point.summary));
    results.points.push_back(std::move(point));
  });
  const std::size_t planned = std::strtoull(known["points"].c_str(), nullptr, 10) -
                              std::strtoull(known["without"].c_str(), nullptr, 10);
  results.missing = planned - std::min(planned, results.points.size());
  return results;
}

}  // namespace

void each_point(const fs::path& file, const std::function<void(PointResult)>& take) {
  each_point(opened(file), take);
}

ResultSet read_store(const fs::path& file) {
  return read_store(file, [](Json summary) { return summary; });
}

ResultSet read_store(const fs::path& file, const std::vector<std::string>& metrics) {
  return read_store(file, [&](const Json& summary) {
    Json kept = Json::object();
    for (const auto& [name, value] : scalar_metrics(summary))
      if (std::find(metrics.begin(), metrics.end(), name) != metrics.end()) kept[name] = value;
    return kept;
  });
}

}  // namespace weir
