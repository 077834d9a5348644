#include "sim/app/command_line.h"

int main(int argc, char** argv) {
  return weir::run_command_line(argc, argv);
}
