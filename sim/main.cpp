#include "sim/app/command_line.h"
#include "sim/studies/studies.h"

int main(int argc, char** argv) {
  weir::offer_studies(weir::studies(), weir::reader_of_studies());
  return weir::run_command_line(argc, argv);
}
