/* A model whose answers are the mean over views of the image, in the programs: the server runs them in
 * steps, attnd-predict the image as a whole. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE "tests/data/golden/images/1_scratch.png"
enum { PATCHES = 16, LABELS = 4 }; /* of vit-0 */

static struct tempdir dir;
static struct server_process server;

static void open_model(const char *attnd)
{
    static const char *const files[] = {"config.json", "model.safetensors",
                                        "preprocessor_config.json"};
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[PATH_MAX], target[PATH_MAX], to[PATH_MAX];
        snprintf(from, sizeof from, "tests/data/golden/vit-0/%s", files[i]);
        snprintf(to, sizeof to, "%s/%s", dir.path, files[i]);
        ck_assert_ptr_nonnull(realpath(from, target));
        ck_assert_int_eq(symlink(target, to), 0);
    }
    tempdir_write(&dir, "attnd.json", attnd, strlen(attnd));
}

static void open_server(const char *queue_limit)
{
    char model[128];
    snprintf(model, sizeof model, "wafers=%s", dir.path);
    server_process_start(&server, (const char *[]){"--model", model, "--queue-limit", queue_limit,
                                                   "--inputs-max", "4", NULL});
}

static void close_server(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}

/* The image so many times in one call. */
static struct reply post(unsigned times, const char *more)
{
    char *image = contract_file_base64(IMAGE);
    char *one = contract_format("{\"image\": \"%s\"}", image);
    char *call = times == 1 ? contract_format("{\"image\": \"%s\"%s}", image, more)
                            : contract_format("{\"inputs\": [%s, %s]%s}", one, one, more);
    struct reply reply = reply_of(http_post_json(server.port, "/predict", call));
    free(call);
    free(one);
    free(image);
    return reply;
}

START_TEST(the_server_joins_the_views_to_what_the_engine_gives_of_them_all)
{
    open_model("{\"views\": 8}");
    open_server("16");
    struct json_t *alone = outcome_json(outcome_of(
        "attnd-predict", (const char *[]){"--model", dir.path, "--image", IMAGE, "--json",
                                          "--explain", "rollout", "--top-k", "all", NULL}));
    struct reply reply = post(1, ", \"top_k\": \"all\", \"explain\": \"rollout\"");
    reply_expect_status(&reply, 200);
    ck_assert_ptr_null(contract_at(reply.json, "windows"));
    ck_assert_ptr_null(contract_at(alone, "windows"));
    reply_expect_text(&reply, "label", doc_as_string(contract_at(alone, "label")));
    for (unsigned i = 0; i < LABELS; i++) {
        char path[32];
        snprintf(path, sizeof path, "predictions.%u.score", i);
        ck_assert_double_eq_tol(reply_number(&reply, path), outcome_number(alone, path), 1e-5);
    }
    ck_assert_uint_eq(reply_count(&reply, "explanation.relevance"), PATCHES);
    for (unsigned p = 0; p < PATCHES; p++) {
        char path[32];
        snprintf(path, sizeof path, "explanation.relevance.%u", p);
        ck_assert_double_eq_tol(reply_number(&reply, path), outcome_number(alone, path), 1e-5);
    }
    reply_free(&reply);
    doc_free(alone);
    close_server();
}
END_TEST

/* Two inputs of eight views each, in a queue of four places. */
START_TEST(an_image_takes_one_place_in_the_queue_and_the_model_says_its_views)
{
    open_model("{\"views\": 8}");
    open_server("4");
    struct reply reply = post(2, "");
    reply_expect_status(&reply, 200);
    ck_assert_ptr_nonnull(contract_at(reply.json, "results.0.label"));
    ck_assert_ptr_nonnull(contract_at(reply.json, "results.1.label"));
    reply_free(&reply);
    reply = reply_of(http_get(server.port, "/models"));
    ck_assert_double_eq(reply_number(&reply, "models.0.views"), 8);
    reply_free(&reply);
    close_server();
}
END_TEST

SUITE("contract_views", the_server_joins_the_views_to_what_the_engine_gives_of_them_all,
      an_image_takes_one_place_in_the_queue_and_the_model_says_its_views)
