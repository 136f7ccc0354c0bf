/* state.h: a state is read again to the last bit; the state of another run is not. */
#include "engine/format/safetensors_write.h"
#include "learn/train/checkpoint/state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
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

START_TEST(state_of_another_run_is_refused_with_a_remedy)
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

/* ---- typed numbers ---- */

START_TEST(a_state_is_of_typed_numbers)
{
    static const struct {
        const char *name;
        enum dtype dtype;
        unsigned rank;
    } tensors[] = {{"average", DTYPE_F32, 1},
                   {"best", DTYPE_F32, 1},
                   {"best_epoch", DTYPE_U64, 0},
                   {"best_figure", DTYPE_F64, 0},
                   {"epoch_loss", DTYPE_F64, 0},
                   {"epoch_seconds", DTYPE_F64, 0},
                   {"epoch_skipped", DTYPE_U64, 0},
                   {"history", DTYPE_F64, 2},
                   {"image_size", DTYPE_U64, 0},
                   {"m", DTYPE_F32, 1},
                   {"optimizer_steps", DTYPE_U64, 0},
                   {"step", DTYPE_U64, 0},
                   {"v", DTYPE_F32, 1},
                   {"values", DTYPE_F32, 1}};
    struct fixture f;
    struct safetensors *file;
    struct err err = {0};
    uint64_t step;
    double loss;
    open_fixture(&f);
    write_state(&f);
    ck_assert(!safetensors_open(&file, f.path, &err));
    ck_assert_str_eq(safetensors_metadata(file, "format"), "attnd-train");
    ck_assert_str_eq(safetensors_metadata(file, "version"), "2");
    ck_assert_str_eq(safetensors_metadata(file, "fingerprint"), fingerprint);
    ck_assert_uint_eq(safetensors_count(file), sizeof tensors / sizeof *tensors);
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor_info *info = safetensors_at(file, i);
        ck_assert_str_eq(info->name, tensors[i].name);
        ck_assert_int_eq(info->dtype, tensors[i].dtype);
        ck_assert_uint_eq(info->rank, tensors[i].rank);
    }
    ck_assert_uint_eq(safetensors_find(file, "history")->shape[1], HISTORY_FIELDS);
    ck_assert(
        !safetensors_read_as(file, safetensors_find(file, "step"), DTYPE_U64, &step, &err) &&
        !safetensors_read_as(file, safetensors_find(file, "epoch_loss"), DTYPE_F64, &loss, &err));
    ck_assert(step == 0x0123456789ABCDEF && loss == 1e300);
    safetensors_close(file);
    close_fixture(&f);
}
END_TEST

/* A number that begins as minus infinity or NaN is restored as such. */
START_TEST(a_state_keeps_what_is_not_finite)
{
    struct fixture f;
    struct state_counters back;
    struct err err = {0};
    bool found;
    open_fixture(&f);
    f.state.counters.best = -INFINITY;
    f.state.counters.epoch_loss = NAN;
    write_state(&f);
    ck_assert(!state_read_counters(f.path, fingerprint, &found, &back, &err));
    ck_assert_mem_eq(&back, &f.state.counters, sizeof back);
    close_fixture(&f);
}
END_TEST

enum { TYPED = 14 };

/* A state of eight numbers, as tensors; the counters come first. */
struct typed {
    uint64_t zero;
    float values[8];
    double history[HISTORY_FIELDS];
    struct tensor_out tensors[TYPED];
    struct metadata_out metadata[4];
};

static void make_typed(struct typed *typed)
{
    *typed = (struct typed){.metadata = {{"format", "attnd-train"},
                                         {"version", "2"},
                                         {"fingerprint", fingerprint},
                                         {NULL, NULL}}};
    const struct tensor_out tensors[TYPED] = {
        {"step", DTYPE_U64, 0, {0}, &typed->zero},
        {"optimizer_steps", DTYPE_U64, 0, {0}, &typed->zero},
        {"image_size", DTYPE_U64, 0, {0}, &typed->zero},
        {"best_epoch", DTYPE_U64, 0, {0}, &typed->zero},
        {"epoch_skipped", DTYPE_U64, 0, {0}, &typed->zero},
        {"best_figure", DTYPE_F64, 0, {0}, &typed->zero},
        {"epoch_loss", DTYPE_F64, 0, {0}, &typed->zero},
        {"epoch_seconds", DTYPE_F64, 0, {0}, &typed->zero},
        {"values", DTYPE_F32, 1, {8}, typed->values},
        {"m", DTYPE_F32, 1, {8}, typed->values},
        {"v", DTYPE_F32, 1, {8}, typed->values},
        {"best", DTYPE_F32, 1, {8}, typed->values},
        {"average", DTYPE_F32, 1, {8}, typed->values},
        {"history", DTYPE_F64, 2, {1, HISTORY_FIELDS}, typed->history}};
    memcpy(typed->tensors, tensors, sizeof tensors);
}

START_TEST(a_state_from_before_a_field_is_read_without_it)
{
    struct typed typed;
    struct fixture f;
    struct err err = {0};
    float arrays[5][8];
    struct state state = {.values = arrays[0],
                          .m = arrays[1],
                          .v = arrays[2],
                          .average = arrays[3],
                          .best = arrays[4],
                          .numbers = 8};
    double rows[2][HISTORY_FIELDS_FIRST];
    for (unsigned i = 0; i < 2 * HISTORY_FIELDS_FIRST; i++)
        rows[i / HISTORY_FIELDS_FIRST][i % HISTORY_FIELDS_FIRST] = i + 1;
    make_typed(&typed);
    typed.tensors[TYPED - 1] =
        (struct tensor_out){"history", DTYPE_F64, 2, {2, HISTORY_FIELDS_FIRST}, rows};
    open_fixture(&f);
    ck_assert(!safetensors_write_with(f.path, typed.tensors, TYPED, typed.metadata, &err));
    ck_assert_msg(!state_read(f.path, &state, &err), "%s", err.text);
    ck_assert_uint_eq(state.history.count, 2);
    ck_assert(state.history.epochs[0].epoch == 1 && state.history.epochs[0].skipped == 9);
    ck_assert(state.history.epochs[1].epoch == 10 && state.history.epochs[1].skipped == 18);
    ck_assert(state.history.epochs[0].rmse == 0 && state.history.epochs[1].rmse_mean == 0);
    free(state.history.epochs);
    close_fixture(&f);
}
END_TEST

START_TEST(a_state_from_before_embeddings_has_no_ndcg)
{
    struct fixture f;
    struct typed typed;
    struct err err = {0};
    float arrays[5][8];
    struct state state = {.values = arrays[0],
                          .m = arrays[1],
                          .v = arrays[2],
                          .average = arrays[3],
                          .best = arrays[4],
                          .numbers = 8};
    double row[HISTORY_FIELDS_SECOND];
    for (unsigned i = 0; i < HISTORY_FIELDS_SECOND; i++)
        row[i] = i + 1;
    make_typed(&typed);
    typed.tensors[TYPED - 1] =
        (struct tensor_out){"history", DTYPE_F64, 2, {1, HISTORY_FIELDS_SECOND}, row};
    open_fixture(&f);
    ck_assert(!safetensors_write_with(f.path, typed.tensors, TYPED, typed.metadata, &err));
    ck_assert_msg(!state_read(f.path, &state, &err), "%s", err.text);
    ck_assert_uint_eq(state.history.count, 1);
    ck_assert(state.history.epochs[0].rmse_mean == HISTORY_FIELDS_SECOND);
    ck_assert(state.history.epochs[0].ndcg == 0);
    free(state.history.epochs);
    close_fixture(&f);
}
END_TEST

/* ---- files that are no state ---- */

/* Reads the file as a run with eight numbers would; its code, and the text without the path. */
static enum err_code read_eight(const struct fixture *f, struct err *err)
{
    float arrays[5][8];
    char want[160];
    bool found = false;
    struct state state = {.values = arrays[0],
                          .m = arrays[1],
                          .v = arrays[2],
                          .average = arrays[3],
                          .best = arrays[4],
                          .numbers = 8};
    *err = (struct err){0};
    ck_assert_int_eq(state_read_counters(f->path, fingerprint, &found, &state.counters, err),
                     err->code);
    ck_assert(found);
    if (err->code == ERR_OK)
        ck_assert_int_eq(state_read(f->path, &state, err), err->code);
    free(state.history.epochs);
    snprintf(want, sizeof want, "%s: ", f->path);
    if (err->code != ERR_OK) {
        ck_assert_msg(strncmp(err->text, want, strlen(want)) == 0, "%s", err->text);
        memmove(err->text, err->text + strlen(want), strlen(err->text + strlen(want)) + 1);
    }
    return err->code;
}

static void expect_typed(const struct typed *typed, enum err_code code, const char *text)
{
    struct fixture f;
    struct err err = {0};
    open_fixture(&f);
    ck_assert_msg(!safetensors_write_with(f.path, typed->tensors, TYPED, typed->metadata, &err),
                  "%s", err.text);
    ck_assert_int_eq(read_eight(&f, &err), code);
    ck_assert_str_eq(err.text, text);
    close_fixture(&f);
}

START_TEST(state_names_a_missing_tensor)
{
    struct typed typed;
    char text[128];
    make_typed(&typed);
    expect_typed(&typed, ERR_OK, "");
    for (unsigned i = 0; i < TYPED - 1; i++) { /* all but the history */
        struct tensor_out *tensor = &typed.tensors[i], whole = *tensor;
        snprintf(text, sizeof text,
                 "the training state has no '%s' of %u numbers; --restart begins anew", whole.name,
                 whole.rank == 0 ? 1 : 8);
        tensor->name = "another";
        expect_typed(&typed, ERR_UNSUPPORTED, text);
        *tensor = whole;
        tensor->rank = 1;
        tensor->shape[0] = 0;
        expect_typed(&typed, ERR_UNSUPPORTED, text);
        *tensor = whole;
    }
}
END_TEST

START_TEST(a_counter_of_another_type_is_refused)
{
    struct typed typed;
    char text[128];
    make_typed(&typed);
    for (unsigned i = 0; i < 8; i++) {
        struct tensor_out *tensor = &typed.tensors[i];
        enum dtype dtype = tensor->dtype;
        tensor->dtype = dtype == DTYPE_U64 ? DTYPE_F64 : DTYPE_U64;
        snprintf(text, sizeof text, "tensor '%s': dtype %s instead of %s", tensor->name,
                 dtype_name(tensor->dtype), dtype_name(dtype));
        expect_typed(&typed, ERR_UNSUPPORTED, text);
        tensor->dtype = dtype;
    }
}
END_TEST

START_TEST(a_damaged_history_is_refused)
{
    static const char damaged[] = "the training state's history is damaged";
    struct typed typed;
    make_typed(&typed);
    struct tensor_out *history = &typed.tensors[TYPED - 1], whole = *history;
    history->name = "another";
    expect_typed(&typed, ERR_UNSUPPORTED, damaged);
    *history = whole;
    history->shape[1] = HISTORY_FIELDS_SECOND - 1;
    expect_typed(&typed, ERR_UNSUPPORTED, damaged);
    *history = whole;
    history->dtype = DTYPE_U64;
    expect_typed(&typed, ERR_UNSUPPORTED, "tensor 'history': dtype U64 instead of F64");
}
END_TEST

START_TEST(a_state_of_another_version_is_refused_with_the_way_out)
{
    struct typed typed;
    make_typed(&typed);
    typed.metadata[1].value = "3\n";
    expect_typed(&typed, ERR_UNSUPPORTED,
                 "the training state has version '3?', which this program does not read; "
                 "--restart begins anew");
    typed.metadata[1].value = "2";
    typed.metadata[2].key = "finger";
    expect_typed(&typed, ERR_UNSUPPORTED,
                 "the training state has no fingerprint; --restart begins anew");
    typed.metadata[2].key = "fingerprint";
    typed.metadata[2].value = "0123456789abcdef";
    expect_typed(&typed, ERR_UNUSABLE,
                 "the training state is of a run with other options or data; go on with those, or "
                 "begin anew with --restart");
}
END_TEST

/* ---- states of digits ---- */

enum { OLD_NUMBERS = 20 };

/* A file that attnd 0.1.0 wrote, of the fixture's epochs and the first of the fixture's numbers;
 * then the same written anew. */
START_TEST(a_state_of_digits_is_read_as_what_it_was)
{
    static const struct state_counters counters = {.step = 0x0123456789ABCDEF,
                                                   .optimizer_steps = 0xFEDCBA9876543210,
                                                   .image_size = 48,
                                                   .best_epoch = 2,
                                                   .best = -1.0 / 3,
                                                   .epoch_loss = 1e300,
                                                   .epoch_seconds = 0.1,
                                                   .epoch_skipped = 3};
    const char *path = "tests/data/train/state-digits.safetensors";
    struct fixture f;
    struct err err = {0};
    bool found;
    open_fixture(&f);
    for (int again = 0; again < 2; again++) {
        struct state back = empty_state();
        back.numbers = OLD_NUMBERS;
        ck_assert(!state_read_counters(path, fingerprint, &found, &back.counters, &err) && found);
        ck_assert_mem_eq(&back.counters, &counters, sizeof counters);
        ck_assert_msg(!state_read(path, &back, &err), "%s", err.text);
        ck_assert_uint_eq(back.history.count, 2);
        ck_assert_mem_eq(back.history.epochs, f.epochs, sizeof f.epochs);
        const float *arrays[][2] = {{back.values, f.state.values},
                                    {back.m, f.state.m},
                                    {back.v, f.state.v},
                                    {back.average, f.state.average},
                                    {back.best, f.state.best}};
        for (unsigned i = 0; i < 5; i++)
            ck_assert_mem_eq(arrays[i][0], arrays[i][1], OLD_NUMBERS * sizeof(float));
        memcpy(back.fingerprint, fingerprint, sizeof fingerprint);
        ck_assert(!state_write(f.path, &back, &err));
        path = f.path;
        free(back.history.epochs);
        free_arrays(&back);
    }
    close_fixture(&f);
}
END_TEST

enum { COUNTERS = 32, ROW = 36 }; /* digits of the counters, and of an epoch */

/* A state's file by its tensors, of which one may be other than it should. */
struct raw {
    float fingerprint[SHA256_HEX_BYTES], counters[COUNTERS], history[2 * ROW], values[8];
    struct tensor_out tensors[8];
};

static void open_raw(struct raw *raw, struct fixture *f)
{
    open_fixture(f);
    *raw = (struct raw){0};
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++)
        raw->fingerprint[i] = (float)(unsigned char)fingerprint[i];
    const struct tensor_out tensors[8] = {
        {"fingerprint", DTYPE_F32, 1, {SHA256_HEX_BYTES}, raw->fingerprint},
        {"counters", DTYPE_F32, 1, {COUNTERS}, raw->counters},
        {"history", DTYPE_F32, 2, {2, ROW}, raw->history},
        {"values", DTYPE_F32, 1, {8}, raw->values},
        {"m", DTYPE_F32, 1, {8}, raw->values},
        {"v", DTYPE_F32, 1, {8}, raw->values},
        {"best", DTYPE_F32, 1, {8}, raw->values},
        {"average", DTYPE_F32, 1, {8}, raw->values}};
    memcpy(raw->tensors, tensors, sizeof tensors);
}

static enum err_code read_raw(const struct raw *raw, const struct fixture *f, struct err *err)
{
    *err = (struct err){0};
    ck_assert_msg(!safetensors_write(f->path, raw->tensors, 8, "pt", err), "%s", err->text);
    return read_eight(f, err);
}

/* A word is four digits of 16 bits, the lowest first. */
START_TEST(digits_are_of_sixteen_bits)
{
    static const float wrong[] = {-1, 65536, 1e9f, -0.5f};
    struct raw raw;
    struct fixture f;
    struct err err = {0};
    struct state_counters counters;
    bool found;
    open_raw(&raw, &f);
    raw.counters[0] = 65535;
    raw.counters[3] = 1;
    raw.counters[COUNTERS - 4] = 7;
    ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_OK);
    ck_assert(!state_read_counters(f.path, fingerprint, &found, &counters, &err));
    ck_assert_uint_eq(counters.step, 0x000100000000FFFF);
    ck_assert_uint_eq(counters.epoch_skipped, 7);
    for (unsigned i = 0; i < 4; i++) {
        raw.counters[COUNTERS - 1] = wrong[i];
        ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, "a counter of the training state is damaged");
    }
    raw.counters[COUNTERS - 1] = 0;
    raw.history[2 * ROW - 1] = -1;
    ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "a counter of the training state is damaged");
    close_fixture(&f);
}
END_TEST

/* A number that is no whole character is refused, and so is another character. */
START_TEST(a_fingerprint_of_digits_is_of_characters)
{
    static const float wrong[] = {'0' + 0.5f, '1', -1, 304, 1e9f};
    struct raw raw;
    struct fixture f;
    struct err err = {0};
    open_raw(&raw, &f);
    for (unsigned i = 0; i < 5; i++) {
        raw.fingerprint[0] = wrong[i];
        ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, "other options or data"));
    }
    close_fixture(&f);
}
END_TEST

START_TEST(state_of_digits_names_a_missing_tensor)
{
    static const char *const names[] = {"fingerprint", "counters", NULL,   "values",
                                        "m",           "v",        "best", "average"};
    struct raw raw;
    struct fixture f;
    struct err err = {0};
    open_raw(&raw, &f);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned shorter = 0; shorter < 2; shorter++) {
            char want[128];
            struct tensor_out whole = raw.tensors[i];
            if (shorter)
                raw.tensors[i].shape[raw.tensors[i].rank - 1]--;
            else
                raw.tensors[i].name = "another";
            ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_UNSUPPORTED);
            snprintf(want, sizeof want,
                     "the training state has no '%s' of %zu numbers; --restart begins anew",
                     names[i] != NULL ? names[i] : "", whole.shape[0]);
            ck_assert_str_eq(err.text,
                             names[i] != NULL ? want : "the training state's history is damaged");
            raw.tensors[i] = whole;
        }
    ck_assert_int_eq(read_raw(&raw, &f, &err), ERR_OK);
    close_fixture(&f);
}
END_TEST

/* The first epoch is not over yet, and there is no average. */
START_TEST(a_run_that_has_just_begun_has_a_state_too)
{
    struct fixture f;
    struct err err = {0};
    open_fixture(&f);
    float *average = f.state.average;
    f.state.average = NULL;
    f.state.history.count = 0;
    write_state(&f);
    struct state back = empty_state();
    ck_assert_int_eq(state_read(f.path, &back, &err), ERR_UNSUPPORTED); /* one that averages */
    ck_assert_ptr_nonnull(strstr(err.text, "'average' of 1000 numbers"));
    free(back.history.epochs);
    free(back.average);
    back.average = NULL;
    err = (struct err){0};
    ck_assert_msg(!state_read(f.path, &back, &err), "%s", err.text);
    ck_assert_uint_eq(back.history.count, 0);
    ck_assert_mem_eq(back.best, f.state.best, NUMBERS * sizeof(float));
    free(back.history.epochs);
    free_arrays(&back);
    f.state.average = average;
    close_fixture(&f);
}
END_TEST

START_TEST(state_errors_have_the_path)
{
    struct fixture f;
    struct err err = {0};
    open_fixture(&f);
    ck_assert_int_eq(state_write("/no/where", &f.state, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/no/where"));
    err = (struct err){0};
    struct state back = empty_state();
    tempdir_write(&f.dir, "state.safetensors", "no", 2);
    ck_assert_int_ne(state_read(f.path, &back, &err), ERR_OK);
    ck_assert_int_eq(strncmp(err.text, f.path, strlen(f.path)), 0);
    bool found;
    err = (struct err){0};
    ck_assert_int_ne(state_read_counters(f.path, fingerprint, &found, &back.counters, &err),
                     ERR_OK);
    ck_assert_int_eq(strncmp(err.text, f.path, strlen(f.path)), 0);
    free_arrays(&back);
    close_fixture(&f);
}
END_TEST

SUITE("state", a_state_comes_back_to_the_last_bit, no_file_is_no_state,
      state_of_another_run_is_refused_with_a_remedy, a_state_of_another_size_is_refused,
      a_cut_file_is_refused, a_state_from_before_a_field_is_read_without_it,
      a_state_is_of_typed_numbers, a_state_keeps_what_is_not_finite, state_names_a_missing_tensor,
      a_counter_of_another_type_is_refused, a_damaged_history_is_refused,
      a_state_from_before_embeddings_has_no_ndcg,
      a_state_of_another_version_is_refused_with_the_way_out,
      a_state_of_digits_is_read_as_what_it_was, digits_are_of_sixteen_bits,
      a_fingerprint_of_digits_is_of_characters, state_of_digits_names_a_missing_tensor,
      a_run_that_has_just_begun_has_a_state_too, state_errors_have_the_path)
