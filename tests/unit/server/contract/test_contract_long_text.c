/* Texts that are longer than the model, in the program: read in windows, or cut, or refused. */
#include "tests/support/contract.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 200, TOKENS_MAX = WORDS }; /* the model reads 126 at once */

/* A call with a text of so many words, each one token; yours to free. */
static char *call_of(unsigned words, const char *more)
{
    char *text = malloc(2 * (size_t)words + 1);
    ck_assert_ptr_nonnull(text);
    for (unsigned i = 0; i < words; i++)
        memcpy(text + (size_t)2 * i, i % 2 > 0 ? "a " : "b ", 3);
    char *call = contract_format("{\"model\": \"short\", \"text\": \"%s\"%s}", text, more);
    free(text);
    return call;
}

static struct reply ask(unsigned words, const char *more)
{
    char *call = call_of(words, more);
    struct reply reply = contract_post(call);
    free(call);
    return reply;
}

START_TEST(a_long_text_is_one_answer_over_its_windows)
{
    struct reply reply = ask(WORDS, ", \"long_text\": \"windows\", \"explain\": true");
    reply_expect_status(&reply, 200);
    ck_assert_double_eq(reply_number(&reply, "windows"), 2);
    ck_assert_ptr_null(contract_at(reply.json, "truncated"));
    ck_assert_uint_eq(reply_count(&reply, "explanation.words"), WORDS);
    ck_assert_double_eq(reply_number(&reply, "explanation.words.199.end"), 2 * WORDS - 1);
    reply_free(&reply);
}
END_TEST

START_TEST(without_being_asked_the_model_does_what_its_checkpoint_says)
{
    struct reply reply = ask(WORDS, "");
    reply_expect_status(&reply, 200);
    ck_assert_ptr_null(contract_at(reply.json, "windows"));
    ck_assert_ptr_nonnull(contract_at(reply.json, "truncated"));
    reply_free(&reply);
    reply = contract_get("/models");
    reply_expect_text(&reply, "models.2.long_text", "truncate");
    ck_assert_double_eq(reply_number(&reply, "models.2.window_stride"), 126);
    reply_free(&reply);
}
END_TEST

START_TEST(a_text_of_more_tokens_than_configured_is_413)
{
    struct reply reply = ask(TOKENS_MAX + 1, ", \"long_text\": \"windows\"");
    reply_expect_problem(&reply, 413, "too_large", "$.text: the text has more than 200 tokens");
    reply_free(&reply);
    reply = ask(TOKENS_MAX, ", \"long_text\": \"windows\"");
    ck_assert_double_eq(reply_number(&reply, "windows"), 2);
    reply_free(&reply);
}
END_TEST

START_TEST(a_raw_text_takes_the_option_in_its_query)
{
    char text[2 * WORDS + 1];
    memset(text, 'a', sizeof text);
    for (unsigned i = 1; i < 2 * WORDS; i += 2)
        text[i] = ' ';
    struct reply reply =
        contract_post_as("/predict?model=short&long_text=windows", "text/plain", text, 2 * WORDS);
    ck_assert_double_eq(reply_number(&reply, "windows"), 2);
    reply_free(&reply);
    reply = contract_post_as("/predict?model=short&long_text=whole", "text/plain", text, 2 * WORDS);
    reply_expect_problem(&reply, 422, "unusable", "?long_text: expected truncate or windows");
    reply_free(&reply);
}
END_TEST

static const char *const options[] = {"--model", "short=tests/data/golden/bert-4",
                                      "--text-tokens-max", "200", NULL};

CONTRACT_SUITE("contract_long_text", options, a_long_text_is_one_answer_over_its_windows,
               without_being_asked_the_model_does_what_its_checkpoint_says,
               a_text_of_more_tokens_than_configured_is_413,
               a_raw_text_takes_the_option_in_its_query)
