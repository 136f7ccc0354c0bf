/* Spans of a list of objects: what is read, and what is refused by line and span. */
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dataset_options spans = {.kind = ENGINE_TEXT, .reads_spans = true};

struct subject {
    struct tempdir dir;
    char path[128];
    struct dataset dataset;
    struct err err;
};

static void setup(struct subject *subject, const char *name, const char *bytes)
{
    tempdir_open(&subject->dir);
    tempdir_write(&subject->dir, name, bytes, strlen(bytes));
    snprintf(subject->path, sizeof subject->path, "%s/%s", subject->dir.path, name);
    subject->err = (struct err){0};
    dataset_open(&subject->dataset, subject->path, &spans, &subject->err);
}

static void drop(struct subject *subject)
{
    dataset_close(&subject->dataset);
    tempdir_close(&subject->dir);
}

static void expect_span(const struct dataset_item *item, unsigned s, const char *label,
                        unsigned start, unsigned end)
{
    ck_assert_uint_lt(s, item->span_count);
    ck_assert_str_eq(item->spans[s].label, label);
    ck_assert_uint_eq(item->spans[s].start, start);
    ck_assert_uint_eq(item->spans[s].end, end);
}

START_TEST(spans_are_put_in_order_and_counted_in_characters)
{
    struct subject subject;
    setup(&subject, "a.jsonl",
          "{\"text\":\"5 \\u00b5A at 3 V\",\"spans\":[{\"label\":\"value\",\"start\":8,\"end\":9},"
          "{\"start\":2.0,\"end\":4,\"label\":\"unit\",\"by\":\"ann\"}]}\n"
          "{\"text\":\"nothing\",\"spans\":[]}\n"
          "{\"text\":\"ab\",\"spans\":[{\"label\":\"x\",\"start\":0,\"end\":1},"
          "{\"label\":\"x\",\"start\":1,\"end\":2}]}\n");
    ck_assert_msg(subject.err.code == ERR_OK, "%s", subject.err.text);
    const struct dataset_item *items = subject.dataset.items;
    ck_assert_uint_eq(subject.dataset.count, 3);
    ck_assert_uint_eq(items[0].span_count, 2);
    expect_span(&items[0], 0, "unit", 2, 4);
    expect_span(&items[0], 1, "value", 8, 9);
    ck_assert(items[1].span_count == 0 && items[1].spans != NULL && items[1].label == NULL);
    expect_span(&items[2], 1, "x", 1, 2);
    drop(&subject);
}
END_TEST

START_TEST(a_bad_span_is_refused_with_its_line_and_place)
{
#define LINE(spans)                                                                                \
    "{\"text\":\"abcd\",\"spans\":[]}\n{\"text\":\"ab\\u00b5d\",\"spans\":" spans "}\n"
    static const struct {
        const char *bytes, *text;
    } rows[] = {
        {"{\"text\":\"a\"}\n", "line 1: member 'spans' is missing; of a text without any it is []"},
        {"{\"text\":\"a\",\"spans\":null}\n",
         "line 1: member 'spans' is missing; of a text without any it is []"},
        {LINE("{}"), "line 2: member 'spans': expected an array, found an object"},
        {LINE("[1]"), "line 2: spans[0]: expected an object, found a number"},
        {LINE("[{\"start\":0,\"end\":1}]"), "line 2: spans[0]: member 'label' is missing"},
        {LINE("[{\"label\":7,\"start\":0,\"end\":1}]"),
         "line 2: spans[0]: member 'label': expected a string, found a number"},
        {LINE("[{\"label\":\"\",\"start\":0,\"end\":1}]"),
         "line 2: spans[0]: the label is empty or contains a NUL character"},
        {LINE("[{\"label\":\"a\\u0000b\",\"start\":0,\"end\":1}]"),
         "line 2: spans[0]: the label is empty or contains a NUL character"},
        {LINE("[{\"label\":\"O\",\"start\":0,\"end\":1}]"),
         "line 2: spans[0]: the label 'O' is that of characters without a span"},
        {LINE("[{\"label\":\"x\",\"end\":1}]"), "line 2: spans[0]: member 'start' is missing"},
        {LINE("[{\"label\":\"x\",\"start\":0,\"end\":\"1\"}]"),
         "line 2: spans[0]: member 'end': expected a number, found a string"},
        {LINE("[{\"label\":\"x\",\"start\":-1,\"end\":1}]"),
         "line 2: spans[0]: member 'start': -1 is no place in a text"},
        {LINE("[{\"label\":\"x\",\"start\":0.5,\"end\":1}]"),
         "line 2: spans[0]: member 'start': 0.5 is no place in a text"},
        {LINE("[{\"label\":\"x\",\"start\":0,\"end\":5}]"),
         "line 2: spans[0]: member 'end': 5 is behind the end of the text, which has 4 characters"},
        {LINE("[{\"label\":\"x\",\"start\":0,\"end\":1e300}]"), "which has 4 characters"},
        {LINE("[{\"label\":\"x\",\"start\":0,\"end\":2},{\"label\":\"y\",\"start\":2,\"end\":2}]"),
         "line 2: spans[1]: it begins at 2 and ends at 2: no character is in it"},
        {LINE("[{\"label\":\"x\",\"start\":3,\"end\":2}]"),
         "line 2: spans[0]: it begins at 3 and ends at 2: no character is in it"},
        {LINE("[{\"label\":\"x\",\"start\":2,\"end\":4},{\"label\":\"y\",\"start\":0,\"end\":3}]"),
         "line 2: spans overlap: 'y' from 0 to 3 and 'x' from 2 to 4"},
        {LINE("[{\"label\":\"x\",\"start\":1,\"end\":2},{\"label\":\"x\",\"start\":1,\"end\":2}]"),
         "line 2: spans overlap: 'x' from 1 to 2 and 'x' from 1 to 2"},
        {LINE("[{},{},{},{},{}]"), "line 2: 5 spans in a text of 4 characters"},
        {"{\"text\":\"a\",\"text_pair\":\"b\",\"spans\":[]}\n",
         "line 1: spans are of one text, and this has a text_pair"},
        {"", "no labelled input is in it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct subject subject;
        setup(&subject, "a.jsonl", rows[i].bytes);
        ck_assert_msg(subject.err.code == ERR_UNUSABLE, "%zu: %s", i, subject.err.text);
        ck_assert_msg(strstr(subject.err.text, rows[i].text) != NULL, "%s", subject.err.text);
        drop(&subject);
    }
}
END_TEST

START_TEST(spans_are_of_a_list_of_objects_alone)
{
    static const char *const names[] = {"a.csv", "a.txt"};
    for (size_t i = 0; i < 2; i++) {
        struct subject subject;
        setup(&subject, names[i], "text,spans\na,b\n");
        ck_assert_int_eq(subject.err.code, ERR_UNUSABLE);
        ck_assert_msg(strstr(subject.err.text, "a file .jsonl or .ndjson") != NULL, "%s",
                      subject.err.text);
        drop(&subject);
    }
}
END_TEST

START_TEST(a_split_keeps_the_spans_of_what_was_held_back)
{
    struct subject subject;
    struct dataset again;
    char path[160];
    enum split_part parts[] = {SPLIT_TRAIN, SPLIT_VALIDATION, SPLIT_VALIDATION};
    setup(&subject, "a.jsonl",
          "{\"text\":\"a\",\"spans\":[]}\n{\"text\":\"b\",\"spans\":[]}\n"
          "{\"text\":\"c d\",\"spans\":[{\"label\":\"q\\\"\",\"start\":2,\"end\":3}]}\n");
    snprintf(path, sizeof path, "%s/split.jsonl", subject.dir.path);
    ck_assert(!split_write(path, &subject.dataset, parts, &subject.err));
    ck_assert_msg(!dataset_open(&again, path, &spans, &subject.err), "%s", subject.err.text);
    ck_assert_uint_eq(again.count, 2);
    ck_assert_uint_eq(again.items[0].span_count, 0);
    expect_span(&again.items[1], 0, "q\"", 2, 3);
    ck_assert_str_eq(again.items[1].name, "line 3");
    dataset_close(&again);
    drop(&subject);
}
END_TEST

SUITE("dataset_spans", spans_are_put_in_order_and_counted_in_characters,
      a_bad_span_is_refused_with_its_line_and_place, spans_are_of_a_list_of_objects_alone,
      a_split_keeps_the_spans_of_what_was_held_back)
