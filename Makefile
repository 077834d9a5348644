# The usual errands. The build itself is CMake's: cmake -S . -B build -G Ninja && cmake --build build
PACKAGES := g++ cmake ninja-build ccache pkg-config libsimgrid-dev libboost-dev libboost-graph-dev libfmt-dev \
            nlohmann-json3-dev libcli11-dev libicu-dev libmuparser-dev libdlib-dev libsqlite3-dev libopenmpi-dev openmpi-bin \
            libjs-chart.js chromium catch2 libvalijson-dev gnuplot-nox clang-format-14
JOBS ?= $(shell nproc)
BUILD := build
.PHONY: all setup demo test reproduce bench format check-format sanitize fuzz

all: $(BUILD)/build.ninja
	cmake --build $(BUILD) --parallel $(JOBS)

$(BUILD)/build.ninja: | setup
	cmake --preset release

# Installs what is missing and nothing else, so that it is silent, and works offline, where all of it is there.
setup:
	@missing="$$(for p in $(PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)"; \
	if [ -n "$$missing" ]; then \
	  sudo="$$([ "$$(id -u)" = 0 ] || echo sudo)"; \
	  $$sudo apt-get update && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y --no-install-recommends $$missing; \
	fi

demo: all
	$(BUILD)/weir run scenarios/quickstart.json --figures
	@echo "figures:" && ls out/quickstart/*.svg

test: all
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

# Every study in full; fails where a judged row is not as test/app/reproduced_rows.json has it.
reproduce: all
	$(BUILD)/test/weir_tests "[.reproduce]"

bench: all
	@$(BUILD)/test/weir_bench_timeline; echo
	@$(BUILD)/test/weir_bench_step; echo
	@$(BUILD)/test/weir_bench_dram; echo
	$(BUILD)/test/weir_bench
	$(BUILD)/test/weir_bench_sweep 60

SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.js')
format:
	@clang-format-14 -i $(SOURCES)

check-format:
	@clang-format-14 --dry-run --Werror $(SOURCES)

# The same tests under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: | setup
	cmake --preset sanitize
	cmake --build --preset sanitize --parallel $(JOBS)
	ctest --preset sanitize --parallel $(JOBS)

# Each fuzz target for a few seconds; needs clang++.
fuzz: | setup
	cmake --preset fuzz
	cmake --build --preset fuzz
	for target in build-fuzz/test/fuzz/fuzz_*; do \
	  [ -f $$target ] && [ -x $$target ] || continue; \
	  corpus=$$(mktemp -d); $$target -max_total_time=5 -print_final_stats=0 $$corpus || exit 1; rm -rf $$corpus; \
	done
