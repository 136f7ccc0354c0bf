/* The figures of a report: without the paths of the models, and never more than is kept of them. */
#include "server/fits/fits_job.h"

#include "server/fits/fits.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;

static char *read_of(const char *report)
{
    char *figures;
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, "report.json", report, strlen(report));
    ck_assert_msg(fits_report_read(&figures, dir.path, &err) == ERR_OK, "%s", err.text);
    tempdir_close(&dir);
    return figures;
}

START_TEST(fits_report_has_both_sides_without_paths)
{
    char *figures = read_of(
        "{\"model\": \"/srv/x\", \"before\": {\"model\": \"/srv/a\", \"inputs\": 34, \"accuracy\": "
        "0.5, \"f1\": {\"a\": {\"f1\": 0.25, \"f1_interval\": [0.125, 1]}}}, \"after\": "
        "{\"model\": \"/srv/b\", \"inputs\": 34, \"accuracy\": 0.75}, \"runs\": []}");
    ck_assert_str_eq(figures, "{\"before\":{\"inputs\":34,\"accuracy\":0.5,\"f1\":{\"a\":{\"f1\":"
                              "0.25,\"f1_interval\":[0.125,1.0]}}},\"after\":{\"inputs\":34,"
                              "\"accuracy\":0.75}}");
    free(figures);
}
END_TEST

START_TEST(fits_report_of_another_shape_has_no_figures)
{
    ck_assert_ptr_null(read_of("{\"before\": {}, \"after\": 3}"));
    ck_assert_ptr_null(read_of("[]"));
    char *figures;
    struct err err = {0};
    ck_assert_int_eq(fits_report_read(&figures, "/nonexistent", &err), ERR_IO);
    ck_assert_ptr_null(figures);
}
END_TEST

START_TEST(fits_report_of_many_labels_has_only_the_sums)
{
    enum { LABELS = 1000, ROOM = 64 * LABELS };
    char *report = malloc(2 * ROOM);
    size_t len = (size_t)snprintf(report, ROOM, "{\"before\": {\"accuracy\": 0.5, \"f1\": {");
    for (int i = 0; i < LABELS; i++)
        len += (size_t)snprintf(report + len, 64, "%s\"label %d\": {\"f1\": 0.123456}",
                                i > 0 ? "," : "", i);
    snprintf(report + len, 64, "}}, \"after\": {\"accuracy\": 1}}");
    char *figures = read_of(report);
    ck_assert_str_eq(figures, "{\"before\":{\"accuracy\":0.5},\"after\":{\"accuracy\":1.0}}");
    free(figures);
    free(report);
}
END_TEST

SUITE("fits/report", fits_report_has_both_sides_without_paths,
      fits_report_of_another_shape_has_no_figures, fits_report_of_many_labels_has_only_the_sums)
