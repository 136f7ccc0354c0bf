#include "tests/support/suite.h"
#include "tools/stream/message.h"

#include <string.h>

static struct engine_model *engine;
static struct arena arena;
static struct message_input input;
static struct err err;

static void open_model(const char *dir)
{
    ck_assert_msg(engine_open(&engine, dir, &(struct engine_options){0}, &err) == ERR_OK, "%s",
                  err.text);
}

static void close_model(void)
{
    engine_close(engine);
    arena_deinit(&arena);
}

static enum err_code take(const char *value, size_t len, const char *type)
{
    const struct message message = {
        .value = value, .len = len, .bytes_max = 4096, .content_type = type};
    err = (struct err){0};
    return message_prepare(&message, engine, &arena, &input, &err);
}

static void refused(const char *value, const char *type, enum err_code code, const char *why)
{
    ck_assert_int_eq(take(value, value != NULL ? strlen(value) : 0, type), code);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
}

START_TEST(message_is_a_text_as_it_came_or_by_its_type)
{
    open_model("models/testlog-bert");
    ck_assert_int_eq(take("SCAN FAIL", 9, NULL), ERR_OK);
    ck_assert_str_eq(input.text, "SCAN FAIL");
    unsigned tokens = input.prepared.tokens;
    ck_assert_int_eq(take("SCAN FAIL", 9, "Text/Plain; charset=utf-8"), ERR_OK);
    static const char body[] = "{\"text\": \"SCAN FAIL\", \"id\": \"a1\"}";
    ck_assert_int_eq(take(body, strlen(body), "application/json"), ERR_OK);
    ck_assert_uint_eq(input.prepared.tokens, tokens);
    ck_assert_str_eq(input.id, "a1");
    static const char number[] = "{\"text\": \"SCAN FAIL\", \"id\": 42}";
    ck_assert_int_eq(take(number, strlen(number), "application/json"), ERR_OK);
    ck_assert_str_eq(input.id, "42");
    close_model();
}
END_TEST

START_TEST(message_that_cannot_be_read_says_why)
{
    static const char json[] = "application/json";
    open_model("models/testlog-bert");
    refused(NULL, NULL, ERR_UNUSABLE, "no value");
    refused("caf\xE9", NULL, ERR_UNUSABLE, "UTF-8");
    refused("a", "application/xml", ERR_MEDIA_TYPE, "text/plain");
    refused("a", "text/plainer", ERR_MEDIA_TYPE, "text/plain");
    refused("a", "image/png", ERR_UNUSABLE, "the model takes texts");
    refused("{\"text\": ", json, ERR_MALFORMED, "byte");
    refused("{\"text\": \"{'text': 'a'}\"}", json, ERR_UNUSABLE, "this is a request in JSON");
    refused("[]", json, ERR_UNUSABLE, "expected an object");
    refused("{\"txt\": \"a\"}", json, ERR_UNUSABLE, "did you mean \"text\"");
    refused("{\"text\": 1}", json, ERR_UNUSABLE, "$.text: expected a string");
    refused("{\"id\": \"a b\", \"text\": \"a\"}", json, ERR_UNUSABLE, "$.id: ");
    refused("{\"id\": \"a\"}", json, ERR_UNUSABLE, "expected \"text\" or \"image\", found neither");
    refused("{\"text\": \"a\", \"top_k\": 2}", json, ERR_UNUSABLE, "unknown member");
    refused("{\"inputs\": [{\"text\": \"a\"}]}", json, ERR_UNUSABLE, "unknown member");
    refused("{\"image\": \"AAAA\"}", json, ERR_UNUSABLE, "the model takes texts");
    ck_assert_int_eq(take("a", 4097, NULL), ERR_TOO_LARGE);
    ck_assert_msg(strstr(err.text, "4097 bytes, the limit is 4096") != NULL, "%s", err.text);
    close_model();
}
END_TEST

START_TEST(message_brings_its_own_question_or_takes_the_one_for_all)
{
    static const char own[] = "{\"text\": \"lot A1\", \"question\": \"Which lot is it?\"}";
    open_model("tests/data/answers/qa-bert-0");
    struct message message = {.value = "lot A1", .len = 6, .bytes_max = 4096};
    ck_assert_int_eq(message_prepare(&message, engine, &arena, &input, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, "question: it is missing") != NULL, "%s", err.text);
    err = (struct err){0};
    message.asking.question.text = "Lot?";
    message.asking.question.len = 4;
    ck_assert_int_eq(message_prepare(&message, engine, &arena, &input, &err), ERR_OK);
    const unsigned tokens = input.prepared.tokens;
    message.value = own;
    message.len = strlen(own);
    message.content_type = "application/json";
    ck_assert_int_eq(message_prepare(&message, engine, &arena, &input, &err), ERR_OK);
    ck_assert_uint_gt(input.prepared.tokens, tokens);
    close_model();
}
END_TEST

START_TEST(message_is_embedded_in_the_parts_that_are_asked_for)
{
    open_model("tests/data/embedding/st-bert-0");
    struct message message = {.value = "lot A1\nbin 4", .len = 12, .bytes_max = 4096};
    message.asking.vector.chunks = VECTORS_LINES;
    ck_assert_int_eq(message_prepare(&message, engine, &arena, &input, &err), ERR_OK);
    ck_assert(input.prepared.has_lines && input.prepared.part_count == 2);
    message.asking.vector.chunks = VECTORS_TOKENS;
    ck_assert_int_eq(message_prepare(&message, engine, &arena, &input, &err), ERR_OK);
    ck_assert_uint_eq(input.prepared.part_count, input.prepared.tokens);
    close_model();
}
END_TEST

START_TEST(message_context_goes_along)
{
    static const char json[] = "application/json";
    static const char body[] = "{\"text\": \"SCAN\", \"context\": {\"lot\": \"A1\", \"die_x\": 3}}";
    open_model("models/testlog-bert");
    ck_assert_int_eq(take(body, strlen(body), json), ERR_OK);
    ck_assert_str_eq(input.context, "{\"lot\":\"A1\",\"die_x\":3}");
    ck_assert_int_eq(take("SCAN", 4, NULL), ERR_OK);
    ck_assert_ptr_null(input.context);
    refused("{\"text\": \"a\", \"context\": \"A1\"}", json, ERR_UNUSABLE,
            "$.context: expected an object");
    refused("{\"text\": \"a\", \"context\": {\"lott\": \"A1\"}}", json, ERR_UNUSABLE, "\"lot\"");
    close_model();
}
END_TEST

START_TEST(message_for_an_image_model_is_a_picture)
{
    open_model("models/wafer-vit");
    refused("GIF89a", NULL, ERR_UNUSABLE, "");
    refused("SCAN FAIL", "text/plain", ERR_UNUSABLE, "the model takes images");
    refused("{\"image\": \"A\"}", "application/json", ERR_UNUSABLE, "$.image: ");
    close_model();
}
END_TEST

START_TEST(message_id_follows_from_its_place)
{
    char id[MESSAGE_OWN_ID_BYTES], same[MESSAGE_OWN_ID_BYTES], other[MESSAGE_OWN_ID_BYTES];
    message_make_id(id, "logs", 3, 17);
    message_make_id(same, "logs", 3, 17);
    message_make_id(other, "logs", 3, 18);
    ck_assert_uint_eq(strspn(id, "0123456789abcdef"), 16);
    ck_assert_str_eq(id, same);
    ck_assert_str_ne(id, other);
}
END_TEST

START_TEST(message_id_is_what_the_server_takes)
{
    char longest[MESSAGE_ID_BYTES_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[MESSAGE_ID_BYTES_MAX + 1] = '\0';
    ck_assert(!message_id_is_plain(longest));
    longest[MESSAGE_ID_BYTES_MAX] = '\0';
    ck_assert(message_id_is_plain(longest));
    ck_assert(!message_id_is_plain(""));
    ck_assert(!message_id_is_plain("a b"));
    ck_assert(!message_id_is_plain("\xC3\xA4"));
}
END_TEST

SUITE("message", message_brings_its_own_question_or_takes_the_one_for_all,
      message_is_embedded_in_the_parts_that_are_asked_for, message_context_goes_along,
      message_is_a_text_as_it_came_or_by_its_type, message_that_cannot_be_read_says_why,
      message_for_an_image_model_is_a_picture, message_id_follows_from_its_place,
      message_id_is_what_the_server_takes)
