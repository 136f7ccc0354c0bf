/* test_layers.c - the architecture, as a test: which room sees which, and which file may include
 * which library. The tables below are the diagram; a new arrow is drawn there, with a reason, or
 * not at all.
 */
#include "tests/support/source_tree.h"
#include "tests/support/suite.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { ROOM_BELOW_MAX = 44, LIBRARY_FILES_MAX = 24 };

/* The headers that the engine shows to the rest of the tree: its door, and the plain data that the
 * door names. */
#define DOOR                                                                                       \
    "engine/engine.h", "engine/selftest.h", "engine/model/input.h",                                \
        "engine/model/attention_stats.h", "engine/decide/decision.h",                              \
        "engine/decide/class_codes.h", "engine/decide/spans.h", "engine/decide/extraction.h",      \
        "engine/statistics/statistics.h", "engine/statistics/edits.h",                             \
        "engine/decide/drift_reference.h",                                                         \
        "engine/decide/class_prior.h", "engine/explain/explanation.h", "engine/index/index.h",     \
        "engine/text/decoder.h", "engine/vision/region.h", "engine/vision/input_formats.h",        \
        "engine/generate/generation_config.h", "engine/content/file_signature.h"

/* A room is a folder. Each may include itself and what is listed, a room or a header, nothing else.
 * What a closed room includes may not drag in anything else either.
 *
 *     tools    server      engine.h -> explain -> model -> decide, format, text, vision -> base
 *     engine, vision, protocol, data -> content -> base: bytes of any kind, what they are
 *       |         |           ^                     |
 *     learn     config        |                     +-> tensor/linear -> gemm -> tensor -> base
 *       +---------+-----------+
 *     prune -> fit, train -> eval -> data             loadtest, config, tools, train -> cli -> base
 *     batch, stream -> answers -> engine      batch, loadtest, deploy -> client -> base
 */
static const struct room {
    const char *name;
    bool is_closed;
    const char *below[ROOM_BELOW_MAX]; /* up to NULL, or all */
} rooms[] = {
    {"engine/base", true, {NULL}},
    /* a text may hold a picture or a lot, which are known by the tables of those that are read */
    {"engine/content",
     true,
     {"engine/vision/input_formats.h", "engine/fab/lot_formats.h", "engine/base"}},
    /* a command line names shipped models, which a directory that is none is told of, too */
    {"engine/cli", true, {"engine/format/model_places.h", "engine/base"}},
    {"engine/tensor", true, {"engine/base"}},
    {"engine/tensor/gemm", true, {"engine/tensor", "engine/base"}},
    {"engine/tensor/linear", true, {"engine/tensor/gemm", "engine/tensor", "engine/base"}},
    {"engine/tensor/backward", true, {"engine/tensor/gemm", "engine/tensor", "engine/base"}},
    {"engine/ngrams", true, {"engine/base"}},
    {"engine/format", true, {"engine/ngrams", "engine/base"}},
    /* both kinds of tokenizer run what pipeline/steps.h has read of the files */
    {"engine/text", true, {"engine/text/pipeline", "engine/text/tables", "engine/base"}},
    {"engine/text/pipeline", true, {"engine/text", "engine/text/tables", "engine/base"}},
    {"engine/text/tables", true, {"engine/text", "engine/base"}},
    {"engine/vision", true, {"engine/content", "engine/base"}},
    {"engine/fab", true, {"engine/content", "engine/base"}},
    {"engine/statistics", true, {"engine/base"}},
    {"engine/decide", true, {"engine/statistics", "engine/tensor/dot.h", "engine/base"}},
    /* attnd.json says which precisions a model may be served in */
    {"engine/model/config",
     true,
     {"engine/format", "engine/tensor/gemm", "engine/tensor", "engine/base"}},
    /* patches are counted as pixels are, down and across */
    {"engine/model/bias", true, {"engine/tensor", "engine/vision/region.h", "engine/base"}},
    {"engine/model/family", true, {"engine/model/input.h", "engine/tensor", "engine/base"}},
    {"engine/model",
     true,
     {"engine/model/family", "engine/model/config", "engine/model/bias", "engine/decide",
      "engine/statistics", "engine/format", "engine/ngrams", "engine/tensor/linear",
      "engine/tensor/gemm", "engine/tensor", "engine/vision/region.h", "engine/base"}},
    /* a decoder's block is made of the encoder's parts */
    {"engine/model/decoder",
     true,
     {"engine/model", "engine/model/family", "engine/model/config", "engine/model/bias",
      "engine/decide", "engine/statistics", "engine/format", "engine/ngrams",
      "engine/tensor/linear", "engine/tensor/gemm", "engine/tensor", "engine/vision/region.h",
      "engine/base"}},
    {"engine/prepare",
     true,
     {"engine/model", "engine/model/family", "engine/model/config", "engine/model/bias",
      "engine/text", "engine/text/pipeline/character_class.h", "engine/vision", "engine/decide",
      "engine/statistics", "engine/format", "engine/tensor/linear", "engine/tensor/gemm",
      "engine/tensor", "engine/base"}},
    {"engine/generate", true, {"engine/tensor", "engine/base"}},
    {"engine/index", true, {"engine/base"}},
    {"engine/explain",
     false,
     {"engine/model", "engine/vision", "engine/tensor/backward", "engine/tensor/dot.h",
      "engine/base"}},
    {"engine",
     false,
     {"engine/explain", "engine/prepare", "engine/model", "engine/model/config", "engine/content",
      "engine/model/decoder", "engine/generate", "engine/model/bias", "engine/decide",
      "engine/statistics", "engine/format", "engine/ngrams", "engine/text", "engine/vision",
      "engine/tensor/linear", "engine/tensor/gemm", "engine/tensor/rotary.h",
      "engine/fab/semi_check.h", "engine/base"}},

    {"learn/data",
     false,
     {"engine/prepare", "engine/model", "engine/text", "engine/vision", "engine/fab",
      "engine/content", "engine/base"}},
    /* similarities of vectors, by the sums that serving and training use */
    {"learn/eval/measure",
     false,
     {"engine", "engine/decide", "engine/statistics", "engine/tensor/dot.h", "learn/data",
      "engine/content", "engine/base"}},
    /* written texts beside the right ones; words are split as Python splits them */
    {"learn/eval/texts",
     false,
     {"learn/eval/report", "learn/eval/measure", "learn/data", "engine", "engine/decide",
      "engine/statistics", "engine/text/pipeline/character_class.h", "learn/eval/fit/attnd_json.h",
      "engine/model/decoder/pair_spec.h", /* the calibration */
      "engine/base"}},
    {"learn/eval/fit",
     false,
     {"learn/eval/measure", "engine/decide", "engine/statistics", "engine/model",
      "engine/model/decoder/pair_spec.h", "engine/format", "engine/ngrams", "engine/base"}},
    {"learn/eval/explain",
     false,
     {"learn/eval/measure", "learn/data", "engine", "engine/prepare/views.h", "engine/decide",
      "engine/statistics", "engine/model", "engine/vision", "engine/base"}},
    {"learn/eval/report",
     false,
     {"learn/eval/explain", "learn/eval/measure", "learn/data", "engine", "engine/vision",
      "engine/decide", "engine/statistics", "wire/answer.h", "engine/base"}},
    {"learn/eval",
     false,
     {"learn/eval/report", "learn/eval/fit", "learn/eval/measure", "learn/ngrams/ngram_rows.h",
      "learn/data", "engine", "engine/decide", "engine/statistics", "engine/explain/explanation.h",
      "engine/vision/input_formats.h", "engine/model/head_parts.h",
      "engine/base"}},
    {"learn/fit",
     false,
     {"learn/eval", "learn/eval/fit", "learn/eval/measure", "learn/ngrams",
      "learn/train/checkpoint", "learn/train/network/parameters.h", "learn/data", "engine",
      "engine/prepare/pipeline.h", "engine/model", "engine/decide", "engine/statistics",
      "engine/format", "engine/ngrams", "engine/tensor/gemm", "engine/base"}},
    {"learn/ngrams",
     false,
     {"learn/eval/fit", "learn/eval/measure", "learn/data", "engine/model", "engine/format",
      "engine/ngrams", "engine/base"}},
    {"learn/train/network",
     false,
     {"engine/model", "engine/model/bias", "engine/format", "engine/tensor/backward",
      "engine/tensor/gemm", "engine/tensor", "engine/base"}},
    {"learn/train/checkpoint",
     false,
     {"learn/train/network", "engine/format", "engine/text", "engine/vision", "engine/base"}},
    {"learn/train/loop",
     false,
     {"learn/train/checkpoint", "learn/train/network", "learn/ngrams", "learn/eval/measure",
      "learn/data", "engine", "engine/prepare/pipeline.h", "engine/generate/generation_config.h",
      "engine/model/decoder/pair_spec.h", "engine/model", "engine/decide", "engine/statistics",
      "engine/format", "engine/tensor/backward", "engine/tensor/linear", "engine/tensor/dot.h",
      "engine/cli", "engine/base"}},
    /* the end of a regression, and of an embedding, measures and reports without an assessment,
     * which is of labels */
    {"learn/train",
     false,
     {"learn/train/loop", "learn/train/checkpoint", "learn/ngrams", "learn/eval", "learn/eval/fit",
      "learn/eval/measure/number_assessment.h", "learn/eval/measure/number_errors.h",
      "learn/eval/report/task_report.h", "engine/base"}},
    {"learn/prune",
     false,
     {"learn/train", "learn/train/loop", "learn/train/checkpoint", "learn/train/network",
      "learn/fit/fit_write.h", "learn/eval", "learn/eval/fit", "learn/eval/measure",
      "engine/prepare/pipeline.h", "engine/model", "engine/cli", "engine/base"}},
    {"tools/eval",
     false,
     {"tools/answers/writing_options.h", "learn/train/checkpoint", "learn/ngrams", "learn/eval",
      "learn/eval/explain", "learn/eval/measure", "learn/eval/report", "learn/eval/texts",
      "learn/data", "engine", "engine/cli", "engine/base"}},
    {"tools/answers",
     false,
     {"engine", "engine/decide/extraction.h", /* how many answers a question may have */
      "engine/content/text_file.h",           /* the lines of a file */
      "engine/cli", "engine/base", "wire"}},
    {"tools/batch",
     false,
     {"tools/answers", "tools/client", "learn/eval/measure", "learn/data", "engine", "engine/cli",
      "engine/content", "engine/base", "wire"}},
    {"tools/stream",
     false,
     {"tools/answers", "server/http", "server/bounds", "server/observe/trace_context.h", "wire",
      "engine", "engine/vision/input_formats.h", "engine/cli", "engine/base"}},
    {"tools/index", false, {"learn/eval/measure", "learn/data", "engine", "engine/base"}},
    {"tools",
     false,
     {"tools/index",
      "engine/index",
      "tools/answers/answer_words.h", /* options that attnd-predict shares with attnd-batch */
      "tools/answers/writing_options.h",
      "tools/batch",
      "tools/stream",
      "tools/eval",
      "learn/prune",
      "learn/train",
      "learn/train/loop",
      "learn/train/checkpoint",
      "learn/fit",
      "learn/ngrams",
      "learn/eval",
      "learn/eval/explain",
      "learn/eval/measure",
      "learn/eval/report",
      "learn/data",
      "engine",
      "engine/decide",
      "engine/statistics",
      "engine/text",
      "engine/vision/input_formats.h",
      "engine/cli",
      "engine/base",
      "server/audit",
      "server/auth", /* attnd-keys writes what the daemon's own reader takes */
      "wire"}},

    {"config", true, {"engine/cli", "engine/base"}},
    {"wire", true, {"engine/content", "engine/fab", DOOR, "engine/base"}},
    {"server/bounds", true, {"engine/base"}},
    {"server/placement", true, {"config", "engine/base"}},
    {"server/http", true, {"server/bounds", "wire/limits.h", "engine/base"}},
    {"server/observe", true, {"wire", DOOR, "engine/base"}},
    {"server/otlp", true, {"server/observe", "wire", DOOR, "engine/base"}},
    {"server/audit", true, {"server/observe", "config", "wire", DOOR, "engine/base"}},
    {"server/auth", true, {"server/bounds", "wire/limits.h", "engine/base"}},
    /* a wrong directory is answered with those that there are */
    {"server/rollout", true, {"config", "engine/format/model_places.h", "engine/base"}},
    {"server/cache", true, {"server/bounds", "engine/base"}},
    {"server/feedback",
     true,
     {"server/audit", "server/observe", "config", "wire", DOOR, "engine/base"}},
    {"server/serve",
     true,
     {"server/rollout", "server/http", "server/auth", "server/audit", "server/observe",
      "server/placement", "server/cache", "server/bounds", "config", "wire", DOOR, "engine/base"}},
    {"server/review",
     true,
     {"server/feedback", "server/rollout", "server/serve", "server/http", "server/auth",
      "server/audit", "server/observe", "server/placement", "server/cache", "server/bounds",
      "config", "wire", DOOR, "engine/base"}},
    {"server/fits",
     true,
     {"server/review", "server/feedback", "server/rollout", "server/serve", "server/http",
      "server/auth", "server/audit", "server/observe", "server/placement", "server/cache",
      "server/bounds", "config", "wire", DOOR, "engine/base"}},
    {"server/ui", true, {"engine/embed.h"}},
    {"server/json",
     true,
     {"server/fits", "server/review", "server/feedback", "server/rollout", "server/serve",
      "server/auth", "server/http", "server/audit", "server/observe", "server/placement",
      "server/cache", "server/bounds", "config", "wire", DOOR, "engine/base"}},
    {"server/protocol",
     true,
     {"engine/content", "engine/fab", "server/rollout", "server/serve", "server/auth",
      "server/http", "server/audit", "server/observe", "server/placement", "server/cache",
      "server/bounds", "config", "wire", DOOR, "engine/base"}},
    {"server/openapi",
     true,
     {"server/protocol", "server/json", "server/fits", "server/review", "server/feedback",
      "server/rollout", "server/serve", "server/auth", "server/http", "server/audit",
      "server/observe", "server/placement", "server/cache", "server/bounds", "config", "wire", DOOR,
      "engine/embed.h", "engine/base"}},
    {"server/api",
     true,
     {"server/openapi",
      "server/protocol",
      "server/json",
      "server/fits",
      "server/review",
      "server/feedback",
      "server/rollout",
      "server/serve",
      "server/auth",
      "server/http",
      "server/audit",
      "server/observe",
      "server/placement",
      "server/cache",
      "server/bounds",
      "server/ui",
      "config",
      "wire",
      DOOR,
      "engine/base"}},
    {"server",
     true,
     {"server/api",    "server/openapi",  "server/protocol", "server/json",    "server/fits",
      "server/review", "server/feedback", "server/rollout",  "server/serve",   "server/auth",
      "server/http",   "server/audit",    "server/otlp",     "server/observe", "server/placement",
      "server/cache",  "server/bounds",   "config",          "wire",           DOOR,
      "engine/base"}},
    {"tools/client", true, {"engine/base"}},
    {"loadtest", true, {"tools/client", "engine/cli", "engine/base"}},
    {"deploy", true, {"tools/client", "engine/base"}},
};

/* A library's headers and the only files that may include them (patterns of fnmatch). */
static const struct {
    const char *header;
    const char *files[LIBRARY_FILES_MAX]; /* up to NULL, or all */
} libraries[] = {
    {"microhttpd.h", {"server/http/http.c", "server/http/http_*.c"}},
    {"jansson*.h",
     {"engine/base/doc.c",
      "engine/base/doc_load.[ch]",
      "engine/base/doc_edit.c",
      "config/config_*.c",
      "learn/eval/report/report_json*.c",
      "learn/eval/report/number_report.c",
      "learn/eval/report/set_report.c",
      "learn/eval/report/retrieval_report.c",
      "learn/eval/report/task_report.c",
      "learn/eval/report/span_report.c",
      "learn/eval/report/explanations_json.c",
      "learn/eval/texts/writing_report.c",
      "wire/codec*.c",
      "wire/answer.c",
      "wire/problem.c",
      "server/json/codec_*.c",
      "server/openapi/openapi.c",
      "server/openapi/openapi_*.c",
      "server/rollout/rollout_file.c",
      "server/fits/fits_report.c"}},
    {"cblas*.h", {"engine/base/openblas.h"}},
    {"openblas*", {NULL}},
    {"*lapack*", {NULL}},
    {"*dnnl*", {NULL}},
    {"png*.h", {"engine/vision/png.c", "engine/vision/png_write.c"}},
    {"jpeglib.h", {"engine/vision/jpeg.c"}},
    {"zlib.h", {"engine/base/gunzip.c"}},
    {"iconv.h", {"engine/content/charset.c"}},
    {"jerror.h", {"engine/vision/jpeg.c"}},
    {"turbojpeg.h", {NULL}},
    {"nettle/*", {"engine/base/sha256.c"}},
    {"gnutls/*", {"server/http/tls.c", "server/http/received.c", "tools/client/tls_stream.c"}},
    {"b64/*", {"engine/base/base64.c"}},
    {"omp.h", {NULL}},
    {"librdkafka/*", {"tools/stream/kafka*.c"}},
    {"check.h", {"tests/*"}},
};

static const struct room *room_of(const char *path)
{
    char folder[SOURCE_PATH_SIZE];
    source_folder(path, folder);
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++)
        if (strcmp(rooms[r].name, folder) == 0)
            return &rooms[r];
    return NULL;
}

/* True if a file of the room may see a header. */
static bool sees(const struct room *room, const char *header)
{
    char folder[SOURCE_PATH_SIZE];
    source_folder(header, folder);
    if (strcmp(folder, room->name) == 0)
        return true;
    for (size_t i = 0; i < ROOM_BELOW_MAX && room->below[i] != NULL; i++)
        if (strcmp(room->below[i], folder) == 0 || strcmp(room->below[i], header) == 0)
            return true;
    return false;
}

static const char *judge_library(const char *file, const char *header)
{
    for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
        if (fnmatch(libraries[l].header, header, 0) != 0)
            continue;
        for (size_t i = 0; i < LIBRARY_FILES_MAX && libraries[l].files[i] != NULL; i++)
            if (fnmatch(libraries[l].files[i], file, 0) == 0)
                return NULL;
        return "the library is confined to other files";
    }
    return NULL;
}

/* The fault of an include of the file; NULL if there is none. */
static const char *judge_include(const char *file, const struct source_include *include)
{
    const struct room *room = room_of(file);
    if (include->is_system)
        return judge_library(file, include->name);
    if (strchr(include->name, '/') == NULL || strstr(include->name, "..") != NULL)
        return "not written from the root";
    if (room == NULL)
        return "the file is in no known room";
    return sees(room, include->name) ? NULL : "no such arrow in the table of rooms";
}

static const char *judge(const char *file, const char *line)
{
    struct source_include include = {0};
    return source_include_read(&include, line) ? judge_include(file, &include) : NULL;
}

static struct source_tree tree;

START_TEST(layers_include_only_downwards)
{
    int violations = 0;
    source_tree_open(&tree, source_tree_product);
    for (const struct source_file *file = tree.files; file < tree.files + tree.count; file++)
        for (size_t i = 0; i < file->include_count; i++) {
            const char *wrong = judge_include(file->path, &file->includes[i]);
            if (wrong == NULL)
                continue;
            fprintf(stderr, "%s:%u: %s: %s\n", file->path, file->includes[i].line,
                    file->includes[i].name, wrong);
            violations++;
        }
    source_tree_close(&tree);
    ck_assert_msg(violations == 0, "%d forbidden includes, listed above", violations);
}
END_TEST

/* Counts the violations among the headers that a file sees through its includes. */
static int judge_closure(const struct room *room, const struct source_file *file,
                         const struct source_file **seen)
{
    int violations = 0;
    size_t count = source_tree_closure(&tree, file, seen);
    for (size_t s = 0; s < count; s++)
        if (!sees(room, seen[s]->path)) {
            fprintf(stderr, "%s: sees %s through what it includes\n", file->path, seen[s]->path);
            violations++;
        }
    return violations;
}

START_TEST(layers_closed_rooms_see_nothing_else_through_what_they_include)
{
    int violations = 0, files = 0;
    source_tree_open(&tree, source_tree_product);
    const struct source_file **seen = calloc(tree.count, sizeof(*seen));
    ck_assert_ptr_nonnull(seen);
    for (const struct source_file *file = tree.files; file < tree.files + tree.count; file++) {
        const struct room *room = room_of(file->path);
        if (room == NULL || !room->is_closed)
            continue;
        violations += judge_closure(room, file, seen);
        files++;
    }
    free(seen);
    source_tree_close(&tree);
    ck_assert_msg(violations == 0, "%d headers seen, listed above", violations);
    ck_assert_int_gt(files, 50);
}
END_TEST

/* Who includes the engine's door sees little else: the aim of its design is eight headers. */
START_TEST(layers_the_door_of_the_engine_shows_at_most_eight_headers)
{
    enum { DOOR_HEADERS_MAX = 8 };
    source_tree_open(&tree, source_tree_product);
    const struct source_file **seen = calloc(tree.count, sizeof(*seen));
    const struct source_file *door = source_tree_find(&tree, "engine/engine.h");
    ck_assert(seen != NULL && door != NULL);
    const size_t count = source_tree_closure(&tree, door, seen);
    ck_assert_uint_gt(count, 0);
    for (size_t s = 0; count > DOOR_HEADERS_MAX && s < count; s++)
        fprintf(stderr, "engine/engine.h: includes %s\n", seen[s]->path);
    free(seen);
    source_tree_close(&tree);
    ck_assert_msg(count <= DOOR_HEADERS_MAX, "%zu headers, listed above", count);
}
END_TEST

START_TEST(layers_test_sees_forbidden_includes)
{
    static const char *const forbidden[][2] = {
        {"engine/base/err.c", "#include \"engine/tensor/kernels.h\""},
        {"engine/tensor/norm.c", "#  include \"engine/model/encoder.h\""},
        {"engine/text/wordpiece.c", "#include \"engine/vision/image.h\""},
        {"engine/model/encoder.c", "#include \"engine/engine.h\""},
        {"engine/engine.c", "#include \"learn/data/dataset.h\""},
        {"learn/train/loop/run.c", "#include \"server/observe/log.h\""},
        {"server/serve/worker.c", "#include \"learn/data/dataset.h\""},
        {"server/serve/worker.c", "#include \"server/protocol/protocol.h\""},
        {"server/http/http.c", "#include \"server/serve/request.h\""},
        {"server/serve/worker.c", "#include \"engine/explain/words.h\""},
        {"engine/engine.c", "#include \"server/observe/log.h\""},
        {"config/config_load.c", "#include \"server/observe/log.h\""},
        {"server/api/routes.c", "#include \"engine/model/encoder.h\""},
        {"loadtest/main.c", "#include \"server/http/http.h\""},
        {"server/http/http.c", "#include \"http.h\""},
        {"server/http/http.c", "#include \"server/../engine/model/bert.h\""},
        {"attic/old.c", "#include \"engine/engine.h\""},
        {"server/api/routes.c", "#include <microhttpd.h>"},
        {"server/http/httpx.c", "#include <microhttpd.h>"},
        {"engine/format/safetensors.c", " # include <jansson.h>"},
        {"engine/base/doc.h", "#include <jansson.h>"},
        {"engine/tensor/attention.c", "#include <cblas.h>"},
        {"engine/base/cpu.c", "#include <openblas_config.h>"},
        {"engine/vision/jpeg.c", "#include <png.h>"},
        {"engine/vision/png.c", "#include <jpeglib.h>"},
        {"engine/vision/exif.c", "#include <jerror.h>"},
        {"wire/codec.c", "#include <b64/cdecode.h>"},
        {"engine/engine.c", "#include <nettle/sha2.h>"},
        {"engine/base/err.c", "#include <check.h>"},
        {"engine/tensor/linear/linear.c", "#include <oneapi/dnnl/dnnl.h>"},
        {"tools/stream/stream_batch.c", "#include <librdkafka/rdkafka.h>"},
        {"tools/batch/local.c", "#include \"tools/stream/kafka.h\""},
    };
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        ck_assert_msg(judge(forbidden[i][0], forbidden[i][1]) != NULL, "%s: %s", forbidden[i][0],
                      forbidden[i][1]);
}
END_TEST

START_TEST(layers_test_lets_allowed_includes_pass)
{
    static const char *const allowed[][2] = {
        {"engine/base/doc.c", "#include <jansson.h>"},
        {"config/config_load.c", "#include <jansson.h>"},
        {"wire/codec_raw.c", "#include <jansson.h>"},
        {"server/http/http_reply.c", "#include <microhttpd.h>"},
        {"engine/vision/jpeg.c", "#include <jpeglib.h>"},
        {"engine/vision/jpeg.c", "#include <jerror.h>"},
        {"engine/base/sha256.c", "#include <nettle/sha2.h>"},
        {"engine/base/cpu.c", "#include <sched.h>"},
        {"server/api/routes.c", "#include <json_unrelated.h>"},
        {"server/observe/metrics.c", "#include \"server/observe/metrics.def\""},
        {"server/main.c", "#include \"engine/base/openblas.h\""},
        {"engine/engine.c", "#include \"engine/model/encoder.h\""},
        {"tools/vocab.c", "#include \"learn/train/checkpoint/vocab_trim.h\""},
        {"engine/base/err.c", "/* #include is a word here */"},
    };
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        ck_assert_msg(judge(allowed[i][0], allowed[i][1]) == NULL, "%s: %s", allowed[i][0],
                      allowed[i][1]);
}
END_TEST

START_TEST(layers_headers_compile_alone)
{
    char command[1024];
    const char *root = getenv("ATTND_SOURCE_ROOT");
    if (system("command -v ${CC:-cc} >/dev/null 2>&1") != 0)
        suite_skip("no compiler: a machine that only runs");
    snprintf(command, sizeof command, "sh tests/check-headers.sh '%s'", root != NULL ? root : ".");
    int status = system(command);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "listed above");
}
END_TEST

SUITE("layers", layers_include_only_downwards,
      layers_closed_rooms_see_nothing_else_through_what_they_include,
      layers_the_door_of_the_engine_shows_at_most_eight_headers,
      layers_test_sees_forbidden_includes, layers_test_lets_allowed_includes_pass,
      layers_headers_compile_alone)
