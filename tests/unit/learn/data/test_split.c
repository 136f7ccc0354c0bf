/* split.c: the held-back inputs are written as a list that is read again. */
#include "engine/base/file.h"
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct err err;
static char path[128];

static void write_list(const char *text)
{
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/split.jsonl", dir.path);
    tempdir_write(&dir, "split.jsonl", text, strlen(text));
}

START_TEST(texts_held_back_come_back_with_their_names)
{
    struct dataset_item items[] = {
        {.name = "line 2", .input = "a \"b\"\n", .input_len = 6, .label = "hot"},
        {.name = "line 3", .input = "learnt", .input_len = 6, .label = "cold"},
        {.name = "line 4", .input = "lost", .input_len = 4, .label = "cold"},
        {.name = "line 5", .input = "\xff", .input_len = 1, .label = "cold"},
        {.name = "line 6", .input = "c\0d", .input_len = 3, .label = "cold"}};
    const enum split_part parts[] = {SPLIT_VALIDATION, SPLIT_TRAIN, SPLIT_NONE, SPLIT_VALIDATION,
                                     SPLIT_VALIDATION};
    struct dataset all = {.kind = ENGINE_TEXT, .items = items, .count = 5}, back;
    struct dataset_options options = {.text_field = "log", .label_field = "cause"};
    char *text;
    size_t len;
    write_list("");
    ck_assert_msg(!split_write(path, &all, parts, &err), "%s", err.text);
    ck_assert(!file_read(&text, &len, path, 4096, &err));
    ck_assert_str_eq(text, "{\"attnd_split\":1}\n"
                           "{\"part\":\"validation\",\"name\":\"line 2\",\"label\":\"hot\","
                           "\"text\":\"a \\\"b\\\"\\u000a\"}\n"
                           "{\"part\":\"train\",\"name\":\"line 3\",\"label\":\"cold\"}\n"
                           "{\"part\":\"validation\",\"name\":\"line 6\",\"label\":\"cold\","
                           "\"text\":\"c\\u0000d\"}\n");
    free(text);
    ck_assert_msg(!dataset_open(&back, path, &options, &err), "%s", err.text);
    ck_assert_uint_eq(back.count, 2);
    ck_assert_str_eq(back.items[0].name, "line 2");
    ck_assert_str_eq(back.items[0].input, "a \"b\"\n");
    ck_assert_str_eq(back.items[1].label, "cold");
    ck_assert(back.items[1].input_len == 3 && memcmp(back.items[1].input, "c\0d", 3) == 0);
    dataset_close(&back);
    tempdir_close(&dir);
}
END_TEST

/* The list may be read from any folder; a wafer keeps its number. */
START_TEST(images_are_named_by_their_absolute_path)
{
    static char stdf[128], image[128];
    struct dataset_item items[] = {{.name = "a/1.png", .input = image, .label = "a"},
                                   {.name = "b/lot.stdf#W2", .input = stdf, .label = "b"},
                                   {.name = "c/2.png", .input = "no/where.png", .label = "c"}};
    const enum split_part parts[] = {SPLIT_VALIDATION, SPLIT_VALIDATION, SPLIT_VALIDATION};
    struct dataset all = {.kind = ENGINE_IMAGE, .items = items, .count = 3}, back;
    char want[160];
    write_list("");
    tempdir_write(&dir, "lot.stdf", "", 0);
    tempdir_write(&dir, "1.png", "", 0);
    snprintf(image, sizeof image, "%s/../%s/1.png", dir.path, strrchr(dir.path, '/') + 1);
    snprintf(stdf, sizeof stdf, "%s/./lot.stdf#W2", dir.path);
    for (unsigned i = 0; i < 3; i++)
        items[i].input_len = strlen(items[i].input);
    ck_assert(!split_write(path, &all, parts, &err));
    ck_assert_msg(!dataset_open(&back, path, &(struct dataset_options){.kind = ENGINE_IMAGE}, &err),
                  "%s", err.text);
    snprintf(want, sizeof want, "%s/1.png", dir.path);
    ck_assert_str_eq(back.items[0].input, want);
    ck_assert_str_eq(back.items[0].name, "a/1.png");
    snprintf(want, sizeof want, "%s/lot.stdf#W2", dir.path);
    ck_assert_str_eq(back.items[1].input, want);
    dataset_close(&back);
    tempdir_close(&dir);
}
END_TEST

/* "part" means nothing in a list of anybody's, nor does the header later on. */
START_TEST(split_is_recognised_by_its_first_line_alone)
{
    struct dataset back;
    struct dataset_options options = {0};
    write_list("{\"text\":\"a\",\"label\":\"x\",\"part\":\"train\"}\n"
               "{\"text\":\"b\",\"label\":\"y\",\"part\":\"train\",\"attnd_split\":1}\n");
    ck_assert(!dataset_open(&back, path, &options, &err) && back.count == 2);
    ck_assert_str_eq(back.items[0].name, "line 1");
    dataset_close(&back);
    tempdir_write(&dir, "split.jsonl", "{\"attnd_split\":2}\n", 18);
    ck_assert_int_eq(dataset_open(&back, path, &options, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "line 1: a split of another version than 1"));
    dataset_close(&back);
    err = (struct err){0};
    tempdir_write(&dir, "split.jsonl", "{\"attnd_split\":1}\n{\"part\":\"train\"}\n", 35);
    ck_assert_int_eq(dataset_open(&back, path, &options, &err), ERR_UNUSABLE);
    dataset_close(&back);
    tempdir_close(&dir);
}
END_TEST

SUITE("split", texts_held_back_come_back_with_their_names, images_are_named_by_their_absolute_path,
      split_is_recognised_by_its_first_line_alone)
