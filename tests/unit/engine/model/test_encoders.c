/* The encoders of texts against transformers, by token ids: RoBERTa, XLM-R, ELECTRA, ALBERT, MPNet,
 * DeBERTa, Longformer, ModernBERT, and pairs of BERT. tests/data/encoders/NOTICE.md says where they
 * come from. */
#include "engine/decide/argmax.h"
#include "engine/engine.h"
#include "engine/model/embed.h"
#include "engine/model/weights.h"
#include "engine/tensor/linear/linear.h"
#include "tests/support/encoder_model.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/suite.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_TOKENS = 2300 };

static struct encoder_case one;

struct opened {
    struct encoder_model files;
    struct engine_model *model;
    struct engine_session *session;
    unsigned labels;
};

/* "auto" refuses bf16 where it is missing, and where it is no faster than f32: under a sanitizer, or
 * while other programs run. The reference multiplies it everywhere. */
static void open_as(struct opened *out, const char *name, const char *backend, const char *dtype)
{
    struct engine_options options = {.linear_backend = backend, .dtype = dtype};
    struct err err = {0};
    encoder_model_open(&out->files, name);
    if (engine_open(&out->model, out->files.dir.path, &options, &err) == ERR_UNSUPPORTED &&
        strcmp(dtype, "bf16") == 0) {
        options.linear_backend = "reference";
        err = (struct err){0};
        engine_open(&out->model, out->files.dir.path, &options, &err);
    }
    ck_assert_msg(err.code == ERR_OK, "%s: %s", name, err.text);
    ck_assert_int_eq(engine_session_open(&out->session, out->model, BATCH_TOKENS, 2, &err), ERR_OK);
    out->labels = engine_describe(out->model)->label_count;
}

static void close_opened(struct opened *opened)
{
    engine_session_close(opened->session);
    engine_close(opened->model);
    encoder_model_close(&opened->files);
}

static void run(const struct opened *opened, const struct engine_input *input, float *logits)
{
    run_logits_one(opened->session, input, logits);
}

/* max |a - b| / max |b| */
static double relative(const float *a, const double *b, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)a[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return worst / largest;
}

static double check_answers(const char *name, const char *backend)
{
    struct opened opened;
    double worst = 0;
    float logits[ENCODER_LABELS], scores[ENCODER_LABELS];
    open_as(&opened, name, backend, "f32");
    for (unsigned i = 0; encoder_model_case(&opened.files, i, &one); i++) {
        ck_assert_uint_eq(one.labels, opened.labels);
        run(&opened, &one.input, logits);
        engine_scores(opened.model, logits, scores);
        worst = fmax(worst, relative(logits, one.logits, one.labels));
        ck_assert_msg(relative(logits, one.logits, one.labels) < 1e-4, "%s (%s), case %u: %g", name,
                      backend, i, relative(logits, one.logits, one.labels));
        ck_assert(relative(scores, one.probs, one.labels) < 1e-4);
    }
    close_opened(&opened);
    return worst;
}

START_TEST(encoders_of_texts_answer_as_the_reference_does)
{
    for (int m = 0; m < encoder_models_count(); m++)
        printf("%s: logits differ by %.1e\n", encoder_models[m],
               check_answers(encoder_models[m], "auto"));
}
END_TEST

START_TEST(encoders_of_texts_answer_the_same_with_every_backend)
{
    for (int m = 0; m < encoder_models_count(); m++) {
        check_answers(encoder_models[m], "reference");
        check_answers(encoder_models[m], "openblas");
    }
}
END_TEST

/* An Intel core takes some 100 cycles for an operation on a denormal number. Masked keys made many
 * of them: a local layer of ModernBERT took six times as long. */
START_TEST(encoders_of_texts_compute_without_underflow)
{
    static const char *const dtypes[] = {"f32", "int8"};
    for (int m = 0; m < 2 * encoder_models_count(); m++) {
        struct opened opened;
        float logits[ENCODER_LABELS];
        struct err err = {0};
        open_as(&opened, encoder_models[m / 2], "auto", dtypes[m % 2]);
        engine_session_close(opened.session); /* one of this thread alone, whose flags are read */
        ck_assert(!engine_session_open(&opened.session, opened.model, 700, 1, &err));
        for (unsigned i = 0; encoder_model_case(&opened.files, i, &one); i++) {
            feclearexcept(FE_ALL_EXCEPT);
            run(&opened, &one.input, logits);
            ck_assert_msg(!fetestexcept(FE_UNDERFLOW), "%s (%s), case %u", encoder_models[m / 2],
                          dtypes[m % 2], i);
        }
        close_opened(&opened);
    }
}
END_TEST

/* Tells differences that begin at the embeddings from those that begin in the blocks. */
START_TEST(embeddings_have_the_norm_of_the_references)
{
    for (int m = 0; m < encoder_models_count(); m++) {
        struct encoder_model files;
        struct checkpoint *checkpoint;
        struct thread_pool *pool;
        struct weights weights;
        struct workspace workspace;
        struct spec spec;
        struct arena arena;
        struct err err = {0};
        arena_init(&arena);
        encoder_model_open(&files, encoder_models[m]);
        ck_assert_int_eq(spec_read(&spec, files.dir.path, &arena, &err), ERR_OK);
        ck_assert_int_eq(checkpoint_open(&checkpoint, files.dir.path, &err), ERR_OK);
        const struct linear_backend *native = linear_backend_find("native", PRECISION_F32);
        ck_assert_int_eq(weights_open(&weights, &spec, checkpoint, native, native, 1, &err),
                         ERR_OK);
        ck_assert_int_eq(thread_pool_open(&pool, 1, &err), ERR_OK);
        ck_assert_int_eq(workspace_open(&workspace, &spec, native, 700, pool, kernels_best(), &err),
                         ERR_OK);
        for (unsigned i = 0; encoder_model_case(&files, i, &one); i++) {
            double sum = 0;
            embed(&spec, &weights, &workspace, &one.input, 3);
            for (size_t t = 0; t < one.input.tokens; t++)
                for (size_t c = 0; c < spec.hidden; c++) {
                    double x = (double)workspace.x[(t + 3) * workspace.hidden_stride + c];
                    sum += x * x;
                }
            ck_assert_msg(fabs(sqrt(sum) / one.embedding_norm - 1) < 1e-5, "%s, case %u: %g not %g",
                          encoder_models[m], i, sqrt(sum), one.embedding_norm);
        }
        workspace_close(&workspace);
        thread_pool_close(pool);
        weights_close(&weights, &spec);
        checkpoint_close(checkpoint);
        encoder_model_close(&files);
        arena_deinit(&arena);
    }
}
END_TEST

static void check_rollout(const char *name, const char *dtype, double bound)
{
    const struct explain_options rollout = {.method = EXPLAIN_ROLLOUT};
    struct opened opened;
    float plain[ENCODER_LABELS], captured[ENCODER_LABELS];
    open_as(&opened, name, "auto", dtype);
    for (unsigned i = 0; encoder_model_case(&opened.files, i, &one); i++) {
        struct arena arena;
        struct err err = {0};
        const float *relevance;
        double worst = 0;
        arena_init(&arena);
        run(&opened, &one.input, plain);
        ck_assert_int_eq(engine_capture(opened.model, &one.input, &rollout, &arena, &err), ERR_OK);
        run(&opened, &one.input, captured);
        ck_assert_mem_eq(captured, plain, one.labels * sizeof *plain);
        ck_assert_int_eq(
            engine_relevance(opened.model, &one.input, &rollout, 0, &arena, &relevance, &err),
            ERR_OK);
        for (unsigned t = 0; one.has_rollout && t < one.input.tokens; t++)
            worst = fmax(worst, fabs((double)relevance[t] - one.rollout[t]));
        ck_assert_msg(worst < bound, "%s, case %u: %g", name, i, worst);
        arena_deinit(&arena);
    }
    close_opened(&opened);
}

START_TEST(rollout_is_the_references_and_looking_changes_no_answer)
{
    for (int m = 0; m < encoder_models_count(); m++)
        check_rollout(encoder_models[m], "f32", 1e-5);
}
END_TEST

START_TEST(rollout_of_rounded_encoders_stays_near)
{
    for (int m = 0; m < encoder_models_count(); m++)
        check_rollout(encoder_models[m], "int8", 0.02);
}
END_TEST

/* All cases against each alone, again and again in one batch: it has more tokens than two pieces of
 * the MLP (workspace.h: mlp_rows). */
static void check_batch(const char *name, const char *dtype, double bound)
{
    enum { CASES = 9, ROWS = 512 };
    static struct encoder_case cases[CASES];
    static float together[ROWS][ENCODER_LABELS];
    struct opened opened;
    float alone[CASES][ENCODER_LABELS], *rows[ROWS];
    const struct engine_input *batch[ROWS];
    unsigned count = 0, n = 0, tokens = 0;
    open_as(&opened, name, "auto", dtype);
    for (; count < CASES && encoder_model_case(&opened.files, count, &cases[count]); count++)
        run(&opened, &cases[count].input, alone[count]);
    for (; n < ROWS && tokens + cases[n % count].input.tokens <= BATCH_TOKENS; n++) {
        batch[n] = &cases[n % count].input;
        rows[n] = together[n];
        tokens += batch[n]->tokens;
    }
    ck_assert_uint_gt(tokens, 2048);
    run_logits(opened.session, batch, n, rows);
    for (unsigned r = 0; r < n; r++)
        ck_assert_msg(numbers_relative_difference(alone[r % count], together[r], opened.labels) <
                          bound,
                      "%s (%s) row %u", name, dtype, r);
    close_opened(&opened);
}

START_TEST(an_answer_does_not_depend_on_what_shares_the_batch)
{
    for (int m = 0; m < encoder_models_count(); m++) {
        check_batch(encoder_models[m], "f32", 1e-5);
        check_batch(encoder_models[m], "int8", 1e-5);
        check_batch(encoder_models[m], "bf16", 1e-5);
    }
}
END_TEST

/* These are tiny and seeded at random, so their scores are nearly level: a winner whose lead is
 * more than two scores can move is the same in every precision, and no score is far off. */
static void check_rounded(const char *name, const char *backend, const char *dtype, double bound)
{
    struct opened exact, rounded;
    float scores[2][ENCODER_LABELS];
    open_as(&exact, name, "auto", "f32");
    open_as(&rounded, name, backend, dtype);
    double worst = 0;
    unsigned same = 0, all = 0;
    for (unsigned i = 0; encoder_model_case(&exact.files, i, &one); i++) {
        run(&exact, &one.input, scores[0]);
        run(&rounded, &one.input, scores[1]);
        engine_scores(exact.model, scores[0], scores[0]);
        engine_scores(exact.model, scores[1], scores[1]);
        worst = fmax(worst, numbers_difference(scores[0], scores[1], one.labels));
        unsigned winner = argmax(scores[0], one.labels);
        unsigned other = argmax(scores[1], one.labels);
        same += winner == other;
        all++;
        ck_assert_msg(scores[0][winner] - scores[0][other] < 2 * (float)bound,
                      "%s (%s) case %u: winner leads by %g", name, dtype, i,
                      (double)(scores[0][winner] - scores[0][other]));
    }
    printf("%s (%s, %s): %u of %u winners, scores differ by %.1e\n", name, dtype, backend, same,
           all, worst);
    ck_assert_msg(worst < bound && worst > 0, "%s (%s): %g", name, dtype, worst);
    close_opened(&exact);
    close_opened(&rounded);
}

/* ALBERT's layers make the same rounding error again, each time. */
START_TEST(int8_and_bf16_keep_winners_and_stay_near_fp32)
{
    for (int m = 0; m < encoder_models_count(); m++) {
        double int8 = strcmp(encoder_models[m], "albert-0") == 0 ? 0.1 : 0.05;
        check_rounded(encoder_models[m], "auto", "int8", int8);
        check_rounded(encoder_models[m], "reference", "int8", int8);
        check_rounded(encoder_models[m], "reference", "bf16", 0.02);
    }
}
END_TEST

START_TEST(types_of_pairs_matter_and_none_are_all_zero)
{
    static const uint8_t zeros[ENCODER_TOKENS];
    struct opened opened;
    float typed[ENCODER_LABELS], untyped[ENCODER_LABELS], zero[ENCODER_LABELS];
    unsigned pairs = 0;
    open_as(&opened, "bert-5", "auto", "f32");
    for (unsigned i = 0; encoder_model_case(&opened.files, i, &one); i++) {
        run(&opened, &one.input, typed);
        one.input.types = NULL;
        run(&opened, &one.input, untyped);
        one.input.types = zeros;
        run(&opened, &one.input, zero);
        ck_assert_mem_eq(untyped, zero, opened.labels * sizeof *zero);
        bool is_pair = memchr(one.types, 1, one.input.tokens) != NULL;
        bool is_same = memcmp(typed, zero, opened.labels * sizeof *zero) == 0;
        ck_assert_int_ne(is_pair, is_same);
        pairs += is_pair;
    }
    ck_assert_uint_ge(pairs, 3);
    close_opened(&opened);
}
END_TEST

/* Five layers, one block. */
START_TEST(shared_layers_are_held_and_counted_once)
{
    struct opened albert;
    open_as(&albert, "albert-0", "auto", "f32");
    const struct engine_info *info = engine_describe(albert.model);
    size_t e = 24, d = 60, f = 170; /* albert-0's config.json */
    size_t words = info->vocab_size, positions = 128, labels = 4;
    size_t embeddings = (words + positions + 2 + 2) * e + d * (e + 1);
    size_t block = 4 * d * (d + 1) + 2 * 2 * d + f * (d + 1) + d * (f + 1);
    ck_assert_uint_eq(info->layers, 5);
    ck_assert_uint_eq(info->parameters, embeddings + block + d * (d + 1) + labels * (d + 1));
    ck_assert_uint_lt(info->weight_bytes, 2 * 4 * info->parameters);
    close_opened(&albert);
}
END_TEST

START_TEST(measuring_tells_no_less_than_what_opening_takes)
{
    for (int m = 0; m < encoder_models_count(); m++) {
        struct opened opened;
        struct engine_cost cost;
        struct err err = {0};
        open_as(&opened, encoder_models[m], "auto", "f32");
        engine_measure(&cost, opened.files.dir.path, &(struct engine_options){0}, 700, 2, &err);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
        ck_assert_uint_ge(cost.model_bytes, engine_describe(opened.model)->weight_bytes);
        close_opened(&opened);
    }
}
END_TEST

SUITE("encoders", encoders_of_texts_answer_as_the_reference_does,
      encoders_of_texts_answer_the_same_with_every_backend,
      encoders_of_texts_compute_without_underflow, embeddings_have_the_norm_of_the_references,
      rollout_is_the_references_and_looking_changes_no_answer,
      rollout_of_rounded_encoders_stays_near, an_answer_does_not_depend_on_what_shares_the_batch,
      int8_and_bf16_keep_winners_and_stay_near_fp32, types_of_pairs_matter_and_none_are_all_zero,
      shared_layers_are_held_and_counted_once, measuring_tells_no_less_than_what_opening_takes)
