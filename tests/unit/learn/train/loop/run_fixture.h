/* run_fixture.h - a run of a training over train_fixture's model and data, opened or refused. */
#ifndef ATTND_TESTS_UNIT_LEARN_TRAIN_LOOP_RUN_FIXTURE_H
#define ATTND_TESTS_UNIT_LEARN_TRAIN_LOOP_RUN_FIXTURE_H

#include "learn/train/loop/run.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

static struct train_fixture f;
static struct run run;
static struct err err;
static const struct corpus_progress nobody;

static inline enum err_code try_open(void)
{
    err = (struct err){0};
    ck_assert_int_eq(run_open(&run, &f.options, &nobody, &err), err.code);
    return err.code;
}

static inline void open_run(void)
{
    try_open();
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

/* The error is told in words that begin with where and wanted. */
static inline void expect_refused(enum err_code code, const char *wanted, const char *where)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s", where, wanted);
    try_open();
    ck_assert_msg(err.code == code, "%d: %s", err.code, err.text);
    ck_assert_msg(strncmp(err.text, text, strlen(text)) == 0, "%s", err.text);
    run_close(&run);
}

#endif
