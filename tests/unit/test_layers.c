/* test_layers.c - the architecture, as a test: which room may include which, and which file may
 * include which library. The two tables below are the diagram; a new arrow is drawn there, with a
 * reason, or not at all.
 *
 * ATTND_SOURCE_ROOT in the environment names another tree to look at.
 */
#include "tests/support/suite.h"

#include <fnmatch.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A room is a folder. Each may include itself and what is listed, nothing else: arrows point down.
 *
 *     loadtest | server -> config -> engine.h -> explain -> model -> format, text, vision -> tensor
 *                                                                                   -> base
 *                tools -> train -> eval -> data -> engine.h
 */
static const struct {
    const char *room;
    const char *below[12];
} edges[] = {
    {"engine/base", {NULL}},
    {"engine/tensor", {"engine/base"}},
    {"engine/format", {"engine/tensor", "engine/base"}},
    {"engine/text", {"engine/tensor", "engine/base"}},
    {"engine/vision", {"engine/tensor", "engine/base"}},
    {"engine/model",
     {"engine/format", "engine/text", "engine/vision", "engine/tensor", "engine/base"}},
    {"engine/explain", {"engine/model", "engine/vision", "engine/tensor", "engine/base"}},
    {"engine",
     {"engine/explain", "engine/model", "engine/format", "engine/text", "engine/vision", "engine/tensor",
      "engine/base"}},
    {"engine/data",
     {"engine", "engine/model", "engine/text", "engine/vision", "engine/tensor", "engine/base"}},
    {"engine/eval",
     {"engine", "engine/data", "engine/model", "engine/vision", "engine/tensor", "engine/base"}},
    {"engine/train",
     {"engine", "engine/eval", "engine/data", "engine/model", "engine/format", "engine/text",
      "engine/vision", "engine/tensor", "engine/base"}},
    {"engine/tools",
     {"engine", "engine/train", "engine/eval", "engine/data", "engine/model", "engine/format",
      "engine/text", "engine/vision", "engine/tensor", "engine/base"}},
    {"config", {"engine", "engine/base"}},
    {"server", {"config", "engine", "engine/base"}},
    {"loadtest", {"engine/base"}},
};

/* A library's headers and the only files that may include them (patterns of fnmatch). */
static const struct {
    const char *header;
    const char *files[12];
} libraries[] = {
    {"microhttpd.h", {"server/http.c", "server/http_*.c"}},
    {"jansson*.h",
     {"engine/base/json.c", "engine/base/json_load.[ch]", "engine/base/json_edit.c",
      "engine/answer.c", "config/config.c", "config/config_*.c", "engine/eval/report_json.c",
      "engine/eval/explanations_json.c", "server/codec.c", "server/codec_*.c"}},
    {"cblas*.h", {"engine/tensor/linear_openblas.c", "engine/base/blas_core.c"}},
    {"openblas*", {"engine/tensor/linear_openblas.c", "engine/base/blas_core.c"}},
    {"*lapack*", {NULL}},
    {"*dnnl*", {"engine/tensor/linear_onednn.c", "engine/tensor/onednn.[ch]"}},
    {"png*.h", {"engine/vision/png.c", "engine/vision/png_write.c"}},
    {"jpeglib.h", {"engine/vision/jpeg.c"}},
    {"zlib.h", {"engine/data/gunzip.c"}},
    {"jerror.h", {"engine/vision/jpeg.c"}},
    {"turbojpeg.h", {NULL}},
    {"nettle/*", {"engine/base/sha256.c"}},
    {"b64/*", {"server/base64.c"}},
    {"omp.h", {NULL}},
    {"check.h", {"tests/*"}},
};

/* Folder of a path: "engine/base/err.h" -> "engine/base". */
static void folder_of(const char *path, char room[256])
{
    const char *slash = strrchr(path, '/');
    snprintf(room, 256, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
}

static const char *judge_edge(const char *file, const char *included)
{
    char from[256], to[256];
    folder_of(file, from);
    folder_of(included, to);
    if (strcmp(from, to) == 0)
        return NULL;
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
        if (strcmp(edges[e].room, from) != 0)
            continue;
        for (int i = 0; edges[e].below[i] != NULL; i++)
            if (strcmp(edges[e].below[i], to) == 0)
                return NULL;
        return "no such arrow in the table of rooms";
    }
    return "the file is in no known room";
}

static const char *judge_library(const char *file, const char *header)
{
    for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
        if (fnmatch(libraries[l].header, header, 0) != 0)
            continue;
        for (int i = 0; libraries[l].files[i] != NULL; i++)
            if (fnmatch(libraries[l].files[i], file, 0) == 0)
                return NULL;
        return "the library is confined to other files";
    }
    return NULL;
}

/* What is wrong with a line of a file; NULL if nothing. */
static const char *judge(const char *file, const char *line)
{
    char quote, name[200];
    if (sscanf(line, " # include %c%199[^\">]", &quote, name) != 2)
        return NULL;
    if (quote == '<')
        return judge_library(file, name);
    if (strchr(name, '/') == NULL || strstr(name, "..") != NULL)
        return "not written from the root";
    return judge_edge(file, name);
}

static const char *source_root(void)
{
    const char *root = getenv("ATTND_SOURCE_ROOT");
    return root != NULL ? root : ".";
}

/* Prints the violations of one file; returns their number. */
static int judge_file(const char *file)
{
    char *line = NULL;
    size_t size = 0;
    int number = 0, violations = 0;
    FILE *stream = fopen(file, "r");
    ck_assert_msg(stream != NULL, "%s", file);
    while (getline(&line, &size, stream) >= 0) {
        const char *wrong = judge(file, line);
        number++;
        if (wrong == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        fprintf(stderr, "%s:%d: %s: %s\n", file, number, line, wrong);
        violations++;
    }
    free(line);
    fclose(stream);
    return violations;
}

START_TEST(layers_include_only_downwards)
{
    static char engine[] = "engine", config[] = "config", server[] = "server",
                loadtest[] = "loadtest";
    char *const roots[] = {engine, config, server, loadtest, NULL};
    int files = 0, violations = 0;
    ck_assert_int_eq(chdir(source_root()), 0);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    ck_assert_ptr_nonnull(tree);
    for (FTSENT *entry = fts_read(tree); entry != NULL; entry = fts_read(tree)) {
        if (entry->fts_info != FTS_F || fnmatch("*.[ch]", entry->fts_name, 0) != 0)
            continue;
        violations += judge_file(entry->fts_path);
        files++;
    }
    fts_close(tree);
    ck_assert_msg(violations == 0, "%d forbidden includes, listed above", violations);
    ck_assert_int_gt(files, 10);
}
END_TEST

START_TEST(layers_test_sees_forbidden_includes)
{
    static const char *const forbidden[][2] = {
        {"engine/base/err.c", "#include \"engine/tensor/kernels.h\""},
        {"engine/tensor/norm.c", "#  include \"engine/model/encoder.h\""},
        {"engine/text/wordpiece.c", "#include \"engine/vision/image.h\""},
        {"engine/model/encoder.c", "#include \"engine/engine.h\""},
        {"engine/engine.c", "#include \"server/log.h\""},
        {"config/config.c", "#include \"server/log.h\""},
        {"server/routes.c", "#include \"engine/model/encoder.h\""},
        {"loadtest/main.c", "#include \"server/http.h\""},
        {"server/http.c", "#include \"http.h\""},
        {"server/http.c", "#include \"server/../engine/model/bert.h\""},
        {"attic/old.c", "#include \"engine/engine.h\""},
        {"server/routes.c", "#include <microhttpd.h>"},
        {"server/httpx.c", "#include <microhttpd.h>"},
        {"engine/format/safetensors.c", " # include <jansson.h>"},
        {"engine/base/json.h", "#include <jansson.h>"},
        {"engine/tensor/attention.c", "#include <cblas.h>"},
        {"engine/base/cpu.c", "#include <openblas_config.h>"},
        {"engine/vision/jpeg.c", "#include <png.h>"},
        {"engine/vision/png.c", "#include <jpeglib.h>"},
        {"engine/vision/exif.c", "#include <jerror.h>"},
        {"server/codec.c", "#include <b64/cdecode.h>"},
        {"engine/engine.c", "#include <nettle/sha2.h>"},
        {"engine/base/err.c", "#include <check.h>"},
        {"engine/tensor/linear.c", "#include <oneapi/dnnl/dnnl.h>"},
    };
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        ck_assert_msg(judge(forbidden[i][0], forbidden[i][1]) != NULL, "%s: %s", forbidden[i][0],
                      forbidden[i][1]);
}
END_TEST

START_TEST(layers_test_lets_allowed_includes_pass)
{
    static const char *const allowed[][2] = {
        {"engine/base/json.c", "#include <jansson.h>"},
        {"config/config_file.c", "#include <jansson.h>"},
        {"server/codec_raw.c", "#include <jansson.h>"},
        {"server/http_reply.c", "#include <microhttpd.h>"},
        {"engine/vision/jpeg.c", "#include <jpeglib.h>"},
        {"engine/vision/jpeg.c", "#include <jerror.h>"},
        {"engine/base/sha256.c", "#include <nettle/sha2.h>"},
        {"engine/base/cpu.c", "#include <sched.h>"},
        {"server/routes.c", "#include <json_unrelated.h>"},
        {"server/metrics.c", "#include \"server/metrics.def\""},
        {"server/main.c", "#include \"engine/base/blas_core.h\""},
        {"engine/engine.c", "#include \"engine/model/encoder.h\""},
        {"engine/tools/inspect.c", "#include \"engine/format/checkpoint.h\""},
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
    if (system("command -v \"${CC:-cc}\" >/dev/null 2>&1") != 0)
        suite_skip("no compiler: a machine that only runs");
    snprintf(command, sizeof command, "sh tests/check-headers.sh '%s'", source_root());
    int status = system(command);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "listed above");
}
END_TEST

SUITE("layers", layers_include_only_downwards, layers_test_sees_forbidden_includes,
      layers_test_lets_allowed_includes_pass, layers_headers_compile_alone)
