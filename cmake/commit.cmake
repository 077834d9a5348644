# cmake -DSOURCE=... -DOUTPUT=... -P commit.cmake, at every build: writes the commit that is built into one small
# file, and only if it is another one, so that nothing else is compiled for it.
cmake_minimum_required(VERSION 3.25)
execute_process(
  COMMAND git --git-dir=${SOURCE}/.git --work-tree=${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)  # a tarball, or no git
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "namespace weir {\nextern const char* const built_commit;\nconst char* const built_commit = \"@commit@\";\n}\n" @ONLY)
