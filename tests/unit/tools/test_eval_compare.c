/* attnd-eval as a program where it compares: two precisions of one checkpoint, two backends, known
 * inputs and foreign ones. The expected findings are worked out beside it, from logits and
 * scores. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/outcome.h"
#include "tests/support/run_logits.h"
#include "tests/support/server_process.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAFER "--model", "models/wafer-vit", "--data"
#define KERNEL "--model", "models/kernel-bert", "--data"
#define RUN(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})

/* ---- a second precision ---- */

static const char tiny_config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\"}}";

/* A tiny model whose second bias is `more` larger than it came. */
static void write_tiny(struct checkpoint_writer *writer, float more)
{
    checkpoint_writer_open(writer);
    checkpoint_writer_file(writer, "config.json", tiny_config);
    checkpoint_writer_bert(writer, 16, 1, 24, 40, 32, 2);
    writer->data[writer->count - 1] += more;
    checkpoint_writer_finish(writer);
}

/* A text's logits in a precision. */
static void tiny_logits(const char *dir, const char *dtype, const char *text, float logits[2])
{
    struct engine_options options = {.dtype = dtype};
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!engine_open(&model, dir, &options, &err) &&
                      !engine_session_open(&session, model, 16, 1, &err) &&
                      !engine_prepare(model, text_source(text), NULL, &arena, &input, &err),
                  "%s", err.text);
    run_logits_one(session, &input, logits);
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

/* The test takes the text whose margins differ most, labels by which fp32 is right, and a bias
 * half-way between those that fp32 and int8 would need: the winner of every input differs on any
 * machine. */
START_TEST(eval_fails_where_two_precisions_agree_on_too_few)
{
    static struct checkpoint_writer writer;
    float exact[2], coarse[2];
    float exact_margin = 0, coarse_margin = 0;
    char list[256], path[128], text[16], one[16];
    struct tempdir dir;
    write_tiny(&writer, 0);
    for (int w = 0; w < 8; w++) {
        float f32[2], int8[2];
        snprintf(one, sizeof one, "w%d w8", w);
        tiny_logits(writer.dir, "f32", one, f32);
        tiny_logits(writer.dir, "int8", one, int8);
        if (w > 0 &&
            fabsf(f32[1] - f32[0] - int8[1] + int8[0]) <= fabsf(exact_margin - coarse_margin))
            continue;
        memcpy(exact, f32, sizeof exact), memcpy(coarse, int8, sizeof coarse);
        memcpy(text, one, sizeof text);
        exact_margin = exact[1] - exact[0];
        coarse_margin = coarse[1] - coarse[0];
    }
    checkpoint_writer_close(&writer);
    ck_assert_msg(fabsf(exact_margin - coarse_margin) > 1e-5f, "%g and %g", (double)exact_margin,
                  (double)coarse_margin);
    const char *right = exact_margin > coarse_margin ? "b" : "a";
    write_tiny(&writer, -(exact_margin + coarse_margin) / 2);
    tempdir_open(&dir);
    snprintf(list, sizeof list, "text,label\n%s,%s\n%s,%s\n", text, right, text, right);
    tempdir_write(&dir, "list.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.csv", dir.path);
    outcome_expect(
        RUN("--model", writer.dir, "--data", path, "--against", "int8", "--agree-min", "0.5"), 1,
        "inputs whose winner differs (2)\n",
        "attnd-eval: the winners agree on 0.000 %, which is below --agree-min 0.5\n");
    struct json_t *report =
        outcome_json(RUN("--model", writer.dir, "--data", path, "--against", "int8", "--json"));
    outcome_expect_number(report, "run.accuracy", 1);
    outcome_expect_number(report, "against.run.accuracy", 0);
    outcome_expect_number(report, "against.macro_f1_points", 100);
    outcome_expect_number(report, "against.compared", 2);
    outcome_expect_number(report, "against.same_winner", 0);
    double first = fabs((double)exact[0] - (double)coarse[0]);
    double second = fabs((double)exact[1] - (double)coarse[1]);
    ck_assert(fabs(outcome_number(report, "against.logit_difference_max") - fmax(first, second)) <
              1e-6);
    ck_assert(fabs(outcome_number(report, "against.logit_difference_mean") - (first + second) / 2) <
              1e-6);
    doc_free(report);
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}
END_TEST

/* The same bias far from both. */
START_TEST(eval_passes_where_two_precisions_agree_on_all)
{
    static struct checkpoint_writer writer;
    static const char list[] = "text,label\nw7 w8,b\n";
    char path[128];
    struct tempdir dir;
    write_tiny(&writer, 9);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.csv", dir.path);
    outcome_expect(
        RUN("--model", writer.dir, "--data", path, "--against", "int8", "--agree-min", "100"), 0,
        "same winner    100.000 % (1 of 1)\n", "");
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}
END_TEST

/* The agreement has the digest of the weights, and the rest of the file stays. */
START_TEST(eval_writes_the_agreement_that_auto_reads)
{
    static struct checkpoint_writer writer;
    static const char list[] = "text,label\nw7 w8,b\nw9,b\n";
    char path[128], digest[72];
    struct engine_model *model;
    struct spec spec;
    struct arena arena;
    struct tempdir dir;
    struct err err = {0};
    write_tiny(&writer, 9);
    checkpoint_writer_file(&writer, "attnd.json", "{\"version\": \"7\", \"dtype\": \"f32\"}");
    tempdir_open(&dir);
    tempdir_write(&dir, "list.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.csv", dir.path);
    outcome_expect(RUN("--model", writer.dir, "--data", path, "--dtype", "int8", "--against", "f32",
                       "--write-agreement"),
                   0, "same winner    100.000 % (2 of 2)\n", "");
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, writer.dir, &arena, &err) &&
                      !engine_open(&model, writer.dir, &(struct engine_options){0}, &err) &&
                      !engine_digest(model, NULL, digest, &err),
                  "%s", err.text);
    const struct precision_agreement *agreement = &spec.precisions.agreement[PRECISION_INT8];
    ck_assert_uint_eq(agreement->inputs, 2);
    ck_assert_uint_eq(agreement->same_winner, 2);
    ck_assert_double_eq(agreement->f1_points, 0);
    ck_assert_str_eq(agreement->digest, digest);
    ck_assert_uint_eq(spec.precisions.agreement[PRECISION_BF16].inputs, 0);
    ck_assert(spec.precisions.is_pinned);
    ck_assert_str_eq(spec.version, "7");
    engine_close(model);
    arena_deinit(&arena);
    outcome_expect(RUN("--model", writer.dir, "--data", path, "--dtype", "auto"), 0, "accuracy",
                   "attnd-eval: dtype f32: attnd.json pins it\n");
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}
END_TEST

/* A line for each precision, which is taken away again. */
START_TEST(eval_shows_its_progress_on_a_terminal)
{
    static struct checkpoint_writer writer;
    static const char list[] = "text,label\nw7 w8,b\n";
    static char said[OUTCOME_BYTES];
    char path[128];
    struct tempdir dir;
    write_tiny(&writer, 9);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.csv", dir.path);
    const char *const arguments[] = {"--model",   writer.dir, "--data", path,
                                     "--against", "int8",     NULL};
    ck_assert_int_eq(outcome_on_terminal("attnd-eval", arguments, said), 0);
    const char *first = strstr(said, "\r\033[Kint8: 1 of 1 inputs, ");
    const char *second = strstr(said, " a second, 0:00 left\r\033[K\r\033[Kf32: 1 of 1 inputs, ");
    ck_assert_ptr_eq(first, said);
    ck_assert_msg(second != NULL, "%s", said);
    ck_assert_str_eq(strrchr(said, '\r'), "\r\033[K");
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}
END_TEST

/* Other products round differently: the difference must be seen, and be small. */
START_TEST(eval_measures_how_far_two_backends_differ)
{
    struct json_t *report =
        outcome_json(RUN(KERNEL, "tests/data/eval/kernel.jsonl", "--json", "--limit", "2",
                         "--linear-backend", "reference", "--against", "f32"));
    double largest = outcome_number(report, "against.logit_difference_max");
    ck_assert(largest > 0 && largest < 1e-3);
    ck_assert(outcome_number(report, "against.logit_difference_mean") < largest);
    outcome_expect_number(report, "against.same_winner", 2);
    doc_free(report);
}
END_TEST

/* ---- strange inputs ---- */

enum { IMAGES_MAX = 8 };

/* ood_score of images, as attnd-predict gives it. */
static unsigned ood_scores(const char *const *images, double *scores)
{
    static char out[OUTCOME_BYTES], errors[2048];
    const char *arguments[2 * IMAGES_MAX + 4] = {"--json", "--model", "models/wafer-vit"};
    unsigned count = 0;
    for (size_t at = 3; images[count] != NULL; count++) {
        arguments[at++] = "--image";
        arguments[at++] = images[count];
    }
    ck_assert_int_eq(
        run_program("attnd-predict", arguments, out, sizeof out, errors, sizeof errors), 0);
    const char *line = out;
    for (unsigned i = 0; i < count; i++) {
        line = strstr(line, "\"ood_score\":");
        ck_assert_ptr_nonnull(line);
        scores[i] = strtod(line += strlen("\"ood_score\":"), NULL);
    }
    return count;
}

/* Pair by pair: how often the strange one is the stranger; and how many strange ones pass where all
 * six known ones do, which are the 95 % that six can be. */
START_TEST(eval_tells_strange_inputs_apart)
{
    static const char *const known[] = {"tests/data/eval/wafer/Center/defects_10402.png",
                                        "tests/data/eval/wafer/Center/defects_11357.png",
                                        "tests/data/eval/wafer/Donut/defects_11536.png",
                                        "tests/data/eval/wafer/Edge-Ring/defects_10017.png",
                                        "tests/data/eval/wafer/Scratch/defects_10508.png",
                                        "tests/data/eval/wafer/none/none_0.png",
                                        NULL};
    static const char *const strange[] = {
        "tests/data/golden/images/0_center.png",    "tests/data/golden/images/1_scratch.png",
        "tests/data/golden/images/2_edge-ring.png", "tests/data/golden/images/3_donut.png",
        "tests/data/golden/images/4_loc.png",       "tests/data/golden/images/5_random.png",
        "tests/data/golden/images/6_texture.png",   NULL};
    double a[IMAGES_MAX], b[IMAGES_MAX], won = 0, largest = 0;
    unsigned known_count = ood_scores(known, a), strange_count = ood_scores(strange, b), pass = 0;
    char list[IMAGES_MAX * PATH_MAX] = "image\n", path[128], claim[512];
    struct tempdir dir;
    for (unsigned i = 0; i < known_count; i++)
        largest = fmax(largest, a[i]);
    for (unsigned k = 0; k < strange_count; k++) {
        char *full = realpath(strange[k], NULL);
        strcat(strcat(list, full), "\n");
        free(full);
        pass += b[k] <= largest;
        for (unsigned i = 0; i < known_count; i++)
            won += b[k] > a[i] ? 1 : b[k] == a[i] ? 0.5 : 0;
    }
    ck_assert(won > 0 && won < known_count * strange_count && pass > 0 && pass < strange_count);
    tempdir_open(&dir);
    tempdir_write(&dir, "strange.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/strange.csv", dir.path);
    snprintf(claim, sizeof claim,
             "\nOOD data  %s: 7 inputs, told apart by neighbours with AUROC "
             "%.4f, FPR95 %.4f\n",
             path, won / (known_count * strange_count), pass / (double)strange_count);
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--ood-data", path), 0, claim, "");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--ood-data", path, "--json"), 0,
                   "{\"model\":", claim);
    tempdir_close(&dir);
}
END_TEST

SUITE("eval_compare", eval_fails_where_two_precisions_agree_on_too_few,
      eval_passes_where_two_precisions_agree_on_all, eval_writes_the_agreement_that_auto_reads,
      eval_shows_its_progress_on_a_terminal, eval_measures_how_far_two_backends_differ,
      eval_tells_strange_inputs_apart)
