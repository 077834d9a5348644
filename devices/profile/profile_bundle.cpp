#include "devices/profile/profile_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "devices/profile/profile_csv.h"
#include "sim/core/params.h"

namespace weir {
namespace {

using Holds = ProfileColumn::Holds;

void read_layers(const std::filesystem::path& file, const char* rows, LayerTimes& layers,
                 std::vector<Problem>& problems) {
  const std::array<ProfileColumn, 3> columns = {
      {{"layer", Holds::text}, {rows, Holds::number}, {"time_us", Holds::time}}};
  read_profile_table(
      file, columns,
      [&](const ProfileRow& row) {
        layers[std::string(row.text(0))].add(row[1], 1e-6 * row[2]);
        return "";
      },
      problems);
  for (auto& [layer, curve] : layers)
    if (!curve.sort())
      problems.push_back({"", fmt::format("{}: {} is measured twice", file.string(), layer)});
}

template <class Below>
bool sort_all(Axis<Below>& axis) {
  bool unique = true;
  for (auto& below : axis.below)
    if constexpr (std::is_same_v<Below, Curve>)
      unique = below.sort() && unique;
    else
      unique = sort_all(below) && unique;
  return unique;
}

// Limits of alike prompts in one row, as the analytic device counts them one by one.
constexpr double most_prompts = 65536, most_tokens = 1e9;

struct AttentionRow {
  std::size_t table;  // of the heads that it is of
  double prompts, chunk, context, decodes, length, time;
};

// Newer bundles hold several kernels and decodes of several query tokens in one file, and give the mean
// number of keys a prompt token looks back on instead of the tokens before the chunk.
class AttentionReader {
 public:
  AttentionReader(const std::filesystem::path& file, std::vector<AttentionTimes>& tables,
                  std::vector<Problem>& problems)
      : file_(file), tables_(tables), problems_(problems) {}

  void read() {
    const std::size_t before = problems_.size();
    read_profile_table(
        file_, columns, [this](const ProfileRow& row) { return add(row); }, problems_);
    std::ranges::sort(rows_, {}, [](const AttentionRow& r) {
      return std::tuple(r.table, r.prompts, r.chunk, r.context, r.decodes, r.length);
    });
    for (const AttentionRow& row : rows_) fill(tables_[row.table], row);  // a knot goes behind those before
    for (AttentionTimes& of : tables_)
      if (!sort_all(of.decode) || !sort_all(of.mixed)) twice();
    const auto point = [](const AttentionRow& r) { return std::tuple(r.table, r.prompts, r.chunk); };
    for (std::size_t i = 1; i < rows_.size(); ++i)
      if (rows_[i].prompts > 0 && point(rows_[i]) == point(rows_[i - 1])) return twice();
    if (problems_.size() == before && rows_.empty()) tables_.emplace_back();
    for (const AttentionTimes& of : tables_)
      if (problems_.size() == before && !engine_ && (of.decode.knots.empty() || of.mixed.knots.empty()))
        problems_.push_back(
            {"", fmt::format("{}: needs rows of decodes alone and rows with a prefill", file_.string())});
  }

 private:
  static constexpr std::array<ProfileColumn, 13> columns = {{{"prefill_chunk"},
                                                             {"n_decode"},
                                                             {"kv_decode"},
                                                             {"time_us", Holds::time},
                                                             {"kv_prefill", Holds::number, true},
                                                             {"prefill_key", Holds::number, true},
                                                             {"decode_q_len", Holds::number, true},
                                                             {"heads", Holds::count, true},
                                                             {"kv_heads", Holds::count, true},
                                                             {"head_dim", Holds::count, true},
                                                             {"kv_type", Holds::text, true},
                                                             {"prompts", Holds::number, true},
                                                             {"window", Holds::number, true}}};

  void twice() { problems_.push_back({"", fmt::format("{}: a point is measured twice", file_.string())}); }

  std::string add(const ProfileRow& row) {
    const std::size_t given = row.has(7) + row.has(8) + row.has(9) + row.has(10);
    if (given != 0 && given != 4) return "heads, kv_heads, head_dim and kv_type are given together";
    std::optional<MeasuredHeads> heads;
    if (given > 0) {
      const auto type = data_type_named(row.text(10));
      if (!type)
        return fmt::format("kv_type: no such type \"{}\" (known: {})", shortened(row.text(10), 40),
                           data_type_names());
      const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(row[i]); };
      const double window = row.has(12) ? row[12] : 0;
      if (std::fmod(window, 1) > 0 || window > most_tokens)
        return fmt::format("window: expected tokens that a token attends to, or 0, got {}", window);
      heads = MeasuredHeads{whole(7), whole(8), whole(9), *type, static_cast<std::int64_t>(window)};
    }
    const double chunk = row[0], prompts = row.has(11) ? row[11] : 0;
    const double context = std::isnan(row[4]) ? std::max(0.0, row[5] - chunk / 2) : row[4];
    engine_ = engine_ || row.has(11);
    if (row.has(11)) {
      if (!heads) return "prompts needs heads, kv_heads, head_dim and kv_type beside it";
      const bool of_prompts = prompts >= 1 && chunk >= 1 && row[1] == 0;
      const bool of_decodes = prompts == 0 && chunk == 0 && row[1] >= 1;
      if (!(of_prompts || of_decodes) || !(context == 0 || std::isnan(context)))
        return "expected prompts alone, with nothing in the KV cache, or decodes alone";
      if (prompts > most_prompts || chunk > most_tokens)
        return fmt::format("expected at most {} prompts of at most {} tokens", most_prompts, most_tokens);
    }
    if (row[6] > 1) return "";
    rows_.push_back({table_of(heads), prompts, chunk, context, row[1], row[2], 1e-6 * row[3]});
    return "";
  }

  std::size_t table_of(const std::optional<MeasuredHeads>& heads) {
    for (std::size_t i = 0; i < tables_.size(); ++i)
      if (tables_[i].of == heads) return i;
    tables_.emplace_back().of = heads;
    return tables_.size() - 1;
  }

  static void fill(AttentionTimes& to, const AttentionRow& r) {
    if (r.prompts > 0) return to.prompts.push_back({r.prompts, r.chunk, r.time});
    DecodeTimes& at = r.chunk == 0 ? to.decode : to.mixed[r.chunk][r.context];
    at[r.decodes].add(r.length, r.time);
    to.longest_decode = std::max(to.longest_decode, r.length);
    to.longest_context = std::max(to.longest_context, r.context);
  }

  const std::filesystem::path& file_;
  std::vector<AttentionTimes>& tables_;
  std::vector<Problem>& problems_;
  std::vector<AttentionRow> rows_;
  bool engine_ = false;  // there is a column `prompts`
};

void read_experts(const std::filesystem::path& file, ProfileBundle& tables, std::vector<Problem>& problems) {
  static constexpr std::array<ProfileColumn, 4> columns = {
      {{"tokens"}, {"activated_experts"}, {"time_us", Holds::time}, {"ep", Holds::number, true}}};
  std::vector<std::array<double, 3>> rows;
  read_profile_table(
      file, columns,
      [&](const ProfileRow& row) {
        if (!(row[3] > 1)) rows.push_back({row[0], row[1], 1e-6 * row[2]});
        return "";
      },
      problems);
  std::ranges::sort(rows);
  for (const auto& [tokens, experts, time] : rows) tables.experts[tokens].add(experts, time);
  if (!sort_all(tables.experts))
    problems.push_back({"", fmt::format("{}: a point is measured twice", file.string())});
}

// A moe.csv whose rows say of which block of experts they are.
bool of_blocks(const std::filesystem::path& file) {
  try {
    const std::string text = read_text_file(file, most_document_bytes);
    const std::string titles = "," + text.substr(0, text.find_first_of("\r\n")) + ",";
    return titles.find(",hidden,") != std::string::npos;
  } catch (const ConfigError&) {
    return false;  // read_experts tells
  }
}

void read_source(const std::filesystem::path& file, ProfileBundle& tables, std::vector<Problem>& problems) {
  try {
    const Json json = read_json_file(file);
    Reading reading(file.string());
    Params params(reading, json);
    ProfileSource source;
    const auto said = [&](Key key) { return params.required_text(key).value_or(""); };
    source.engine = said({"engine", "Whose kernels were measured: vllm, trtllm, sglang."});
    source.gpu = said({"gpu", "On what: a device's name."});
    source.tp =
        static_cast<int>(params.integer({"tp", "Tensor parallelism of what was measured."}, {1, 1024}));
    source.source = said({"source", "Where the times are from, for people."});
    tables.analytic_where_missing =
        params.choice({"missing", "What the tables lack is refused, or costs as on the analytic device."},
                      {"error", "analytic"}, "error") == "analytic";
    params.close();
    reading.finish();
    tables.source = source;
  } catch (const ConfigError& error) {
    for (const Problem& p : error.problems())
      problems.push_back({"", fmt::format("{}: {}{}{}", shortened(file.string()), p.pointer,
                                          p.pointer.empty() ? "" : ": ", p.what)});
  }
}

}  // namespace

ProfileBundle read_bundle(const std::filesystem::path& folder, std::vector<Problem>& problems) {
  ProfileBundle tables;
  std::size_t found = 0;
  const bool described = std::filesystem::exists(folder / "profile.json");
  if (described) read_source(folder / "profile.json", tables, problems);
  const auto is_there = [&](const char* file, bool required) {
    const bool there = (required && !described) || std::filesystem::exists(folder / file);
    found += there;
    return there;
  };
  if (is_there("dense.csv", true)) read_layers(folder / "dense.csv", "tokens", tables.dense, problems);
  if (is_there("per_sequence.csv", true))
    read_layers(folder / "per_sequence.csv", "sequences", tables.per_sequence, problems);
  if (is_there("attention.csv", true))
    AttentionReader(folder / "attention.csv", tables.attention, problems).read();
  const bool experts = is_there("moe.csv", false);
  if (experts && described && of_blocks(folder / "moe.csv"))
    tables.expert_blocks = read_expert_blocks(folder / "moe.csv", problems);
  else if (experts)
    read_experts(folder / "moe.csv", tables, problems);
  if (described && is_there("gemm.csv", false)) tables.gemms = read_gemms(folder / "gemm.csv", problems);
  if (described && is_there("mla.csv", false))
    tables.latent_attention_rows = check_latent_attention(folder / "mla.csv", problems);
  if (found == 0) problems.push_back({"", fmt::format("{} has no tables", shortened(folder.string()))});
  return tables;
}

}  // namespace weir
