#pragma once
// Where requests come from: `requests` of a workload. An object of this room holds what the scenario says;
// nothing is opened or drawn before draw(), so that a scenario can be described without its files.
#include <functional>

#include "sim/core/catalog.h"
#include "workloads/traces/trace.h"

namespace weir {

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Throws ConfigError whose pointers are keys of `requests`.
  virtual Trace draw(std::uint64_t seed) const = 0;
};

const Catalog<RequestSource>& request_sources();

// Requests of a file: its keys `file`, `count`, `start_s`, `duration_s`. Arrivals are moved by up to
// `tick_spread_s`.
using TraceReader = std::function<Trace(std::string_view text, const std::string& file)>;
std::string read_trace_text(const std::filesystem::path& path);  // throws ConfigError
// The same whose pointers are `file`.
Trace read_trace(const std::filesystem::path& path, const TraceReader& read);
std::shared_ptr<const RequestSource> trace_file(Params& params, TraceReader read, double tick_spread_s = 0);

// Of a sessions file: its keys `file` and `count`.
std::shared_ptr<const RequestSource> make_sessions_file(Params& params);

// Requests of the user's own files (own_files.cpp): a CSV of any columns, and JSON Lines.
std::shared_ptr<const RequestSource> make_columns(Params& params);
std::shared_ptr<const RequestSource> make_jsonl(Params& params);

// Requests that are drawn, `count` of them.
std::shared_ptr<const RequestSource> make_fixed(Params& params);
std::shared_ptr<const RequestSource> make_uniform(Params& params);
std::shared_ptr<const RequestSource> make_lognormal(Params& params);
std::shared_ptr<const RequestSource> make_gamma(Params& params);
std::shared_ptr<const RequestSource> make_named(Params& params);
std::shared_ptr<const RequestSource> make_generated_sessions(Params& params);

}  // namespace weir
