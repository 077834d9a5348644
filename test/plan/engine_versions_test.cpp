// Which version of an engine is in force, and what servers of versions took.
#include <catch2/catch.hpp>

#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

struct ReadEngine {
  EngineOverhead engine;
  std::vector<std::string> notes;
  Json resolved;
};

ReadEngine engine_of(const Json& json, const Calibration& calibration = {}) {
  Reading reading("s.json");
  Params params(reading, json);
  const EngineOverhead engine = read_engine(params, calibration);
  reading.finish();
  return {engine, reading.notes(), reading.resolved};
}

std::string error_of(const Json& json, const Calibration& calibration = {}) {
  try {
    engine_of(json, calibration);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("engine versions: none is the newest known, and names of before mean their versions") {
  const EngineOverhead newest = engine_of(Json::object()).engine;
  CHECK(newest.kind == "vllm");
  CHECK(newest.version == "0.19");
  for (const char* name : {"vllm", "vllm_v1"}) {
    const EngineOverhead engine = engine_of({{"kind", name}}).engine;
    CHECK(engine.kind == "vllm");
    CHECK(engine.version == newest.version);
    CHECK(engine.overlapped);
  }
  const EngineOverhead old = engine_of({{"kind", "vllm_v0"}}).engine;
  CHECK(old.kind == "vllm");
  CHECK(old.version == "0.4");
  CHECK(old.graphs.sizes == CudaGraphs::Sizes::none);
  CHECK(engine_of({{"kind", "ideal"}}).engine.version.empty());
}

TEST_CASE("engine versions: asynchronous scheduling is on from the version that has it by default") {
  const auto is_on = [](const char* kind, const char* version) {
    return engine_of({{"kind", kind}, {"version", version}}).engine.overlapped;
  };
  CHECK_FALSE(is_on("vllm", "0.13.9"));
  CHECK(is_on("vllm", "0.14"));
  CHECK(is_on("vllm", "0.15"));
  CHECK(is_on("vllm", "v0.14.0rc1"));
  CHECK_FALSE(is_on("sglang", "0.3.6"));
  CHECK(is_on("sglang", "0.4.6.post2"));
  CHECK_FALSE(
      engine_of({{"kind", "vllm"}, {"version", "0.15"}, {"async_scheduling", false}}).engine.overlapped);
}

TEST_CASE("engine versions: a row has what rows before it changed") {
  const auto of = [](const char* version) {
    return engine_of({{"kind", "vllm"}, {"version", version}}).engine;
  };
  CHECK(of("0.4.3").graphs.sizes == CudaGraphs::Sizes::none);
  CHECK(of("0.5.4").graphs.sizes == CudaGraphs::Sizes::padded);
  CHECK_FALSE(of("0.7.2").graphs.prompts);
  CHECK_FALSE(of("0.7.2").pipelined_chunks);
  CHECK(of("0.7.2").per_prompt == Seconds(0));
  CHECK(of("0.8.0").graphs.prompts);
  CHECK(of("0.8.0").graphs.most_rows == 512);
  CHECK(of("0.8.0").per_step.value() == Approx(500e-6));
  CHECK(of("0.19").per_step == of("0.8.0").per_step);
  CHECK(of("0.19").workers_per_sequence.value() == Approx(27e-6));
}

TEST_CASE("engine versions: messages to workers are counted in rounds") {
  const auto step_us = [](const char* version, int devices) {
    const EngineOverhead engine = engine_of({{"kind", "vllm"}, {"version", version}}).engine;
    return 1e6 * engine.on(devices).per_step.value();
  };
  CHECK(step_us("0.5.4", 1) == Approx(6700));
  CHECK(step_us("0.5.4", 8) == Approx(6700 + 7 * 8000));  // one after another
  CHECK(step_us("0.7.2", 2) == Approx(1440 + 1575));
  CHECK(step_us("0.7.2", 8) == Approx(1440 + 3 * 1575));  // in a tree
  CHECK(step_us("0.8", 8) == Approx(500));
}

TEST_CASE("engine versions: one outside of every range is an error that lists them") {
  for (const char* version : {"0.1", "0.1.7", "zero", "", "0", "15", "0.10; rm", "0.15-", "-1.2"}) {
    INFO(version);
    const std::string error = error_of({{"kind", "vllm"}, {"version", version}});
    CHECK(has_text(error, "/version"));
    CHECK(has_text(error,
                   "0.2 to 0.4, 0.5, 0.6 to 0.7, 0.8 to 0.11.0, 0.11.1 to 0.13, 0.14 to 0.15, 0.16 to 0.19"));
  }
  // 0.10 would be 0.1. It is told once.
  CHECK(error_of({{"kind", "vllm"}, {"version", 0.15}}) == "s.json: /version: expected a string, got 0.15");
  CHECK(has_text(error_of({{"kind", "ideal"}, {"version", "1.0"}}), "no versions"));
  CHECK(has_text(error_of({{"kind", "trtllm"}, {"version", "0.17"}}), "1.0 to 1.2"));
  CHECK(has_text(error_of({{"kind", "vllm_v0"}, {"version", "0.5"}}), "0.2 to 0.4"));
  CHECK(has_text(error_of({{"kind", "vllm_v1"}, {"version", "0.7"}}), "/version"));
  CHECK(error_of({{"kind", "vllm_v1"}, {"version", "0.10.2"}}).empty());
}

TEST_CASE("engine versions: a newer one is noted and taken for the newest known") {
  const ReadEngine newer = engine_of({{"kind", "vllm"}, {"version", "0.27.1"}});
  REQUIRE(newer.notes.size() == 1);
  CHECK(has_text(newer.notes[0], "0.27.1 is newer than 0.19"));
  CHECK(newer.engine.version == "0.19");
  CHECK(engine_of({{"kind", "vllm"}, {"version", "0.19.3"}}).notes.empty());
}

TEST_CASE("engine versions: the resolved scenario has the one in force, and means the same again") {
  const ReadEngine newest = engine_of({{"kind", "vllm_v1"}});
  CHECK(newest.resolved["version"] == "0.19");
  const ReadEngine again = engine_of(newest.resolved);
  CHECK(again.engine.version == "0.19");
  CHECK(again.notes.empty());
  CHECK(engine_of({{"version", "v0.6.3.post1"}}).resolved["version"] == "0.6.3.post1");
}

TEST_CASE("engine versions: a calibration is of the versions whose constants are alike") {
  const auto calibration = [](const char* engine, const char* version) {
    Calibration c;
    c.engine = engine, c.engine_version = version, c.device = "h100_sxm", c.step_overhead_us = 700;
    return c;
  };
  const Json v15 = {{"kind", "vllm"}, {"version", "0.15"}}, v10 = {{"kind", "vllm"}, {"version", "0.10"}};
  CHECK(engine_of(v15, calibration("vllm", "0.19")).engine.per_step.value() == Approx(700e-6));
  CHECK(
      has_text(error_of(v10, calibration("vllm", "0.19")), "is of vllm 0.19, and this engine is vllm 0.10"));
  CHECK(has_text(error_of(v15, calibration("sglang", "0.5")), "/calibration"));
  // Files of before versions: right for what the name meant, with a note where its default changed.
  CHECK(engine_of(v10, calibration("vllm_v1", "")).notes.empty());
  CHECK(engine_of(v15, calibration("vllm_v1", "")).notes.size() == 1);
  CHECK_FALSE(error_of(v15, calibration("vllm_v0", "")).empty());
  CHECK_FALSE(error_of({{"kind", "vllm"}, {"version", "0.7"}}, calibration("vllm_v1", "")).empty());
}

TEST_CASE("engine catalog: every constant of every row has its source") {
  for (const EngineFamily& family : engine_families()) {
    INFO(family.kind);
    CHECK(family.names.front().name == family.kind);
    if (family.newest.empty()) continue;
    VersionNumber last{-1, 0};
    for (const EngineVersions& row : family.versions) {
      INFO(row.first);
      CHECK(last < row.from);
      CHECK_FALSE(row.source.empty());
      CHECK_FALSE(row.changed.empty());
      last = row.from;
    }
  }
}
