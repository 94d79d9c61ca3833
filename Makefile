# A thin wrapper around CMake + Ninja. `make help` lists the targets.
BUILD ?= build
PYTHON ?= $(shell tools/find-python)
PREFIX ?= /usr/local
BUILD_TYPE ?= RelWithDebInfo
CMAKE_FLAGS ?=

MINUTES ?= 10

.PHONY: all configure setup setup-test demo test fuzz bench install dist clean help accept

all: setup configure
	@cmake --build $(BUILD)

configure: $(BUILD)/build.ninja

$(BUILD)/build.ninja: CMakeLists.txt
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
		-DCMAKE_INSTALL_PREFIX=$(PREFIX) -DPython_EXECUTABLE=$(PYTHON) $(CMAKE_FLAGS) \
		--log-level=NOTICE

setup:
	@tools/setup build

setup-test:
	@tools/setup build test

demo: all
	@tools/demo $(BUILD)

test: setup-test configure
	@cmake --build $(BUILD)
	@tools/test $(BUILD)

fuzz: setup-test configure
	@cmake --build $(BUILD) --target all fuzzers build_jsonin_fuzz build_import_fuzz
	@for name in recording packed import jsonin settings; do tests/fuzz/run-bounded $(BUILD) $$name $(MINUTES) || exit; done

accept: all
	@STROBE_ACCEPT=1 tools/test $(BUILD)

bench: setup-test configure
	@cmake --build $(BUILD)
	@tools/bench $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

dist: all
	@tools/dist $(BUILD)

clean:
	@rm -rf $(BUILD)

help:
	@echo "make          build the tool, the libraries and the Python package into $(BUILD)/"
	@echo "make demo     record and report a small video pipeline"
	@echo "make test     every test"
	@echo "make fuzz     MINUTES=10 of chance for each reader of foreign files"
	@echo "make bench    the numbers, as ratios, into $(BUILD)/bench.json"
	@echo "make install  PREFIX=/usr/local"
	@echo "make dist     wheel and tarball"
