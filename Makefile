# What people type: `make demo` answers a question on this machine, `make test` tests it in minutes.

CARGO ?= cargo
BINARY := target/release/iostone

.PHONY: demo test check static bench clean

# Builds, then answers "does ext4 run faster without barriers here?" on a disk made for it. Needs Rust, make, gcc and
# e2fsprogs; as root the disk is a loop device, without root a directory is measured instead.
demo: release
	$(BINARY) demo

.PHONY: release
release:
	$(CARGO) build --release --locked --bin iostone

# The Debian packages that tests use are installed where that is possible without asking; a test whose tool is missing
# says so by name and is skipped. `make test` is what comes out the same on any machine however busy; `make test-real` needs
# guests, container engines, rates, minutes. docs/reference/tests.md says what is where.
.PHONY: test-real test-all
test:
	@./tests/install-tools.sh
	@CARGO="$(CARGO)" ./tests/run.sh quick

test-real:
	@./tests/install-tools.sh
	@CARGO="$(CARGO)" ./tests/run.sh real

test-all:
	@./tests/install-tools.sh
	@CARGO="$(CARGO)" ./tests/run.sh quick real

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --test real --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# One file that runs on any Linux of this architecture: static-pie, no loader, no libc to be found.
# An explicit target keeps the flag away from build scripts and procedural macros, which must stay dynamic.
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
static:
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --profile dist --locked --bin iostone --target $(HOST)
	@file target/$(HOST)/dist/iostone 2>/dev/null || true

# Writes docs/benchmarks.md: iostone beside Debian's fio, and beside fio's `t/io_uring` where one is on the PATH or named
# by T_IO_URING. As root a zram device is measured too. BENCH_ARGUMENTS=--quick only sees whether it works.
BENCH_ARGUMENTS ?=
bench:
	$(CARGO) bench --locked -p iostone --bench peers -- $(BENCH_ARGUMENTS)
	$(CARGO) bench --locked -p iostone-engine -p iostone-probe

# Simulates tables whose truth is known and counts wrong verdicts: writes docs/concepts/truth.md, fails above what is promised.
# TRUTH_ARGUMENTS=--quick is a tenth of it and writes nothing.
TRUTH_ARGUMENTS ?=
.PHONY: truth
truth:
	$(CARGO) bench --locked -p iostone-stats --bench truth --profile release -- $(TRUTH_ARGUMENTS)

# The field reports in full: hours, as root, with the packages of tests/install-tools.sh. `make test-real` runs their rehearsals.
EXPERIMENTS ?= $(filter-out experiments/disk.toml experiments/orion.toml,$(wildcard experiments/*.toml))
.PHONY: experiments
experiments: release
	@set -e; skipped=; PATH="$$PATH:/usr/sbin:/sbin"; for experiment in $(EXPERIMENTS); do \
		engine=$$(sed -n 's/^container *=.*kind *= *"\(docker\|podman\)".*/\1/p' $$experiment); \
		case $$engine in docker) program=dockerd ;; *) program=$$engine ;; esac; \
		if [ -n "$$program" ] && ! command -v $$program >/dev/null; then \
			skipped="$$skipped$$experiment: needs $$program\n"; continue; \
		fi; \
		$(BINARY) run $$experiment; \
	done; [ -z "$$skipped" ] || printf "skipped:\n$$skipped"

# Every reader of text or bytes from outside, fed with made-up input. Needs a nightly compiler and cargo-fuzz; see
# fuzz/README.md.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $(notdir $(basename $(wildcard fuzz/targets/*.rs)))
.PHONY: fuzz
fuzz:
	@set -e; for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		words=fuzz/dictionaries/$$target.dict; \
		if [ -e $$words ]; then words=-dict=$$words; else words=; fi; \
		echo "fuzz: $$target"; \
		$(CARGO) +nightly fuzz run --fuzz-dir fuzz $$target fuzz/corpus/$$target fuzz/corpus-seeds/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -timeout=20 -print_final_stats=1 $$words; \
	done

clean:
	$(CARGO) clean
