/* Options that only models of some tasks take, by the names of a request; others refuse them. */
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/answers/asking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct asking asking;
static struct err err;

static void set(const char *name, const char *value)
{
    ck_assert_msg(asking_set(&asking, name, value, &err) == ERR_OK, "%s: %s", name, err.text);
}

static void refused(const char *name, const char *value, const char *why)
{
    err = (struct err){0};
    ck_assert_int_eq(asking_set(&asking, name, value, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s: %s", name, err.text);
    err = (struct err){0};
}

static void expect_json(const char *json)
{
    char *written;
    ck_assert(!asking_write(&written, &asking, &err));
    ck_assert_str_eq(written, json);
    free(written);
}

START_TEST(asking_is_set_by_the_names_of_a_request)
{
    asking = (struct asking){0};
    expect_json("");
    set("aggregation", "average");
    set("question", "Which pin?");
    set("doc-stride", "0");
    set("max_seq_len", "96");
    set("max-answer-len", "7");
    set("handle-impossible-answer", NULL);
    set("align_to_words", "false");
    set("dimensions", "8");
    set("normalize", "true");
    set("encoding", "ubinary");
    set("chunks", "lines");
    ck_assert_uint_eq(asking.question.len, strlen("Which pin?"));
    ck_assert_uint_eq(asking.question.overlap, 1);
    expect_json(
        "\"aggregation\":\"average\",\"doc_stride\":0,\"max_seq_len\":96,"
        "\"max_answer_len\":7,\"dimensions\":8,\"encoding\":\"ubinary\",\"chunks\":\"lines\","
        "\"handle_impossible_answer\":true,\"align_to_words\":false,\"normalize\":true,");
    set("align_to_words", "true");
    set("normalize", "false");
    ck_assert(!asking.question.keeps_tokens && !asking.vector.is_scaled);
}
END_TEST

START_TEST(asking_tells_a_server_how_to_write)
{
    asking = (struct asking){0};
    set("max-new-tokens", "40");
    set("min_new_tokens", "0");
    set("num-beams", "4");
    set("num_return_sequences", "2");
    set("no-repeat-ngram-size", "3");
    set("length-penalty", "-0.5");
    set("source-language", "en\"XX");
    set("target_language", "de_DE");
    expect_json("\"max_new_tokens\":40,\"min_new_tokens\":0,\"num_beams\":4,"
                "\"num_return_sequences\":2,\"no_repeat_ngram_size\":3,\"length_penalty\":-0.5,"
                "\"source_language\":\"en\\\"XX\",\"target_language\":\"de_DE\",");
    asking = (struct asking){0};
    set("pattern", "[A-Z]\\d");
    set("copy-numbers", NULL);
    set("checksum", "semi-m13");
    expect_json("\"pattern\":\"[A-Z]\\\\d\",\"copy_numbers\":true,\"checksum\":\"semi-m13\",");
    set("num_return_sequences", "2");
    ck_assert_uint_eq(asking_texts(&asking, 1), 2);
    ck_assert_uint_eq(asking_texts(&asking, 0), 0);
    ck_assert_uint_eq(asking_texts(&(struct asking){0}, 3), 3);
}
END_TEST

/* Lists add up, whichever option names them. */
START_TEST(asking_gathers_the_texts_that_are_allowed)
{
    struct tempdir dir;
    char path[128], many[4 * ENGINE_ALLOWED_MAX];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/list", dir.path);
    tempdir_write(&dir, "list", "pass\r\n\n \t\nfail at", 17);
    asking = (struct asking){0};
    set("allow", "leak");
    set("allowed", path);
    set("allowed", path);
    expect_json("\"allowed\":[\"leak\", \"pass\", \"fail at\", \"pass\", \"fail at\"],");
    ck_assert_str_eq(asking.write.unrecorded, "allowed");
    for (size_t i = 0; i < sizeof many / 4; i++)
        memcpy(many + 4 * i, "abc\n", 4);
    tempdir_write(&dir, "list", many, sizeof many);
    refused("allowed", path, "/list: more than 1000 texts");
    tempdir_write(&dir, "list", " \n", 2);
    refused("allowed", path, "/list: has no text");
    tempdir_write(&dir, "list", "a\0b", 3);
    refused("allowed", path, "/list: a NUL in it");
    writing_options_close(&asking.write);
    set("checksum", "none");
    ck_assert_ptr_null(asking.write.unrecorded);
    tempdir_close(&dir);
}
END_TEST

/* 13 digits would not be a number of tokens; each name has its own words. */
START_TEST(asking_that_is_wrong_says_what_is_expected)
{
    asking = (struct asking){0};
    refused("aggregation", "last", "none, simple, path, first, max or average");
    refused("question", "", "empty");
    refused("doc_stride", "-1", "100000");
    refused("max_seq_len", "0", "from 1 to 100000");
    refused("max_answer_len", "1234567890123", "from 1 to 100000");
    refused("align_to_words", "yes", "true or false");
    refused("dimensions", "0", "from 1");
    refused("encoding", "int4", VECTOR_ENCODING_NAMES);
    refused("chunks", "line", "lines or tokens");
    refused("num_beams", "4.5", "expected an integer");
    refused("max_new_tokens", "-9223372036854775808", "expected an integer");
    refused("length_penalty", "inf", "expected a number");
    refused("target_language", "\xc3", "at most");
    expect_json("");
}
END_TEST

START_TEST(asking_of_another_task_is_refused_by_name)
{
    static const struct {
        const char *name, *value, *said;
        enum engine_task task;
    } rows[] = {{"aggregation", "simple", "aggregation: ", ENGINE_TAG},
                {"question", "a", "question, ", ENGINE_ANSWER},
                {"doc_stride", "3", "doc_stride, ", ENGINE_ANSWER},
                {"handle_impossible_answer", "true", "handle_impossible_answer, ", ENGINE_ANSWER},
                {"align_to_words", "false", "align_to_words: ", ENGINE_ANSWER},
                {"dimensions", "3", "dimensions, ", ENGINE_EMBED},
                {"normalize", "true", "normalize: ", ENGINE_EMBED},
                {"encoding", "int8", "encoding, ", ENGINE_EMBED},
                {"chunks", "tokens", "chunks: ", ENGINE_EMBED},
                {"num_beams", "2", "num_beams and other", ENGINE_GENERATE},
                {"source_language", "de", "writing: ", ENGINE_GENERATE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asking = (struct asking){0};
        set(rows[i].name, rows[i].value);
        const unsigned own = 1u << rows[i].task, all = (1u << (ENGINE_GENERATE + 1)) - 1;
        ck_assert_int_eq(asking_check(&asking, own, &err), ERR_OK);
        ck_assert_int_eq(asking_check(&asking, all, &err), ERR_OK);
        ck_assert_int_eq(asking_check(&asking, all & ~own, &err), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, rows[i].said) != NULL, "%s", err.text);
        err = (struct err){0};
    }
    asking = (struct asking){0};
    ck_assert_int_eq(asking_check(&asking, 1u << ENGINE_CLASSIFY, &err), ERR_OK);
}
END_TEST

SUITE("asking", asking_is_set_by_the_names_of_a_request, asking_tells_a_server_how_to_write,
      asking_gathers_the_texts_that_are_allowed, asking_that_is_wrong_says_what_is_expected,
      asking_of_another_task_is_refused_by_name)
