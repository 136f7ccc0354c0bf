#include "tests/bench/checkpoints.h"
#include "tests/bench/serve.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct checkpoint_size tiny = {.layers = 1,
                                            .hidden = 64,
                                            .heads = 4,
                                            .intermediate = 64,
                                            .vocab = 300,
                                            .positions = 300,
                                            .labels = 3};

static struct tempdir dir, models; /* the checkpoint; where it is bert-base */
static char *answers;

static void ask(const char *questions)
{
    struct err err = {0};
    size_t len;
    char link[sizeof models.path + 16];
    tempdir_open(&dir);
    tempdir_open(&models);
    snprintf(link, sizeof link, "%s/bert-base", models.path);
    ck_assert_int_eq(checkpoints_bert(dir.path, &tiny, &err), ERR_OK);
    ck_assert_int_eq(symlink(dir.path, link), 0);
    FILE *in = fmemopen((void *)(uintptr_t)questions, strlen(questions), "r");
    FILE *out = open_memstream(&answers, &len);
    struct serve_options options = {.models = models.path, .threads = 2};
    ck_assert_int_eq(serve_run(&options, in, out, &err), ERR_OK);
    fclose(in);
    fclose(out);
    tempdir_close(&models);
    tempdir_close(&dir);
}

START_TEST(serve_answers_each_line_with_time_and_logits)
{
    double ms[3], a[3][3];
    ask("f32 bert 1 16\nf32 bert 16 0\nf32 bert 2 16\n");
    const char *at = answers;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(sscanf(at, "%lf %lf %lf %lf\n", &ms[i], &a[i][0], &a[i][1], &a[i][2]), 4);
        at = strchr(at, '\n') + 1;
        ck_assert_double_ge(ms[i], 0);
    }
    ck_assert_int_eq(*at, '\0');
    ck_assert_double_eq_tol(a[0][0], a[2][0], 2e-6); /* the same first row in a larger batch */
    ck_assert(a[0][0] != a[1][0]);
    free(answers);
}
END_TEST

START_TEST(serve_refuses_with_a_reason_and_goes_on)
{
    ask("f33 bert 1 16\nf32 vit 1 0\nf32 bert 0 16\nf32 bert 1 301\nhello\nf32 bert 1 1\n");
    unsigned refused = 0;
    for (const char *at = answers; (at = strstr(at, "refused ")) != NULL; at++)
        refused++;
    ck_assert_uint_eq(refused, 5);
    ck_assert_ptr_nonnull(strstr(answers, "f33"));
    ck_assert_ptr_nonnull(strstr(answers, "301 tokens; the model reads at most 300"));
    double ms, logit;
    const char *last = strstr(answers, "TOKENS\n");
    ck_assert_ptr_nonnull(last);
    ck_assert_int_eq(sscanf(last, "TOKENS %lf %lf", &ms, &logit), 2);
    free(answers);
}
END_TEST

SUITE("serve", serve_answers_each_line_with_time_and_logits,
      serve_refuses_with_a_reason_and_goes_on)
