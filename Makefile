# attnd: `make` builds the programs into build/, `make run` serves the shipped models, `make test`
# runs every unit test. Sources are found by folder; a new file needs no line here.

BUILD   ?= build
CC      ?= cc
OPT     ?= -O3 -g
PKGS    := libmicrohttpd gnutls jansson libpng libjpeg nettle zlib
VERSION := $(shell cat .version)

WERROR  ?=# -Werror for who changes the sources, as in tests/run.sh and .ci/run
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
           -Wundef -Wpointer-arith -Wcast-qual -Wno-psabi $(WERROR)
CFLAGS  := -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) $(SANITIZE) -fno-math-errno -ffp-contract=fast \
           -fstack-protector-strong -D_FORTIFY_SOURCE=2 -pthread -I. -MMD -MP \
           -DATTND_VERSION='"$(VERSION)"' $(shell pkg-config --cflags $(PKGS) openblas)
PYTHON  ?= python3
LINKER  ?=# another than the compiler's own: -fuse-ld=mold
LDFLAGS := -pthread -Wl,-z,relro,-z,now $(SANITIZE) $(LINKER)
LDLIBS  := $(shell pkg-config --libs $(PKGS)) -lb64 -lm
CHECK   := $(shell pkg-config --cflags --libs check 2>/dev/null)

# attnd-stream is built where librdkafka is installed (deploy/install-deps.sh build-stream); STREAM=no leaves
# it out. No other program needs the library, and who serves over HTTP should not have to install it.
STREAM  ?= $(if $(shell pkg-config --exists rdkafka 2>/dev/null && echo yes),yes,no)
STREAM_LIBS := $(if $(filter yes,$(STREAM)),$(shell pkg-config --libs rdkafka))

# Each tool and main is one file with a main(); everything else is in the library of its layer, but
# for a tool that has a folder of its own.
c_files     = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
NO_STREAM   := $(if $(filter yes,$(STREAM)),,tools/stream.c tests/unit/tools/stream/%)
TOOL_SRC    := $(filter-out $(NO_STREAM),$(sort $(wildcard tools/*.c)))
ENGINE_SRC  := $(call c_files,engine)
LEARN_SRC   := $(call c_files,learn)
CONFIG_SRC  := $(call c_files,config)
WIRE_SRC    := $(call c_files,wire)
SERVER_SRC  := $(filter-out server/main.c,$(call c_files,server))
LOAD_SRC    := $(filter-out loadtest/main.c,$(call c_files,loadtest))
CLIENT_SRC  := $(call c_files,tools/client)
ANSWERS_SRC := $(call c_files,tools/answers)
BATCH_SRC   := $(call c_files,tools/batch)
# Without the library what it does not need is still compiled, for its fuzz target.
STREAM_SRC  := $(if $(filter yes,$(STREAM)),$(call c_files,tools/stream),tools/stream/message.c)
SUPPORT_SRC := $(call c_files,tests/support)
UNIT_SRC    := $(filter-out $(NO_STREAM),$(call c_files,tests/unit))
TORTURE_SRC := $(sort $(wildcard tests/torture/test_*.c))
TORTURE_OWN := $(filter-out $(TORTURE_SRC),$(wildcard tests/torture/*.c))
BENCH_SRC   := $(filter-out tests/bench/main.c,$(wildcard tests/bench/*.c))
FUZZ_SRC    := $(sort $(wildcard tests/fuzz/*.c))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

PROGRAMS := $(if $(wildcard server/main.c),$(BUILD)/attnd) \
            $(patsubst tools/%.c,$(BUILD)/attnd-%,$(TOOL_SRC)) \
            $(if $(wildcard loadtest/main.c),$(BUILD)/attnd-load) \
            $(if $(wildcard deploy/healthcheck.c),$(BUILD)/attnd-healthcheck)
# Tests are listed by file. Those of a folder of tests/unit, of tests/torture and of tests/fuzz are one
# program, its runner, and $(BUILD)/tests/FOLDER/test_x is a link to it; a few (tests/alone.sh) are programs.
ALONE_SRC := $(filter $(UNIT_SRC),$(shell sh tests/alone.sh))
ROOM_SRC  := $(filter-out $(ALONE_SRC),$(UNIT_SRC))
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(UNIT_SRC))
ALONE    := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(ALONE_SRC))
ROOMS    := $(sort $(dir $(ROOM_SRC)))
RUNNERS  := $(patsubst tests/unit/%,$(BUILD)/tests/%runner,$(ROOMS))
REPLAYS  := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(FUZZ_SRC))
FUZZERS  := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
TORTURES := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TORTURE_SRC))

ENGINE_LIB  := $(BUILD)/libengine.a
LEARN_LIB   := $(BUILD)/liblearn.a
SERVER_LIB  := $(BUILD)/libserver.a
WIRE_LIB    := $(BUILD)/libwire.a
SUPPORT_LIB := $(BUILD)/libsupport.a
LOAD_LIB    := $(BUILD)/libload.a
CLIENT_LIB  := $(BUILD)/libclient.a
BATCH_LIB   := $(BUILD)/libbatch.a
BENCH_LIB   := $(BUILD)/libbench.a
FUZZ_LIB    := $(BUILD)/libfuzz.a

.PHONY: all run test tests list-tests foreign-texts torture test-asan test-tsan test-docs \
        test-browser test-openapi test-clients test-bundle test-clients-python test-clients-js \
        compare-tokenizers compare-recoding compare-text-scores test-labels test-simulate test-image test-operate test-trace \
        test-memory mutate bench bench-peer fuzz fuzzers kernels install uninstall man deb bundle \
        clean test-haproxy test-stream test-kubernetes kubernetes test-kube-apiserver \
        train-wafer train-testlog train-kernel train-search train-spans ci-all
.DELETE_ON_ERROR:
.SECONDARY: $(call objects,$(UNIT_SRC) $(TORTURE_SRC) $(TOOL_SRC) $(FUZZ_SRC))

all: $(PROGRAMS)

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c $< -o $@

# A sum of products is the same in each copy of a loop only if all copies fuse multiply and add, and the tuning
# of GCC 13 and later leaves some of 256 bits unfused. gcc alone compiles this folder (see fuzz).
$(call objects,$(call c_files,engine/tensor tests/tiles)): CFLAGS += --param=avoid-fma-max-bits=0

# The assembler puts these files into objects (engine/embed.h); the compiler does not see that they
# depend on them.
$(BUILD)/obj/server/ui/page.o: $(wildcard server/ui/* server/ui/samples/*)
$(BUILD)/obj/server/openapi/openapi.o: server/openapi/openapi.json
$(patsubst %.css,$(BUILD)/obj/%.o,$(wildcard learn/eval/report/*.css)): $(BUILD)/obj/%.o: %.css

$(ENGINE_LIB): $(call objects,$(ENGINE_SRC))
$(LEARN_LIB): $(call objects,$(LEARN_SRC))
$(SERVER_LIB): $(call objects,$(SERVER_SRC) $(CONFIG_SRC))
$(WIRE_LIB): $(call objects,$(WIRE_SRC))
$(SUPPORT_LIB): $(call objects,$(SUPPORT_SRC))
$(LOAD_LIB): $(call objects,$(LOAD_SRC))
$(CLIENT_LIB): $(call objects,$(CLIENT_SRC))
$(BATCH_LIB): $(call objects,$(BATCH_SRC) $(STREAM_SRC) $(ANSWERS_SRC))
$(BENCH_LIB): $(call objects,$(BENCH_SRC))
$(FUZZ_LIB): $(call objects,$(filter-out %/replay.c,$(wildcard tests/fuzz/driver/*.c)))
$(ENGINE_LIB) $(LEARN_LIB) $(SERVER_LIB) $(WIRE_LIB) $(SUPPORT_LIB) $(LOAD_LIB) $(CLIENT_LIB) $(BATCH_LIB) $(BENCH_LIB) $(FUZZ_LIB):
	@mkdir -p $(@D) && rm -f $@
	ar rcs $@ $^

$(BUILD)/attnd: $(call objects,server/main.c) $(SERVER_LIB) $(WIRE_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/attnd-load: $(call objects,loadtest/main.c) $(LOAD_LIB) $(CLIENT_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

# What tests/reference/compare_tokenizers.py runs beside the reference.
$(BUILD)/encode-texts: $(call objects,tests/reference/encode_texts.c) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

compare-tokenizers: $(BUILD)/encode-texts
	$(PYTHON) tests/reference/compare_tokenizers.py $< $(CHECKPOINTS)

# What tests/reference/compare_recoding.py runs beside the reference.
$(BUILD)/recode-texts: $(call objects,tests/reference/recode_texts.c) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

compare-recoding: $(BUILD)/recode-texts
	$(PYTHON) tests/reference/compare_recoding.py $< $(CHECKPOINTS)

# What tests/reference/compare_text_scores.py runs beside sacrebleu.
$(BUILD)/score-texts: $(call objects,tests/reference/score_texts.c) $(LEARN_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

compare-text-scores: $(BUILD)/score-texts
	$(PYTHON) tests/reference/compare_text_scores.py $< --sets 2000 README.md docs/*.md

$(BUILD)/attnd-bench: $(call objects,tests/bench/main.c) $(BENCH_LIB) $(LEARN_LIB) $(WIRE_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/attnd-healthcheck: $(call objects,deploy/healthcheck.c) $(CLIENT_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $^ $(shell pkg-config --libs gnutls) -o $@

$(BUILD)/attnd-eval: $(call objects,$(call c_files,tools/eval) tools/answers/writing_options.c)
$(BUILD)/attnd-index: $(call objects,$(call c_files,tools/index))
$(BUILD)/attnd-predict: $(call objects,tools/answers/answer_words.c tools/answers/writing_options.c)
$(BUILD)/attnd-batch: $(call objects,$(BATCH_SRC) $(ANSWERS_SRC) $(CLIENT_SRC))
$(BUILD)/attnd-stream: $(call objects,$(STREAM_SRC) $(ANSWERS_SRC))
$(BUILD)/attnd-stream: LDLIBS += $(STREAM_LIBS)
$(BUILD)/attnd-%: $(BUILD)/obj/tools/%.o $(LEARN_LIB) $(SERVER_LIB) $(WIRE_LIB) $(ENGINE_LIB)
	$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS) -o $@

# What stands before the libraries is also what they call, so a runner's objects may define nothing.
UNIT_LIBS := $(SUPPORT_LIB) $(BENCH_LIB) $(LOAD_LIB) $(BATCH_LIB) $(CLIENT_LIB) $(SERVER_LIB) $(LEARN_LIB) \
             $(WIRE_LIB) $(ENGINE_LIB)
$(BUILD)/tests/tools/stream/%: LDLIBS += $(STREAM_LIBS)
$(ALONE): $(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) $(CHECK) -o $@
# These tests run with the tile instructions in plain C, on every machine; the model is in $(SUPPORT_LIB).
TILES := $(call objects,$(wildcard tests/tiles/*.c))
$(BUILD)/tests/engine/tensor/tiles/runner: $(TILES)
$(RUNNERS):
	@mkdir -p $(@D)
	@! nm -A --defined-only --extern-only $(filter-out $(TILES),$(filter %.o,$^)) | grep . || \
	    { echo 'make: these functions of tests have to be static' >&2; exit 1; }
	$(CC) $(LDFLAGS) $^ $(LDLIBS) $(CHECK) -o $@
define room
$(patsubst tests/unit/%,$(BUILD)/tests/%runner,$(1)): \
    $(call objects,$(foreach source,$(ROOM_SRC),$(if $(filter $(1),$(dir $(source))),$(source)))) $(UNIT_LIBS)
endef
$(foreach folder,$(ROOMS),$(eval $(call room,$(folder))))

# The name that stands before a test's is its runner's.
LINKED := $(filter-out $(ALONE),$(UNITS)) $(REPLAYS) $(TORTURES)
define link
$(1): $(dir $(1))runner
	@ln -sf runner $$@
endef
$(foreach test,$(LINKED),$(eval $(call link,$(test))))

# The fuzz targets with the committed inputs as tests, and each with libFuzzer.
FUZZED := $(FUZZ_LIB) $(LOAD_LIB) $(BATCH_LIB) $(CLIENT_LIB) $(SERVER_LIB) $(WIRE_LIB) $(LEARN_LIB) $(ENGINE_LIB)
ifeq ($(findstring fuzzer,$(SANITIZE)),)
$(call objects,$(FUZZ_SRC)): CFLAGS += -DFUZZ_TARGET='"$(basename $(notdir $<))"'
endif
$(BUILD)/tests/fuzz/runner: $(call objects,$(FUZZ_SRC) tests/fuzz/driver/replay.c) $(FUZZED)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZED)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

# The functions that make calls fail are linked before the C library, so they are an object and not
# in a library; those of the arena replace it by an option of the linker.
WRAPPED := arena_alloc arena_alloc_array arena_copy arena_format
$(BUILD)/tests/torture/runner: $(call objects,$(TORTURE_SRC) $(TORTURE_OWN)) \
                                $(SUPPORT_LIB) $(SERVER_LIB) $(WIRE_LIB) $(LEARN_LIB) $(ENGINE_LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(WRAPPED:%=-Wl,--wrap=%) $^ $(LDLIBS) $(CHECK) -o $@

# The models that come with the source, on LISTEN.
LISTEN ?= 127.0.0.1:8080
run: $(BUILD)/attnd
	@exec $(BUILD)/attnd --listen $(LISTEN) --model wafer-vit=models/wafer-vit \
	    --model testlog-bert=models/testlog-bert --model kernel-bert=models/kernel-bert

# Unit tests, run from the repository's root.
tests: $(UNITS) $(REPLAYS) $(TORTURES) $(BUILD)/attnd-bench
test: $(PROGRAMS) tests
	@sh tests/run-units.sh $(UNITS) $(REPLAYS) $(TORTURES)
# Of texts that are none of the text models', the share that passes as auto.
foreign-texts: $(BUILD)/tests/models/test_foreign_texts
	@$<
list-tests:
	@printf '%s\n' $(patsubst $(BUILD)/tests/%,%,$(UNITS) $(REPLAYS) $(TORTURES))

# Memory and undefined behaviour of all tests, races of those with threads (tests/sanitize.sh); SINCE=COMMIT:
# only in the folders of tests that include what has changed since; MOST=N: N of them, drawn. CI does both.
SINCE ?=
MOST  ?=
test-asan:
	@SINCE='$(SINCE)' MOST='$(MOST)' tests/sanitize.sh address
test-tsan:
	@SINCE='$(SINCE)' MOST='$(MOST)' tests/sanitize.sh thread

# Each parser against libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, FUZZ_SECONDS shared
# among FUZZ_TARGETS (none given: all); deploy/install-deps.sh fuzz installs what it needs. The
# kernels are written for gcc's vectors and read no untrusted bytes, so gcc compiles them, plain.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
FUZZ_BUILD   ?= build-fuzz
FUZZ_CLANG   ?= clang
FUZZ_CHECKS  := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
                -fno-omit-frame-pointer
fuzz:
	@$(MAKE) -s BUILD=$(FUZZ_BUILD) SANITIZE= kernels
	@$(MAKE) -s BUILD=$(FUZZ_BUILD) CC='$(FUZZ_CLANG)' OPT='-O2 -g' SANITIZE='$(FUZZ_CHECKS)' fuzzers
	@sh tests/fuzz/driver/run.sh $(FUZZ_BUILD) $(FUZZ_SECONDS) $(FUZZ_TARGETS)
kernels: $(call objects,$(call c_files,engine/tensor))
fuzzers: $(FUZZERS)

# Every call to the C library fails in turn, not a sample of them as in `make test`.
torture: $(PROGRAMS) $(TORTURES)
	@ATTND_TORTURE=all CK_TIMEOUT_MULTIPLIER=12 sh tests/run-units.sh $(TORTURES)

# The built-in page in a real Chromium; screenshots in $(BUILD)/browser. Two files of tests at a time:
# much of their time is waiting. deploy/install-deps.sh browser installs what it needs.
test-browser: $(BUILD)/attnd $(BUILD)/attnd-index tests/browser/node_modules/.package-lock.json
	@BUILD=$(BUILD) node --test --test-concurrency=2 tests/browser/*.test.mjs

# The document of the interface is valid, and what a running attnd answers is what it says;
# deploy/install-deps.sh openapi installs what it needs.
test-openapi: $(BUILD)/attnd $(BUILD)/attnd-fit $(BUILD)/attnd-index tests/openapi/node_modules/.package-lock.json
	@BUILD=$(BUILD) node --test tests/openapi/*.test.mjs

tests/%/node_modules/.package-lock.json: tests/%/package-lock.json
	@cd tests/$* && npm ci --loglevel=error --ignore-scripts
	@touch $@

# Published clients of other servers, each answer beside the native one: by hand, it needs the network
# and installs Python packages below the build. CLIENTS: only these, "openai cohere".
test-clients: $(BUILD)/attnd tests/clients/node_modules/.package-lock.json
	@python3 -m venv $(BUILD)/clients
	@$(BUILD)/clients/bin/pip install --quiet --requirement tests/clients/requirements.txt
	@$(BUILD)/clients/bin/pip install --quiet --no-deps text-generation==0.7.0 # it asks for an older huggingface_hub
	@BUILD=$(BUILD) $(BUILD)/clients/bin/python tests/clients/run.py $(CLIENTS)

# What the documents tell their readers to run (tests/docs/run.py); deploy/install-deps.sh docs installs
# what it needs. DOCUMENTS: only these.
DOCUMENTS ?=
test-docs: $(PROGRAMS) $(BUILD)/attnd-bench
	@python3 -B tests/docs/test_docs.py
	@BUILD=$(BUILD) python3 -B tests/docs/test_clients.py
	@BUILD=$(BUILD) python3 -B tests/docs/test_vector_store.py
	@BUILD=$(BUILD) python3 -B tests/docs/run.py $(DOCUMENTS)

# The package clients/python as it is installed from its wheel; needs PyPI, and is run by hand.
test-clients-python: $(BUILD)/attnd
	@BUILD=$(BUILD) python3 -B tests/clients/test_python.py

# The module clients/js, in Node; needs nothing beside.
test-clients-js: $(BUILD)/attnd
	@BUILD=$(BUILD) node --test tests/clients/js.test.mjs

# The rule by which the crash reports are labelled (models/kernel-bert/LABELS.md), the spans of synthetic logs, and drawn
# wafer IDs (those tests that draw need numpy and Pillow, and are left out without them).
test-labels:
	@python3 -B tests/models/test_kernel_labels.py
	@python3 -B tests/models/test_spans.py
	@python3 -B tests/models/test_wafer_id.py

# The root of the container image, and attnd served from it; root runs it. deploy/install-deps.sh image
# installs what it needs.
test-image: $(PROGRAMS) tests/image/node_modules/.package-lock.json
	@tests/image/test-image.sh $(BUILD)

# loadtest/simulate.py against queues whose throughput is known.
test-simulate:
	@python3 -B tests/simulate/test_simulate.py

# Alerts: each rule against series that were made up, then from their causes to a receiver like Slack's
# (three minutes); deploy/install-deps.sh operate installs Prometheus and Alertmanager.
test-operate: $(BUILD)/attnd $(BUILD)/attnd-eval
	@promtool check rules deploy/prometheus/recording.yml deploy/prometheus/alerts.yml \
	    deploy/prometheus/prices.yml deploy/prometheus/value.yml >/dev/null
	@promtool test rules tests/operate/alerts.test.yml tests/operate/value.test.yml
	@amtool check-config deploy/alertmanager/alertmanager.yml >/dev/null
	@python3 -B tests/operate/run.py --build $(BUILD)

# Spans of a running attnd, read by the parser of OpenTelemetry's collector, a module in Go that go.sum
# pins; deploy/install-deps.sh trace installs Go.
test-trace: $(BUILD)/attnd
	@cd tests/trace && BUILD='$(abspath $(BUILD))' go test -count=1 ./...

# Three attnd behind the haproxy of deploy/haproxy, under load while they are killed, restarted and changed
# (a minute, half of it with TLS to them); deploy/install-deps.sh haproxy installs what it needs.
test-haproxy: $(BUILD)/attnd $(BUILD)/attnd-load
	@python3 -B tests/haproxy/run.py --build $(BUILD)
	@python3 -B tests/haproxy/run.py --build $(BUILD) --tls

# attnd-stream against a real Kafka, from Maven's jars that tests/stream/jars.sha256 pins (some minutes);
# deploy/install-deps.sh stream installs what it needs.
STREAM_MESSAGES ?= 100000
test-stream: $(BUILD)/attnd-stream
	@python3 -B tests/stream/run.py --build $(BUILD) --messages $(STREAM_MESSAGES)

# The chart for Kubernetes and the plain manifests made of it, by helm and by Kubernetes' own types, modules
# in Go that go.sum pins (some minutes to compile once); deploy/install-deps.sh kubernetes installs Go.
KUBE_GO := nice -n 19 sh tests/kubernetes/go.sh
$(BUILD)/helm: tests/kubernetes/go.mod tests/kubernetes/go.sum
	@mkdir -p $(@D)
	@$(KUBE_GO) build -C tests/kubernetes -o '$(abspath $@)' helm.sh/helm/v3/cmd/helm
test-kubernetes: $(BUILD)/attnd $(BUILD)/helm
	@BUILD='$(abspath $(BUILD))' HELM='$(abspath $(BUILD)/helm)' $(KUBE_GO) test -C tests/kubernetes -count=1 ./...
kubernetes: $(BUILD)/helm
	@$(BUILD)/helm template attnd deploy/helm/attnd --kube-version 1.34.0 >$(BUILD)/kubernetes.yaml
	@{ sed '/^---/,$$d' deploy/kubernetes.yaml; cat $(BUILD)/kubernetes.yaml; } >$(BUILD)/kubernetes.new
	@mv $(BUILD)/kubernetes.new deploy/kubernetes.yaml

# An API server of Kubernetes, compiled (seven minutes on two busy cores), takes what the chart gives; not
# part of .ci/run. deploy/install-deps.sh kube-apiserver installs Debian's etcd and Go.
$(BUILD)/kube-apiserver: tests/kubernetes/server/go.mod tests/kubernetes/server/go.sum
	@mkdir -p $(@D)
	@$(KUBE_GO) build -C tests/kubernetes/server -o '$(abspath $@)' k8s.io/kubernetes/cmd/kube-apiserver
test-kube-apiserver: $(BUILD)/helm $(BUILD)/kube-apiserver
	@HELM='$(abspath $(BUILD)/helm)' KUBE_APISERVER='$(abspath $(BUILD)/kube-apiserver)' \
	    $(KUBE_GO) test -C tests/kubernetes/server -count=1 ./...

# attnd within 1 GiB under the worst mix of requests (a minute). MEMORY holds more options, such as
# --cgroup DIR of a memory cgroup to start it in; without one RLIMIT_DATA is the limit.
MEMORY ?=
test-memory: $(BUILD)/attnd
	@python3 tests/memory/worst_mix.py --attnd $(BUILD)/attnd $(MEMORY)

# Mutation testing: random changes of single lines, each run with the tests that execute it
# (tests/mutate/mutate.py). Tests the last commit, in separate trees; resumes where it stopped.
MUTATE_SEED    ?= 1
MUTATE_COUNT   ?= 200
MUTATE_SECONDS ?= 3600
MUTATE_FILES   ?=
MUTATE_SINCE   ?=# a commit: only lines that came after it
MUTATE_MEASURE ?= *
MUTATE_JOBS    ?= 2
mutate:
	@python3 tests/mutate/mutate.py --work $(BUILD)/mutate --seed $(MUTATE_SEED) --jobs $(MUTATE_JOBS) \
	    --count $(MUTATE_COUNT) --seconds $(MUTATE_SECONDS) --files '$(MUTATE_FILES)' \
	    --since '$(MUTATE_SINCE)' --measure '$(MUTATE_MEASURE)'

# Machine, kernels, models and HTTP, each beside its limit; BENCH holds more of attnd-bench's options.
# Then int8 against fp32 on labelled data: EVAL="MODEL=LIST ...".
BENCH ?=
EVAL  ?=
bench: $(PROGRAMS) $(BUILD)/attnd-bench
	@$(BUILD)/attnd-bench --work $(BUILD)/bench $(BENCH)
	@BUILD=$(BUILD) sh tests/bench/agree.sh $(EVAL)

# Comparison with the peers: PEER is the command of their co-process (tests/bench/peers.py), MODELS the
# folder of checkpoints that it made.
PEER   ?=
MODELS ?=
bench-peer: $(BUILD)/attnd-bench
	@python3 tests/bench/peer.py --peer '$(PEER)' --models '$(MODELS)' --bench $(BUILD)/attnd-bench \
	    $(BENCH)

# Trains the shipped models (models/README.md): DATA is their data's folder, ENCODER MiniLM's.
# train-search measures search, and train-spans spans; they ship nothing. BUILDS is the file of failed builds.
DATA    ?=
ENCODER ?=
BUILDS  ?=
train-wafer train-testlog train-kernel train-search train-spans: train-%: $(PROGRAMS)
	@BUILD=$(BUILD) DATA='$(DATA)' ENCODER='$(ENCODER)' BUILDS='$(BUILDS)' sh models/train_$*.sh

# Manual pages, from the programs' --help; deploy/install-deps.sh package installs what it needs. All
# are of section 1: the programs lie in bin, the daemon too, and anybody may run them.
MANUALS := $(patsubst $(BUILD)/%,$(BUILD)/man/%.1,$(PROGRAMS))
man: $(MANUALS)
$(MANUALS): $(BUILD)/man/%.1: $(BUILD)/% deploy/package/man.sh
	@mkdir -p $(@D)
	deploy/package/man.sh $< >$@

# Programs, shipped models and configurations, and what there is to read, with the manual pages if
# they were made. The programs find the models by their own place, so the whole may be moved.
PREFIX  ?= /usr/local
DESTDIR ?=
BIN     := $(DESTDIR)$(PREFIX)/bin
SHARE   := $(DESTDIR)$(PREFIX)/share/attnd
MAN     := $(DESTDIR)$(PREFIX)/share/man/man1
DOC     := $(DESTDIR)$(PREFIX)/share/doc/attnd
install: $(PROGRAMS)
	@install -d $(BIN) $(SHARE) $(DOC)
	@install -m 755 -s $(PROGRAMS) $(BIN)
	@for file in $$(find models -type f -path 'models/*/*' ! -path 'models/testlog/*' ! -name '*.py'); do \
	    install -D -m 644 "$$file" "$(SHARE)/$$file" || exit 1; done
	@install -m 644 README.md CHANGELOG.md CONTRIBUTING.md LICENSE SECURITY.md $(DOC)
	@install -D -m 644 -t $(DOC)/docs docs/*
	@install -D -m 644 -t $(DOC)/models models/README.md
	@install -D -m 644 -t $(DOC)/examples config/server.json config/stream.json
	@install -D -m 644 -t $(DOC)/examples/prometheus deploy/prometheus/*
	@for page in $(MANUALS); do \
	    test ! -f "$$page" || install -D -m 644 -t $(MAN) "$$page" || exit 1; done
uninstall:
	@rm -f $(patsubst $(BUILD)/%,$(BIN)/%,$(PROGRAMS)) $(patsubst $(BUILD)/man/%,$(MAN)/%,$(MANUALS))
	@rm -rf $(SHARE) $(DOC)

# The Debian package; deploy/install-deps.sh package installs what it needs.
deb:
	@mkdir -p $(BUILD)
	@CC='$(CC)' deploy/package/deb.sh $(BUILD)
# The package with all that it needs, for a Debian 12 without a network.
bundle: deb
	@deploy/package/bundle.sh $(BUILD)
# The bundle in a bare Debian 12 without a network; as root.
test-bundle: bundle
	@tests/package/test-bundle.sh $(BUILD)

# All stages of .ci/stages in full. It writes the commit beside the name of each that passes to .ci/green, and
# .ci/run leaves out what no later change can break.
ci-all:
	@.ci/run --all

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' -type f 2>/dev/null)
