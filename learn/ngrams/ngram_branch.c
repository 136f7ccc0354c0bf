#include "learn/ngrams/ngram_branch.h"

#include "engine/format/head_file.h"
#include "engine/model/head_parts.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/example_bank.h"
#include "learn/eval/fit/lbfgs.h"
#include "learn/ngrams/ngram_fit.h"
#include "learn/ngrams/ngram_rows.h"

#include <math.h>
#include <string.h>

/* ---- settings ---- */

static enum err_code split(const char *text, struct ngram_reading *out, struct arena *arena,
                           struct err *err)
{
    if (ngrams_key_words(out, text, arena, err))
        return err_prefix(err, "--ngram-words: ");
    return ERR_OK;
}

enum err_code ngram_settings_check(const struct ngram_settings *settings, struct err *err)
{
    struct ngram_reading reading = {0};
    struct arena arena;
    arena_init(&arena);
    split(settings->key_words, &reading, &arena, err);
    if (err->code == ERR_OK && (settings->key_lines > 0) != (reading.key_word_count > 0))
        err_set(err, ERR_UNUSABLE,
                "--ngram-lines and --ngram-words belong together: so many lines with one of the "
                "words are read");
    arena_deinit(&arena);
    return err->code;
}

/* ---- the weight ---- */

struct blend {
    const struct ngram_data *data;
    const float *evidence; /* [validation->count, labels] */
};

static bool is_usable(const struct blend *blend, size_t i)
{
    return blend->data->evaluation->problems[i] == NULL;
}

static size_t usable(const struct blend *blend)
{
    size_t count = 0;
    for (size_t i = 0; i < blend->data->evaluation->count; i++)
        count += is_usable(blend, i);
    return count;
}

/* Returns -log p of one input's true label and adds its gradient to slopes [2]. */
static double loss_of(const struct blend *blend, size_t input, const double *point, double *slopes)
{
    const unsigned labels = blend->data->evaluation->label_count;
    const unsigned truth = blend->data->classes[input];
    const float *z = blend->data->evaluation->logits + input * labels;
    const float *e = blend->evidence + input * labels;
    double largest = -INFINITY, sum = 0, mean[2] = {0, 0};
    for (unsigned c = 0; c < labels; c++)
        largest = fmax(largest, point[0] * (double)z[c] + point[1] * (double)e[c]);
    for (unsigned c = 0; c < labels; c++) {
        const double p = exp(point[0] * (double)z[c] + point[1] * (double)e[c] - largest);
        sum += p;
        mean[0] += p * (double)z[c];
        mean[1] += p * (double)e[c];
    }
    slopes[0] += mean[0] / sum - (double)z[truth];
    slopes[1] += mean[1] / sum - (double)e[truth];
    return log(sum) + largest - point[0] * (double)z[truth] - point[1] * (double)e[truth];
}

static double blend_loss(void *context, const double *point, double *gradient)
{
    const struct blend *blend = context;
    const double count = (double)usable(blend);
    double loss = 0;
    gradient[0] = gradient[1] = 0;
    for (size_t i = 0; i < blend->data->evaluation->count; i++)
        if (is_usable(blend, i))
            loss += loss_of(blend, i, point, gradient) / count;
    gradient[0] /= count;
    gradient[1] /= count;
    return loss;
}

/* Sets result->weight: the settings' if given; with few inputs NGRAM_WEIGHT_USUAL; else b / a of
 * least loss. Also sets the losses before and after. */
static enum err_code weigh(struct blend *blend, const struct ngram_settings *settings,
                           struct ngram_result *result, struct err *err)
{
    struct lbfgs *lbfgs;
    double point[2] = {1, 0}, slopes[2];
    const bool is_given = settings->weight >= 0 || usable(blend) < NGRAM_WEIGHT_MIN;
    result->weight = settings->weight >= 0 ? settings->weight : NGRAM_WEIGHT_USUAL;
    if (usable(blend) == 0)
        return ERR_OK;
    result->before = blend_loss(blend, point, slopes);
    point[1] = result->weight;
    if (!is_given && !lbfgs_open(&lbfgs, 2, err)) {
        lbfgs_run(lbfgs, blend_loss, blend, 0, point);
        lbfgs_close(lbfgs);
        result->weight = point[0] > 0 && point[1] > 0 ? point[1] / point[0] : 0;
    }
    result->after = blend_loss(blend, point, slopes);
    return err->code;
}

/* ---- the table ---- */

static enum err_code fit(struct ngram_table *table, const struct ngram_data *data,
                         struct arena *arena, struct err *err)
{
    const size_t numbers = (size_t)table->reading.rows * table->labels;
    float *weight = arena_alloc_array(arena, numbers, sizeof *weight);
    float *bias = arena_alloc_array(arena, table->labels, sizeof *bias);
    struct ngram_rows rows;
    if (weight == NULL || bias == NULL)
        return err_no_memory(err, numbers * sizeof *weight);
    table->weight = weight;
    table->bias = bias;
    if (!ngram_rows_open(&rows, &table->reading, data->learnt, err)) {
        const struct ngram_problem problem = {.lists = rows.lists,
                                              .count = rows.count,
                                              .classes = data->learnt_classes,
                                              .labels = table->labels,
                                              .table_rows = table->reading.rows,
                                              .threads = data->threads,
                                              .strength =
                                                  1 / (NGRAM_FIT_TRUST * (double)rows.count)};
        ngram_fit(&problem, weight, bias, err);
    }
    ngram_rows_close(&rows);
    return err->code;
}

/* Multiplies the table's weights and biases with `by`. */
static enum err_code scale(struct ngram_table *table, double by, struct arena *arena,
                           struct err *err)
{
    const size_t numbers = (size_t)table->reading.rows * table->labels;
    float *weight = arena_alloc_array(arena, numbers, sizeof *weight);
    float *bias = arena_alloc_array(arena, table->labels, sizeof *bias);
    if (weight == NULL || bias == NULL)
        return err_no_memory(err, numbers * sizeof *weight);
    for (size_t i = 0; i < numbers; i++)
        weight[i] = (float)(by * (double)table->weight[i]);
    for (unsigned c = 0; c < table->labels; c++)
        bias[c] = (float)(by * (double)table->bias[c]);
    table->weight = weight;
    table->bias = bias;
    table->scale = by;
    return ERR_OK;
}

/* ---- all of it ---- */

static enum err_code write(const char *dir, const struct ngram_table *table, struct arena *arena,
                           struct err *err)
{
    struct spec spec;
    struct head_parts parts;
    struct head_bank bank = {0};
    if (spec_read(&spec, dir, arena, err) || head_parts_open(&spec, dir, &parts, arena, err) ||
        (spec.head_file != NULL && example_bank_read(&bank, dir, &spec, arena, err)) ||
        head_file_write(
            dir,
            &(struct head_content){&bank, &parts.matrix, table, spec.token_pruning.full_layers},
            err))
        return err->code;
    spec.head_file = HEAD_FILE_NAME;
    return attnd_json_write(dir, &spec, err);
}

enum err_code ngram_branch_add(const char *dir, const struct ngram_data *data,
                               const struct ngram_settings *settings, struct ngram_result *result,
                               struct err *err)
{
    const unsigned labels = data->evaluation->label_count;
    const struct dataset *validation = data->validation;
    const size_t numbers = validation->count * labels;
    struct arena arena;
    struct ngram_table table = {.reading = {.characters = settings->characters,
                                            .key_lines = settings->key_lines,
                                            .rows = NGRAM_ROWS_USUAL},
                                .labels = labels};
    uint32_t *rows = &table.reading.rows;
    while (*rows > 2 && (size_t)*rows * labels * sizeof(uint16_t) > NGRAM_TABLE_BYTES)
        *rows /= 2;
    *result = (struct ngram_result){0};
    arena_init(&arena);
    float *evidence = arena_alloc_array(&arena, numbers + 1, sizeof *evidence);
    struct blend blend = {data, evidence};
    if (evidence == NULL) {
        err_no_memory(err, numbers * sizeof *evidence);
        goto out;
    }
    if (split(settings->key_words, &table.reading, &arena, err) || fit(&table, data, &arena, err))
        goto out;
    for (size_t i = 0; i < validation->count && err->code == ERR_OK; i++) {
        const struct dataset_item *item = &validation->items[i];
        struct arena passing;
        arena_init(&passing);
        ngram_table_evidence(&table, item->input, item->input_len, &passing, evidence + i * labels,
                             err);
        arena_deinit(&passing);
    }
    if (err->code != ERR_OK || weigh(&blend, settings, result, err) || result->weight == 0 ||
        scale(&table, result->weight, &arena, err))
        goto out;
    write(dir, &table, &arena, err);
out:
    arena_deinit(&arena);
    return err->code;
}
