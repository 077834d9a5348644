#include "sim/app/command_line.h"
#include "sim/studies/studies.h"

extern "C" {
// jemalloc reads it as the program starts (its manual, "TUNING"): huge pages, one arena for the one thread that
// simulates, and nothing given back before the end. See decision 200.
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,narenas:1,dirty_decay_ms:-1";
}

int main(int argc, char** argv) {
  weir::offer_studies(weir::studies());
  return weir::run_command_line(argc, argv);
}
