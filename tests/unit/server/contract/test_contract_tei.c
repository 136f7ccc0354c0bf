/* Calls of text-embeddings-inference's clients to the program give the native answers; and
 * the lists of models of OpenAI and TensorFlow Serving. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 40 };

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "wafers=tests/data/golden/vit-0", "--model",
                                          "classes=tests/data/golden/bert-5", "--model",
                                          "ranks=tests/data/rerank/rerank-bert-0", "--model",
                                          "vectors=tests/data/embedding/st-weighted-0", "--model",
                                          "units=tests/data/embedding/st-cls-0", "--model",
                                          "means=tests/data/embedding/st-bert-0", "--model",
                                          "weights=tests/data/vocabulary/splade-bert-0", "--model",
                                          "tags=tests/data/tags/ner-xlmr-0", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
}

/* The answer to a body in three parts. */
static struct reply ask_of(const char *path, const char *before, const char *text,
                           const char *after)
{
    char *body = contract_format("%s%s%s", before, text, after);
    struct reply reply = ask(path, body);
    reply_expect_status(&reply, 200);
    free(body);
    return reply;
}

static struct reply get(const char *path)
{
    return contract_ask(server.port, "GET", path, "", NULL);
}

static double number_at(const json_t *list, size_t index)
{
    return json_number_value(json_array_get(list, index));
}

static double length_of(const json_t *vector)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(vector); i++)
        sum += number_at(vector, i) * number_at(vector, i);
    return sqrt(sum);
}

static const json_t *rows_of(const struct reply *reply)
{
    ck_assert_uint_eq(json_array_size(reply->json), 1);
    return json_array_get(reply->json, 0);
}

/* The means of the vectors first to end of a list, of length 1. */
static void mean_of(const json_t *rows, size_t first, size_t end, double *out)
{
    double sum = 0;
    const size_t size = json_array_size(json_array_get(rows, 0));
    for (size_t i = 0; i < size; i++) {
        out[i] = 0;
        for (size_t t = first; t < end; t++)
            out[i] += number_at(json_array_get(rows, t), i);
        sum += out[i] * out[i];
    }
    for (size_t i = 0; i < size; i++)
        out[i] /= sqrt(sum);
}

static void expect_near(const json_t *found, const double *right)
{
    for (size_t i = 0; i < json_array_size(found); i++)
        ck_assert_double_eq_tol(number_at(found, i), right[i], 1e-6);
}

START_TEST(tei_gives_the_vectors_of_all_tokens)
{
    double mean[1024];
    start();
    struct reply native = ask("/predict", "{\"model\":\"means\",\"text\":\"leak at pin 7\"}");
    struct reply all =
        ask_of("/embed_all", "{\"model\":\"means\",\"inputs\":\"", "leak at pin 7", "\"}");
    struct reply scaled = ask_of("/embed_all", "{\"model\":\"means\",\"inputs\":\"",
                                 "leak at pin 7", "\",\"normalize\":true}");
    struct reply cut = ask("/tokenize", "{\"model\":\"means\",\"inputs\":\"leak at pin 7\"}");
    ck_assert(json_equal(scaled.json, all.json));
    reply_free(&scaled);
    const json_t *right = json_object_get(native.json, "embedding");
    ck_assert_uint_eq(json_array_size(rows_of(&all)), json_array_size(rows_of(&cut)));
    ck_assert_int_eq(atoi(reply_header(&all, "x-compute-tokens")),
                     (int)json_array_size(rows_of(&all)));
    ck_assert_uint_lt(json_array_size(right), 1024);
    mean_of(rows_of(&all), 0, json_array_size(rows_of(&all)), mean);
    ck_assert_uint_eq(json_array_size(json_array_get(rows_of(&all), 0)), json_array_size(right));
    expect_near(right, mean);
    reply_free(&native);
    reply_free(&all);
    reply_free(&cut);
    stop();
}
END_TEST

/* Words of one token each: [CLS] leak at [line break] pin 7 [SEP]. */
START_TEST(tei_states_of_a_line_make_its_vector)
{
    static const char text[] = "leak at\\n\\n pin 7";
    double mean[1024];
    start();
    struct reply all = ask_of("/embed_all", "{\"model\":\"means\",\"inputs\":\"", text, "\"}");
    struct reply cut = ask_of("/tokenize", "{\"model\":\"means\",\"inputs\":\"", text, "\"}");
    struct reply lines =
        ask_of("/predict", "{\"model\":\"means\",\"text\":\"", text, "\",\"chunks\":\"lines\"}");
    struct reply query = ask_of("/predict?chunks=lines",
                                "{\"model\":\"means\",\"inputs\":[{\"text\":\"", text, "\"}]}");
    const json_t *tokens = rows_of(&cut), *chunks = json_object_get(lines.json, "chunks");
    const size_t count = json_array_size(tokens);
    size_t first[2] = {1, 1};
    while (json_integer_value(json_object_get(json_array_get(tokens, first[1]), "start")) < 9)
        first[1]++;
    ck_assert_uint_eq(json_array_size(chunks), 3);
    for (size_t i = 0; i < 2; i++) {
        const json_t *chunk = json_array_get(chunks, 2 * i);
        mean_of(rows_of(&all), first[i], i == 0 ? first[1] : count - 1, mean);
        expect_near(json_object_get(chunk, "embedding"), mean);
        ck_assert_int_eq(json_integer_value(json_object_get(chunk, "start")), i == 0 ? 0 : 9);
        ck_assert_int_eq(json_integer_value(json_object_get(chunk, "end")), i == 0 ? 7 : 15);
    }
    ck_assert(json_is_null(json_object_get(json_array_get(chunks, 1), "embedding")));
    ck_assert_int_eq(json_integer_value(contract_at(lines.json, "chunks.1.end")), 8);
    ck_assert(json_equal(contract_at(query.json, "results.0.chunks"), chunks));
    reply_free(&all);
    reply_free(&cut);
    reply_free(&lines);
    reply_free(&query);
    stop();
}
END_TEST

/* The places are those of /tokenize, but in the client's text: the prompt's tokens have none. */
START_TEST(chunks_of_tokens_are_their_states_with_their_places)
{
    static const char text[] = "leak at pin 7";
    start();
    struct reply all = ask_of(
        "/embed_all", "{\"model\":\"means\",\"prompt_name\":\"query\",\"inputs\":\"", text, "\"}");
    struct reply cut = ask_of("/tokenize", "{\"model\":\"means\",\"inputs\":\"", text, "\"}");
    struct reply native =
        ask_of("/predict", "{\"model\":\"means\",\"prompt_name\":\"query\",\"text\":\"", text,
               "\",\"chunks\":\"tokens\"}");
    struct reply coded = ask_of("/predict?chunks=tokens&encoding=base64",
                                "{\"model\":\"means\",\"inputs\":[{\"text\":\"", text, "\"}]}");
    const json_t *chunks = json_object_get(native.json, "chunks"), *tokens = rows_of(&cut);
    const size_t count = json_array_size(tokens);
    const size_t prompt = json_array_size(rows_of(&all)) - count;
    ck_assert_uint_gt(prompt, 0);
    ck_assert_uint_eq(json_array_size(chunks), count + prompt);
    for (size_t i = 0; i < count + prompt; i++) {
        const json_t *chunk = json_array_get(chunks, i);
        const bool is_of_text = i > prompt && i + 1 < count + prompt;
        const json_t *token = json_array_get(tokens, i - (is_of_text ? prompt : 0));
        ck_assert(
            json_equal(json_object_get(chunk, "embedding"), json_array_get(rows_of(&all), i)));
        for (int end = 0; end < 2; end++) {
            const json_t *place = json_object_get(chunk, end ? "end" : "start");
            ck_assert(json_is_null(place) != is_of_text);
            ck_assert(!is_of_text ||
                      json_equal(place, json_object_get(token, end ? "stop" : "start")));
        }
    }
    ck_assert_uint_eq(reply_count(&coded, "results.0.chunks"), count);
    ck_assert_uint_eq(strlen(reply_text(&coded, "results.0.chunks.0.embedding")),
                      4 * ((json_array_size(json_array_get(rows_of(&all), 0)) * 4 + 2) / 3));
    reply_free(&all);
    reply_free(&cut);
    reply_free(&native);
    reply_free(&coded);
    stop();
}
END_TEST

START_TEST(chunks_refuse_what_they_cannot_have)
{
    static const struct {
        const char *options, *message;
    } cases[] = {
        {"\"chunks\":\"words\"", "$.chunks: expected lines or tokens"},
        {"\"chunks\":\"tokens\",\"dimensions\":2",
         "$.text: chunks: the states of tokens are neither"},
        {"\"chunks\":\"tokens\",\"normalize\":true",
         "$.text: chunks: the states of tokens are neither"},
        {"\"chunks\":\"tokens\",\"encoding\":\"binary\"", "$.text: chunks: the states of tokens"},
        {"\"chunks\":\"tokens\",\"model\":\"classes\"", "$.text: vectors of tokens: only a text"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"model\":\"means\",\"text\":\"a\",%s}", cases[i].options);
        if (strstr(cases[i].options, "model") != NULL)
            snprintf(body, sizeof body, "{\"text\":\"a\",%s}", cases[i].options);
        struct reply reply = ask("/predict", body);
        reply_expect_problem(&reply, 422, "unusable", cases[i].message);
        reply_free(&reply);
    }
    stop();
}
END_TEST

START_TEST(tei_gives_the_weights_of_a_sparse_model)
{
    start();
    struct reply native = ask("/predict", "{\"model\":\"weights\",\"text\":\"scan chain\"}");
    struct reply sparse = ask("/embed_sparse", "{\"inputs\":[\"a\",\"scan chain\"]}");
    const json_t *right = json_object_get(native.json, "sparse");
    const json_t *found = json_array_get(sparse.json, 1);
    reply_expect_status(&sparse, 200);
    ck_assert_uint_gt(json_array_size(right), 0);
    ck_assert_uint_eq(json_array_size(found), json_array_size(right));
    for (size_t i = 0; i < json_array_size(right); i++) {
        const json_t *one = json_array_get(found, i), *other = json_array_get(right, i);
        ck_assert_uint_eq(json_object_size(one), 2);
        ck_assert(json_equal(json_object_get(one, "index"), json_object_get(other, "index")));
        ck_assert(json_equal(json_object_get(one, "value"), json_object_get(other, "value")));
    }
    reply_free(&native);
    reply_free(&sparse);
    stop();
}
END_TEST

/* Ids and offsets are those that the checkpoint records, which count characters. */
START_TEST(tei_tokenizes_as_the_reference_does)
{
    start();
    json_t *root = json_load_file("tests/data/tags/ner-xlmr-0/cases.json", 0, NULL), *one;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        const json_t *ids = json_object_get(one, "ids"), *offsets = json_object_get(one, "offsets");
        json_t *body =
            json_pack("{s:s,s:O}", "model", "tags", "inputs", json_object_get(one, "text"));
        char *text = json_dumps(body, 0);
        struct reply reply = ask("/tokenize", text);
        const json_t *tokens = rows_of(&reply);
        const size_t count = json_array_size(ids);
        const bool is_cut = json_array_size(tokens) > count; /* the model reads less */
        ck_assert_uint_ge(json_array_size(tokens), count);
        for (size_t t = 0; t < count - is_cut; t++) {
            const json_t *token = json_array_get(tokens, t);
            const bool is_around = t == 0 || (!is_cut && t == count - 1);
            const json_t *pair = json_array_get(offsets, t),
                         *start = json_object_get(token, "start");
            ck_assert(json_equal(json_object_get(token, "id"), json_array_get(ids, t)));
            ck_assert_int_eq(json_is_true(json_object_get(token, "special")), is_around);
            ck_assert_int_eq(json_is_null(start), is_around);
            ck_assert(is_around || json_integer_value(start) >= number_at(pair, 0));
        }
        reply_free(&reply);
        json_decref(body);
        free(text);
    }
    json_decref(root);
    struct reply some = ask("/tokenize", "{\"model\":\"means\",\"inputs\":[\"\\u00b5 die\",\"a\"],"
                                         "\"add_special_tokens\":false}");
    ck_assert_uint_eq(json_array_size(some.json), 2);
    ck_assert_int_eq(json_integer_value(contract_at(some.json, "0.1.start")), 3);
    reply_free(&some);
    stop();
}
END_TEST

START_TEST(tei_decodes_what_it_tokenizes)
{
    start();
    struct reply cut = ask("/tokenize", "{\"model\":\"means\",\"inputs\":\"the die, at 3 pins.\"}");
    json_t *ids = json_array(), *token;
    size_t i;
    json_array_foreach(json_array_get(cut.json, 0), i, token)
        json_array_append(ids, json_object_get(token, "id"));
    char *list = json_dumps(ids, 0);
    struct reply one = ask_of("/decode", "{\"model\":\"means\",\"ids\":", list, "}");
    struct reply all = ask_of("/decode", "{\"model\":\"means\",\"ids\":[", list,
                              "],\"skip_special_tokens\":false}");
    ck_assert_str_eq(json_string_value(json_array_get(one.json, 0)), "the die, at 3 pins.");
    ck_assert_str_eq(json_string_value(json_array_get(all.json, 0)),
                     "[CLS] the die, at 3 pins. [SEP]");
    json_decref(ids);
    free(list);
    reply_free(&cut);
    reply_free(&one);
    reply_free(&all);
    stop();
}
END_TEST

START_TEST(tei_embeds_as_the_native_route_does)
{
    start();
    struct reply native = ask("/predict", "{\"model\":\"vectors\",\"text\":\"leakage at pin 7\"}");
    struct reply raw = ask("/embed", "{\"model\":\"vectors\",\"normalize\":false,"
                                     "\"inputs\":[\"scan\",\"leakage at pin 7\"]}");
    struct reply unit = ask("/embed", "{\"inputs\":\"leakage at pin 7\",\"dimensions\":5}");
    reply_expect_status(&native, 200);
    reply_expect_status(&raw, 200);
    reply_expect_status(&unit, 200);
    ck_assert_str_eq(reply_header(&raw, "x-compute-type"), "cpu");
    ck_assert_str_eq(reply_header(&raw, "x-compute-characters"), "20");
    ck_assert_int_gt(atoi(reply_header(&raw, "x-compute-tokens")), 6);
    const json_t *right = json_object_get(native.json, "embedding");
    const json_t *whole = json_array_get(raw.json, 1), *cut = json_array_get(unit.json, 0);
    ck_assert_uint_eq(json_array_size(raw.json), 2);
    ck_assert_uint_eq(json_array_size(whole), SIZE);
    ck_assert_uint_eq(json_array_size(unit.json), 1);
    ck_assert_uint_eq(json_array_size(cut), 5);
    for (size_t i = 0; i < SIZE; i++)
        ck_assert_double_eq_tol(number_at(whole, i), number_at(right, i), 1e-6);
    ck_assert_double_eq_tol(length_of(cut), 1, 1e-6);
    ck_assert_double_eq_tol(number_at(cut, 1) * number_at(right, 0),
                            number_at(cut, 0) * number_at(right, 1), 1e-6);
    reply_free(&native);
    reply_free(&raw);
    reply_free(&unit);
    stop();
}
END_TEST

START_TEST(tei_compares_texts_by_the_cosine_of_their_vectors)
{
    start();
    struct reply likeness =
        ask("/similarity", "{\"inputs\":{\"source_sentence\":\"scan chain\",\"sentences\":"
                           "[\"leakage\",\"scan chain\"]},\"parameters\":{\"truncate\":true}}");
    struct reply vectors = ask("/embed", "{\"inputs\":[\"scan chain\",\"leakage\"]}");
    double product = 0;
    reply_expect_status(&likeness, 200);
    reply_expect_status(&vectors, 200);
    for (size_t i = 0; i < SIZE; i++)
        product += number_at(json_array_get(vectors.json, 0), i) *
                   number_at(json_array_get(vectors.json, 1), i);
    ck_assert_uint_eq(json_array_size(likeness.json), 2);
    ck_assert_double_eq_tol(number_at(likeness.json, 0), product, 1e-5);
    ck_assert_double_eq_tol(number_at(likeness.json, 1), 1, 1e-6);
    reply_free(&likeness);
    reply_free(&vectors);
    stop();
}
END_TEST

/* [{"label", "score"}] beside the predictions of a native answer. */
static void expect_labels(const json_t *found, const json_t *right)
{
    ck_assert_uint_eq(json_array_size(found), json_array_size(right));
    ck_assert_uint_gt(json_array_size(found), 0);
    for (size_t i = 0; i < json_array_size(found); i++) {
        const json_t *one = json_array_get(found, i), *other = json_array_get(right, i);
        ck_assert_str_eq(json_string_value(json_object_get(one, "label")),
                         json_string_value(json_object_get(other, "label")));
        ck_assert_double_eq_tol(json_number_value(json_object_get(one, "score")),
                                json_number_value(json_object_get(other, "score")), 1e-6);
    }
}

START_TEST(tei_predictions_come_from_predict_by_the_members_of_the_call)
{
    start();
    struct reply native = ask("/predict", "{\"top_k\":\"all\",\"inputs\":[{\"text\":\"scan\"},"
                                          "{\"text\":\"scan\",\"text_pair\":\"pin 7\"}]}");
    struct reply one = ask("/predict", " { \"truncate\" : true, \"inputs\" : \"scan\" }");
    struct reply pair = ask("/predict", "{\"inputs\": [ \"scan\", \"pin 7\"]}");
    struct reply both = ask("/predict", "{\"inputs\":[[\"scan\"],[\"scan\",\"pin 7\"]]}");
    reply_expect_status(&native, 200);
    expect_labels(one.json, contract_at(native.json, "results.0.predictions"));
    expect_labels(pair.json, contract_at(native.json, "results.1.predictions"));
    expect_labels(json_array_get(both.json, 0), contract_at(native.json, "results.0.predictions"));
    expect_labels(json_array_get(both.json, 1), contract_at(native.json, "results.1.predictions"));
    ck_assert_uint_eq(json_array_size(both.json), 2);
    ck_assert_int_gt(atoi(reply_header(&one, "x-compute-tokens")), 2);
    reply_free(&native);
    reply_free(&one);
    reply_free(&pair);
    reply_free(&both);
    struct reply score = ask("/predict", "{\"inputs\":[\"a\",\"b\"],\"model\":\"ranks\"}");
    struct reply logit =
        ask("/predict", "{\"inputs\":[\"a\",\"b\"],\"model\":\"ranks\",\"raw_scores\":true}");
    const json_t *left = json_object_get(json_array_get(score.json, 0), "score");
    const json_t *right = json_object_get(json_array_get(logit.json, 0), "score");
    ck_assert_double_eq_tol(json_number_value(left), 1 / (1 + exp(-json_number_value(right))),
                            1e-6);
    reply_free(&score);
    reply_free(&logit);
    stop();
}
END_TEST

START_TEST(tei_refuses_what_it_cannot_obey)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *message;
    } cases[] = {
        {"/embed", "{\"inputs\":[]}", 422, "inputs: the array is empty"},
        {"/embed_all", "{\"inputs\":\"a\",\"normalize\":1}", 422, "$.normalize: expected"},
        {"/embed_all", "{\"inputs\":\"a\",\"dimensions\":2}", 422, "$.dimensions is not"},
        {"/embed_sparse", "{\"inputs\":\"a\",\"normalize\":true}", 422, "$.normalize is not"},
        {"/embed_all", "{\"inputs\":\"a\",\"model\":\"classes\"}", 422,
         "inputs: the model classes"},
        {"/embed_sparse", "{\"inputs\":\"a\",\"model\":\"units\"}", 422, "inputs: the model units"},
        {"/tokenize", "{\"inputs\":\"a\",\"model\":\"wafers\"}", 422, "inputs: the model wafers"},
        {"/tokenize", "{\"inputs\":\"a\",\"truncate\":true}", 422, "$.truncate is not"},
        {"/tokenize", "{\"inputs\":\"a\",\"prompt_name\":\"x\"}", 422, "inputs: prompt_name: "},
        {"/decode", "{\"ids\":[]}", 422, "ids: expected a list of token ids, found an empty"},
        {"/decode", "{\"ids\":7}", 422, "ids: expected a list"},
        {"/decode", "{\"ids\":[[1],[]]}", 422, "ids[1]: expected a list"},
        {"/decode", "{\"ids\":[1,-1]}", 422, "ids[1]: expected the id of a token"},
        {"/decode", "{\"ids\":[[1,-1]]}", 422, "ids[0][1]: expected the id of a token"},
        {"/decode", "{\"ids\":[1,1.5]}", 422, "ids[1]: expected the id of a token"},
        {"/decode", "{\"ids\":[1,1e300]}", 422, "ids[1]: expected the id of a token"},
        {"/decode", "{\"ids\":[1,2147483647]}", 422, "ids[1]: expected the id of a token"},
        {"/decode", "{\"ids\":[1,2147483646]}", 422, "ids[1]: the model has no token 2147483646"},
        {"/decode", "{\"ids\":[1],\"model\":\"wafers\"}", 422, "the model wafers does not"},
        {"/decode", "{\"ids\":[1],\"model\":\"none\"}", 404, "model: no model"},
        {"/embed", "{\"inputs\":[1,2]}", 422, "inputs: expected a text, found token ids"},
        {"/embed", "{\"inputs\":[\"a\",\"\"]}", 422, "inputs[1]: empty"},
        {"/embed", "{}", 422, "inputs: it is missing"},
        {"/embed", "{\"inputs\":\"a\",\"model\":\"none\"}", 404, "model: no model of this name"},
        {"/embed", "{\"inputs\":\"a\",\"model\":\"classes\"}", 422,
         "inputs: the model classes answers no vectors"},
        {"/embed", "{\"inputs\":\"a\",\"model\":\"units\",\"normalize\":false}", 422,
         "inputs: normalize: the modules of the model units"},
        {"/embed", "{\"inputs\":\"a\",\"truncation_direction\":\"Left\"}", 422,
         "truncation_direction: only Right"},
        {"/embed", "{\"inputs\":\"a\",\"dimensions\":41}", 422,
         "inputs: dimensions: the model's vectors"},
        {"/embed", "{\"inputs\":[{\"image\":\"?\"}]}", 422, "inputs: "},
        {"/embed", "{\"inputs\":[{\"image\":\"\"}]}", 422, "inputs: expected the base64"},
        {"/embed", "{\"inputs\":[{\"picture\":\"\"}]}", 422, "inputs: expected a text"},
        {"/embed", "{\"inputs\":\"a\"", 400, "JSON ends too early"},
        {"/similarity", "{\"inputs\":\"a\"}", 422, "$.inputs: expected an object"},
        {"/similarity", "{\"inputs\":{\"sentences\":[\"a\"]}}", 422,
         "inputs.source_sentence: it is missing"},
        {"/similarity", "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[\"a\",3]}}", 422,
         "inputs.sentences[1]: expected a text"},
        {"/similarity", "{\"inputs\":{\"source\":\"a\",\"sentences\":[\"a\"]}}", 422,
         "$.inputs.source is not supported"},
        {"/predict", "{\"inputs\":[\"a\",\"b\",\"c\"]}", 422,
         "inputs: expected a text or a pair of texts, found a list of 3"},
        {"/predict", "{\"inputs\":[[\"a\"],[]]}", 422, "inputs[1]: expected a text or a pair"},
        {"/predict", "{\"inputs\":[[\"a\",1]]}", 422, "inputs: expected a text, found"},
        {"/predict", "{\"inputs\":\"a\",\"top_k\":3}", 422, "$.top_k is not supported"},
        {"/predict", "{\"inputs\":\"a\",\"model\":\"vectors\"}", 422,
         "inputs: the model vectors answers no labels"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].path, cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        if (strcmp(cases[i].path, "/predict") != 0)
            reply_expect_text(&reply, "error_type", "Validation");
        reply_free(&reply);
    }
    stop();
}
END_TEST

START_TEST(tei_tells_a_model_and_its_limits)
{
    start();
    struct reply info = get("/info");
    reply_expect_status(&info, 200);
    reply_expect_text(&info, "model_id", "vectors");
    ck_assert_double_eq(reply_number(&info, "max_client_batch_size"), 64);
    reply_expect_text(&info, "model_type.embedding.pooling", "weightedmean");
    reply_free(&info);
    info = get("/info?model=means");
    reply_expect_text(&info, "model_type.embedding.pooling", "mean");
    reply_free(&info);
    info = get("/info?model=weights");
    reply_expect_text(&info, "model_type.embedding.pooling", "splade");
    reply_free(&info);
    info = get("/info?model=classes");
    reply_expect_text(&info, "model_type.classifier.id2label.0", "POWER");
    ck_assert_double_eq(reply_number(&info, "model_type.classifier.label2id.SCAN"), 2);
    reply_free(&info);
    info = get("/info?model=ranks");
    ck_assert_ptr_nonnull(contract_at(info.json, "model_type.reranker"));
    reply_free(&info);
    info = get("/info?model=none");
    reply_expect_problem(&info, 404, "not_found", "no model of this name");
    reply_free(&info);
    info = get("/info?top=1");
    reply_expect_problem(&info, 422, "unusable", "this route takes only");
    reply_free(&info);
    info = get("/health");
    reply_expect_status(&info, 200);
    reply_free(&info);
    stop();
}
END_TEST

START_TEST(models_are_listed_as_openai_and_tensorflow_serving_do)
{
    start();
    struct reply list = get("/v1/models");
    reply_expect_text(&list, "object", "list");
    ck_assert_uint_eq(reply_count(&list, "data"), 8);
    reply_expect_text(&list, "data.1.id", "classes");
    reply_expect_text(&list, "data.1.object", "model");
    ck_assert_double_gt(reply_number(&list, "data.1.created"), 0);
    reply_free(&list);
    list = get("/v1/models/ranks");
    reply_expect_text(&list, "id", "ranks");
    reply_expect_text(&list, "model_version_status.0.version", "1");
    reply_expect_text(&list, "model_version_status.0.state", "AVAILABLE");
    reply_free(&list);
    list = get("/v1/models/none");
    reply_expect_problem(&list, 404, "not_found", "no model of this name is served");
    reply_free(&list);
    stop();
}
END_TEST

SUITE("contract_tei", tei_gives_the_vectors_of_all_tokens, tei_states_of_a_line_make_its_vector,
      chunks_of_tokens_are_their_states_with_their_places, chunks_refuse_what_they_cannot_have,
      tei_gives_the_weights_of_a_sparse_model, tei_tokenizes_as_the_reference_does,
      tei_decodes_what_it_tokenizes, tei_embeds_as_the_native_route_does,
      tei_compares_texts_by_the_cosine_of_their_vectors,
      tei_predictions_come_from_predict_by_the_members_of_the_call, tei_refuses_what_it_cannot_obey,
      tei_tells_a_model_and_its_limits, models_are_listed_as_openai_and_tensorflow_serving_do)
