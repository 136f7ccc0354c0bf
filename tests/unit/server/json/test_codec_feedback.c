/* Bodies of POST /feedback, good and hostile, and what is answered. */
#include "server/json/codec_feedback.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 3 };

static struct feedback_call call;
static struct arena arena;
static struct err err;

static enum err_code parse(const char *body)
{
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    return codec_feedback_parse(&call, body, strlen(body), INPUTS_MAX, &arena, &err);
}

START_TEST(one_label_is_read_with_all_its_members)
{
    ck_assert_int_eq(parse("{\"id\":\"die-7\",\"label\":\"Dönut\",\"index\":3,\"source\":\"Anna\","
                           "\"new\":true}"),
                     ERR_OK);
    ck_assert(!call.is_list && call.count == 1);
    ck_assert_str_eq(call.items[0].id, "die-7");
    ck_assert_str_eq(call.items[0].label, "Dönut");
    ck_assert_uint_eq(call.items[0].index, 3);
    ck_assert_str_eq(call.items[0].source, "Anna");
    ck_assert(call.items[0].is_new);
    ck_assert_int_eq(parse("{\"id\":\"a\",\"label\":\"b\",\"index\":null,\"source\":null}"),
                     ERR_OK);
    ck_assert(call.items[0].index == 0 && call.items[0].source == NULL && !call.items[0].is_new);
}
END_TEST

START_TEST(a_set_of_labels_is_read_and_may_be_empty)
{
    ck_assert_int_eq(parse("{\"id\":\"a\",\"labels\":[\"x\",\"y\"],\"label\":null}"), ERR_OK);
    ck_assert(call.items[0].label == NULL && call.items[0].labels.count == 2);
    ck_assert_str_eq(call.items[0].labels.texts[1], "y");
    ck_assert_int_eq(parse("{\"id\":\"a\",\"labels\":[]}"), ERR_OK);
    ck_assert(call.items[0].labels.texts != NULL && call.items[0].labels.count == 0);
}
END_TEST

START_TEST(a_bad_item_of_a_list_leaves_the_others)
{
    ck_assert_int_eq(parse("{\"feedback\":[{\"id\":\"a\",\"label\":\"x\"},{\"id\":\"b\"},"
                           "{\"id\":\"c\",\"label\":\"y\",\"index\":1}]}"),
                     ERR_OK);
    ck_assert(call.is_list && call.count == 3);
    ck_assert_int_eq(call.items[0].err.code, ERR_OK);
    ck_assert_str_eq(call.items[1].err.text,
                     "$.feedback[1]: expected \"label\", or of a text \"output\", found none");
    ck_assert_str_eq(call.items[2].label, "y");
}
END_TEST

START_TEST(a_numeric_id_and_label_are_taken_as_their_text)
{
    ck_assert_int_eq(parse("{\"id\":42,\"label\":7}"), ERR_OK);
    ck_assert_str_eq(call.items[0].id, "42");
    ck_assert_str_eq(call.items[0].label, "7");
}
END_TEST

START_TEST(codec_feedback_errors_give_their_place)
{
    static const struct {
        const char *body;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"", ERR_MALFORMED, NULL},
        {"{", ERR_MALFORMED, NULL},
        {"[]", ERR_UNUSABLE, "$: expected an object, found an array"},
        {"{}", ERR_UNUSABLE, "$: expected \"id\", found none"},
        {"{\"id\":\"a\"}", ERR_UNUSABLE,
         "$: expected \"label\", or of a text \"output\", found none"},
        {"{\"id\":\"\",\"label\":\"b\"}", ERR_UNUSABLE, "$.id: empty"},
        {"{\"id\":\"a\",\"label\":\"\"}", ERR_UNUSABLE, "$.label: empty"},
        {"{\"id\":true,\"label\":\"b\"}", ERR_UNUSABLE, "$.id: expected a string, found a boolean"},
        {"{\"id\":\"a\",\"label\":\"b\",\"source\":7}", ERR_UNUSABLE,
         "$.source: expected a string, found a number"},
        {"{\"id\":\"a\",\"labels\":null}", ERR_UNUSABLE,
         "$: expected \"label\", or of a text \"output\", found none"},
        {"{\"id\":\"a\",\"labels\":\"b\"}", ERR_UNUSABLE,
         "$.labels: expected an array, found a string"},
        {"{\"id\":\"a\",\"labels\":[\"b\",7]}", ERR_UNUSABLE,
         "$.labels[1]: expected a string, found a number"},
        {"{\"id\":\"a\",\"labels\":[\"b\\u0007\"]}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"labels\":[],\"label\":\"b\"}", ERR_UNUSABLE,
         "$: \"label\" and \"labels\" exclude each other"},
        {"{\"id\":\"a\",\"labels\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\","
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\",\"\","
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\",\"\","
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}",
         ERR_TOO_LARGE, "$.labels: at most 63 labels, found 64"},
        {"{\"id\":\"a\",\"label\":\"b\",\"output\":\"\"}", ERR_UNUSABLE,
         "$: \"label\" and \"output\" exclude each other"},
        {"{\"id\":\"a\",\"labels\":[],\"output\":\"b\"}", ERR_UNUSABLE,
         "$: \"labels\" and \"output\" exclude each other"},
        {"{\"id\":\"a\",\"output\":7}", ERR_UNUSABLE,
         "$.output: expected a string, found a number"},
        {"{\"id\":\"a\",\"output\":\"b\\n\\u0007\"}", ERR_UNUSABLE,
         "$.output: must not contain control characters"},
        {"{\"id\":\"a\",\"output\":\"b\\u0000\"}", ERR_UNUSABLE,
         "$.output: must not contain a NUL character"},
        {"{\"id\":\"a\",\"output\":\"b\xff\"}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"labl\":\"b\"}", ERR_UNUSABLE,
         "$.labl: unknown member; did you mean \"label\"?"},
        {"{\"id\":\"a\",\"label\":\"b\",\"\\u001b[2J\":1}", ERR_UNUSABLE, "$: an unknown member"},
        {"{\"id\":\"a\\u0000b\",\"label\":\"b\"}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\\n\"}", ERR_UNUSABLE,
         "$.label: must not contain control characters"},
        {"{\"id\":\"a\",\"label\":\"b\\u0085\"}", ERR_UNUSABLE,
         "$.label: must not contain control characters"},
        {"{\"id\":\"a\",\"label\":\"b\",\"index\":-1}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\",\"index\":65536}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\",\"index\":1.5}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\",\"index\":\"1\"}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\",\"new\":\"yes\"}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\",\"label\":\"b\",\"id\":\"c\"}", ERR_MALFORMED, NULL},
        {"{\"feedback\":{}}", ERR_UNUSABLE, "$.feedback: expected an array, found an object"},
        {"{\"feedback\":[]}", ERR_UNUSABLE, "$.feedback: empty"},
        {"{\"feedback\":[1,2,3,4]}", ERR_TOO_LARGE,
         "$.feedback: at most 3 labels (inputs_max), found 4"},
        {"{\"feedback\":[{\"id\":\"a\",\"label\":\"b\"}],\"id\":\"a\"}", ERR_UNUSABLE, NULL},
        {"{\"id\":\"a\xff\",\"label\":\"b\"}", ERR_UNUSABLE, NULL},
        {"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", ERR_TOO_LARGE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(parse(cases[i].body) == cases[i].code, "%s: %s", cases[i].body, err.text);
        if (cases[i].text != NULL)
            ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_ptr_null(strchr(err.text, 0x1b));
    }
}
END_TEST

START_TEST(strings_have_their_bounds)
{
    static const struct {
        const char *member;
        unsigned most;
    } bounds[] = {{"id", 128}, {"label", 256}, {"source", 64}};
    char body[16384], text[4098];
    for (unsigned over = 0; over < 2; over++) {
        memset(text, 'x', 4096 + over);
        text[4096 + over] = '\0';
        snprintf(body, sizeof body, "{\"id\":\"a\",\"output\":\"%s\"}", text);
        ck_assert_int_eq(parse(body), over ? ERR_UNUSABLE : ERR_OK);
    }
    ck_assert_str_eq(err.text, "$.output: at most 4096 bytes, found 4097");
    for (size_t i = 0; i < 3; i++)
        for (unsigned over = 0; over < 2; over++) {
            memset(text, 'x', bounds[i].most + over);
            text[bounds[i].most + over] = '\0';
            snprintf(body, sizeof body, "{\"id\":\"%s\",\"label\":\"%s\",\"source\":\"%s\"}",
                     i == 0 ? text : "a", i == 1 ? text : "b", i == 2 ? text : "c");
            ck_assert_int_eq(parse(body), over ? ERR_UNUSABLE : ERR_OK);
            snprintf(body, sizeof body, "$.%s: at most %u bytes, found %u", bounds[i].member,
                     bounds[i].most, bounds[i].most + 1);
            ck_assert(!over || strcmp(err.text, body) == 0);
        }
}
END_TEST

START_TEST(more_tokens_than_labels_can_have_are_refused)
{
    size_t count = 100000;
    char *body = malloc(count * 2 + 32);
    size_t len = (size_t)sprintf(body, "{\"feedback\":[0");
    for (size_t i = 0; i < count; i++)
        len += (size_t)sprintf(body + len, ",0");
    sprintf(body + len, "]}");
    ck_assert_int_eq(parse(body), ERR_TOO_LARGE);
    free(body);
    ck_assert_uint_lt(codec_feedback_bytes((size_t)1 << 30, INPUTS_MAX), 64 << 20);
    ck_assert_uint_gt(codec_feedback_bytes(0, INPUTS_MAX), 0);
}
END_TEST

START_TEST(an_answer_has_results_and_problems_in_order)
{
    struct feedback_item items[] = {
        {.id = "a", .index = 2, .label = "x", .predicted = "x", .is_correct = true},
        {.id = "b", .label = "y", .predicted = "x", .replaced = "z"},
        {.id = "c", .label = "y", .err = {ERR_NOT_FOUND, "$.feedback[2].id: gone"}}};
    const struct feedback_call made = {.is_list = true, .items = items, .count = 3};
    size_t len = 0;
    arena_init(&arena);
    const char *text = codec_feedback_encode(&made, &arena, &len);
    ck_assert_uint_eq(strlen(text), len);
    static const char start[] =
        "{\"accepted\":2,\"results\":[{\"id\":\"a\",\"index\":2,\"label\":\"x\",\"predicted\":"
        "\"x\","
        "\"correct\":true},{\"id\":\"b\",\"index\":0,\"label\":\"y\",\"predicted\":\"x\","
        "\"correct\":"
        "false,\"replaced\":\"z\"},{\"type\":\"urn:attnd:error:not_found\",";
    ck_assert_msg(strncmp(text, start, sizeof start - 1) == 0, "%s", text);
    text = codec_feedback_encode_removed(&items[1], &arena, &len);
    ck_assert_str_eq(text, "{\"id\":\"b\",\"index\":0,\"removed\":\"z\",\"predicted\":\"x\"}");
}
END_TEST

START_TEST(a_right_text_may_be_empty_and_have_lines)
{
    ck_assert_int_eq(parse("{\"id\":\"a\",\"output\":\"\"}"), ERR_OK);
    ck_assert_str_eq(call.items[0].output, "");
    ck_assert_ptr_null(call.items[0].label);
    ck_assert_int_eq(parse("{\"id\":\"a\",\"output\":\"W12\\r\\n\\tend\\n\"}"), ERR_OK);
    ck_assert_str_eq(call.items[0].output, "W12\r\n\tend\n");
    ck_assert_uint_eq(codec_feedback_texts_bytes(call.items, 1) > 0, 1);
}
END_TEST

START_TEST(an_answer_of_texts_names_them_as_the_prediction_does)
{
    struct feedback_item items[] = {
        {.id = "a", .output = "W1", .is_text = true, .predicted = "W1", .is_correct = true},
        {.id = "b", .output = "W2", .is_text = true, .replaced = "", .edits = 2}};
    const struct feedback_call made = {.is_list = true, .items = items, .count = 2};
    size_t len = 0;
    arena_init(&arena);
    ck_assert_str_eq(codec_feedback_encode(&made, &arena, &len),
                     "{\"accepted\":2,\"results\":["
                     "{\"id\":\"a\",\"index\":0,\"output\":\"W1\",\"predicted_output\":\"W1\","
                     "\"correct\":true,\"edits\":0},"
                     "{\"id\":\"b\",\"index\":0,\"output\":\"W2\",\"predicted_output\":null,"
                     "\"correct\":false,\"edits\":2,\"replaced_output\":\"\"}]}");
    ck_assert_str_eq(
        codec_feedback_encode_removed(&items[1], &arena, &len),
        "{\"id\":\"b\",\"index\":0,\"removed_output\":\"\",\"predicted_output\":null}");
}
END_TEST

START_TEST(an_accuracy_of_texts_has_an_error_rate)
{
    const struct feedback_accuracy some = {
        .has_texts = true, .all = {1, 2, 3, 12}, .by_decision = {[DECISION_AUTO] = {1, 2, 3, 12}}};
    json_t *object = codec_feedback_accuracy(&some, true);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(3));
    ck_assert_msg(strstr(text, "\"n\":2,\"error_rate\":0.25,\"by_decision\":{\"auto\":{\"value\":"
                               "0.5,") != NULL,
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"review\":{\"value\":null,\"low\":0.0,\"high\":1.0,"
                                       "\"n\":0,\"error_rate\":null}"));
    free(text);
    json_decref(object);
}
END_TEST

START_TEST(an_accuracy_of_none_is_null_and_may_be_anything)
{
    const struct feedback_accuracy none = {0};
    json_t *object = codec_feedback_accuracy(&none, false);
    ck_assert(json_is_null(json_object_get(object, "value")));
    ck_assert_double_eq(json_real_value(json_object_get(object, "low")), 0);
    ck_assert_double_eq(json_real_value(json_object_get(object, "high")), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(object, "n")), 0);
    ck_assert_ptr_null(json_object_get(object, "confusion"));
    ck_assert_ptr_null(json_object_get(object, "per_class"));
    json_decref(object);
}
END_TEST

START_TEST(an_accuracy_has_wilsons_interval_classes_and_pairs)
{
    struct feedback_class classes[] = {{"x", 3, 4, 5}, {"y", 0, 0, 1}};
    struct feedback_pair pairs[] = {{"x", "x", 3}, {"x", "y", 1}};
    const struct feedback_accuracy some = {.all = {15, 20},
                                           .by_decision = {[DECISION_AUTO] = {5, 5}},
                                           .classes = classes,
                                           .class_count = 2,
                                           .pairs = pairs,
                                           .pair_count = 2};
    json_t *object = codec_feedback_accuracy(&some, true);
    ck_assert_double_eq(json_real_value(json_object_get(object, "value")), 0.75);
    ck_assert_double_eq_tol(json_real_value(json_object_get(object, "low")), 0.531299122381256,
                            1e-12);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(3));
    ck_assert_ptr_nonnull(
        strstr(text, "\"per_class\":{\"x\":{\"precision\":0.6,\"recall\":0.75,\"support\":4},"
                     "\"y\":{\"precision\":0.0,\"recall\":null,\"support\":0}}"));
    ck_assert_ptr_nonnull(strstr(
        text, "\"confusion\":[{\"label\":\"x\",\"predicted\":\"x\",\"count\":3},{\"label\":\"x\","
              "\"predicted\":\"y\",\"count\":1}]"));
    ck_assert_ptr_nonnull(strstr(text, "\"auto\":{\"value\":1.0"));
    free(text);
    json_decref(object);
}
END_TEST

SUITE("codec_feedback", a_right_text_may_be_empty_and_have_lines,
      an_answer_of_texts_names_them_as_the_prediction_does, an_accuracy_of_texts_has_an_error_rate,
      a_set_of_labels_is_read_and_may_be_empty, one_label_is_read_with_all_its_members,
      a_bad_item_of_a_list_leaves_the_others, a_numeric_id_and_label_are_taken_as_their_text,
      codec_feedback_errors_give_their_place, strings_have_their_bounds,
      more_tokens_than_labels_can_have_are_refused, an_answer_has_results_and_problems_in_order,
      an_accuracy_of_none_is_null_and_may_be_anything,
      an_accuracy_has_wilsons_interval_classes_and_pairs)
