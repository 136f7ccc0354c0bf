/* Wafers of an STDF file on their way through an evaluation and its report. */
#include "learn/eval/report/report.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ITEMS = 70, LABELS = 2 }; /* more than an evaluation prepares at once */

static struct bench {
    struct train_fixture fixture;
    struct engine_model *model;
    struct tempdir dir;
    char file[128], paths[2][136];
    struct dataset_item items[ITEMS];
    struct dataset dataset;
    struct evaluation evaluation;
    struct confusion confusion;
    struct findings findings;
    unsigned classes[ITEMS];
    float scratch[LABELS];
} lot;

static struct err err;

static void write_lot(void)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    for (int wafer = 0; wafer < 2; wafer++) {
        stdf_writer_wafer(&writer, 1, wafer == 0 ? "A" : "B");
        for (int die = 0; die < 16; die++)
            stdf_writer_die(&writer, 1, die % 4, die / 4,
                            (die % 4 < 2) == (wafer == 0) ? STDF_WRITER_FAIL : STDF_WRITER_PASS, 1);
    }
    stdf_writer_close(&writer);
    tempdir_open(&lot.dir);
    tempdir_write(&lot.dir, "lot.stdf", writer.bytes, writer.len);
    snprintf(lot.file, sizeof lot.file, "%s/lot.stdf", lot.dir.path);
    snprintf(lot.paths[0], sizeof lot.paths[0], "%s#A", lot.file);
    snprintf(lot.paths[1], sizeof lot.paths[1], "%s#B", lot.file);
}

static void setup(void)
{
    train_fixture_images(&lot.fixture, "right");
    lot.fixture.options.epochs = 1;
    train_fixture_learn(&lot.fixture);
    ck_assert(!engine_open(&lot.model, lot.fixture.first.path, &(struct engine_options){0}, &err));
    write_lot();
    for (size_t i = 0; i < ITEMS; i++)
        lot.items[i] = (struct dataset_item){.name = "wafer", .input = lot.paths[i % 2]};
    lot.dataset = (struct dataset){.kind = ENGINE_IMAGE, .items = lot.items, .count = ITEMS};
}

static void teardown(void)
{
    evaluation_close(&lot.evaluation);
    engine_close(lot.model);
    tempdir_close(&lot.dir);
    train_fixture_close(&lot.fixture);
}

/* The file is gone before the last items are prepared. */
static void lose_file(void *context, size_t done)
{
    (void)context;
    if (done == ITEMS - ITEMS % 64)
        ck_assert_int_eq(unlink(lot.file), 0);
}

START_TEST(a_lot_is_read_once_for_all_of_its_wafers)
{
    const struct evaluation_options options = {.threads = 1, .progress = lose_file};
    setup();
    ck_assert_msg(!evaluation_run(&lot.evaluation, lot.model, &lot.dataset, &options, &err), "%s",
                  err.text);
    ck_assert_int_ne(access(lot.file, F_OK), 0);
    ck_assert_uint_eq(lot.evaluation.failed, 0);
    for (size_t i = 2; i < ITEMS; i++)
        ck_assert_float_eq_tol(evaluation_logits(&lot.evaluation, i)[0],
                               evaluation_logits(&lot.evaluation, i % 2)[0], 1e-5f);
    ck_assert_float_ne(evaluation_logits(&lot.evaluation, 0)[0],
                       evaluation_logits(&lot.evaluation, 1)[0]);
    teardown();
}
END_TEST

static unsigned count(const char *page, const char *text)
{
    unsigned found = 0;
    for (const char *at = strstr(page, text); at != NULL; at = strstr(at + 1, text))
        found++;
    return found;
}

START_TEST(a_report_shows_the_wafers_that_were_taken_for_another_class)
{
    const struct evaluation_options options = {.threads = 1};
    const struct findings_options find = {.target_precision = 0.95, .temperature = 1};
    char *page;
    size_t len;
    setup();
    lot.dataset.count = 2;
    ck_assert(!evaluation_run(&lot.evaluation, lot.model, &lot.dataset, &options, &err));
    for (size_t i = 0; i < 2; i++)
        lot.classes[i] = 1 - evaluation_argmax(&lot.evaluation, i);
    ck_assert(!evaluation_measure(&lot.evaluation, lot.classes, &lot.confusion, &err));
    ck_assert(
        !findings_open(&lot.findings, &lot.evaluation, lot.classes, &lot.confusion, &find, &err));
    const struct report report = {
        .model_dir = "m",
        .data_path = "d",
        .model = lot.model,
        .dataset = &lot.dataset,
        .classes = lot.classes,
        .threads = 1,
        .run = {.dtype = "f32",
                .linear_backend = "native",
                .evaluation = &lot.evaluation,
                .confusion = &lot.confusion},
        .findings = &lot.findings,
        .scratch = lot.scratch,
    };
    FILE *memory = open_memstream(&page, &len);
    ck_assert_ptr_nonnull(memory);
    ck_assert_msg(!report_print_html(&report, memory, &err), "%s", err.text);
    fclose(memory);
    ck_assert_uint_eq(count(page, "<figcaption class=\"mistake\">"), 2);
    ck_assert_uint_eq(count(page, "src=\"data:image/png;base64,"), 2);
    free(page);
    findings_close(&lot.findings);
    confusion_close(&lot.confusion);
    teardown();
}
END_TEST

SUITE("stdf_lot", a_lot_is_read_once_for_all_of_its_wafers,
      a_report_shows_the_wafers_that_were_taken_for_another_class)
