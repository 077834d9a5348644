#include <fmt/format.h>

#include "sim/app/output/output_file.h"
#include "sim/app/output/training/training_writers.h"

namespace weir {

void write_training_steps_csv(const std::filesystem::path& path, const FinishedTraining& training) {
  OutputFile file(path);
  file.print("job,step,start_s,end_s,step_ms\n");
  for (std::size_t j = 0; j < training.jobs.size(); ++j) {
    const std::vector<Seconds>& ends = training.jobs[j].run.ends;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const Seconds start = i > 0 ? ends[i - 1] : Seconds(0);
      file.print("{},{},{:.9f},{:.9f},{:.6f}\n", j, i, start.value(), ends[i].value(),
                 1e3 * (ends[i] - start).value());
    }
  }
  file.close();
}

// Chrome's trace events: a process a job, a thread a unit. The first placed steps alone: they repeat.
void write_training_timeline(const std::filesystem::path& path, const FinishedTraining& training) {
  constexpr std::int64_t drawn = 6;
  OutputFile file(path);
  file.print("{{\"traceEvents\":[\n");
  const char* between = "";
  for (std::size_t j = 0; j < training.jobs.size(); ++j) {
    const TrainingJob& job = training.plan.training[j];
    const TrainingStep few = job.first_steps(std::min(job.spec.steps, drawn));
    const StepGraph& graph = few.plan().graph;
    const auto named = [&](const char* what, std::size_t thread, const std::string& name) {
      file.print(R"({}{{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":{}}}}})", between, what,
                 j + 1, thread, Json(name).dump());
      between = ",\n";
    };
    named("process", 0, job.spec.name);
    for (std::size_t u = 0; u < graph.units.size(); ++u) named("thread", u + 1, graph.units[u].name);
    for (const OperatorRecord& record : few.trace()) {
      const auto& op = graph.operators[static_cast<std::size_t>(record.op)];
      const auto& way = op.alternatives[static_cast<std::size_t>(record.alternative)];
      if (record.finish > record.start)
        file.print(
            R"({}{{"ph":"X","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}})",
            between, Json(op.name).dump(), j + 1, way.unit + 1, 1e6 * record.start.value(),
            1e6 * (record.finish - record.start).value(), record.layer);
    }
  }
  file.print("\n]}}\n");
  file.close();
}

}  // namespace weir
