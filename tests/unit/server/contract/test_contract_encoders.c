/* The programs on encoders of every text family: one server with all of them, explanations, and
 * what the tools say of them and of models that are none. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/encoder_model.h"
#include "tests/support/server_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = ENCODER_MODELS - 2 };

static struct encoder_model files[MODELS];
static struct server_process server;

static void open_server(void)
{
    static char named[MODELS][128];
    const char *arguments[2 * MODELS + 1] = {0};
    for (int m = 0; m < MODELS; m++) {
        encoder_model_open(&files[m], encoder_models[m]);
        snprintf(named[m], sizeof named[m], "%.40s=%.63s", encoder_models[m], files[m].dir.path);
        arguments[2 * m] = "--model";
        arguments[2 * m + 1] = named[m];
    }
    server_process_start(&server, arguments);
}

static void close_server(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    for (int m = 0; m < MODELS; m++)
        encoder_model_close(&files[m]);
}

/* The family as the checkpoint's config.json has it. */
static const char *family_of(const char *name)
{
    static char family[32];
    snprintf(family, sizeof family, "%.*s", (int)(strrchr(name, '-') - name), name);
    return family;
}

static struct reply ask(const char *model, const char *method)
{
    char *body = contract_format("{\"model\":\"%s\",\"text\":\"a b c b a\",\"explain\":\"%s\"}",
                                 model, method);
    struct reply reply = reply_of(http_post_json(server.port, "/predict", body));
    free(body);
    reply_expect_status(&reply, 200);
    return reply;
}

START_TEST(every_family_is_served_and_explains_by_every_method)
{
    static const char *const methods[] = {"rollout", "gradient", "attention"};
    open_server();
    for (int m = 0; m < MODELS; m++)
        for (int i = 0; i < 3; i++) {
            struct reply reply = ask(encoder_models[m], methods[i]);
            double total = 0;
            size_t words = reply_count(&reply, "explanation.words");
            ck_assert_str_eq(reply_text(&reply, "explanation.method"), methods[i]);
            ck_assert_uint_eq(words, 5);
            for (size_t w = 0; w < words; w++) {
                char path[64];
                snprintf(path, sizeof path, "explanation.words.%zu.relevance", w);
                ck_assert_double_ge(reply_number(&reply, path), 0);
                total += reply_number(&reply, path);
            }
            ck_assert_double_eq_tol(total, 1, 1e-6);
            reply_free(&reply);
        }
    close_server();
}
END_TEST

/* Compares to the fifth digit: the server may multiply with other threads, or another backend. */
static void expect_score(const char *name, const char *answer, double expected)
{
    struct json_t *json;
    struct err err = {0};
    double score = 0;
    ck_assert_int_eq(doc_parse(&json, answer, strlen(answer), &doc_limits_file, &err), ERR_OK);
    ck_assert(doc_as_number(doc_member(json, "score"), &score));
    doc_free(json);
    ck_assert_msg(fabs(score - expected) < 1e-5, "%s: %.9g, of the server %.9g", name, score,
                  expected);
}

START_TEST(a_program_answers_as_the_server_does)
{
    static char out[16384], errors[1024];
    open_server();
    for (int m = 0; m < MODELS; m++) {
        struct reply reply = ask(encoder_models[m], "rollout");
        ck_assert_int_eq(run_program("attnd-predict",
                                     (const char *[]){"--model", files[m].dir.path, "--text",
                                                      "a b c b a", "--json", NULL},
                                     out, sizeof out, errors, sizeof errors),
                         0);
        expect_score(encoder_models[m], out, reply_number(&reply, "score"));
        reply_free(&reply);
    }
    close_server();
}
END_TEST

START_TEST(inspection_names_the_family_and_what_is_not_used)
{
    static char out[16384], errors[1024];
    for (int m = 0; m < MODELS; m++) {
        encoder_model_open(&files[m], encoder_models[m]);
        ck_assert_int_eq(run_program("attnd-inspect",
                                     (const char *[]){files[m].dir.path, "--json", NULL}, out,
                                     sizeof out, errors, sizeof errors),
                         0);
        char *family = contract_format("\"%s\"", family_of(encoder_models[m]));
        ck_assert_msg(strstr(out, family) != NULL, "%s: %s", family, out);
        if (strcmp(encoder_models[m], "electra-0") == 0)
            ck_assert_ptr_nonnull(strstr(out, "electra.embeddings.position_ids"));
        free(family);
        encoder_model_close(&files[m]);
    }
}
END_TEST

/* One epoch of two labels each, and the checkpoint that it wrote. */
static void train_one(const char *name, const struct tempdir *data)
{
    static char out[16384], errors[8192];
    struct tempdir written;
    char list[128];
    encoder_model_open(&files[0], name);
    tempdir_open(&written);
    snprintf(list, sizeof list, "%s/list.jsonl", data->path);
    int status =
        run_program("attnd-train",
                    (const char *[]){"--model", files[0].dir.path, "--data", list, "--out",
                                     written.path, "--epochs", "1", "--threads", "1", NULL},
                    out, sizeof out, errors, sizeof errors);
    ck_assert_msg(status == 0, "%s: %s", name, errors);
    status = run_program("attnd-predict",
                         (const char *[]){"--model", written.path, "--text", "a b", "--json", NULL},
                         out, sizeof out, errors, sizeof errors);
    ck_assert_msg(status == 0 && (strstr(out, "\"hot\"") || strstr(out, "\"cold\"")), "%s: %s%s",
                  name, out, errors);
    tempdir_close(&written);
    encoder_model_close(&files[0]);
}

START_TEST(every_family_is_trained_and_what_was_written_is_served)
{
    static char lines[4096];
    struct tempdir data;
    size_t len = 0;
    for (int i = 0; i < 40; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s c\", \"label\": \"%s\"}\n", i % 2 ? "a" : "b",
                                i % 3 ? "c" : "a b", i % 2 ? "hot" : "cold");
    tempdir_open(&data);
    tempdir_write(&data, "list.jsonl", lines, len);
    for (int m = 0; m < MODELS; m++)
        train_one(encoder_models[m], &data);
    tempdir_close(&data);
}
END_TEST

/* Exit 2, and a sentence that says what to do. */
START_TEST(models_that_are_none_end_with_what_to_take_instead)
{
    static const char *const cases[][2] = {
        {"{\"model_type\": \"resnet\"}", "fine-tune a vision transformer on the same images"},
        {"{\"model_type\": \"gpt2\"}", "fine-tune an encoder on the same texts"},
        {"{\"model_type\": \"roberta\", \"auto_map\": {\"AutoModel\": \"x.Y\"}}",
         "take a checkpoint whose model is part of transformers itself"},
    };
    char out[1024], errors[2048];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tempdir dir;
        tempdir_open(&dir);
        tempdir_write(&dir, "config.json", cases[i][0], strlen(cases[i][0]));
        ck_assert_int_eq(run_program("attnd-predict",
                                     (const char *[]){"--model", dir.path, "--text", "a", NULL},
                                     out, sizeof out, errors, sizeof errors),
                         2);
        ck_assert_msg(strstr(errors, cases[i][1]) != NULL, "%s", errors);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("contract_encoders", every_family_is_served_and_explains_by_every_method,
      every_family_is_trained_and_what_was_written_is_served, a_program_answers_as_the_server_does,
      inspection_names_the_family_and_what_is_not_used,
      models_that_are_none_end_with_what_to_take_instead)
