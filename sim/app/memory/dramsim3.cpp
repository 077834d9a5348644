// The keys and their meaning are those of src/configuration.cc of umd-memsys/DRAMsim3 (29817593), whose
// controller the bank model follows.
#include "sim/app/memory/dramsim3.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "models/memory/memory_row.h"

namespace weir {
namespace {

using Ini = std::map<std::string, std::string>;

std::string without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") + 1 - first));
}

Ini read_ini(std::string_view text) {
  Ini values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, std::min(text.find_first_of("#;"), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto equals = line.find('='); equals != line.npos)
      values[without_blanks(line.substr(0, equals))] = without_blanks(line.substr(equals + 1));
  }
  return values;
}

class Configuration {
 public:
  explicit Configuration(const std::filesystem::path& file)
      : file_(file.string()), ini_(read_ini(read_text_file(file))) {}

  MemorySpec read() {
    const std::string protocol = text("protocol", "");
    const double bits_a_clock = protocol == "GDDR5" ? 4 : protocol == "GDDR5X" ? 8 : 2;
    if (protocol != "DDR3" && protocol != "DDR4" && protocol != "LPDDR3" && protocol != "LPDDR4" &&
        protocol != "GDDR5" && protocol != "GDDR5X" && protocol != "HBM" && protocol != "HBM2")
      wrong("protocol", "expected DDR3, DDR4, LPDDR3, LPDDR4, GDDR5, GDDR5X, HBM or HBM2");
    const bool hbm = protocol.starts_with("HBM");
    only("channels", 1, 1, "one channel: weir memory plays one at a time");
    only("AL", 0, 0, "no additive latency");
    word("queue_structure", "PER_BANK");
    const double width = size("device_width"), burst = size("BL"), bus = size("bus_width");
    const double groups = size("bankgroups"), banks = size("banks_per_group"), rows = size("rows");
    const double columns = size("columns"), channel_bytes = (1 << 20) * size("channel_size");
    if (!problems_.empty()) finish();
    const double devices = bus / width, row_bytes = columns * width / 8 * devices;
    const double rank_bytes = row_bytes * rows * groups * banks;
    if (!is_whole(devices)) wrong("device_width", "expected a divisor of bus_width");
    if (!is_whole(channel_bytes / rank_bytes))
      wrong("channel_size",
            fmt::format("expected a multiple of the {:g} MB of a rank", rank_bytes / (1 << 20)));
    Json row = {{"name", std::filesystem::path(file_).stem().string()},
                {"title", protocol + ", a configuration of DRAMsim3"},
                {"clock_ns", number("tCK")}};
    const auto put = [&](const char* key, double value) { row[key] = static_cast<std::int64_t>(value); };
    put("ranks", channel_bytes / rank_bytes);
    put("bank_groups", groups);
    put("banks_per_group", banks);
    put("rows", rows);
    put("row_bytes", row_bytes);
    put("access_bytes", bus / 8 * burst);
    row["address_mapping"] = mapping();
    put("burst_ck", burst / bits_a_clock);
    for (const auto& [key, theirs] : {std::pair("cl_ck", "CL"),
                                      {"cwl_ck", "CWL"},
                                      {"rp_ck", "tRP"},
                                      {"ras_ck", "tRAS"},
                                      {"rrd_s_ck", "tRRD_S"},
                                      {"rrd_l_ck", "tRRD_L"},
                                      {"faw_ck", "tFAW"},
                                      {"ccd_s_ck", "tCCD_S"},
                                      {"ccd_l_ck", "tCCD_L"},
                                      {"ccd_wr_l_ck", "tCCD_L"},
                                      {"wtr_s_ck", "tWTR_S"},
                                      {"wtr_l_ck", "tWTR_L"},
                                      {"wr_ck", "tWR"},
                                      {"rtp_ck", "tRTP"},
                                      {"refi_ck", "tREFI"},
                                      {"rfc_ck", "tRFC"}})
      put(key, whole(theirs));
    put("rcd_rd_ck", whole(ini_.contains("tRCDRD") ? "tRCDRD" : "tRCD"));
    put("rcd_wr_ck", whole(ini_.contains("tRCDWR") ? "tRCDWR" : "tRCD"));
    put("rtrs_ck", ini_.contains("tRTRS") ? whole("tRTRS") : 2);  // its default
    put("ppd_ck", ini_.contains("tPPD") ? whole("tPPD") : 0);
    put("bank_queue_entries", whole("cmd_queue_size"));
    put("read_queue_entries", whole("trans_queue_size"));
    put("write_queue_entries", whole("trans_queue_size"));
    put("row_hit_cap", 4);  // command_queue.cc, and so many writes in controller.cc
    put("drain_above", 8);
    row["two_commands_a_cycle"] = hbm && text("hbm_dual_cmd", "True") != "False";
    row["unified_queue"] = text("unified_queue", "False") == "True";
    row["page"] = text("row_buf_policy", "OPEN_PAGE") == "CLOSE_PAGE" ? "closed" : "open";
    for (const auto& [key, theirs] : {std::pair("vdd_v", "VDD"),
                                      {"idd0_ma", "IDD0"},
                                      {"idd2n_ma", "IDD2N"},
                                      {"idd3n_ma", "IDD3N"},
                                      {"idd4r_ma", "IDD4R"},
                                      {"idd4w_ma", "IDD4W"},
                                      {"idd5_ma", "IDD5AB"}})
      row[key] = number(theirs);
    put("devices", devices);
    if (!problems_.empty()) finish();
    try {
      return memory_of(row);
    } catch (const ConfigError& e) {
      throw ConfigError(file_, e.problems());
    }
  }

 private:
  [[noreturn]] void finish() {
    problems_.push_back(
        {"",
         "is a configuration of DRAMsim3 that is not read as it is: `weir list memories ddr4_3200_l3 "
         "--json` shows the keys of Weir's own, which a JSON file may give over a `base`"});
    throw ConfigError(file_, std::move(problems_));
  }

  void wrong(const std::string& key, const std::string& expected) {
    problems_.push_back({key, fmt::format("{}, got {}", expected, shortened(text(key.c_str(), "nothing")))});
  }

  std::string text(const char* key, const char* otherwise) const {
    const auto at = ini_.find(key);
    return at == ini_.end() ? otherwise : at->second;
  }

  static bool is_whole(double value) { return value == std::floor(value); }

  double number(const char* key) { return number_from(0, key, false); }
  double whole(const char* key) { return number_from(0, key, true); }
  double size(const char* key) { return number_from(1, key, true); }
  double number_from(double least, const char* key, bool whole) {
    const std::string text = this->text(key, "");
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= 1e9 &&
        (!whole || is_whole(value)))
      return value;
    if (reported_.insert(key).second)
      wrong(key, fmt::format("expected a {}number from {} to 1e9", whole ? "whole " : "", least));
    return 1;
  }

  void only(const char* key, double value, double otherwise, const char* expected) {
    if ((ini_.contains(key) ? number(key) : otherwise) != value)
      wrong(key, std::string("expected ") + expected);
  }

  void word(const char* key, const char* value) {
    if (text(key, value) != value) wrong(key, std::string("expected ") + value);
  }

  // "rochrababgco", two letters a field, most significant first.
  std::string mapping() {
    const std::string letters = text("address_mapping", "");
    const std::map<std::string, std::string> fields = {{"ro", "row"},  {"ra", "rank"},   {"bg", "bank_group"},
                                                       {"ba", "bank"}, {"co", "column"}, {"ch", ""}};
    std::string words;
    bool known = letters.size() == 12;
    for (std::size_t i = 0; known && i < letters.size(); i += 2) {
      const auto at = fields.find(letters.substr(i, 2));
      known = at != fields.end();
      if (known && !at->second.empty()) words += (words.empty() ? "" : " ") + at->second;
    }
    if (!known) wrong("address_mapping", "expected ch, ra, bg, ba, ro and co in some order");
    return words;
  }

  std::string file_;
  Ini ini_;
  std::vector<Problem> problems_;
  std::set<std::string> reported_;
};

}  // namespace

bool is_dramsim3(const std::filesystem::path& file) {
  return file.extension() == ".ini";
}

MemorySpec read_dramsim3(const std::filesystem::path& file) {
  return Configuration(file).read();
}

}  // namespace weir
