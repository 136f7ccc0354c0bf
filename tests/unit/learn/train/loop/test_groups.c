#include "learn/train/loop/corpus.h"

#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct dataset first, second;
static struct arena arena;
static struct groups groups;
static struct err err;

static void open_list(struct dataset *out, const char *name, const char *lines)
{
    char path[128];
    const struct dataset_options options = {
        .kind = ENGINE_TEXT, .labels_optional = true, .label_other = "value"};
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    tempdir_write(&dir, name, lines, strlen(lines));
    ck_assert_msg(!dataset_open(out, path, &options, &err), "%s", err.text);
}

/* other NULL: there is no second list. */
static enum err_code open_groups(const char *lines, const char *other)
{
    err = (struct err){0};
    tempdir_open(&dir);
    arena_init(&arena);
    second = (struct dataset){0};
    open_list(&first, "a.jsonl", lines);
    if (other != NULL)
        open_list(&second, "b.jsonl", other);
    struct dataset *const both[GROUPS_PARTS] = {&first, other != NULL ? &second : NULL};
    return groups_open(&groups, both, &arena, &err);
}

static void close_groups(void)
{
    dataset_close(&first);
    dataset_close(&second);
    arena_deinit(&arena);
    tempdir_close(&dir);
}

START_TEST(texts_of_one_label_are_one_group_in_both_lists)
{
    ck_assert(!open_groups("{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\",\"label\":\"y\"}\n"
                           "{\"text\":\"c\",\"label\":\"x\"}\n",
                           "{\"text\":\"d\",\"label\":\"z\"}\n{\"text\":\"e\",\"label\":\"y\"}\n"));
    ck_assert(!groups.are_pairs && groups.count == 3);
    ck_assert(groups.of[0][0] == groups.of[0][2] && groups.of[0][1] == groups.of[1][1]);
    ck_assert(groups.of[1][0] != groups.of[0][0] && groups.of[1][0] != groups.of[0][1]);
    ck_assert_str_eq(groups.name[groups.of[1][0]], "z");
    close_groups();
}
END_TEST

START_TEST(the_texts_of_a_pair_become_items_side_by_side)
{
    ck_assert(!open_groups("{\"text\":\"a\",\"text_pair\":\"b\"}\n"
                           "{\"text\":\"c\",\"text_pair\":\"d\"}\n",
                           NULL));
    ck_assert(groups.are_pairs && first.count == 4);
    ck_assert_str_eq(first.items[3].input, "d");
    ck_assert_str_eq(first.items[3].name, "line 2, text_pair");
    ck_assert(first.items[2].pair == NULL && first.items[2].input[0] == 'c');
    ck_assert(groups.of[0][0] == groups.of[0][1] && groups.of[0][2] == groups.of[0][3]);
    ck_assert(groups.of[0][0] != groups.of[0][2]);
    close_groups();
}
END_TEST

START_TEST(pairs_that_share_a_text_are_one_group_however_long_the_chain)
{
    ck_assert(!open_groups("{\"text\":\"a\",\"text_pair\":\"b\"}\n"
                           "{\"text\":\"e\",\"text_pair\":\"f\"}\n"
                           "{\"text\":\"b\",\"text_pair\":\"c\"}\n",
                           "{\"text\":\"d\",\"text_pair\":\"c\"}\n"));
    ck_assert(groups.of[0][0] == groups.of[0][4] && groups.of[0][4] == groups.of[1][0]);
    ck_assert(groups.of[0][2] != groups.of[0][0]);
    close_groups();
}
END_TEST

static void expect_refused(const char *lines, const char *other, const char *text)
{
    ck_assert_int_eq(open_groups(lines, other), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    close_groups();
}

START_TEST(what_says_nothing_of_belonging_is_refused)
{
    expect_refused("{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\"}\n", NULL,
                   "line 2: it has neither a label nor a text_pair");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\"}\n{\"text\":\"c\"}\n", NULL,
                   "line 2: it has no text_pair, as others have");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\",\"value\":0.5}\n", NULL,
                   "line 1: a pair to embed has no label and no value");
    expect_refused("{\"text\":\"a\",\"text_pair\":\"b\"}\n", "{\"text\":\"a\",\"label\":\"b\"}\n",
                   "--data has pairs (text_pair) and --validation has labels");
}
END_TEST

SUITE("groups", texts_of_one_label_are_one_group_in_both_lists,
      the_texts_of_a_pair_become_items_side_by_side,
      pairs_that_share_a_text_are_one_group_however_long_the_chain,
      what_says_nothing_of_belonging_is_refused)
