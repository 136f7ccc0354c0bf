/* A kept input as a file: a written file is read again, and a file of somebody else is refused. */
#include "server/review/kept_file.h"

#include "tests/support/contract.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct arena arena;

static const struct kept_input sample = {.id = "a \"b\" \xc3\xa4\n,\"context\":{",
                                         .index = 65535,
                                         .time = "2026-11-22T21:39:44.123Z",
                                         .model = "wafer-vit",
                                         .version = "",
                                         .label = "Edge-\"Loc\"",
                                         .score = 0.123456789,
                                         .decision = DECISION_UNKNOWN,
                                         .is_sampled = true,
                                         .media_type = "image/jpeg",
                                         .context = "{\"lot\":\"},\\\"digest\\\":\","
                                                    "\"die_x\":1.25e-3}"};

static void written(uint64_t number, const struct kept_input *input, const char *bytes, size_t len)
{
    char head[KEPT_FILE_HEAD_BYTES];
    size_t head_len, size;
    struct err err = {0};
    ck_assert(kept_file_head(input, head, &head_len));
    const struct kept_parts parts = {.head = head,
                                     .head_len = head_len,
                                     .likeness = input->likeness,
                                     .likeness_size = input->likeness_size,
                                     .bytes = bytes,
                                     .len = len};
    ck_assert_msg(kept_file_write(dir.path, number, &parts, &size, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_gt(size, head_len + len);
}

static void opened(void)
{
    tempdir_open(&dir);
    arena_init(&arena);
}

static void closed(void)
{
    arena_deinit(&arena);
    tempdir_close(&dir);
}

static enum err_code try_read(uint64_t number, struct kept_input *out, struct err *err)
{
    *err = (struct err){0};
    return kept_file_read(dir.path, number, KEPT_FILE_BYTES, &arena, out, err);
}

START_TEST(kept_file_reads_the_input_that_it_wrote)
{
    struct kept_input read;
    struct err err;
    opened();
    written(42, &sample, "by\0te\n", 6);
    ck_assert_msg(try_read(42, &read, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(read.number, 42);
    ck_assert_str_eq(read.id, sample.id);
    ck_assert_uint_eq(read.index, sample.index);
    ck_assert_str_eq(read.time, sample.time);
    ck_assert_str_eq(read.model, sample.model);
    ck_assert_str_eq(read.version, "");
    ck_assert_str_eq(read.label, sample.label);
    ck_assert_double_eq_tol(read.score, sample.score, 1e-9);
    ck_assert_int_eq(read.decision, DECISION_UNKNOWN);
    ck_assert(read.is_sampled);
    ck_assert_str_eq(read.media_type, "image/jpeg");
    ck_assert_str_eq(read.context, sample.context);
    ck_assert_uint_eq(read.len, 6);
    ck_assert_mem_eq(read.bytes, "by\0te\n", 6);
    closed();
}
END_TEST

START_TEST(kept_file_of_an_input_without_context_or_bytes_has_none)
{
    struct kept_input input = sample, read;
    struct err err;
    opened();
    input.context = NULL;
    written(1, &input, "", 0);
    ck_assert_int_eq(try_read(1, &read, &err), ERR_OK);
    ck_assert_ptr_null(read.context);
    ck_assert_uint_eq(read.len, 0);
    ck_assert_str_eq(read.digest, "sha256:e3b0c44298fc1c149afbf4c8996fb924"
                                  "27ae41e4649b934ca495991b7852b855");
    ck_assert_int_eq(kept_file_remove(dir.path, 1, &err), ERR_OK);
    ck_assert_int_eq(try_read(1, &read, &err), ERR_NOT_FOUND);
    closed();
}
END_TEST

START_TEST(kept_file_stores_the_likeness_before_the_bytes)
{
    static const int8_t likeness[] = {127, -128, 0, 10};
    struct kept_input input = sample, read;
    struct err err = {0};
    opened();
    input.likeness_size = 4;
    input.likeness = likeness;
    written(1, &input, "bytes", 5);
    ck_assert_int_eq(try_read(1, &read, &err), ERR_OK);
    ck_assert_str_eq(read.bytes, "bytes");
    ck_assert_ptr_null(read.likeness);
    ck_assert_int_eq(kept_file_read(dir.path, 1, KEPT_FILE_LIKENESS, &arena, &read, &err), ERR_OK);
    ck_assert_uint_eq(read.likeness_size, 4);
    ck_assert_mem_eq(read.likeness, likeness, 4);
    ck_assert_ptr_null(read.bytes);
    closed();
}
END_TEST

START_TEST(a_file_of_format_1_is_read_and_like_nothing)
{
    static const char file[] =
        "{\"format\":1,\"id\":\"die-7\",\"index\":0,\"time\":\"2026-11-22T21:39:44.123Z\","
        "\"model\":\"m\",\"version\":\"1\",\"label\":\"scan\",\"score\":0.5,"
        "\"decision\":\"review\",\"sampled\":false,\"media_type\":\"text/plain; charset=utf-8\","
        "\"digest\":\"sha256:00\",\"bytes\":5}\nbytes";
    struct kept_input read;
    struct err err;
    opened();
    tempdir_write(&dir, "kept-0000000000000007.input", file, sizeof file - 1);
    ck_assert_msg(try_read(7, &read, &err) == ERR_OK, "%s", err.text);
    ck_assert_str_eq(read.bytes, "bytes");
    ck_assert_uint_eq(read.likeness_size, 0);
    closed();
}
END_TEST

START_TEST(a_text_that_was_written_is_kept_whole)
{
    struct kept_input input = sample, read;
    struct err err;
    opened();
    input.label = NULL;
    input.output = "W12,\"context\":{\n\xc3\xa4";
    input.reason = "the text has confidence 0.5, below the threshold 0.9";
    written(1, &input, "bytes", 5);
    ck_assert_msg(try_read(1, &read, &err) == ERR_OK, "%s", err.text);
    ck_assert_ptr_null(read.label);
    ck_assert_str_eq(read.output, input.output);
    ck_assert_double_eq_tol(read.score, sample.score, 1e-9);
    ck_assert_str_eq(read.reason, input.reason);
    ck_assert_str_eq(read.context, sample.context);
    ck_assert_ptr_null(read.rejected);
    input.output = NULL; /* none obeys the rules */
    input.rejected = "";
    written(2, &input, "bytes", 5);
    ck_assert_int_eq(try_read(2, &read, &err), ERR_OK);
    ck_assert(read.label == NULL && read.output == NULL);
    ck_assert_str_eq(read.rejected, "");
    closed();
}
END_TEST

/* A program of before lists files of labels that this one wrote. */
START_TEST(labels_are_kept_in_the_format_that_programs_of_before_read)
{
    char head[KEPT_FILE_HEAD_BYTES];
    size_t len;
    ck_assert(kept_file_head(&sample, head, &len));
    ck_assert_int_eq(strncmp(head, "{\"format\":2,", 12), 0);
}
END_TEST

START_TEST(a_head_that_is_too_long_is_refused)
{
    char head[KEPT_FILE_HEAD_BYTES], *label = malloc(KEPT_FILE_HEAD_BYTES);
    struct kept_input input = sample;
    size_t len;
    ck_assert_ptr_nonnull(label);
    memset(label, 'a', KEPT_FILE_HEAD_BYTES);
    label[KEPT_FILE_HEAD_BYTES - 1] = '\0';
    input.label = label;
    ck_assert(!kept_file_head(&input, head, &len));
    free(label);
}
END_TEST

/* Each of a whole file's members missing or wrong, its end cut, and bytes that are none of ours. */
START_TEST(kept_file_refuses_files_of_another_format)
{
    static const struct {
        const char *from, *to;
    } edits[] = {
        {"\"format\":2", "\"format\":3"}, /* a text, and it has no confidence */
        {"\"format\":2", "\"format\":4"},
        {"\"format\":2", "\"format\":0"},
        {"\"likeness\":0", "\"likeness\":1"},
        {"\"id\":", "\"ID\":"},
        {"\"index\":65535", "\"index\":-1"},
        {"\"index\":65535", "\"index\":\"\""},
        {"\"time\":", "\"Time\":"},
        {"\"model\":", "\"Model\":"},
        {"\"version\":", "\"Version\":"},
        {"\"label\":", "\"Label\":"},
        {"\"decision\":\"un", "\"decision\":\"UN"},
        {"\"sampled\":true", "\"sampled\":1   "},
        {"image/jpeg", "text/html\" "},
        {"image/jpeg", "text/htmlx"},
        {"\"digest\":", "\"Digest\":"},
        {"\"bytes\":5", "\"bytes\":6"},
        {"\"bytes\":5", "\"bytes\":4"},
        {"}\nbytes", "} bytes"},
        {"{\"format", "{{format"},
        {"bytes\0", "byte\0\0"},
    };
    char path[128];
    size_t len;
    opened();
    written(7, &sample, "bytes", 5);
    snprintf(path, sizeof path, "%s/kept-0000000000000007.input", dir.path);
    char *whole = contract_file(path, &len);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct kept_input read;
        struct err err;
        char *copy = malloc(len + 1);
        memcpy(copy, whole, len + 1);
        char *at = memmem(copy, len, edits[i].from, strlen(edits[i].from));
        ck_assert_msg(at != NULL, "%s", edits[i].from);
        bool is_end = i + 1 == sizeof edits / sizeof edits[0];
        memcpy(at, edits[i].to, strlen(edits[i].to));
        tempdir_write(&dir, "kept-0000000000000007.input", copy, is_end ? len - 1 : len);
        ck_assert_msg(try_read(7, &read, &err) != ERR_OK, "%s became %s", edits[i].from,
                      edits[i].to);
        free(copy);
    }
    free(whole);
    closed();
}
END_TEST

START_TEST(kept_file_number_is_read_from_own_names_only)
{
    uint64_t number = 0;
    ck_assert_int_eq(kept_file_kind_of("kept-00000000000000ff.input", &number), KEPT_FILE_WHOLE);
    ck_assert_uint_eq(number, 255);
    ck_assert_int_eq(kept_file_kind_of("kept-0000000000000010.input.partial", &number),
                     KEPT_FILE_PARTIAL);
    ck_assert_uint_eq(number, 16);
    static const char *const foreign[] = {"",
                                          "README",
                                          "kept-",
                                          "kept-00000000000000ff",
                                          "kept-00000000000000FF.input",
                                          "kept-000000000000000ff.input",
                                          "kept-0000000000000ff.input",
                                          "kept-00000000000000ff.input2",
                                          "Kept-00000000000000ff.input"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        ck_assert_int_eq(kept_file_kind_of(foreign[i], &number), KEPT_FILE_FOREIGN);
}
END_TEST

SUITE("review/kept_file", a_text_that_was_written_is_kept_whole,
      labels_are_kept_in_the_format_that_programs_of_before_read,
      kept_file_reads_the_input_that_it_wrote,
      kept_file_of_an_input_without_context_or_bytes_has_none,
      kept_file_stores_the_likeness_before_the_bytes, a_file_of_format_1_is_read_and_like_nothing,
      a_head_that_is_too_long_is_refused, kept_file_refuses_files_of_another_format,
      kept_file_number_is_read_from_own_names_only)
