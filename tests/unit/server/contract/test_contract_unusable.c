/* 422, over a real socket: requests that are well formed and cannot be used. Each kind that the
 * contract lists, alone and as one of several inputs. */
#include "engine/vision/input_formats.h"
#include "tests/support/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define WAFER_MAP "tests/data/examples/wafer_map.png"

struct unusable {
    const char *body, *detail;
};

/* 74 x 87 pixels are the example's 6438. */
static const char *const options[] = {"--image-pixels-max", "6437", NULL};

static void expect_unusable(const struct unusable *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct reply reply = contract_post(cases[i].body);
        reply_expect_problem(&reply, 422, "unusable", cases[i].detail);
        reply_free(&reply);
    }
}

START_TEST(predict_answers_422_to_a_bad_image)
{
    static const struct unusable cases[] = {
        {"{\"image\":\"aGVs*bG8=\"}", "$.image: not base64: invalid character at offset 4"},
        {"{\"image\":\"aGVsbG8\"}", "$.image: not base64: "},
        {"{\"image\":\"aGVsbG8=\"}", "$.image: the image is not " INPUT_FORMATS_OR " (5 bytes)"},
        {"{\"image\":\"\"}", "$.image: empty"},
        {"{\"image\":\"data:image/png;base64,\"}", "$.image: empty"},
        {"{\"image\":7}", "$.image: expected a string, found a number"},
    };
    expect_unusable(cases, COUNT(cases));
}
END_TEST

START_TEST(predict_answers_422_to_a_bad_raw_image)
{
    size_t len;
    char *png = contract_file(WAFER_MAP, &len);
    struct reply reply = contract_post_as("/predict", "image/png", "hello", 5);
    reply_expect_problem(&reply, 422, "unusable",
                         "body: the image is not " INPUT_FORMATS_OR " (5 bytes)");
    reply_free(&reply);
    reply = contract_post_as("/predict", "image/png", "", 0);
    reply_expect_problem(&reply, 422, "unusable", "the body is empty");
    reply_free(&reply);
    reply = contract_post_as("/predict", "image/png", png, 20);
    reply_expect_problem(&reply, 422, "unusable", "body: the PNG is cut off after 20 bytes");
    reply_free(&reply);
    free(png);
}
END_TEST

START_TEST(an_image_of_too_many_pixels_is_422_with_the_limit)
{
    size_t len;
    char *png = contract_file(WAFER_MAP, &len), *base64 = contract_file_base64(WAFER_MAP);
    char *body = contract_format("{\"image\":\"%s\"}", base64);
    struct reply reply = contract_post_as("/predict", "image/png", png, len);
    reply_expect_problem(&reply, 422, "unusable",
                         "body: the image is 74 x 87; the limit is 6437 pixels");
    reply_free(&reply);
    reply = contract_post(body);
    reply_expect_problem(&reply, 422, "unusable",
                         "$.image: the image is 74 x 87; the limit is 6437 pixels");
    reply_free(&reply);
    free(body);
    free(base64);
    free(png);
}
END_TEST

START_TEST(a_text_without_a_token_is_422)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"\"}", "$.text: empty"},
        {"{\"text\":\" \\t\\n \"}", "$.text: the text has no token"},
        {"{\"text\":\"\\u0000\"}", "$.text: the text has no token"},
        {"{\"text\":5}", "$.text: expected a string, found a number"},
    };
    expect_unusable(cases, COUNT(cases));
    struct reply reply = contract_post_as("/predict", "text/plain", " ", 1);
    reply_expect_problem(&reply, 422, "unusable", "body: the text has no token");
    reply_free(&reply);
}
END_TEST

START_TEST(invalid_utf8_is_422_with_its_offset)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"ab\xff\"}", "invalid UTF-8 at byte 11"},
        {"{\"text\":\"\xc0\x80\"}", "invalid UTF-8 at byte 9"},
        {"{\"text\":\"abc\xed\xa0\x80\"}", "invalid UTF-8 at byte 12"},
    };
    expect_unusable(cases, COUNT(cases));
    struct reply reply = contract_post_as("/predict", "text/plain", "ab\xff", 3);
    reply_expect_problem(&reply, 422, "unusable",
                         "body: invalid UTF-8 at byte 2; if the text has another charset");
    reply_free(&reply);
}
END_TEST

START_TEST(an_unknown_member_is_422_and_names_the_nearest)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"a\",\"modle\":\"b\"}", "$.modle: unknown member; did you mean \"model\"?"},
        {"{\"txt\":\"a\"}", "$.txt: unknown member; did you mean \"text\"?"},
        {"{\"text\":\"a\",\"context\":{\"lott\":\"b\"}}",
         "$.context.lott: unknown member; did you mean \"lot\"?"},
        {"{\"text\":\"a\",\"quite another\":1}", "$: an unknown member"},
    };
    expect_unusable(cases, COUNT(cases));
    struct reply reply = contract_post_as("/predict?topk=1", "text/plain", "a", 1);
    reply_expect_problem(&reply, 422, "unusable", "?topk: unknown option; did you mean \"top_k\"?");
    reply_free(&reply);
}
END_TEST

START_TEST(predict_needs_exactly_one_of_text_and_image)
{
    static const struct unusable cases[] = {
        {"{}", "$: expected one of \"text\", \"image\" and \"inputs\", found none"},
        {"{\"text\":null}", "$: expected one of \"text\", \"image\" and \"inputs\", found none"},
        {"{\"text\":\"a\",\"image\":\"b\"}",
         "$: expected one of \"text\" and \"image\", found both"},
        {"{\"text\":\"a\",\"inputs\":[{\"text\":\"a\"}]}", "$: \"inputs\" stands alone"},
        {"{\"inputs\":[]}", "$.inputs: empty"},
        {"{\"inputs\":{\"text\":\"a\"}}", "$.inputs: expected an array, found an object"},
        {"[]", "$: expected an object, found an array"},
    };
    expect_unusable(cases, COUNT(cases));
}
END_TEST

START_TEST(an_option_of_the_wrong_type_or_size_is_422)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"a\",\"top_k\":0}", "$.top_k: must be from 1 to "},
        {"{\"text\":\"a\",\"top_k\":-1}", "$.top_k: must be from 1 to "},
        {"{\"text\":\"a\",\"top_k\":1.5}", "$.top_k: expected an integer, found a fraction"},
        {"{\"text\":\"a\",\"top_k\":\"many\"}", "$.top_k: expected an integer or \"all\""},
        {"{\"text\":\"a\",\"top_k\":true}", "$.top_k: expected an integer or \"all\""},
        {"{\"text\":\"a\",\"deadline_ms\":0}", "$.deadline_ms: must be from 1 to 86400000"},
        {"{\"text\":\"a\",\"id\":[]}", "$.id: expected a string, found an array"},
        {"{\"text\":\"a\",\"id\":\"a\\u0007\"}", "$.id: must not contain control characters"},
        {"{\"text\":\"a\",\"model\":[]}", "$.model: expected a string, found an array"},
        {"{\"text\":\"a\",\"context\":[]}", "$.context: expected an object, found an array"},
        {"{\"text\":\"a\",\"context\":{\"lot\":true}}",
         "$.context.lot: expected a string or a number, found a boolean"},
        {"{\"text\":\"a\",\"context\":{\"lot\":\"0123456789012345678901234567890123456789"
         "0123456789012345678901234\"}}",
         "$.context.lot: at most 64 bytes, found 65"},
    };
    expect_unusable(cases, COUNT(cases));
}
END_TEST

START_TEST(a_query_option_of_the_wrong_type_or_size_is_422)
{
    static const struct unusable cases[] = {
        {"/predict?top_k=0", "?top_k: must be at least 1"},
        {"/predict?top_k=x", "?top_k: expected an integer"},
        {"/predict?deadline_ms=x", "?deadline_ms: expected an integer"},
        {"/predict?explain=magic", "?explain: unknown method"},
        {"/predict?overlay=true", "?overlay: belongs to an explanation"},
        {"/predict?explain=rollout&explain_layer=99",
         "body: explain_layer is 99, but the model has 6 layers"},
        {"/predict?id=%01", "?id: must not contain control characters"},
        {"/predict?id=%FF", "?id: not valid UTF-8"},
        {"/predict?model=wafer-vit", "body: the model wafer-vit does not read texts"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reply reply = contract_post_as(cases[i].body, "text/plain", "a", 1);
        reply_expect_problem(&reply, 422, "unusable", cases[i].detail);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_model_of_the_other_kind_is_422)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"a\",\"model\":\"wafer-vit\"}",
         "$.text: the model wafer-vit does not read texts"},
        {"{\"image\":\"aGVsbG8=\",\"model\":\"kernel-bert\"}",
         "$.image: the model kernel-bert does not read images"},
    };
    expect_unusable(cases, COUNT(cases));
}
END_TEST

START_TEST(an_explanation_that_cannot_be_is_422)
{
    static const struct unusable cases[] = {
        {"{\"text\":\"a\",\"explain\":\"magic\"}", "$.explain: unknown method"},
        {"{\"text\":\"a\",\"overlay\":true}", "$.overlay: belongs to an explanation"},
        {"{\"text\":\"a\",\"explain\":\"gradient\",\"explain_layer\":1}",
         "$.text: explain_layer is for rollout and attention"},
        {"{\"text\":\"a\",\"explain\":\"rollout\",\"explain_layer\":7}",
         "$.text: explain_layer is 7, but the model has 6 layers"},
    };
    expect_unusable(cases, COUNT(cases));
    struct reply reply = contract_post("{\"text\":\"a\",\"explain\":false,\"overlay\":false}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
}
END_TEST

START_TEST(each_bad_input_of_several_has_a_problem_of_its_own)
{
    static const char *const details[] = {
        "$.inputs[0].image: not base64: invalid character at offset 0",
        "$.inputs[1]: expected \"text\" or \"image\", found neither",
        "$.inputs[2]: expected one of \"text\" and \"image\", found both",
        "$.inputs[3]: expected an object, found a number",
        "$.inputs[4].tex: unknown member; did you mean \"text\"?",
        "$.inputs[5].top_k: options are for the whole call",
        "$.inputs[6].text: empty",
        "$.inputs[7].text: the text has no token",
        "$.inputs[8].image: the model kernel-bert does not read images",
    };
    struct reply reply = contract_post(
        "{\"model\":\"kernel-bert\",\"inputs\":[{\"image\":\"%%\"},{},"
        "{\"text\":\"a\",\"image\":\"b\"},3,{\"tex\":\"a\"},{\"text\":\"a\",\"top_k\":2},"
        "{\"text\":\"\"},{\"text\":\" \"},{\"image\":\"aGVsbG8=\"}]}");
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "Content-Type"), "application/json");
    ck_assert_uint_eq(reply_count(&reply, "results"), COUNT(details));
    for (size_t i = 0; i < COUNT(details); i++) {
        char path[32];
        snprintf(path, sizeof path, "results.%zu", i);
        reply_expect_problem_at(&reply, path, 422, "unusable", details[i]);
    }
    reply_free(&reply);
}
END_TEST

START_TEST(an_error_never_repeats_the_input)
{
    static const char *const bodies[] = {
        "{\"image\":\"SECRET*\"}",
        "{\"text\":\"a\",\"model\":\"SECRET\"}",
        "{\"text\":\"SECRET",
        "{\"text\":\"SECRET\",\"top_k\":\"SECRET\"}",
        "{\"text\":\"SECRET\",\"id\":\"SECRET\\u0001\"}",
        "{\"text\":\"SECRET\",\"explain\":\"SECRET\"}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct reply reply = contract_post(bodies[i]);
        ck_assert_int_ge(reply.answer.status, 400);
        ck_assert_ptr_null(strstr(reply.answer.body, "SECRET"));
        reply_free(&reply);
    }
}
END_TEST

CONTRACT_SUITE("contract_unusable", options, predict_answers_422_to_a_bad_image,
               predict_answers_422_to_a_bad_raw_image,
               an_image_of_too_many_pixels_is_422_with_the_limit, a_text_without_a_token_is_422,
               invalid_utf8_is_422_with_its_offset, an_unknown_member_is_422_and_names_the_nearest,
               predict_needs_exactly_one_of_text_and_image,
               an_option_of_the_wrong_type_or_size_is_422,
               a_query_option_of_the_wrong_type_or_size_is_422, a_model_of_the_other_kind_is_422,
               an_explanation_that_cannot_be_is_422,
               each_bad_input_of_several_has_a_problem_of_its_own, an_error_never_repeats_the_input)
