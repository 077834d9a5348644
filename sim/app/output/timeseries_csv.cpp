#include <cctype>

#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {

std::string column_name(const std::string& name) {
  std::string column;
  for (const char c : name) column += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return column;
}

void write_timeseries_csv(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  file.text("time_s,running,waiting,kv_blocks_used,output_tokens_per_s");
  for (const DeviceUsage& usage : result.devices) file.print(",{}_utilisation", column_name(usage.name));
  for (const DeviceUsage& usage : result.devices) file.print(",{}_link_utilisation", column_name(usage.name));
  for (const LinkUsage& link : result.links) file.print(",{}_utilisation", column_name(link.name));
  file.line_done();
  for (const Sample& s : result.samples) {
    fmt::memory_buffer& line = file.buffer();
    append_fixed(line, s.time.value(), 6);
    const auto cell = [&](double value, int decimals) {
      line.push_back(',');
      append_fixed(line, value, decimals);
    };
    cell(s.running, 3);
    cell(s.waiting, 3);
    cell(s.kv_blocks, 3);
    cell(s.tokens_per_s, 3);
    for (const double utilisation : s.device_utilisation) cell(utilisation, 4);
    for (const double utilisation : s.link_utilisation) cell(utilisation, 4);
    for (const double utilisation : s.flow_utilisation) cell(utilisation, 4);
    file.line_done();
  }
  file.close();
}

}  // namespace weir
