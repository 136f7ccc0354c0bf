/* Options of a query string beside a JSON body. */
#include "wire/codec_query.h"

#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct err err;

/* The call of a body with options, "name=value" up to NULL. */
static struct predict_call parse(const char *body, const char *const *given)
{
    struct predict_call call;
    struct codec_query query;
    const struct codec_limits limits = {.inputs_max = 2, .query = &query};
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    codec_query_init(&query);
    for (; *given != NULL; given++) {
        const char *equals = strchr(*given, '=');
        const char *name = arena_copy(&arena, *given, (size_t)(equals - *given));
        codec_query_add(&query, name, equals + 1, &arena);
    }
    codec_parse_json(&call, body, strlen(body), &limits, &arena, &err);
    return call;
}

#define PARSE(body, ...) parse(body, (const char *const[]){__VA_ARGS__, NULL})

START_TEST(codec_query_options_count_as_members_of_the_body)
{
    struct predict_call call =
        PARSE("{\"text\": \"a\"}", "model=kernel-bert", "top_k=3", "explain=gradient",
              "overlay=true", "explain_layer=2", "attention_stats=true", "id=w7", "deadline_ms=9",
              "long_text=windows", "aggregation=first", "dimensions=5", "encoding=binary",
              "normalize=true", "keep=false", "candidate_labels=x", "candidate_labels=y",
              "hypothesis_template=this is {}", "context.lot=A1", "context.die_x=5");
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_str_eq(call.model, "kernel-bert");
    ck_assert_str_eq(call.model_place, "?model");
    ck_assert_uint_eq(call.top_k, 3);
    ck_assert(call.explain && call.overlay && call.how.statistics && !call.keep);
    ck_assert_uint_eq(call.how.layer, 2);
    ck_assert_str_eq(call.id, "w7");
    ck_assert_uint_eq(call.deadline_ms, 9);
    ck_assert_int_eq(call.long_text, LONG_TEXT_WINDOWS);
    ck_assert_int_eq(call.aggregation, AGGREGATION_FIRST);
    ck_assert(call.vector.dimensions == 5 && call.vector.encoding == VECTOR_BINARY);
    ck_assert(call.vector.is_scaled && !call.refuses_unit);
    ck_assert_uint_eq(call.labels.count, 2);
    ck_assert_str_eq(call.labels.texts[1], "y");
    ck_assert_str_eq(call.labels.hypothesis, "this is {}");
    ck_assert_str_eq(call.context, "{\"lot\":\"A1\",\"die_x\":5}");
    ck_assert_str_eq(call.lot, "A1");
    call = PARSE("{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}]}", "top_k=all");
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_uint_eq(call.top_k, TOP_K_ALL);
}
END_TEST

START_TEST(codec_query_options_meet_members_of_the_body)
{
    struct predict_call call = PARSE("{\"text\": \"a\", \"overlay\": true, \"model\": null,"
                                     " \"hypothesis_template\": \"this is {}\", \"id\": \"\","
                                     " \"context\": {\"die_x\": 5, \"lot\": null, \"wafer\": 3}}",
                                     "explain=true", "candidate_labels=x", "candidate_labels=y",
                                     "id=w7", "model=m", "context.lot=L", "context.wafer=3");
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert(call.explain && call.overlay);
    ck_assert_str_eq(call.id, "w7");
    ck_assert_str_eq(call.context, "{\"die_x\":5,\"lot\":\"L\",\"wafer\":3}");
    ck_assert_str_eq(call.lot, "L");
}
END_TEST

/* Each member of a body, the option that says the same, and one that says something else. */
START_TEST(codec_query_refuses_two_values_of_one_option)
{
    static const struct {
        const char *member, *same, *other, *text;
    } cases[] = {
        {"\"model\": \"m\"", "model=m", "model=n", "?model"},
        {"\"id\": \"a\"", "id=a", "id=b", "?id"},
        {"\"id\": 42", "id=42", "id=43", "?id"},
        {"\"top_k\": 3", "top_k=3", "top_k=1", "?top_k"},
        {"\"top_k\": \"all\"", "top_k=all", "top_k=1", "?top_k"},
        {"\"deadline_ms\": 5", "deadline_ms=5", "deadline_ms=6", "?deadline_ms"},
        {"\"explain\": true", "explain=true", "explain=gradient", "?explain"},
        {"\"explain\": true", "explain=true", "explain=false", "?explain"},
        {"\"explain\": false", "explain=false", "explain=true", "?explain"},
        {"\"explain\": true, \"explain_layer\": 1", "explain_layer=1", "explain_layer=2",
         "?explain_layer"},
        {"\"explain\": true, \"overlay\": true", "overlay=true", "overlay=false", "?overlay"},
        {"\"explain\": true, \"attention_stats\": false", "attention_stats=false",
         "attention_stats=true", "?attention_stats"},
        {"\"long_text\": \"windows\"", "long_text=windows", "long_text=truncate", "?long_text"},
        {"\"aggregation\": \"max\"", "aggregation=max", "aggregation=none", "?aggregation"},
        {"\"doc_stride\": 0", "doc_stride=0", "doc_stride=1", "?doc_stride"},
        {"\"doc_stride\": 100000", "doc_stride=100000", "doc_stride=0", "?doc_stride"},
        {"\"max_seq_len\": 9", "max_seq_len=9", "max_seq_len=10", "?max_seq_len"},
        {"\"max_answer_len\": 1", "max_answer_len=1", "max_answer_len=2", "?max_answer_len"},
        {"\"handle_impossible_answer\": true", "handle_impossible_answer=true",
         "handle_impossible_answer=false", "?handle_impossible_answer"},
        {"\"align_to_words\": false", "align_to_words=false", "align_to_words=true",
         "?align_to_words"},
        {"\"keep\": true", "keep=true", "keep=false", "?keep"},
        {"\"num_beams\": 2", "num_beams=2", "num_beams=3", "?num_beams"},
        {"\"length_penalty\": 0", "length_penalty=0.0", "length_penalty=1", "?length_penalty"},
        {"\"target_language\": \"de\"", "target_language=de", "target_language=en",
         "?target_language"},
        {"\"pattern\": \"a+\"", "pattern=a+", "pattern=a", "?pattern"},
        {"\"allowed\": [\"a\"]", "allowed=[\"a\"]", "allowed=[\"a\",\"b\"]", "?allowed"},
        {"\"copy_numbers\": true", "copy_numbers=true", "copy_numbers=false", "?copy_numbers"},
        {"\"copy_numbers\": false", "copy_numbers=false", "copy_numbers=true", "?copy_numbers"},
        {"\"checksum\": \"none\"", "checksum=none", "checksum=semi-m13", "?checksum"},
        {"\"candidate_labels\": [\"x\", 2]", "candidate_labels=[\"x\",\"2\"]",
         "candidate_labels=[\"x\",\"y\"]", "?candidate_labels"},
        {"\"candidate_labels\": [\"x\", \"y\"]", "candidate_labels=[\"x\",\"y\"]",
         "candidate_labels=[\"x\",\"y\",\"z\"]", "?candidate_labels"},
        {"\"context\": {\"lot\": \"A\"}", "context.lot=A", "context.lot=B", "?context.lot"},
        {"\"context\": {\"die_x\": 5}", "context.die_x=5", "context.die_x=6", "?context.die_x"},
        {"\"context\": {\"wafer\": 2.5}", "context.wafer=2.5", "context.wafer=2", "?context.wafer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[200], text[200];
        snprintf(body, sizeof body, "{\"text\": \"a\", %s}", cases[i].member);
        PARSE(body, cases[i].same);
        ck_assert_msg(err.code == ERR_OK, "%s?%s: %s", body, cases[i].same, err.text);
        PARSE(body, cases[i].other);
        snprintf(text, sizeof text, "%s: the body has another value; send one of them",
                 cases[i].text);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        ck_assert_str_eq(err.text, text);
    }
}
END_TEST

START_TEST(codec_query_refuses_what_is_misspelt_and_keeps_the_id)
{
    static const struct {
        const char *option, *text;
    } cases[] = {
        {"topk=3", "?topk: unknown option; did you mean \"top_k\"?"},
        {"top_k=0", "?top_k: must be at least 1"},
        {"explain=lime", "?explain: unknown method; known are true, false, "},
        {"overlay=true", "?overlay: belongs to an explanation; ask for one with \"explain\""},
        {"hypothesis_template={}", "?hypothesis_template: it goes with candidate_labels"},
        {"context.lott=A", "?context.lott: unknown member; did you mean \"lot\"?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct predict_call call = PARSE("{\"text\": \"a\", \"id\": \"a1\"}", cases[i].option);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        ck_assert_msg(strncmp(err.text, cases[i].text, strlen(cases[i].text)) == 0, "%s", err.text);
        ck_assert_str_eq(call.id, "a1");
    }
    ck_assert_str_eq(PARSE("{", "id=w7").id, "w7");
    ck_assert_int_eq(err.code, ERR_MALFORMED);
}
END_TEST

SUITE("codec_query", codec_query_options_count_as_members_of_the_body,
      codec_query_options_meet_members_of_the_body, codec_query_refuses_two_values_of_one_option,
      codec_query_refuses_what_is_misspelt_and_keeps_the_id)
