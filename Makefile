# A thin wrapper around CMake + Ninja. `make help` lists the targets.
BUILD ?= build
PYTHON ?= $(shell tools/find-python)
PREFIX ?= /usr/local
BUILD_TYPE ?= RelWithDebInfo
CMAKE_FLAGS ?=

# Of each target of `make fuzz`.
MINUTES ?= 10
FUZZ_S ?= $$(($(MINUTES) * 60))

# What is missing is installed before the build is configured, under -j too.
.NOTPARALLEL:
.PHONY: all configure setup setup-test demo test test-real fuzz bench peers install dist clean help accept generate

all: setup configure
	@cmake --build $(BUILD) --target product

# Every time: what an earlier one did not find may be here now. Choices made the first time are kept.
configure:
	@if [ -e $(BUILD)/build.ninja ]; then \
		cmake -S . -B $(BUILD) $(CMAKE_FLAGS) --log-level=NOTICE; \
	else \
		cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
			-DCMAKE_INSTALL_PREFIX=$(PREFIX) -DPython_EXECUTABLE=$(PYTHON) $(CMAKE_FLAGS) \
			--log-level=NOTICE; \
	fi

setup:
	@tools/setup build

setup-test:
	@tools/setup build test

demo: all
	@tools/demo $(BUILD)

test: setup-test configure
	@cmake --build $(BUILD)
	@tools/test $(BUILD)

test-real: setup-test configure
	@cmake --build $(BUILD)
	@tools/setup real
	@tools/real-env >/dev/null
	@tools/real-env tests/real_tools >/dev/null
	@tools/test $(BUILD) -R '^real/'

fuzz: setup-test configure
	@cmake --build $(BUILD) --target all fuzzers
	@PYTHON=$(PYTHON) tools/fuzz $(BUILD) $(FUZZ_S)

generate: configure
	@cmake --build $(BUILD) --target generate_fields
	@tools/generate $(BUILD)

accept: setup-test configure
	@cmake --build $(BUILD)
	@STROBE_ACCEPT=1 ctest --test-dir $(BUILD) --output-on-failure -j2 -R '^(cli|compare)/'

peers: all
	@tools/setup real
	@env=$$(tools/real-env bench/peers) && cd $(BUILD) && STROBE_BENCH_ROWS=$(abspath $(BUILD))/peers.rows \
		$(PYTHON) $(CURDIR)/bench/peers/peers.py $(abspath $(BUILD)) $$env $$($(CURDIR)/tools/real-env --find || true)

bench: setup-test configure
	@cmake --build $(BUILD)
	@tools/bench $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

dist: all
	@tools/setup dist
	@tools/dist $(BUILD)

clean:
	@rm -rf $(BUILD)

help:
	@echo "make          build the tool, the libraries and the Python package into $(BUILD)/"
	@echo "make demo     record and report a small video pipeline"
	@echo "make test     every test"
	@echo "make generate schemas, the page's types and the reference of keys, from the tables of fields"
	@echo "make test-real  make the environment with real frameworks once, then the tests against them"
	@echo "make accept   take the present output of every command as the expected one"
	@echo "make fuzz     fuzz each reader of foreign files, then the recorder's threads, for MINUTES=10 or FUZZ_S=600 each"
	@echo "make bench    the numbers, as ratios, into $(BUILD)/bench.json"
	@echo "make peers    the same pipeline under strobe and six other profilers, from the Python package index"
	@echo "make install  PREFIX=/usr/local"
	@echo "make dist     wheels and tarballs, x86_64 and aarch64, for glibc 2.28"
