/* Encoders and decoders against transformers: states, logits under teacher forcing, greedy texts
 * and the alignment of their tokens. ATTND_GOLDEN names a directory with more checkpoints; without
 * it the committed ones are used. */
#include "engine/base/doc.h"
#include "tests/support/pair_model.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, IDS = 256, VOCABULARY = 2048, DIFFERENCES = 6 };

static const char *golden_dir(void)
{
    const char *dir = getenv("ATTND_GOLDEN");
    return dir != NULL ? dir : "tests/data/golden";
}

static void open_model(struct pair_model *model, const char *name, const char *backend,
                       const char *dtype)
{
    char dir[PATH_BYTES];
    snprintf(dir, sizeof dir, "%s/%s", golden_dir(), name);
    pair_model_open(model, dir, backend, dtype, 1);
}

static struct json_t *open_cases(const char *name)
{
    char path[PATH_BYTES];
    struct err err = {0};
    struct json_t *root;
    snprintf(path, sizeof path, "%s/%s/cases.json", golden_dir(), name);
    ck_assert_msg(doc_parse_file(&root, path, 64 << 20, &err) == ERR_OK, "%s", err.text);
    return root;
}

static double number_at(const struct json_t *array, size_t i)
{
    double value;
    ck_assert(doc_as_number(doc_array_item(array, i), &value));
    return value;
}

static unsigned read_ids(const struct json_t *array, int32_t *ids)
{
    const size_t count = doc_array_count(array);
    ck_assert_uint_le(count, IDS);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)number_at(array, i);
    return (unsigned)count;
}

/* |a - b|, relative to a b above 1. */
static double difference(double a, double b)
{
    return fabs(a - b) / fmax(1, fabs(b));
}

/* One case of a checkpoint. */
struct trial {
    struct pair_model model;
    const struct json_t *one;
    struct arena arena;
    int32_t ids[IDS];
    struct engine_input input;
    float *states;
};

static void begin_trial(struct trial *trial, const struct json_t *one)
{
    char path[PATH_BYTES];
    const char *image = doc_as_string(doc_member(one, "image"));
    trial->one = one;
    arena_init(&trial->arena);
    if (image != NULL) {
        snprintf(path, sizeof path, "%s/images/%s", golden_dir(), image);
        trial->input = pair_model_image(&trial->model, path, &trial->arena);
    } else {
        const unsigned count = read_ids(doc_member(one, "ids"), trial->ids);
        trial->input = pair_model_text(trial->ids, count);
    }
    trial->states = pair_model_encode(&trial->model, &trial->input);
}

static void end_trial(struct trial *trial)
{
    free(trial->states);
    arena_deinit(&trial->arena);
}

static double norm_of(const float *x, size_t stride, size_t rows, size_t width)
{
    double squares = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            squares += (double)x[r * stride + c] * (double)x[r * stride + c];
    return sqrt(squares);
}

/* The encoder's states after each layer; the last are behind a last norm, but of images. */
static double encoder_difference(struct trial *trial)
{
    const struct json_t *norms = doc_member(doc_member(trial->one, "teacher"), "encoder_norms");
    const struct spec *spec = &trial->model.source;
    double worst = 0;
    for (unsigned k = 0; k <= spec->layers && norms != NULL; k++) {
        pair_model_run(&trial->model, &trial->input, k);
        double norm = norm_of(trial->model.batch.x, trial->model.batch.hidden_stride,
                              trial->input.tokens, spec->hidden);
        if (k == spec->layers && spec->family->kind == ENGINE_TEXT)
            norm = norm_of(trial->states, spec->hidden, trial->input.tokens, spec->hidden);
        worst = fmax(worst, difference(norm, number_at(norms, k)));
    }
    return worst;
}

/* Reads `count` tokens, one a step, through the first `layers` layers: logits [count, V] and states
 * [count, D], where they are wanted, and alignment [layers][count][source tokens]. */
static void read_tokens(struct trial *trial, unsigned layers, const int32_t *ids, unsigned count,
                        float *logits, float *states, float *alignment)
{
    struct pair_model *model = &trial->model;
    struct spec spec = model->target;
    struct weights weights = model->decoder;
    uint32_t slots[PAIR_TOKENS];
    const unsigned source = trial->input.tokens;
    float *one = calloc((size_t)spec.layers * source, sizeof *one);
    struct decoder_cache cache = pair_model_begin(model, trial->states, source, PAIR_TOKENS);
    if (layers < spec.layers)
        weights.final_norm.gamma = NULL;
    spec.layers = layers;
    for (unsigned t = 0; t < count; t++) {
        const struct decoder_row row = {
            .cache = &cache, .token = ids[t], .before = t, .slots = slots, .alignment = one};
        slots[t] = (t * 7 + 3) % PAIR_TOKENS; /* slots need not be in order */
        decoder_step(&spec, &weights, &model->step, &row, 1);
        if (logits != NULL)
            memcpy(logits + (size_t)t * spec.vocab_size, model->step.logits,
                   spec.vocab_size * sizeof *logits);
        if (states != NULL)
            memcpy(states + (size_t)t * spec.hidden, model->step.block.x,
                   spec.hidden * sizeof *states);
        for (unsigned l = 0; alignment != NULL && l < layers; l++)
            memcpy(alignment + ((size_t)l * count + t) * source, one + (size_t)l * source,
                   source * sizeof *one);
    }
    free(cache.source);
    free(one);
}

static double decoder_difference(struct trial *trial, const int32_t *ids, unsigned count)
{
    const struct json_t *norms = doc_member(doc_member(trial->one, "teacher"), "decoder_norms");
    const struct spec *spec = &trial->model.target;
    float *states = calloc((size_t)count * spec->hidden, sizeof *states);
    double worst = 0;
    for (unsigned k = 0; k <= spec->layers; k++) {
        read_tokens(trial, k, ids, count, NULL, states, NULL);
        worst = fmax(worst, difference(norm_of(states, spec->hidden, count, spec->hidden),
                                       number_at(norms, k)));
    }
    free(states);
    return worst;
}

static double log_probability(const float *logits, size_t n, size_t id)
{
    double top = logits[0], total = 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (size_t i = 0; i < n; i++)
        total += exp(logits[i] - top);
    return logits[id] - top - log(total);
}

/* differences: of the states of both sides, log-probabilities, norms of logits, and logits. */
static void check_teacher(struct trial *trial, double *worst)
{
    const struct json_t *teacher = doc_member(trial->one, "teacher");
    const struct json_t *matrix = doc_member(teacher, "logits");
    const struct json_t *targets = doc_member(teacher, "target_ids");
    const size_t words = trial->model.target.vocab_size;
    int32_t ids[IDS];
    if (teacher == NULL)
        return;
    const unsigned count = read_ids(doc_member(teacher, "decoder_input_ids"), ids);
    float *logits = calloc(count * words, sizeof *logits);
    worst[0] = fmax(worst[0], encoder_difference(trial));
    worst[1] = fmax(worst[1], decoder_difference(trial, ids, count));
    read_tokens(trial, trial->model.target.layers, ids, count, logits, NULL, NULL);
    for (unsigned t = 0; t < count; t++) {
        const float *row = logits + t * words;
        const double told = number_at(doc_member(teacher, "target_logprobs"), t);
        const double got = log_probability(row, words, (size_t)number_at(targets, t));
        worst[2] = fmax(worst[2], difference(got, told));
        worst[3] = fmax(worst[3], difference(norm_of(row, 0, 1, words),
                                             number_at(doc_member(teacher, "logits_norms"), t)));
        for (size_t i = 0; matrix != NULL && i < words; i++)
            worst[4] = fmax(worst[4], difference(row[i], number_at(doc_array_item(matrix, t), i)));
    }
    free(logits);
}

/* ---- greedy texts ---- */

static long long id_of(const struct json_t *object, const char *key)
{
    double id = -1;
    doc_as_number(doc_member(object, key), &id);
    return (long long)id;
}

/* Masks the words that would repeat the row's last `size` - 1 tokens with one more. */
static void ban_repeats(float *logits, const int32_t *ids, unsigned count, unsigned size)
{
    for (unsigned i = 0; size > 0 && i + size <= count; i++)
        if (memcmp(ids + i, ids + count - (size - 1), (size - 1) * sizeof *ids) == 0)
            logits[ids[i + size - 1]] = -INFINITY;
}

/* The rules of generation_config.json, for one best token. */
static int32_t choose(const struct trial *trial, const struct json_t *root, float *logits,
                      const int32_t *ids, unsigned count, unsigned new_tokens)
{
    const struct json_t *rules = doc_member(root, "generation_config");
    const struct json_t *banned = doc_member(rules, "bad_words_ids");
    const long long own = id_of(trial->one, "forced_bos_token_id");
    const long long first = own >= 0 ? own : id_of(rules, "forced_bos_token_id");
    const long long last = id_of(rules, "forced_eos_token_id");
    const long long repeats = id_of(rules, "no_repeat_ngram_size");
    int32_t best = 0;
    if (count == 1 && first >= 0)
        return (int32_t)first;
    if (count == new_tokens && last >= 0)
        return (int32_t)last;
    for (size_t i = 0; i < doc_array_count(banned); i++) {
        ck_assert_uint_eq(doc_array_count(doc_array_item(banned, i)), 1);
        logits[(size_t)number_at(doc_array_item(banned, i), 0)] = -INFINITY;
    }
    ban_repeats(logits, ids, count, repeats > 0 ? (unsigned)repeats : 0);
    for (unsigned i = 0; i < trial->model.target.vocab_size; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

/* Writes the greedy text, from the start token to the end; returns its tokens. */
static unsigned write_greedily(struct trial *trial, const struct json_t *root, int32_t *ids)
{
    const struct json_t *rules = doc_member(root, "generation_config");
    const unsigned new_tokens = (unsigned)id_of(root, "max_new_tokens");
    struct pair_model *model = &trial->model;
    uint32_t slots[PAIR_TOKENS];
    struct decoder_cache cache =
        pair_model_begin(model, trial->states, trial->input.tokens, PAIR_TOKENS);
    unsigned count = 1;
    ids[0] = (int32_t)id_of(rules, "decoder_start_token_id");
    do {
        const struct decoder_row row = {
            .cache = &cache, .token = ids[count - 1], .before = count - 1, .slots = slots};
        slots[count - 1] = PAIR_TOKENS - count;
        decoder_step(&model->target, &model->decoder, &model->step, &row, 1);
        ids[count] = choose(trial, root, model->step.logits, ids, count, new_tokens);
    } while (ids[count++] != id_of(rules, "eos_token_id") && count <= new_tokens);
    free(cache.source);
    return count;
}

static void check_greedy(struct trial *trial, const struct json_t *root)
{
    int32_t expected[IDS], ids[IDS];
    const unsigned count = read_ids(doc_member(doc_member(trial->one, "greedy"), "ids"), expected);
    ck_assert_uint_eq(write_greedily(trial, root, ids), count);
    ck_assert_mem_eq(ids, expected, count * sizeof *ids);
}

static void check_alignment(struct trial *trial, double *worst)
{
    const struct json_t *layers = doc_member(trial->one, "cross_attention");
    const unsigned source = trial->input.tokens;
    int32_t ids[IDS];
    if (layers == NULL)
        return;
    const unsigned steps = read_ids(doc_member(doc_member(trial->one, "greedy"), "ids"), ids) - 1;
    float *alignment =
        calloc((size_t)trial->model.target.layers * steps * source, sizeof *alignment);
    read_tokens(trial, trial->model.target.layers, ids, steps, NULL, NULL, alignment);
    ck_assert_uint_eq(doc_array_count(layers), trial->model.target.layers);
    for (size_t l = 0; l < trial->model.target.layers; l++)
        for (size_t s = 0; s < steps; s++) {
            const struct json_t *row = doc_array_item(doc_array_item(layers, l), s);
            ck_assert_uint_eq(doc_array_count(row), source);
            for (size_t t = 0; t < source; t++)
                *worst = fmax(*worst, fabs((double)alignment[(l * steps + s) * source + t] -
                                           number_at(row, t)));
        }
    free(alignment);
}

/* ---- every checkpoint ---- */

static void check_model(const char *name, const char *backend)
{
    struct trial trial = {0};
    struct json_t *root = open_cases(name);
    const struct json_t *cases = doc_member(root, "cases");
    double worst[DIFFERENCES] = {0};
    open_model(&trial.model, name, backend, "f32");
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        begin_trial(&trial, doc_array_item(cases, i));
        check_teacher(&trial, worst);
        check_greedy(&trial, root);
        check_alignment(&trial, &worst[5]);
        end_trial(&trial);
    }
    printf(
        "%s (%s): %zu cases; encoder's norms %.1e, decoder's norms %.1e, log-probabilities %.1e, "
        "norms of logits %.1e, logits %.1e, alignment %.1e\n",
        name, backend, doc_array_count(cases), worst[0], worst[1], worst[2], worst[3], worst[4],
        worst[5]);
    for (unsigned i = 0; i < DIFFERENCES; i++)
        ck_assert_msg(worst[i] < 1e-4, "%s: difference %u is %g", name, i, worst[i]);
    pair_model_close(&trial.model);
    doc_free(root);
}

static unsigned each_model(void (*check)(const char *name, const char *backend),
                           const char *backend)
{
    static const char *const families[] = {"marian-", "bart-", "mbart-", "pegasus-", "m2m100-",
                                           "t5-",     "mt5-",  "umt5-",  "nllb-",    "trocr-"};
    unsigned count = 0;
    DIR *dir = opendir(golden_dir());
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        for (size_t f = 0; f < sizeof families / sizeof *families; f++)
            if (strncmp(entry->d_name, families[f], strlen(families[f])) == 0) {
                check(entry->d_name, backend);
                count++;
            }
    closedir(dir);
    return count;
}

START_TEST(decoders_write_what_the_reference_does)
{
    ck_assert_uint_ge(each_model(check_model, "auto"), 1);
    each_model(check_model, "native");
}
END_TEST

START_TEST(decoders_write_the_same_with_the_reference_backend)
{
    ck_assert_uint_ge(each_model(check_model, "reference"), 1);
}
END_TEST

/* ---- other precisions ---- */

/* Logits of the teacher's tokens of case `i` [count, V], yours to free; NULL: it has none. */
static float *teacher_logits(struct trial *trial, const struct json_t *cases, size_t i,
                             size_t *numbers)
{
    const struct json_t *one = doc_array_item(cases, i), *teacher = doc_member(one, "teacher");
    int32_t ids[IDS];
    if (teacher == NULL)
        return NULL;
    const unsigned count = read_ids(doc_member(teacher, "decoder_input_ids"), ids);
    *numbers = (size_t)count * trial->model.target.vocab_size;
    float *logits = calloc(*numbers, sizeof *logits);
    begin_trial(trial, one);
    read_tokens(trial, trial->model.target.layers, ids, count, logits, NULL, NULL);
    end_trial(trial);
    return logits;
}

/* max |a - b| / max |b| of the logits of all cases, b in fp32. */
static double precision_difference(const char *name, const char *backend, const char *dtype)
{
    struct trial exact = {0}, other = {0};
    struct json_t *root = open_cases(name);
    const struct json_t *cases = doc_member(root, "cases");
    double worst = 0, largest = 0;
    size_t numbers;
    open_model(&exact.model, name, "native", "f32");
    open_model(&other.model, name, backend, dtype);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        float *a = teacher_logits(&other, cases, i, &numbers);
        float *b = teacher_logits(&exact, cases, i, &numbers);
        for (size_t k = 0; a != NULL && k < numbers; k++) {
            worst = fmax(worst, fabs((double)a[k] - (double)b[k]));
            largest = fmax(largest, fabs((double)b[k]));
        }
        free(a), free(b);
    }
    pair_model_close(&exact.model);
    pair_model_close(&other.model);
    doc_free(root);
    return worst / largest;
}

static void check_int8(const char *name, const char *backend)
{
    const double worst = precision_difference(name, backend, "int8");
    printf("%s (%s): logits in int8 differ by %.2g of the largest\n", name, backend, worst);
    ck_assert_msg(worst > 0 && worst < 0.1, "%s: %g", name, worst);
}

static void check_bf16(const char *name, const char *backend)
{
    const double worst = precision_difference(name, backend, "bf16");
    printf("%s (%s): logits in bf16 differ by %.2g of the largest\n", name, backend, worst);
    ck_assert_msg(worst > 0 && worst < 0.03, "%s: %g", name, worst);
}

START_TEST(int8_logits_of_decoders_stay_near_those_of_fp32)
{
    ck_assert_uint_ge(each_model(check_int8, "auto"), 1);
    each_model(check_int8, "reference");
}
END_TEST

START_TEST(bf16_logits_of_decoders_stay_near_those_of_fp32)
{
    ck_assert_uint_ge(each_model(check_bf16, "auto"), 1);
    each_model(check_bf16, "reference");
}
END_TEST

SUITE("decoder_golden", decoders_write_what_the_reference_does,
      decoders_write_the_same_with_the_reference_backend,
      int8_logits_of_decoders_stay_near_those_of_fp32,
      bf16_logits_of_decoders_stay_near_those_of_fp32)
