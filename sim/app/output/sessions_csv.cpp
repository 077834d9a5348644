// Beside requests.csv, whose columns are those of any run: which turn of which session each request is.
#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {

void write_sessions_csv(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  file.text("request_id,session_id,turn,measured\n");
  const Sessions& sessions = *result.sessions;
  for (std::int32_t i = 0; i < sessions.requests(); ++i) {
    file.print("{},{},{},{}\n", i, csv_text(sessions.name(i)), sessions.turn(i),
               is_measured(result.requests[static_cast<std::size_t>(i)]) ? 1 : 0);
  }
  file.close();
}

}  // namespace weir
