# The commands that need no reading:
#   make run          examples, on all cores: one for Weft, and an OpenMP program that runs on it as it is
#   make test         everything that is tested
#   make bench        beside other libraries
#   make install      to PREFIX (/usr/local), below DESTDIR; make uninstall takes it away again
#   make deb          Debian packages in build/deb
# Everything else is CMake with the presets of CMakePresets.json (build/<preset>).

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BUILD = cmake --build --parallel $(JOBS) --preset

.PHONY: run test bench install uninstall deb clean

run:
	@tools/setup.sh run
	@cmake --preset release -DWEFT_TESTS=OFF -Wno-dev > /dev/null
	@$(BUILD) release --target uts cholesky weft_command
	@build/release/examples/uts/uts
	@echo; echo "An OpenMP program with nested regions, on the compiler's own runtime and then on Weft:"
	@build/release/examples/cholesky/cholesky
	@build/release/tools/weft/weft run -- build/release/examples/cholesky/cholesky

test:
	@tools/setup.sh test
	@JOBS=$(JOBS) tools/test.sh

bench:
	@tools/setup.sh bench
	@cmake --preset release -DWEFT_BENCH=ON -Wno-dev
	@$(BUILD) release --target bench

install:
	@tools/setup.sh install
	@cmake --preset release -B build/install -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) -UWEFT_DOCS \
	  -DWEFT_TESTS=OFF -DWEFT_EXAMPLES=OFF -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -Wno-dev
	@cmake --build build/install --parallel $(JOBS)
	@cmake --install build/install
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

uninstall:
	@tools/uninstall.sh build/install/install_manifest.txt

deb:
	@tools/setup.sh deb
	@tools/deb.sh build/deb

clean:
	rm -rf build
