/* The file: what is written is read, and whatever else is refused by name. */
#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "engine/index/index_build.h"
#include "engine/index/index_file.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 3, DIMENSIONS = 5, FILE_MAX = 8192 };

static const float rows[ROWS][DIMENSIONS] = {{1, 0, 0, 0, 0}, {0, -2, 0.5F, 0, 0}, {0, 0, 0, 3, 4}};
static const struct index_record records[ROWS] = {
    {"die-1", "Edge-Ring", "lot.stdf#W01"},
    {"die-2", "", "lot.stdf#W02"},
    {"die-3", "Größe", ""},
};
static const struct index_info plan = {.digest = "sha256:0123456789abcdef",
                                       .model = "wafer-vit",
                                       .space = INDEX_FEATURES,
                                       .similarity = INDEX_EUCLIDEAN,
                                       .element = INDEX_INT16,
                                       .dimensions = DIMENSIONS};

struct fixture {
    struct tempdir dir;
    char path[128];
    char bytes[FILE_MAX]; /* [len] the file as it was written */
    size_t len;
};

static void open_fixture(struct fixture *f)
{
    struct index_build *build;
    struct err err = {0};
    char *bytes;
    size_t said;
    tempdir_open(&f->dir);
    snprintf(f->path, sizeof f->path, "%s/a.index", f->dir.path);
    ck_assert_int_eq(index_build_open(&build, &plan, ROWS, &err), ERR_OK);
    for (unsigned r = 0; r < ROWS; r++)
        ck_assert_msg(!index_build_add(build, rows[r], &records[r], &err), "%s", err.text);
    ck_assert_int_eq(index_build_write(build, f->path, &said, &err), ERR_OK);
    index_build_close(build);
    ck_assert_int_eq(file_read(&bytes, &f->len, f->path, FILE_MAX, &err), ERR_OK);
    ck_assert_uint_eq(f->len, said);
    memcpy(f->bytes, bytes, f->len);
    free(bytes);
}

/* Writes the first `len` bytes, with a checksum that is right if asked for. */
static void write_changed(struct fixture *f, size_t len, bool is_signed)
{
    char sum[SHA256_HEX_BYTES];
    if (is_signed) {
        sha256_hex(f->bytes, len - INDEX_SUM_BYTES, sum);
        memcpy(f->bytes + len - INDEX_SUM_BYTES, sum, INDEX_SUM_BYTES);
    }
    tempdir_write(&f->dir, "a.index", f->bytes, len);
}

static void expect_refused(const struct fixture *f, const char *why)
{
    struct index *index;
    struct err err = {0};
    ck_assert_int_eq(index_open(&index, f->path, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_null(index);
    ck_assert_msg(strncmp(err.text, f->path, strlen(f->path)) == 0 && strstr(err.text, why) != NULL,
                  "no '%s' in: %s", why, err.text);
}

START_TEST(index_reads_what_was_written)
{
    struct fixture f;
    struct index *index;
    struct index_info measured;
    struct err err = {0};
    open_fixture(&f);
    ck_assert_msg(!index_open(&index, f.path, &err), "%s", err.text);
    ck_assert_int_eq(index_measure(&measured, f.path, &err), ERR_OK);
    const struct index_info *info = index_describe(index);
    ck_assert_uint_eq(info->record_bytes,
                      sizeof "die-1" + sizeof "Edge-Ring" + sizeof "lot.stdf#W01");
    measured.record_bytes = info->record_bytes;
    ck_assert_mem_eq(info, &measured, sizeof measured);
    ck_assert_str_eq(info->digest, plan.digest);
    ck_assert_str_eq(info->model, plan.model);
    ck_assert_int_eq(info->space, INDEX_FEATURES);
    ck_assert_int_eq(info->similarity, INDEX_EUCLIDEAN);
    ck_assert_int_eq(info->element, INDEX_INT16);
    ck_assert_uint_eq(info->rows, ROWS);
    ck_assert_uint_eq(info->bytes, f.len);
    for (unsigned r = 0; r < ROWS; r++) {
        const struct index_record record = index_record(index, r);
        ck_assert_str_eq(record.id, records[r].id);
        ck_assert_str_eq(record.label, records[r].label);
        ck_assert_str_eq(record.source, records[r].source);
    }
    index_close(index);
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_refuses_every_cut_and_every_changed_byte)
{
    struct fixture f;
    struct index *index;
    open_fixture(&f);
    for (size_t len = 0; len < f.len; len++) {
        struct err err = {0};
        tempdir_write(&f.dir, "a.index", f.bytes, len);
        ck_assert_int_eq(index_open(&index, f.path, &err), ERR_UNSUPPORTED);
    }
    for (size_t at = 0; at < f.len; at++) {
        struct err err = {0};
        f.bytes[at] ^= 0x20;
        tempdir_write(&f.dir, "a.index", f.bytes, f.len);
        ck_assert_int_eq(index_open(&index, f.path, &err), ERR_UNSUPPORTED);
        f.bytes[at] ^= 0x20;
    }
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_refuses_by_name)
{
    struct fixture f;
    struct err err = {0};
    struct index *index;
    open_fixture(&f);
    const char zeros[INDEX_HEADER_BYTES] = {0};
    tempdir_write(&f.dir, "a.index", zeros, sizeof zeros);
    expect_refused(&f, "is no index: attnd-index build writes one");
    tempdir_write(&f.dir, "a.index", f.bytes, f.len - 1);
    expect_refused(&f, "and not as many as its header says: it was cut");
    tempdir_write(&f.dir, "a.index", f.bytes, 100);
    expect_refused(&f, "has 100 bytes, and is no index");
    f.bytes[offsetof(struct index_header, version)] = 2;
    write_changed(&f, f.len, true);
    expect_refused(&f, "is an index of version 2; this program reads 1");
    f.bytes[offsetof(struct index_header, version)] = 1;
    f.bytes[INDEX_HEADER_BYTES + 60]++;
    write_changed(&f, f.len, false);
    expect_refused(&f, "is damaged: its checksum is another");
    unlink(f.path);
    ck_assert_int_eq(index_open(&index, f.path, &err), ERR_IO);
    tempdir_close(&f.dir);
}
END_TEST

/* A file that somebody else wrote, whose checksum is right. */
START_TEST(index_believes_no_checksum)
{
    static const struct {
        size_t at, len;
        const char *bytes, *why;
    } faults[] = {
        {offsetof(struct index_header, dimensions), 4, "\0\0\0\0", "0 dimensions"},
        {offsetof(struct index_header, dimensions), 4, "\xff\xff\xff\xff", "4294967295 dimensions"},
        {offsetof(struct index_header, rows), 8, "\xff\xff\xff\xff\xff\xff\xff\xff", "rows; 1 to"},
        {offsetof(struct index_header, rows), 1, "\2", "not as many as its header says"},
        {offsetof(struct index_header, string_bytes), 8, "\xff\xff\xff\xff\xff\xff\xff\xff",
         "not as many as its header says"},
        {offsetof(struct index_header, similarity), 1, "\4", "that is not known"},
        {offsetof(struct index_header, space), 1, "\2", "that is not known"},
        {offsetof(struct index_header, element), 1, "\2", "that is not known"},
        {offsetof(struct index_header, model), 2, "\xc3\x28", "is no text"},
        {INDEX_HEADER_BYTES, 8, "\xff\xff\xff\xff\xff\xff\xff\xff", "row 0: its strings end"},
        {INDEX_HEADER_BYTES, 1, "\1", "row 0: its id, label or source"},
        {INDEX_HEADER_BYTES + 3 * 8, 4, "\0\0\xc0\x7f", "row 0: a scale that is no number"},
        {INDEX_HEADER_BYTES + 3 * 20, 1, "\xc3", "row 0: its id, label or source"},
        {INDEX_HEADER_BYTES + 3 * 20, 1, "\x1b", "row 0: its id, label or source"},
        {INDEX_HEADER_BYTES + 3 * 20, 6, "\0\0\0\0\0\0", "row 0: more than three strings"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct fixture f;
        open_fixture(&f);
        memcpy(f.bytes + faults[i].at, faults[i].bytes, faults[i].len);
        write_changed(&f, f.len, true);
        expect_refused(&f, faults[i].why);
        tempdir_close(&f.dir);
    }
}
END_TEST

START_TEST(index_refuses_vectors_of_another_model)
{
    struct index_info info = plan;
    struct err err = {0};
    ck_assert_int_eq(index_check(&info, plan.digest, INDEX_FEATURES, DIMENSIONS, &err), ERR_OK);
    ck_assert_int_eq(index_check(&info, "sha256:fe", INDEX_FEATURES, DIMENSIONS, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the index was made with another model: wafer-vit "
                               "(sha256:0123456789ab), and not sha256:fe; build it anew");
    err = (struct err){0};
    ck_assert_int_eq(index_check(&info, plan.digest, INDEX_EMBEDDING, DIMENSIONS, &err),
                     ERR_UNUSABLE);
    err = (struct err){0};
    ck_assert_int_eq(index_check(&info, plan.digest, INDEX_FEATURES, DIMENSIONS + 1, &err),
                     ERR_UNUSABLE);
    err = (struct err){0};
    info.space = INDEX_EMBEDDING; /* which may be cut */
    ck_assert_int_eq(index_check(&info, plan.digest, INDEX_EMBEDDING, DIMENSIONS + 1, &err),
                     ERR_OK);
    ck_assert_int_eq(index_check(&info, plan.digest, INDEX_EMBEDDING, DIMENSIONS - 1, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the index has vectors of 5 numbers, the model of 4");
}
END_TEST

START_TEST(index_build_refuses_what_it_cannot_hold)
{
    static const float nan_row[DIMENSIONS] = {NAN}, huge[DIMENSIONS] = {3e38F};
    char id[INDEX_ID_BYTES + 2];
    struct index_build *build;
    struct err err = {0}, number = {0}, large = {0}, long_id = {0}, label = {0}, full = {0};
    size_t bytes;
    memset(id, 'a', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    ck_assert_int_eq(index_build_open(&build, &plan, 1, &err), ERR_OK);
    ck_assert_int_eq(index_build_write(build, "none", &bytes, &err), ERR_UNUSABLE);
    ck_assert_int_eq(index_build_add(build, nan_row, &records[0], &number), ERR_UNUSABLE);
    ck_assert_int_eq(index_build_add(build, huge, &records[0], &large), ERR_UNUSABLE);
    ck_assert_int_eq(index_build_add(build, rows[0], &(struct index_record){id, "", ""}, &long_id),
                     ERR_UNUSABLE);
    ck_assert_str_eq(long_id.text, "the id has 129 bytes; 128 are possible");
    ck_assert_int_eq(
        index_build_add(build, rows[0], &(struct index_record){"a", "\xff", ""}, &label),
        ERR_UNUSABLE);
    label = (struct err){0};
    ck_assert_int_eq(
        index_build_add(build, rows[0], &(struct index_record){"a", "\x1b[2J", ""}, &label),
        ERR_UNUSABLE);
    ck_assert_str_eq(label.text, "the label is not UTF-8, or has a control character");
    ck_assert_uint_eq(index_build_rows(build), 0);
    err = (struct err){0};
    ck_assert_int_eq(index_build_add(build, rows[0], &records[0], &err), ERR_OK);
    ck_assert_int_eq(index_build_add(build, rows[1], &records[1], &full), ERR_UNUSABLE);
    ck_assert_uint_eq(index_build_rows(build), 1);
    index_build_close(build);
}
END_TEST

SUITE("index", index_reads_what_was_written, index_refuses_every_cut_and_every_changed_byte,
      index_refuses_by_name, index_believes_no_checksum, index_refuses_vectors_of_another_model,
      index_build_refuses_what_it_cannot_hold)
