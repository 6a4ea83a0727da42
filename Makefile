# The three commands that need no reading: make run, make test, make bench.
# Everything else is CMake with the presets of CMakePresets.json (build/<preset>).

JOBS ?= $(shell nproc)
BUILD = cmake --build --parallel $(JOBS) --preset

.PHONY: run test bench clean

run:
	@tools/setup.sh run
	@cmake --preset release -DWEFT_TESTS=OFF -Wno-dev > /dev/null
	@$(BUILD) release --target uts
	@build/release/examples/uts/uts

test:
	@tools/setup.sh test
	@JOBS=$(JOBS) tools/test.sh

bench:
	@tools/setup.sh bench
	@cmake --preset release -DWEFT_BENCH=ON -Wno-dev
	@$(BUILD) release --target bench

clean:
	rm -rf build
