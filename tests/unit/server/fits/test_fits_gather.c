/* The data that a fit learns from: which kept inputs count, and how they are written. The inputs
 * lie there as from before a start; predictions and labels are told as requests tell them. */
#include "server/fits/fits_gather.h"

#include "server/feedback/feedback.h"
#include "server/review/review.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const labels[] = {"good", "bad"};
static const struct engine_info info = {.labels = labels, .label_count = 2};

static struct tempdir dir;
static struct memory memory;
static struct feedback *feedback;
static struct review *review;
static uint64_t last;
static struct err err;

static char *path_of(const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static void begin(void)
{
    const struct feedback_options options = {.window = 100, .keeps_labels = true};
    tempdir_open(&dir);
    memory_init(&memory, (size_t)64 << 20, 0, 0);
    ck_assert_int_eq(mkdir(path_of("inputs"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("fit"), 0700), 0);
    ck_assert_int_eq(feedback_open(&feedback, &options, &err), ERR_OK);
    last = 0;
}

/* One that was kept before the start. */
static void keep_as(const char *model, const char *version, const char *id, const char *media_type,
                    const char *bytes, size_t len)
{
    const struct kept_input input = {.id = id,
                                     .time = "2026-11-23T00:00:00.000Z",
                                     .model = model,
                                     .version = version,
                                     .label = "good",
                                     .media_type = media_type};
    char head[KEPT_FILE_HEAD_BYTES];
    struct kept_parts parts = {.head = head, .bytes = bytes, .len = len};
    size_t size;
    ck_assert(kept_file_head(&input, head, &parts.head_len));
    ck_assert_int_eq(kept_file_write(path_of("inputs"), ++last, &parts, &size, &err), ERR_OK);
}

static void keep(const char *id, const char *text)
{
    keep_as("logs", "1", id, "text/plain; charset=utf-8", text, strlen(text));
}

/* An input was answered as "good", or as `label`, and then `right` is given; NULL: nobody says. */
static void answered(const char *model, const char *version, const char *id, unsigned predicted,
                     const char *right)
{
    const struct engine_result result = {.label = predicted};
    const struct answer answer = {
        .model_name = model, .model_version = version, .info = &info, .result = result};
    const struct prediction_record record = {.id = id, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    struct feedback_item item = {.id = id, .label = right, .is_new = true};
    struct arena arena;
    observer.prediction(observer.context, &record);
    if (right == NULL)
        return;
    arena_init(&arena);
    ck_assert_int_eq(feedback_give(feedback, &item, 1, &arena, &err), ERR_OK);
    ck_assert_int_eq(item.err.code, ERR_OK);
    arena_deinit(&arena);
}

static void open_review(void)
{
    const struct review_options options = {
        .state_dir = dir.path, .bytes_max = 10000000, .memory = &memory, .feedback = feedback};
    struct kept_entry entry;
    unsigned count;
    ck_assert_int_eq(review_open(&review, &options, &err), ERR_OK);
    while (review_after(review, 0, &entry, 1, &count, &(struct err){0}) == ERR_NOT_READY)
        usleep(1000);
}

static void end(void)
{
    char command[128];
    review_close(review);
    feedback_close(feedback);
    snprintf(command, sizeof command, "rm -r '%s'/*", dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
}

static bool go_on(void *context, size_t done, size_t total)
{
    const size_t *most = context;
    ck_assert_uint_lt(done, total);
    return most == NULL || done < *most;
}

static struct fits_gathered gather(enum engine_kind kind, size_t *most)
{
    const struct fits_gather what = {.review = review,
                                     .feedback = feedback,
                                     .model = "logs",
                                     .kind = kind,
                                     .dir = path_of("fit"),
                                     .go_on = go_on,
                                     .context = most};
    struct fits_gathered out;
    err = (struct err){0};
    fits_gather(&what, &out, &err);
    return out;
}

static void expect_file(const char *name, const char *expected)
{
    char found[4096] = "";
    FILE *file = fopen(path_of(name), "r");
    ck_assert_ptr_nonnull(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(found, expected);
}

static bool has_any(const char *model)
{
    bool any;
    ck_assert_int_eq(fits_gather_any(review, feedback, model, &any, &err), ERR_OK);
    return any;
}

START_TEST(kept_inputs_of_the_model_with_a_label_are_listed_as_they_came)
{
    begin();
    keep("a", "one \"two\"\n\\");
    keep("b", "no label");
    keep("c", "h\xc3\xa4ngt");
    keep_as("logs", "2", "d", "text/plain; charset=utf-8", "a\0b", 3);
    keep_as("logs", "1", "pair", "application/json", "{\"text\":\"f\",\"text_pair\":\"g\"}", 28);
    keep_as("other", "1", "e", "text/plain; charset=utf-8", "x", 1);
    answered("logs", "1", "a", 0, "bad");
    answered("logs", "1", "b", 0, NULL);
    answered("logs", "1", "c", 0, "fuse");
    answered("logs", "2", "d", 0, "bad");
    answered("logs", "1", "pair", 0, "bad");
    answered("other", "1", "e", 0, "bad");
    answered("logs", "1", "not kept", 0, "bad");
    open_review();
    ck_assert(has_any("logs") && has_any("other") && !has_any("nobody"));
    struct fits_gathered gathered = gather(ENGINE_TEXT, NULL);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(gathered.count, 4);
    ck_assert_str_eq(gathered.labels, "{\"bad\":3,\"fuse\":1}");
    expect_file("fit/data.jsonl", "{\"text\":\"one \\\"two\\\"\\u000a\\\\\",\"label\":\"bad\"}\n"
                                  "{\"text\":\"h\xc3\xa4ngt\",\"label\":\"fuse\"}\n"
                                  "{\"text\":\"a\\u0000b\",\"label\":\"bad\"}\n"
                                  "{\"text\":\"f\",\"text_pair\":\"g\",\"label\":\"bad\"}\n");
    free(gathered.labels);
    end();
}
END_TEST

START_TEST(fits_gather_takes_the_newest_input_of_a_reused_id)
{
    begin();
    keep("a", "first");
    keep("a", "second");
    keep("b", "first");
    keep("c", "first");
    answered("logs", "1", "a", 0, NULL);
    answered("logs", "1", "a", 0, "bad");
    answered("logs", "1", "b", 0, "bad");
    answered("logs", "1", "b", 0, NULL);  /* another input, which was not kept */
    answered("logs", "1", "c", 1, "bad"); /* another one, as its answer shows */
    open_review();
    struct fits_gathered gathered = gather(ENGINE_TEXT, NULL);
    ck_assert_uint_eq(gathered.count, 1);
    expect_file("fit/data.jsonl", "{\"text\":\"second\",\"label\":\"bad\"}\n");
    free(gathered.labels);
    end();
}
END_TEST

START_TEST(inputs_of_another_kind_and_files_that_are_gone_are_passed_over)
{
    begin();
    keep("text", "x");
    keep_as("logs", "1", "png", "image/png", "\x89PNG", 4);
    keep_as("logs", "1", "jpeg", "image/jpeg", "\xff\xd8", 2);
    keep_as("logs", "1", "gone", "image/jpeg", "\xff\xd8", 2);
    answered("logs", "1", "text", 0, "bad");
    answered("logs", "1", "png", 0, "bad");
    answered("logs", "1", "jpeg", 0, "bad");
    answered("logs", "1", "gone", 0, "bad");
    open_review();
    ck_assert_int_eq(unlink(path_of("inputs/kept-0000000000000004.input")), 0);
    struct fits_gathered gathered = gather(ENGINE_IMAGE, NULL);
    ck_assert_uint_eq(gathered.count, 2);
    ck_assert_str_eq(gathered.labels, "{\"bad\":2}");
    expect_file("fit/data.jsonl", "{\"image\":\"2.png\",\"label\":\"bad\"}\n"
                                  "{\"image\":\"3.jpg\",\"label\":\"bad\"}\n");
    expect_file("fit/2.png", "\x89PNG");
    expect_file("fit/3.jpg", "\xff\xd8");
    free(gathered.labels);
    end();
}
END_TEST

START_TEST(without_labels_there_is_nothing)
{
    begin();
    keep("a", "x");
    open_review();
    ck_assert(!has_any("logs"));
    struct fits_gathered gathered = gather(ENGINE_TEXT, NULL);
    ck_assert_uint_eq(gathered.count, 0);
    ck_assert_str_eq(gathered.labels, "{}");
    free(gathered.labels);
    end();
}
END_TEST

START_TEST(fits_gather_stops_on_request)
{
    size_t most = 2;
    begin();
    for (int i = 0; i < 600; i++) { /* more than one look at the list */
        char id[16];
        snprintf(id, sizeof id, "die-%d", i);
        keep(id, "x");
        if (i % 100 == 0)
            answered("logs", "1", id, 0, "bad");
    }
    open_review();
    struct fits_gathered gathered = gather(ENGINE_TEXT, &most);
    ck_assert_int_eq(err.code, ERR_NOT_READY);
    ck_assert_ptr_null(gathered.labels);
    ck_assert_int_eq(unlink(path_of("fit/data.jsonl")), 0);
    gathered = gather(ENGINE_TEXT, NULL);
    ck_assert_uint_eq(gathered.count, 6);
    free(gathered.labels);
    end();
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_is_named)
{
    begin();
    keep("a", "x");
    answered("logs", "1", "a", 0, "bad");
    open_review();
    ck_assert_int_eq(rmdir(path_of("fit")), 0);
    gather(ENGINE_TEXT, NULL);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "fit/data.jsonl: cannot be made: No such file"));
    end();
}
END_TEST

SUITE("fits/gather", kept_inputs_of_the_model_with_a_label_are_listed_as_they_came,
      fits_gather_takes_the_newest_input_of_a_reused_id,
      inputs_of_another_kind_and_files_that_are_gone_are_passed_over,
      without_labels_there_is_nothing, fits_gather_stops_on_request,
      a_directory_that_cannot_be_written_is_named)
