/* dataset.h: a member or column that stands in place of the label's, and pairs that come apart. */
#include "learn/data/dataset.h"

#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct dataset dataset;
static struct err err;

static enum err_code open_list(const char *name, const char *lines, const char *other,
                               bool labels_optional)
{
    char path[128];
    const struct dataset_options options = {.kind = ENGINE_TEXT,
                                            .label_other = other,
                                            .labels_many = other != NULL,
                                            .labels_numbers = true,
                                            .labels_optional = labels_optional};
    err = (struct err){0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    tempdir_write(&dir, name, lines, strlen(lines));
    return dataset_open(&dataset, path, &options, &err);
}

static void close_list(void)
{
    dataset_close(&dataset);
    tempdir_close(&dir);
}

START_TEST(another_member_stands_where_there_is_no_label)
{
    ck_assert_msg(!open_list("a.jsonl",
                             "{\"text\":\"a\",\"value\":0.5}\n"
                             "{\"text\":\"b\",\"label\":2,\"value\":3}\n"
                             "{\"text\":\"c\",\"value\":[\"x\",\"y\"]}\n"
                             "{\"text\":\"d\",\"label\":null,\"value\":7}\n",
                             "value", false),
                  "%s", err.text);
    ck_assert_str_eq(dataset.items[0].label, "0.5");
    ck_assert_str_eq(dataset.items[1].label, "2"); /* the label's own name comes first */
    ck_assert_str_eq(dataset.items[2].label, "x|y");
    ck_assert_str_eq(dataset.items[3].label, ""); /* it is there, and says that there is none */
    close_list();
}
END_TEST

START_TEST(another_column_stands_where_there_is_no_label)
{
    ck_assert(!open_list("a.csv", "text,value\na,1\nb,2\n", "value", false));
    ck_assert_str_eq(dataset.items[1].label, "2");
    close_list();
    ck_assert(!open_list("a.csv", "value,text,label\n1,a,x\n", "value", false));
    ck_assert_str_eq(dataset.items[0].label, "x");
    close_list();
    ck_assert(!open_list("a.csv", "text\na\n", "value", true));
    ck_assert_ptr_null(dataset.items[0].label);
    close_list();
}
END_TEST

START_TEST(a_list_without_either_is_refused)
{
    ck_assert_int_eq(open_list("a.jsonl", "{\"text\":\"a\"}\n", "value", false), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, "member 'value' is missing") != NULL, "%s", err.text);
    close_list();
    ck_assert_int_eq(open_list("a.csv", "text\na\n", "value", false), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, "no column is named 'value'") != NULL, "%s", err.text);
    close_list();
}
END_TEST

START_TEST(the_texts_of_pairs_become_items)
{
    ck_assert(!open_list("a.jsonl",
                         "{\"text\":\"a\",\"text_pair\":\"b\"}\n"
                         "{\"text\":\"c\",\"text_pair\":\"d\\u0000e\"}\n",
                         NULL, true));
    ck_assert_msg(!dataset_unpair(&dataset, &err), "%s", err.text);
    ck_assert_uint_eq(dataset.count, 4);
    ck_assert_str_eq(dataset.items[0].input, "a");
    ck_assert_str_eq(dataset.items[1].input, "b");
    ck_assert_str_eq(dataset.items[0].name, "line 1");
    ck_assert_str_eq(dataset.items[3].name, "line 2, text_pair");
    ck_assert_uint_eq(dataset.items[3].input_len, 3);
    for (size_t i = 0; i < 4; i++)
        ck_assert(dataset.items[i].pair == NULL && dataset.items[i].pair_len == 0);
    close_list();
}
END_TEST

START_TEST(a_single_text_among_pairs_is_named)
{
    ck_assert(!open_list("a.jsonl", "{\"text\":\"a\",\"text_pair\":\"b\"}\n{\"text\":\"c\"}\n",
                         NULL, true));
    ck_assert_int_eq(dataset_unpair(&dataset, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "line 2: it has no text_pair, as others have");
    ck_assert_uint_eq(dataset.count, 2); /* as it was */
    close_list();
}
END_TEST

SUITE("dataset_other", another_member_stands_where_there_is_no_label,
      another_column_stands_where_there_is_no_label, a_list_without_either_is_refused,
      the_texts_of_pairs_become_items, a_single_text_among_pairs_is_named)
