/* state.h: what is written comes back to the last bit, and what is another run's does not. */
#include "engine/train/state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 1000 };

struct fixture {
    struct tempdir dir;
    char path[128];
    struct state state;
    struct history_epoch epochs[2];
};

static const char fingerprint[SHA256_HEX_BYTES] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.epochs = {{1, 48, 1e-3, 0.1 + 0.2, 1.0 / 3, 0.5, 0.25, 12.5, 0},
                                     {2, 48, 1e-4, 0.1, 0.3, 0.75, 0.5, 11, 3}}};
    tempdir_open(&f->dir);
    snprintf(f->path, sizeof f->path, "%s/state.safetensors", f->dir.path);
    f->state = (struct state){
        .counters = {.step = 0x0123456789ABCDEF, .best = -1.0 / 3, .epoch_loss = 1e300},
        .history = {f->epochs, 2},
        .values = numbers_new(NUMBERS, 1, 1),
        .m = numbers_new(NUMBERS, 1, 2),
        .v = numbers_new(NUMBERS, 1, 3),
        .average = numbers_new(NUMBERS, 1, 4),
        .best = numbers_new(NUMBERS, 1, 5),
        .numbers = NUMBERS};
    memcpy(f->state.fingerprint, fingerprint, sizeof fingerprint);
}

static void write_state(struct fixture *f)
{
    struct err err = {0};
    ck_assert_msg(state_write(f->path, &f->state, &err) == ERR_OK, "%s", err.text);
}

static void free_arrays(struct state *state)
{
    free(state->values);
    free(state->m);
    free(state->v);
    free(state->average);
    free(state->best);
}

static void close_fixture(struct fixture *f)
{
    free_arrays(&f->state);
    tempdir_close(&f->dir);
}

static struct state empty_state(void)
{
    return (struct state){.values = calloc(NUMBERS, sizeof(float)),
                          .m = calloc(NUMBERS, sizeof(float)),
                          .v = calloc(NUMBERS, sizeof(float)),
                          .average = calloc(NUMBERS, sizeof(float)),
                          .best = calloc(NUMBERS, sizeof(float)),
                          .numbers = NUMBERS};
}

START_TEST(a_state_comes_back_to_the_last_bit)
{
    struct fixture f;
    struct err err = {0};
    bool found;
    open_fixture(&f);
    write_state(&f);
    struct state back = empty_state();
    ck_assert_int_eq(state_read_counters(f.path, fingerprint, &found, &back.counters, &err),
                     ERR_OK);
    ck_assert(found);
    ck_assert_mem_eq(&back.counters, &f.state.counters, sizeof back.counters);
    ck_assert_msg(state_read(f.path, &back, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(back.history.count, 2);
    ck_assert_mem_eq(back.history.epochs, f.epochs, sizeof f.epochs);
    ck_assert_mem_eq(back.values, f.state.values, NUMBERS * sizeof(float));
    ck_assert_mem_eq(back.m, f.state.m, NUMBERS * sizeof(float));
    ck_assert_mem_eq(back.v, f.state.v, NUMBERS * sizeof(float));
    ck_assert_mem_eq(back.average, f.state.average, NUMBERS * sizeof(float));
    ck_assert_mem_eq(back.best, f.state.best, NUMBERS * sizeof(float));
    free(back.history.epochs);
    free_arrays(&back);
    close_fixture(&f);
}
END_TEST

START_TEST(no_file_is_no_state)
{
    struct state_counters counters;
    struct err err = {0};
    bool found = true;
    ck_assert_int_eq(state_read_counters("/nowhere/state", fingerprint, &found, &counters, &err),
                     ERR_OK);
    ck_assert(!found);
}
END_TEST

START_TEST(another_runs_state_is_refused_with_the_way_out)
{
    struct fixture f;
    struct state_counters counters;
    struct err err = {0};
    bool found;
    open_fixture(&f);
    f.state.fingerprint[10] = 'f';
    write_state(&f);
    ck_assert_int_eq(state_read_counters(f.path, fingerprint, &found, &counters, &err),
                     ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "--restart"));
    close_fixture(&f);
}
END_TEST

START_TEST(a_state_of_another_size_is_refused)
{
    struct fixture f;
    struct err err = {0};
    open_fixture(&f);
    write_state(&f);
    f.state.numbers = NUMBERS - 1;
    ck_assert_int_eq(state_read(f.path, &f.state, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "values"));
    free(f.state.history.epochs);
    close_fixture(&f);
}
END_TEST

START_TEST(a_cut_file_is_refused)
{
    struct fixture f;
    struct state_counters counters;
    struct err err = {0};
    bool found;
    open_fixture(&f);
    write_state(&f);
    ck_assert_int_eq(truncate(f.path, 5000), 0);
    ck_assert_int_ne(state_read_counters(f.path, fingerprint, &found, &counters, &err), ERR_OK);
    close_fixture(&f);
}
END_TEST

SUITE("state", a_state_comes_back_to_the_last_bit, no_file_is_no_state,
      another_runs_state_is_refused_with_the_way_out, a_state_of_another_size_is_refused,
      a_cut_file_is_refused)
