/* ngram_fit.h: the gradient of the penalised likelihood is zero at the end; here it is taken from
 * dense rows. Rows that no learnt text has stay without weight, and take no part in the work. */
#include "learn/ngrams/ngram_fit.h"

#include "learn/ngrams/ngram_rows.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 60, ROWS = 256, LABELS = 3 };

static const struct ngram_reading reading = {.characters = 200, .rows = ROWS};
static char texts[COUNT][64];
static struct dataset_item items[COUNT];
static unsigned classes[COUNT];
static float weight[ROWS * LABELS], bias[LABELS];

/* Each class has a word of its own, which one text of six lacks or has of another class. */
static void fill(struct dataset *dataset)
{
    static const char *const words[LABELS] = {"leak", "stall", "fault"};
    for (unsigned i = 0; i < COUNT; i++) {
        classes[i] = i % LABELS;
        const unsigned word = i % 6 == 5 ? (i / 6) % LABELS : classes[i];
        snprintf(texts[i], sizeof texts[i], "site %u %s in block_%c", i, words[word], 'a' + i % 7);
        items[i] = (struct dataset_item){.input = texts[i], .input_len = strlen(texts[i])};
    }
    *dataset = (struct dataset){.kind = ENGINE_TEXT, .items = items, .count = COUNT};
}

static double largest_slope(const struct ngram_rows *rows, double strength)
{
    static double gradient[(ROWS + 1) * LABELS];
    double largest = 0;
    memset(gradient, 0, sizeof gradient);
    for (unsigned i = 0; i < COUNT; i++) {
        double x[ROWS + 1] = {0}, p[LABELS], sum = 0;
        for (size_t k = 0; k < rows->lists[i].count; k++)
            x[rows->lists[i].entries[k].row] += (double)rows->lists[i].entries[k].value;
        x[ROWS] = 1;
        for (unsigned c = 0; c < LABELS; c++) {
            p[c] = (double)bias[c];
            for (unsigned r = 0; r < ROWS; r++)
                p[c] += x[r] * (double)weight[r * LABELS + c];
            sum += p[c] = exp(p[c]);
        }
        for (unsigned c = 0; c < LABELS; c++)
            for (unsigned r = 0; r <= ROWS; r++)
                gradient[r * LABELS + c] += x[r] * (p[c] / sum - (c == classes[i])) / COUNT;
    }
    for (unsigned i = 0; i < (ROWS + 1) * LABELS; i++)
        largest = fmax(largest,
                       fabs(gradient[i] + (i < ROWS * LABELS ? strength * (double)weight[i] : 0)));
    return largest;
}

static struct ngram_problem problem_of(const struct ngram_rows *rows, double strength)
{
    return (struct ngram_problem){.lists = rows->lists,
                                  .count = rows->count,
                                  .classes = classes,
                                  .labels = LABELS,
                                  .table_rows = ROWS,
                                  .strength = strength};
}

START_TEST(ngram_fit_ends_at_a_zero_gradient)
{
    static const double strengths[] = {1e-1, 1e-3};
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    for (unsigned i = 0; i < 2; i++) {
        const struct ngram_problem problem = problem_of(&rows, strengths[i]);
        ck_assert(!ngram_fit(&problem, weight, bias, &err));
        ck_assert_double_lt(largest_slope(&rows, strengths[i]), 2e-5);
        ck_assert_double_gt(largest_slope(&rows, strengths[1 - i]), 1e-4);
    }
    ngram_rows_close(&rows);
}
END_TEST

/* The fit treats two of three labels as known: the third label's weights end where its slopes are
 * zero. */
START_TEST(labels_that_are_known_have_no_weights_and_the_others_end_beside_them)
{
    static float scores[COUNT * 2], of_new[ROWS];
    static unsigned char folds[COUNT];
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    float new_bias;
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    for (unsigned i = 0; i < COUNT; i++) {
        scores[i * 2] = (float)(i % 5) - 2;
        scores[i * 2 + 1] = (float)(i % 3);
        folds[i] = i % 4 == 3;
    }
    struct ngram_problem problem = problem_of(&rows, 1e-2);
    problem.known = 2;
    problem.scores = scores;
    problem.folds = folds;
    problem.left_out = 1;
    ck_assert(!ngram_fit(&problem, of_new, &new_bias, &err));
    double slope[ROWS + 1] = {0};
    unsigned learnt = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        double score = (double)new_bias;
        if (folds[i] == 1)
            continue;
        learnt++;
        for (size_t k = 0; k < rows.lists[i].count; k++)
            score += (double)rows.lists[i].entries[k].value *
                     (double)of_new[rows.lists[i].entries[k].row];
        const double p =
            exp(score) / (exp(score) + exp((double)scores[i * 2]) + exp((double)scores[i * 2 + 1]));
        for (size_t k = 0; k < rows.lists[i].count; k++)
            slope[rows.lists[i].entries[k].row] +=
                (double)rows.lists[i].entries[k].value * (p - (classes[i] == 2));
        slope[ROWS] += p - (classes[i] == 2);
    }
    for (unsigned r = 0; r <= ROWS; r++) {
        const double penalty = r < ROWS ? 1e-2 * (double)of_new[r] : 0;
        ck_assert_double_eq_tol(slope[r] / learnt + penalty, 0, 3e-5);
    }
    ngram_rows_close(&rows);
}
END_TEST

START_TEST(words_that_no_text_has_stay_without_weight)
{
    bool seen[ROWS] = {false};
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    const struct ngram_problem problem = problem_of(&rows, 1e-3);
    ck_assert(!ngram_fit(&problem, weight, bias, &err));
    unsigned unseen = 0;
    for (unsigned i = 0; i < COUNT; i++)
        for (size_t k = 0; k < rows.lists[i].count; k++)
            seen[rows.lists[i].entries[k].row] = true;
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned c = 0; c < LABELS && !seen[r]; c++, unseen++)
            ck_assert_float_eq(weight[r * LABELS + c], 0);
    ck_assert_uint_gt(unseen, 0);
    ngram_rows_close(&rows);
}
END_TEST

START_TEST(words_of_texts_that_are_left_out_alone_stay_without_weight)
{
    static unsigned char folds[COUNT];
    static unsigned often[ROWS], learnt[ROWS];
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    struct ngram_problem problem = problem_of(&rows, 1e-3);
    for (unsigned i = 0; i < COUNT; i++)
        folds[i] = classes[i] == 2;
    problem.folds = folds;
    problem.left_out = 1;
    ck_assert(!ngram_fit(&problem, weight, bias, &err));
    for (unsigned i = 0; i < COUNT; i++)
        for (size_t k = 0; k < rows.lists[i].count; k++) {
            often[rows.lists[i].entries[k].row]++;
            learnt[rows.lists[i].entries[k].row] += folds[i] == 0;
        }
    unsigned left_out = 0;
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned c = 0; c < LABELS; c++) {
            ck_assert((learnt[r] > 0) == (weight[r * LABELS + c] != 0));
            left_out += often[r] > 0 && learnt[r] == 0;
        }
    ck_assert_uint_gt(left_out, 0);
    ngram_rows_close(&rows);
}
END_TEST

/* The same texts, their rows spread over a table with many times as many. */
START_TEST(rows_that_no_text_has_change_no_bit_of_the_others)
{
    enum { TIMES = 7, PAST = 3 };
    static float of_wide[TIMES * ROWS * LABELS], bias_of_wide[LABELS];
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    struct ngram_problem problem = problem_of(&rows, 1e-3);
    ck_assert(!ngram_fit(&problem, weight, bias, &err));
    for (unsigned i = 0; i < COUNT; i++)
        for (size_t k = 0; k < rows.lists[i].count; k++) {
            uint32_t *row = &rows.lists[i].entries[k].row;
            *row = TIMES * *row + PAST;
        }
    problem.table_rows = TIMES * ROWS;
    memset(of_wide, 1, sizeof of_wide);
    ck_assert(!ngram_fit(&problem, of_wide, bias_of_wide, &err));
    ck_assert_mem_eq(bias, bias_of_wide, sizeof bias);
    for (unsigned r = 0; r < TIMES * ROWS; r++)
        for (unsigned c = 0; c < LABELS; c++)
            ck_assert_float_eq(of_wide[r * LABELS + c],
                               r % TIMES == PAST ? weight[r / TIMES * LABELS + c] : 0);
    ngram_rows_close(&rows);
}
END_TEST

/* The copies of the texts are so many that they are added up in blocks. The mean over them is the
 * same. */
START_TEST(many_texts_have_the_same_table_with_any_number_of_threads)
{
    enum { COPIES = 400, THREADS = 3 };
    static struct ngram_list lists[COPIES * COUNT];
    static unsigned truths[COPIES * COUNT];
    static float alone[ROWS * LABELS];
    struct dataset dataset;
    struct ngram_rows rows;
    struct err err = {0};
    fill(&dataset);
    ck_assert(!ngram_rows_open(&rows, &reading, &dataset, &err));
    for (unsigned i = 0; i < COPIES * COUNT; i++) {
        lists[i] = rows.lists[i % COUNT];
        truths[i] = classes[i % COUNT];
    }
    struct ngram_problem problem = problem_of(&rows, 1e-3);
    problem.lists = lists;
    problem.classes = truths;
    problem.count = COPIES * COUNT;
    ck_assert(!ngram_fit(&problem, alone, bias, &err));
    problem.threads = THREADS;
    ck_assert(!ngram_fit(&problem, weight, bias, &err));
    ck_assert_double_lt(largest_slope(&rows, 1e-3), 2e-5);
    ck_assert_mem_eq(weight, alone, sizeof weight);
    ngram_rows_close(&rows);
}
END_TEST

SUITE("ngram_fit", ngram_fit_ends_at_a_zero_gradient,
      labels_that_are_known_have_no_weights_and_the_others_end_beside_them,
      words_that_no_text_has_stay_without_weight,
      words_of_texts_that_are_left_out_alone_stay_without_weight,
      rows_that_no_text_has_change_no_bit_of_the_others,
      many_texts_have_the_same_table_with_any_number_of_threads)
