# The usual errands. The build itself is CMake's: cmake -S . -B build -G Ninja && cmake --build build
# What weir is built with and draws with.
BUILD_PACKAGES := g++ cmake ninja-build ccache pkg-config libsimgrid-dev libboost-dev libboost-graph-dev libfmt-dev \
                  nlohmann-json3-dev libcli11-dev libicu-dev libmuparser-dev libdlib-dev libsqlite3-dev libjs-chart.js gnuplot-nox \
                  coinor-libcbc-dev libcpp-httplib-dev
# What the tests need on top: sweeps under mpirun, pages in a browser, schemas, the format check.
TEST_PACKAGES := catch2 libopenmpi-dev openmpi-bin chromium libvalijson-dev clang-format-14 python3-pandas python3-yaml
# Packages and the site of docs/ are made with these; their tests need clean roots and Jupyter on top.
PACKAGE_PACKAGES := dpkg-dev file patchelf pandoc python3
# Another compiler and its fuzzer.
CLANG_PACKAGES := clang
TIDY_PACKAGES := clang-tidy
INSTALL_TEST_PACKAGES := mmdebstrap python3-nbclient python3-ipykernel
DOCS_TEST_PACKAGES := curl
JOBS ?= $(shell nproc)
BUILD := build
.PHONY: all setup setup-weir weir demo test reproduce bench bench-history schema record-figures record-rows house format check-format sanitize clang tidy fuzz docs docs-outputs \
        test-docs walkable package test-install

all: setup
	cmake --preset release
	cmake --build $(BUILD) --parallel $(JOBS)

# Installs what is missing and nothing else, so that it is silent, and works offline, where all of it is there.
define install
	@missing="$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done)"; \
	if [ -n "$$missing" ]; then \
	  sudo="$$([ "$$(id -u)" = 0 ] || echo sudo)"; \
	  $$sudo apt-get update && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y --no-install-recommends $$missing; \
	fi
endef

setup:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES))

setup-weir:
	$(call install,$(BUILD_PACKAGES))

# The program alone: no test, and none of the packages that only tests need.
weir: setup-weir
	cmake --preset release
	cmake --build $(BUILD) --parallel $(JOBS) --target weir

demo: weir
	$(BUILD)/weir run scenarios/quickstart.json --figures
	@echo "figures:" && ls out/quickstart/*.svg

# One more at a time than there are cores: browsers and ranks of MPI wait a good deal. ROOM=models: of that room.
test: all
	ctest --test-dir $(BUILD) --output-on-failure --parallel $$(($(JOBS) + 1)) $(if $(ROOM),--label-regex "^$(ROOM)$$")

# Every study in full; fails where a judged row is not as test/studies/reproduced_rows.json has it.
reproduce: all
	$(BUILD)/test/weir_tests "[.reproduce]"

bench: all
	@$(BUILD)/test/weir_bench_timeline; echo
	@$(BUILD)/test/weir_bench_step; echo
	@$(BUILD)/test/weir_bench_experts; echo
	@$(BUILD)/test/weir_bench_dram; echo
	@$(BUILD)/test/weir_bench test/bench/history.csv "$$(git describe --always --dirty=+)"
	$(BUILD)/test/weir_bench_sweep 60

# What editors check scenarios and sweeps by: the readers' own keys, written anew after one of them changed.
schema: weir
	$(BUILD)/weir check --schema > $(BUILD)/schema.json && mv $(BUILD)/schema.json scenarios/schema.json
	$(BUILD)/weir check --schema sweep > $(BUILD)/schema.json && mv $(BUILD)/schema.json scenarios/sweep.schema.json
	$(BUILD)/weir check --schema study > $(BUILD)/schema.json && mv $(BUILD)/schema.json scenarios/study.schema.json

# What shipped scenarios give, written anew after a change that moves figures (CHANGELOG says which and why).
record-figures: all
	$(BUILD)/test/weir_tests "[.record]"

# The same of all rows of all studies, as the last `make reproduce` left them.
record-rows: all
	$(BUILD)/test/weir_tests "[.record-rows]"

# The history of `make bench`, a line a run, over the first time each was measured on this machine.
bench-history:
	$(call install,gnuplot-nox python3)
	test/bench/draw_history test/bench/history.csv $(BUILD)/bench_history.svg

# The drawing of the rooms in docs/architecture.md, made of the includes.
house:
	$(call install,graphviz python3)
	docs/draw_house docs/house.svg

# The pages of docs/ as a site; a dead link is an error.
docs:
	$(call install,pandoc python3)
	@python3 cmake/docs/site.py . $(BUILD)/docs

# Every command of the pages once more, from a clean clone, held to what the page says that it prints (test/docs/walk.py): some
# thirteen minutes of CPU. `make test` walks those of test/docs/walked_pages.txt alone. docs-outputs writes what they print now.
WALKED := $(shell cat test/docs/walked_pages.txt test/docs/long_walks.txt)
WALK := WEIR=$(CURDIR)/$(BUILD)/weir /usr/bin/python3 test/docs/walk.py
walkable: setup
	$(call install,$(DOCS_TEST_PACKAGES))
	cmake --preset release
	cmake --build $(BUILD) --parallel $(JOBS) --target weir weir_mpi

test-docs: walkable
	$(WALK) $(WALKED)

docs-outputs: walkable
	$(WALK) --write $(WALKED)

# A .deb and a tarball with its libraries, in build/package.
package: setup-weir
	$(call install,$(PACKAGE_PACKAGES))
	cmake --preset release
	cmake --build $(BUILD) --parallel $(JOBS) --target packaged
	@$(MAKE) --no-print-directory docs
	@rm -rf $(BUILD)/package
	cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/package
	@rm -rf $(BUILD)/package/_CPack_Packages && ls -l $(BUILD)/package

# Tests that need more than a build does: packages in clean roots of this Debian and the next, the notebook, all that runs for minutes.
test-install: all package
	$(call install,$(INSTALL_TEST_PACKAGES))
	bash test/install/clean_root.sh bookworm $(BUILD)/package/weir-*.tar.gz $(BUILD)/package/*.deb
	bash test/install/clean_root.sh trixie $(BUILD)/package/weir-*.tar.gz
	rm -rf $(BUILD)/unpacked && mkdir $(BUILD)/unpacked && tar -xzf $(BUILD)/package/weir-*.tar.gz -C $(BUILD)/unpacked
	/usr/bin/python3 test/install/notebook.py docs/notebook.ipynb --prefix $(BUILD)/unpacked/weir-*
	$(BUILD)/test/weir_tests "[.soak]"

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

# All of it by another compiler, warnings included, and its tests.
clang: | setup
	$(call install,$(CLANG_PACKAGES))
	cmake --preset clang
	cmake --build --preset clang --parallel $(JOBS)
	ctest --preset clang --parallel $(JOBS)

# .clang-tidy's checks over rooms' sources, each folder as the one source that it is compiled as. One more room: TIDY_ROOMS="core models step".
TIDY_ROOMS ?= core models
empty :=
tidy: | setup
	$(call install,$(CLANG_PACKAGES) $(TIDY_PACKAGES))
	cmake --preset tidy
	run-clang-tidy -p build-tidy -quiet -j $(JOBS) '/($(subst $(empty) ,|,$(TIDY_ROOMS)))\.dir/Unity/'

# Each fuzz target for a few seconds: for changes of readers.
FUZZ_SECONDS ?= 5
fuzz: | setup
	$(call install,$(CLANG_PACKAGES))
	cmake --preset fuzz
	cmake --build --preset fuzz
	for target in build-fuzz/test/fuzz/fuzz_*; do \
	  [ -f $$target ] && [ -x $$target ] || continue; \
	  corpus=$$(mktemp -d); $$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=0 $$corpus || exit 1; rm -rf $$corpus; \
	done
