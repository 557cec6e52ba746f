# What people type: `make demo` answers a question on this machine, `make test` tests it in minutes, `make help` lists the rest.

CARGO ?= cargo
BINARY := target/release/iostone
HOST := $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: demo build test check static release container install uninstall bench clean help

# Builds, then answers "does ext4 run faster without barriers here?" on a disk made for it. Needs Rust, make, gcc and
# e2fsprogs; as root the disk is a loop device, without root a directory is measured instead.
demo: build ## answer a question about this machine, in three minutes
	$(BINARY) demo

build: ## target/release/iostone
	$(CARGO) build --release --locked --bin iostone

# The Debian packages that tests use are installed where that is possible without asking; a test whose tool is missing
# says so by name and is skipped. `make test` is what comes out the same on any machine however busy; `make test-real` needs
# guests, container engines, rates, minutes. docs/reference/tests.md says what is where.
.PHONY: test-real test-all
test: ## deterministic tests, in minutes
	@./tests/install-tools.sh
	@CARGO="$(CARGO)" ./tests/run.sh quick

test-real: ## tests that need guests, container engines, measured rates or minutes
	@./tests/install-tools.sh
	@./tests/install-readers.sh
	@CARGO="$(CARGO)" ./tests/run.sh real

test-all: ## test and test-real, with one closing count
	@./tests/install-tools.sh
	@./tests/install-readers.sh
	@CARGO="$(CARGO)" ./tests/run.sh quick real

# Two release builds, which is why no other target calls it.
.PHONY: test-packages
test-packages: ## what `make release` packs: same bytes twice, an empty root, dpkg, lintian
	@./tests/packaging.sh

check: ## format, lints, documentation, policy of dependencies, workflows, scripts, oldest compiler
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --test real --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	@CARGO="$(CARGO)" ./tests/check-others.sh

# One file that runs on any Linux of its architecture: static-pie, no loader, no libc to be found. TARGET is the triple of
# another, as in `make static TARGET=aarch64-unknown-linux-gnu`; what that needs and is missing is said by name.
TARGET ?= $(HOST)
static: ## one file for any Linux: target/TARGET/release/iostone
	@CARGO="$(CARGO)" ./packaging/build.sh $(TARGET)
	@file target/$(TARGET)/release/iostone 2>/dev/null || true

# From the lock file, offline after `cargo fetch --locked`, and with the same bytes from whichever directory.
release: ## tarball, Debian package, SBOM, licences and checksums in target/packages
	@CARGO="$(CARGO)" ./packaging/release.sh $(TARGET)

# The Debian package of target/packages in an image: `podman run --rm --privileged iostone demo`.
CONTAINER ?= $(shell command -v podman || echo docker)
container: ## an image with the Debian package of `make release`
	$(CONTAINER) build --tag iostone --file packaging/Containerfile $(CONTAINER_ARGUMENTS) target/packages

PREFIX ?= /usr/local
DESTDIR ?=
# Root need not have a compiler: build first, then `sudo make install`.
install: ## binary, manual pages, completions, experiments and documents below PREFIX
	@[ -x $(BINARY) ] || { echo "$(BINARY) is missing: make build" >&2; exit 1; }
	./packaging/stage.sh $(BINARY) $(DESTDIR)$(PREFIX)

uninstall: ## remove what `make install` installed
	./packaging/unstage.sh $(DESTDIR)$(PREFIX)

# Writes docs/benchmarks.md: iostone beside Debian's fio, and beside fio's `t/io_uring` where one is on the PATH or named
# by T_IO_URING. As root a zram device is measured too. BENCH_ARGUMENTS=--quick only sees whether it works.
BENCH_ARGUMENTS ?=
bench: ## write docs/benchmarks.md: iostone beside fio
	$(CARGO) bench --locked -p iostone --bench peers -- $(BENCH_ARGUMENTS)
	$(CARGO) bench --locked -p iostone-engine -p iostone-probe

# Simulates tables whose truth is known and counts wrong verdicts: writes docs/concepts/truth.md, fails above what is promised.
# TRUTH_ARGUMENTS=--quick is a tenth of it and writes nothing.
TRUTH_ARGUMENTS ?=
.PHONY: truth
truth: ## simulate verdicts and count the wrong ones: docs/concepts/truth.md
	$(CARGO) bench --locked -p iostone-stats --bench truth --profile release -- $(TRUTH_ARGUMENTS)

# What `iostone gate` says where nothing changed and where something did, beside a rank test: the table of docs/guide/gate.md.
.PHONY: gates
gates: ## simulate gates and count false alarms: the table of docs/guide/gate.md
	$(CARGO) bench --locked -p iostone-stats --bench gates --profile release -- $(GATES_ARGUMENTS)

# The field reports in full: hours, as root, with the packages of tests/install-tools.sh. `make test-real` runs their rehearsals.
EXPERIMENTS ?= $(filter-out experiments/disk.toml experiments/orion.toml,$(wildcard experiments/*.toml))
.PHONY: experiments
experiments: build ## all experiments in full: hours, as root
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
fuzz: ## feed every reader with made-up input
	@set -e; for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		words=fuzz/dictionaries/$$target.dict; \
		if [ -e $$words ]; then words=-dict=$$words; else words=; fi; \
		echo "fuzz: $$target"; \
		$(CARGO) +nightly fuzz run --fuzz-dir fuzz $$target fuzz/corpus/$$target fuzz/corpus-seeds/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -timeout=20 -print_final_stats=1 $$words; \
	done

clean: ## remove what was built
	$(CARGO) clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
