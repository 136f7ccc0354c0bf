/* Texts that models write, as clients of Hugging Face, text-generation-inference, KServe and
 * TensorFlow Serving get them: those that transformers' generate() gave for the recorded cases. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static const char *const names[] = {"marian-0", "pegasus-0", "t5-0", "m2m100-0", "trocr-0"};
static const char *const keys[] = {"translation_text", "summary_text", "generated_text",
                                   "translation_text", "generated_text"};
enum { MARIAN, PEGASUS, T5, M2M100, TROCR, NAMES };

static struct server_process server;
static struct tempdir dirs[NAMES];

/* The files of a checkpoint lie in two folders. */
static void link_files(const struct tempdir *dir, const char *folder, const char *name)
{
    char here[PATH_BYTES / 4], source[PATH_BYTES / 2], from[PATH_BYTES], to[PATH_BYTES];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(source, sizeof source, "%s/tests/data/%s/%s", here, folder, name);
    DIR *files = opendir(source);
    ck_assert_ptr_nonnull(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        if (file->d_name[0] == '.' || strcmp(file->d_name, "cases.json") == 0)
            continue;
        snprintf(from, sizeof from, "%s/%s", source, file->d_name);
        snprintf(to, sizeof to, "%s/%s", dir->path, file->d_name);
        ck_assert_int_eq(symlink(from, to), 0);
    }
    closedir(files);
}

/* The models, and one of labels; `only`: this one alone. */
static void start(int only)
{
    const char *args[2 * (NAMES + 2) + 1];
    char *models[NAMES];
    size_t count = 0;
    for (int i = 0; i < NAMES; i++) {
        tempdir_open(&dirs[i]);
        link_files(&dirs[i], "golden", names[i]);
        link_files(&dirs[i], "recoding", names[i]);
        models[i] = contract_format("%s=%s", names[i], dirs[i].path);
        if (only >= 0 && i != only)
            continue;
        args[count++] = "--model";
        args[count++] = models[i];
    }
    if (only < 0) {
        args[count++] = "--model";
        args[count++] = "classes=tests/data/golden/bert-5";
    }
    args[count] = NULL;
    server_process_start(&server, args);
    for (int i = 0; i < NAMES; i++)
        free(models[i]);
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    for (int i = 0; i < NAMES; i++)
        tempdir_close(&dirs[i]);
}

static struct reply ask(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
}

static struct reply ask_json(const char *path, json_t *body)
{
    char *text = json_dumps(body, 0);
    struct reply reply = ask(path, text);
    json_decref(body);
    free(text);
    return reply;
}

static json_t *cases_of(const char *name)
{
    char *path = contract_format("tests/data/golden/%s/cases.json", name);
    json_t *root = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(root);
    free(path);
    return root;
}

static const char *text_at(const json_t *value, const char *path)
{
    const json_t *found = contract_at(value, path);
    ck_assert_msg(json_is_string(found), "%s", path);
    return json_string_value(found);
}

/* No route takes an empty text. */
static bool is_empty(const json_t *one)
{
    return json_string_length(json_object_get(one, "text")) == 0 &&
           json_object_get(one, "image") == NULL;
}

/* A case's text, or the base64 of its picture; yours to free. */
static char *input_of(const json_t *one)
{
    const json_t *image = json_object_get(one, "image");
    if (image == NULL)
        return strdup(text_at(one, "text"));
    char *path = contract_format("tests/data/golden/images/%s", json_string_value(image));
    char *base64 = contract_file_base64(path);
    free(path);
    return base64;
}

/* The case as a client of its task sends it. */
static json_t *call_of(const json_t *one, unsigned beams, unsigned sequences)
{
    char *input = input_of(one);
    json_t *options = json_pack("{s:i,s:i,s:i,s:b}", "max_new_tokens", 16, "num_beams", beams,
                                "num_return_sequences", sequences, "do_sample", 0);
    json_t *parameters = json_pack("{s:o}", "generate_parameters", options);
    for (int i = 0; i < 2; i++) {
        const char *language = i == 0 ? "src_lang" : "tgt_lang";
        if (json_object_get(one, language) != NULL)
            json_object_set(parameters, language, json_object_get(one, language));
    }
    json_t *body = json_pack("{s:s,s:o}", "inputs", input, "parameters", parameters);
    free(input);
    return body;
}

START_TEST(written_texts_have_the_form_of_the_models_task)
{
    start(-1);
    for (int m = 0; m < NAMES; m++) {
        char *path = contract_format("/models/%s", names[m]);
        json_t *root = cases_of(names[m]), *one;
        size_t i;
        json_array_foreach(json_object_get(root, "cases"), i, one)
        {
            if (is_empty(one))
                continue;
            struct reply greedy = ask_json(path, call_of(one, 1, 1));
            reply_expect_status(&greedy, 200);
            ck_assert_uint_eq(json_array_size(greedy.json), 1);
            ck_assert_uint_eq(json_object_size(json_array_get(greedy.json, 0)), 1);
            const char *found =
                json_string_value(json_object_get(json_array_get(greedy.json, 0), keys[m]));
            ck_assert_ptr_nonnull(found);
            ck_assert_str_eq(found, text_at(one, "greedy.text"));
            reply_free(&greedy);
            struct reply beams = ask_json(path, call_of(one, 4, 4));
            ck_assert_uint_eq(json_array_size(beams.json), 4);
            for (size_t k = 0; k < 4; k++) {
                const json_t *right =
                    json_object_get(json_array_get(json_object_get(one, "beam"), k), "text");
                ck_assert(
                    json_equal(json_object_get(json_array_get(beams.json, k), keys[m]), right));
            }
            reply_free(&beams);
        }
        json_decref(root);
        free(path);
    }
    stop();
}
END_TEST

START_TEST(written_texts_of_raw_pictures_are_those_of_their_base64)
{
    start(-1);
    json_t *root = cases_of("trocr-0"), *one;
    size_t i, len;
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        char *input = input_of(one);
        struct reply named = ask_json("/models/trocr-0", json_pack("{s:s}", "inputs", input));
        char *path = contract_format("tests/data/golden/images/%s", text_at(one, "image"));
        char *file = contract_file(path, &len);
        struct reply raw = reply_of(
            http_request(server.port, "POST", "/", "Content-Type: image/png\r\n", file, len));
        reply_expect_status(&raw, 200);
        ck_assert(json_equal(raw.json, named.json));
        reply_free(&raw);
        reply_free(&named);
        free(file);
        free(path);
        free(input);
    }
    json_decref(root);
    stop();
}
END_TEST

/* Several inputs have one list, but a list each where one has several texts, or is a picture. */
START_TEST(written_texts_of_a_list_stand_as_pipelines_have_them)
{
    start(-1);
    struct reply reply = ask("/models/t5-0", "{\"inputs\":[\"scan\",\"pin 7\"]}");
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(json_array_size(reply.json), 2);
    text_at(reply.json, "1.generated_text");
    reply_free(&reply);
    reply = ask("/models/t5-0", "{\"inputs\":[\"scan\",\"pin 7\"],\"parameters\":"
                                "{\"num_return_sequences\":2}}");
    ck_assert_uint_eq(json_array_size(json_array_get(reply.json, 1)), 2);
    text_at(reply.json, "1.1.generated_text");
    reply_free(&reply);
    char *image = contract_file_base64("tests/data/golden/images/0_center.png");
    char *body = contract_format("{\"inputs\":[\"%s\"]}", image);
    reply = ask("/models/trocr-0", body);
    text_at(reply.json, "0.0.generated_text");
    reply_free(&reply);
    free(body);
    free(image);
    stop();
}
END_TEST

START_TEST(written_texts_take_the_form_of_the_paths_task)
{
    static const struct {
        const char *task, *key;
    } tasks[] = {{"translation", "translation_text"},
                 {"summarization", "summary_text"},
                 {"text2text-generation", "generated_text"},
                 {"text-generation", "generated_text"}};
    start(-1);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        char *path = contract_format("/models/t5-0/pipeline/%s", tasks[i].task);
        struct reply reply = ask(path, "{\"inputs\":\"scan\"}");
        reply_expect_status(&reply, 200);
        ck_assert_ptr_nonnull(json_object_get(json_array_get(reply.json, 0), tasks[i].key));
        reply_free(&reply);
        free(path);
    }
    struct reply reply = ask("/models/classes/pipeline/text-classification", "{\"inputs\":\"a\"}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = ask("/models/classes/pipeline/translation", "{\"inputs\":\"a\"}");
    reply_expect_status(&reply, 422);
    reply_expect_text(&reply, "error", "the model classes has another task than translation");
    reply_free(&reply);
    reply = ask("/models/trocr-0/pipeline/translation", "{\"inputs\":\"a\"}");
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    reply = ask("/models/t5-0/pipeline/dancing", "{\"inputs\":\"a\"}");
    reply_expect_status(&reply, 404);
    ck_assert_ptr_nonnull(strstr(reply_text(&reply, "error"), "translation, summarization"));
    reply_free(&reply);
    stop();
}
END_TEST

/* Details are of the recorded tokens; together their texts are the text. */
START_TEST(generate_tells_each_token_of_the_text)
{
    start(-1);
    for (int m = 0; m < NAMES; m++) {
        json_t *root = cases_of(names[m]), *one;
        size_t i;
        json_array_foreach(json_object_get(root, "cases"), i, one)
        {
            if (is_empty(one))
                continue;
            json_t *body = call_of(one, 1, 1);
            json_object_set_new(json_object_get(body, "parameters"), "details", json_true());
            char *path = m == TROCR ? contract_format("/models/%s", names[m]) : strdup("/generate");
            if (m != TROCR)
                json_object_set_new(body, "model", json_string(names[m]));
            struct reply reply = ask_json(path, body);
            reply_expect_status(&reply, 200);
            const json_t *answer = m == TROCR ? json_array_get(reply.json, 0) : reply.json;
            const char *right = text_at(one, "greedy.text");
            ck_assert_str_eq(text_at(answer, "generated_text"), right);
            const json_t *tokens = contract_at(answer, "details.tokens");
            const json_t *ids = contract_at(one, "greedy.ids"); /* from the start token on */
            ck_assert_uint_eq(json_array_size(tokens) + 1, json_array_size(ids));
            char text[2048] = "";
            for (size_t t = 0; t < json_array_size(tokens); t++) {
                const json_t *token = json_array_get(tokens, t);
                ck_assert(json_equal(json_object_get(token, "id"), json_array_get(ids, t + 1)));
                ck_assert_double_le(json_number_value(json_object_get(token, "logprob")), 0);
                if (json_is_false(json_object_get(token, "special")))
                    strcat(text, text_at(token, "text"));
            }
            ck_assert_str_eq(text, right);
            ck_assert_str_eq(text_at(answer, "details.finish_reason"),
                             json_array_size(tokens) == 16 ? "length" : "eos_token");
            reply_free(&reply);
            free(path);
        }
        json_decref(root);
    }
    stop();
}
END_TEST

/* The Python client of text-generation-inference posts its calls to a bare address, with members
 * that are null. */
START_TEST(generate_is_answered_at_the_address_alone)
{
    static const char body[] =
        "{\"inputs\":\"scan\",\"parameters\":{\"do_sample\":false,\"max_new_tokens\":5,"
        "\"repetition_penalty\":null,\"frequency_penalty\":null,\"return_full_text\":true,"
        "\"stop\":[],\"seed\":7,\"temperature\":null,\"top_k\":null,\"top_p\":null,"
        "\"truncate\":null,\"typical_p\":null,\"best_of\":1,\"watermark\":false,\"details\":true,"
        "\"decoder_input_details\":false,\"top_n_tokens\":null,\"grammar\":null},\"stream\":false}";
    start(-1);
    struct reply reply = ask("/", body), named = ask("/generate", body);
    reply_expect_status(&reply, 200);
    reply_expect_status(&named, 200);
    ck_assert_uint_eq(json_array_size(reply.json), 1);
    ck_assert(json_equal(json_array_get(reply.json, 0), named.json));
    ck_assert_int_eq(strncmp(reply_text(&named, "generated_text"), "scan", 4), 0);
    ck_assert(json_is_null(json_object_get(contract_at(named.json, "details"), "seed")));
    ck_assert_double_eq(reply_number(&named, "details.generated_tokens"),
                        (double)json_array_size(contract_at(named.json, "details.tokens")));
    reply_free(&reply);
    reply_free(&named);
    stop();
}
END_TEST

/* The events of a stream, in an array. HTTP/1.0, whose replies have no chunks. */
static json_t *events_of(const char *path, json_t *body)
{
    int fd = http_connect(server.port);
    char *text = json_dumps(body, 0);
    char *sent = contract_format("POST %s HTTP/1.0\r\nHost: h\r\nContent-Type: application/json\r\n"
                                 "Content-Length: %zu\r\n\r\n%s",
                                 path, strlen(text), text);
    ck_assert(http_send_text(fd, sent));
    struct reply reply = {.answer = http_read(fd, false)};
    json_t *events = json_array();
    close(fd);
    ck_assert_msg(reply.answer.status == 200, "%s %s: %s", path, text, reply.answer.body);
    ck_assert_str_eq(reply_header(&reply, "Content-Type"), "text/event-stream");
    ck_assert_str_eq(reply_header(&reply, "X-Accel-Buffering"), "no");
    for (char *at = reply.answer.body; *at != '\0';) {
        char *end = strstr(at, "\n\n");
        ck_assert_ptr_nonnull(end);
        ck_assert_int_eq(strncmp(at, "data: ", 6), 0);
        *end = '\0';
        ck_assert_int_eq(json_array_append_new(events, json_loads(at + 6, 0, NULL)), 0);
        at = end + 2;
    }
    reply_free(&reply);
    json_decref(body);
    free(sent);
    free(text);
    return events;
}

/* Tokens, text and details are those of the answer without a stream, asked at any of the routes. */
START_TEST(generate_streams_the_tokens_that_it_answers)
{
    start(-1);
    for (int m = 0; m < NAMES; m++) {
        char *by_name = contract_format("/models/%s", names[m]);
        json_t *root = cases_of(names[m]), *one;
        size_t i;
        json_array_foreach(json_object_get(root, "cases"), i, one)
        {
            if (is_empty(one))
                continue;
            const char *paths[] = {by_name, "/generate_stream", "/generate"};
            const bool has_details = i % 2 == 0;
            json_t *body = call_of(one, 1, 1);
            json_t *parameters = json_object_get(body, "parameters");
            json_object_set_new(parameters, "details", json_true());
            json_object_set_new(parameters, "return_full_text", json_boolean(m != TROCR));
            struct reply whole = ask_json(by_name, json_deep_copy(body));
            const json_t *answer = json_array_get(whole.json, 0);
            const json_t *tokens = contract_at(answer, "details.tokens");
            const size_t count = json_array_size(tokens);
            json_object_set_new(parameters, "details", json_boolean(has_details));
            for (int p = 0; p < (m == TROCR ? 1 : 3); p++) {
                json_t *sent = json_deep_copy(body), *event;
                size_t t;
                if (p > 0)
                    json_object_set_new(sent, "model", json_string(names[m]));
                if (p != 1)
                    json_object_set_new(sent, "stream", json_true());
                json_t *events = events_of(paths[p], sent);
                ck_assert_uint_eq(json_array_size(events), count);
                json_array_foreach(events, t, event)
                {
                    const json_t *text = json_object_get(event, "generated_text");
                    const json_t *details = json_object_get(event, "details");
                    const bool is_last = t + 1 == count;
                    ck_assert_uint_eq(json_object_size(event), 4);
                    ck_assert_int_eq(json_integer_value(json_object_get(event, "index")),
                                     (json_int_t)t + 1);
                    ck_assert(
                        json_equal(json_object_get(event, "token"), json_array_get(tokens, t)));
                    ck_assert(is_last ? json_equal(text, json_object_get(answer, "generated_text"))
                                      : json_is_null(text));
                    ck_assert_int_eq(json_is_null(details), !(is_last && has_details));
                    if (json_is_null(details))
                        continue;
                    ck_assert_str_eq(text_at(details, "finish_reason"),
                                     text_at(answer, "details.finish_reason"));
                    ck_assert_int_eq(json_integer_value(contract_at(details, "generated_tokens")),
                                     (json_int_t)count);
                    ck_assert_int_ge(json_integer_value(contract_at(details, "input_length")), 1);
                    ck_assert(json_is_null(json_object_get(details, "seed")));
                    ck_assert_uint_eq(json_object_size(details), 4);
                }
                json_decref(events);
            }
            reply_free(&whole);
            json_decref(body);
        }
        json_decref(root);
        free(by_name);
    }
    stop();
}
END_TEST

/* Other protocols have no `decision` and no `rejected`. */
START_TEST(written_texts_that_break_a_rule_of_the_model_are_refused)
{
    static const char *const calls[][2] = {
        {"/generate", "{\"inputs\":\"a\"}"},
        {"/", "{\"inputs\":\"a\"}"},
        {"/models/marian-0", "{\"inputs\":[\"a\",\"b\"]}"},
        {"/v1/models/marian-0:predict", "{\"instances\":[\"a\"]}"},
        {"/v2/models/marian-0/infer", "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":"
                                      "\"BYTES\",\"data\":[\"a\"]}]}"}};
    struct tempdir dir;
    tempdir_open(&dir);
    link_files(&dir, "golden", "marian-0");
    link_files(&dir, "recoding", "marian-0");
    char *path = contract_format("%s/attnd.json", dir.path);
    char *model = contract_format("marian-0=%s", dir.path);
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs("{\"checksum\":\"semi-m13\"}", file) >= 0 && fclose(file) == 0);
    server_process_start(&server, (const char *[]){"--model", model, NULL});
    struct reply reply = ask("/predict", "{\"text\":\"a\"}");
    reply_expect_text(&reply, "broken_rule", "checksum");
    reply_free(&reply);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        reply = ask(calls[i][0], calls[i][1]);
        reply_expect_status(&reply, 422);
        ck_assert_ptr_nonnull(strstr(reply_text(&reply, "error"),
                                     ": no text was found that obeys the rule checksum"));
        reply_free(&reply);
    }
    json_t *events = events_of("/generate_stream", json_pack("{s:s,s:{s:i}}", "inputs", "a",
                                                             "parameters", "num_beams", 1));
    const json_t *last = json_array_get(events, json_array_size(events) - 1);
    ck_assert_uint_gt(json_array_size(events), 1);
    ck_assert_str_eq(text_at(last, "error_type"), "validation");
    ck_assert_ptr_nonnull(strstr(text_at(last, "error"), "the rule checksum"));
    json_decref(events);
    ck_assert_int_eq(server_process_stop(&server), 0);
    free(model);
    free(path);
    tempdir_close(&dir);
}
END_TEST

START_TEST(written_texts_are_the_output_of_kserve_and_tensorflow)
{
    start(-1);
    json_t *root = cases_of("marian-0");
    const json_t *one = json_array_get(json_object_get(root, "cases"), 0);
    struct reply reply =
        ask_json("/v2/models/marian-0/infer",
                 json_pack("{s:[{s:s,s:[i],s:s,s:[O,s]}],s:{s:i,s:i}}", "inputs", "name", "text",
                           "shape", 2, "datatype", "BYTES", "data", json_object_get(one, "text"),
                           "pin 7", "parameters", "max_new_tokens", 16, "num_beams", 4));
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "outputs.0.name", "output");
    reply_expect_text(&reply, "outputs.0.datatype", "BYTES");
    reply_expect_text(&reply, "outputs.0.data.0", text_at(one, "beam.0.text"));
    reply_expect_text(&reply, "outputs.1.name", "score");
    ck_assert_double_eq_tol(reply_number(&reply, "outputs.1.data.0"),
                            json_number_value(contract_at(one, "beam.0.score")), 1e-4);
    ck_assert_uint_eq(reply_count(&reply, "outputs.0.data"), 2);
    ck_assert_uint_eq(reply_count(&reply, "outputs"), 2);
    reply_free(&reply);
    reply = ask("/v2/models/classes/infer",
                "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":"
                "[\"a\"]}],\"outputs\":[{\"name\":\"output\"}]}");
    reply_expect_status(&reply, 422);
    reply_expect_text(&reply, "error",
                      "text[0]: the model classes writes no texts: its task is another (GET "
                      "/models)");
    reply_free(&reply);
    reply = contract_ask(server.port, "GET", "/v2/models/marian-0", "", NULL);
    ck_assert_uint_eq(reply_count(&reply, "outputs"), 2);
    reply_expect_text(&reply, "outputs.0.name", "output");
    reply_free(&reply);
    struct reply native = ask("/predict", "{\"model\":\"marian-0\",\"text\":\"pin 7\"}");
    reply = ask("/v1/models/marian-0:predict", "{\"instances\":[\"scan\",\"pin 7\"]}");
    reply_expect_text(&reply, "predictions.1.output", reply_text(&native, "output"));
    ck_assert_double_eq_tol(reply_number(&reply, "predictions.1.score"),
                            reply_number(&native, "score"), 1e-6);
    reply_free(&native);
    reply_free(&reply);
    json_decref(root);
    stop();
}
END_TEST

START_TEST(written_texts_refuse_by_name_what_would_change_them)
{
    static const struct {
        const char *path, *body, *error;
    } cases[] = {
#define SAMPLED ": texts are not sampled"
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"do_sample\":true}}",
         "do_sample" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"temperature\":0.5}}",
         "temperature" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"temperature\":\"1\"}}",
         "temperature" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"temperature\":[]}}",
         "temperature" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":5}}", "top_k" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"best_of\":2}}", "best_of" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"repetition_penalty\":1.1}}",
         "repetition_penalty: it would change the scores"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"stop\":[\"b\"]}}",
         "stop: a text ends where"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"grammar\":{}}}", "grammar: "},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"truncate\":3}}", "truncate: "},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"decoder_input_details\":true}}",
         "decoder_input_details: the answer does not tell it"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"seed\":-1}}", "$.parameters.seed"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"num_return_sequences\":2}}",
         "num_return_sequences: this route answers one text"},
        {"/generate", "{\"inputs\":\"a\",\"stream\":true}",
         "inputs: stream: of several hypotheses none is the text before its end"},
        {"/generate_stream", "{\"inputs\":\"a\"}", "inputs: stream: of several hypotheses"},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"num_beams\":2}}",
         "inputs: stream: of several hypotheses"},
        {"/generate_stream",
         "{\"inputs\":\"a\",\"parameters\":{\"num_beams\":1,\"num_return_sequences\":2}}",
         "num_return_sequences: this route answers one text"},
        {"/generate_stream", "{\"inputs\":\"a\",\"stream\":false}",
         "stream: this route answers streams, POST /generate whole texts"},
        {"/generate_stream", "{\"inputs\":\"a\",\"stream\":\"yes\"}", "$.stream: expected"},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"do_sample\":true}}",
         "do_sample" SAMPLED},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"best_of\":2}}",
         "best_of" SAMPLED},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"top_n_tokens\":2}}",
         "top_n_tokens: the answer does not tell it"},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"decoder_input_details\":true}}",
         "decoder_input_details: the answer does not tell it"},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"stop\":[\"b\"]}}",
         "stop: a text ends where"},
        {"/generate_stream", "{\"inputs\":\"a\",\"parameters\":{\"truncate\":3}}", "truncate: "},
        {"/generate_stream", "{\"inputs\":\"a\",\"model\":\"classes\"}",
         "inputs: the model classes writes no texts"},
        {"/models/t5-0", "{\"inputs\":[\"a\"],\"stream\":true,\"parameters\":{\"num_beams\":1}}",
         "stream: one text or picture is answered as a stream, not a list"},
        {"/models/t5-0", "{\"inputs\":\"a\",\"stream\":true,\"parameters\":{\"top_p\":0.5}}",
         "top_p" SAMPLED},
        {"/models/classes", "{\"inputs\":\"a\",\"stream\":true}",
         "inputs: the model classes writes no texts"},
        {"/generate", "{\"inputs\":[\"a\"]}", "inputs: expected a text, found an array"},
        {"/generate", "{\"inputs\":\"\"}", "inputs: empty"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":[]}",
         "$.parameters: expected an object, found an array"},
        {"/models/t5-0", "{\"inputs\":\"a\",\"parameters\":\"x\"}",
         "$.parameters: expected an object, found a string"},
        {"/similarity",
         "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[\"b\"]},\"parameters\":[]}",
         "$.parameters: expected an object, found an array"},
        {"/v2/models/marian-0/infer", "{\"inputs\":[],\"parameters\":1}",
         "$.parameters: expected an object, found "},
        {"/v2/models/marian-0/infer", "{\"inputs\":[],\"outputs\":{}}", "outputs: expected a list"},
        {"/v2/models/marian-0/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"],"
         "\"parameters\":[]}]}",
         "text: expected an object"},
        {"/v2/models/marian-0/infer", "{\"outputs\":[{\"name\":\"score\",\"parameters\":[]}]}",
         "score: expected an object"},
        {"/generate", "{}", "inputs: it is missing"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_tokens\":5}}",
         "$.parameters.max_tokens is not supported"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":0}}",
         "inputs: max_new_tokens"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":\"5\"}}",
         "$.parameters.max_new_tokens: expected an integer"},
        {"/generate",
         "{\"inputs\":\"a\",\"parameters\":{\"generate_parameters\":{\"num_beams\":2.5}}}",
         "$.parameters.generate_parameters.num_beams: expected an integer"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_length\":5,\"max_new_tokens\":5}}",
         "max_length stands beside max_new_tokens"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"max_length\":1}}",
         "$.parameters.max_length: must be from 2"},
        {"/generate",
         "{\"inputs\":\"a\",\"parameters\":{\"num_beams\":2,\"generate_parameters\":{}}}",
         "generate_parameters: options of generate() stand beside it"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"generate_parameters\":[]}}",
         "$.parameters.generate_parameters: expected an object, found an array"},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"generate_parameters\":{\"top_k\":3}}}",
         "top_k" SAMPLED},
        {"/generate", "{\"inputs\":\"a\",\"parameters\":{\"generate_parameters\":{\"stop\":[]}}}",
         "$.parameters.generate_parameters.stop is not supported"},
        {"/generate", "{\"inputs\":\"a\",\"model\":\"classes\"}",
         "inputs: the model classes writes no texts"},
        {"/generate", "{\"inputs\":\"a\",\"model\":\"trocr-0\"}",
         "inputs: the model trocr-0 does not read texts"},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"tgt_lang\":\"de\"}}",
         "inputs: target_language: "},
        {"/models/m2m100-0", "{\"inputs\":\"a\",\"parameters\":{\"src_lang\":\"xx\"}}",
         "inputs: source_language: the model does not have this one"},
        {"/models/m2m100-0", "{\"inputs\":\"a\",\"parameters\":{\"src_lang\":7}}",
         "$.parameters.src_lang: expected a string"},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"truncation\":\"only_second\"}}",
         "truncation: expected do_not_truncate"},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":1}}", "top_k" SAMPLED},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"none\"}}",
         "function_to_apply: it is of a model's own labels"},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"b\"]}}",
         "candidate_labels"},
        {"/models/marian-0", "{\"inputs\":\"a\",\"parameters\":{\"aggregation_strategy\":\"max\"}}",
         "inputs: "},
        {"/models/marian-0", "{\"inputs\":\"a\",\"normalize\":true}", "inputs: the model"},
        {"/models/marian-0", "{\"inputs\":{\"text\":\"a\",\"text_pair\":\"b\"}}",
         "inputs: the model reads one text"},
        {"/models/marian-0", "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"}}",
         "inputs: the model marian-0 answers no questions"},
        {"/models/classes", "{\"inputs\":\"a\",\"parameters\":{\"max_new_tokens\":5}}",
         "inputs: the model classes writes no texts"},
        {"/models/classes", "{\"inputs\":\"a\",\"parameters\":{\"details\":true}}",
         "inputs: the model classes writes no texts"},
        {"/v2/models/marian-0/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"outputs\":[{\"name\":\"label\"}]}",
         "text[0]: the model marian-0 answers no labels"},
        {"/v2/models/marian-0/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"parameters\":{\"num_beams\":9}}",
         "text[0]: num_beams"},
        {"/v2/models/marian-0/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"parameters\":{\"num_beams\":\"2\"}}",
         "$.parameters.num_beams: expected an integer"},
        {"/v2/models/classes/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"parameters\":{\"num_beams\":2}}",
         "text[0]: options of writing: the model writes no text"},
    };
    start(-1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].path, cases[i].body);
        const char *error = reply_text(&reply, "error");
        ck_assert_msg(reply.answer.status == 422 &&
                          strncmp(error, cases[i].error, strlen(cases[i].error)) == 0,
                      "%s %s: %d %s", cases[i].path, cases[i].body, reply.answer.status, error);
        const bool is_theirs = strncmp(cases[i].path, "/generate", 9) == 0 ||
                               strstr(cases[i].body, "\"details\"") != NULL ||
                               strstr(cases[i].body, "\"stream\"") != NULL;
        reply_expect_text(&reply, "error_type", is_theirs ? "validation" : "Validation");
        reply_free(&reply);
    }
    stop();
}
END_TEST

START_TEST(written_texts_of_long_inputs_are_cut_only_if_that_is_allowed)
{
    char text[4096] = "", *at = text;
    start(-1);
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "pin %d ", i % 10);
    struct reply reply = ask_json("/generate", json_pack("{s:s}", "inputs", text));
    reply_expect_status(&reply, 413);
    reply_expect_text(&reply, "error_type", "validation");
    ck_assert_ptr_nonnull(strstr(reply_text(&reply, "error"), "longest_first"));
    reply_free(&reply);
    reply = ask_json("/generate", json_pack("{s:s,s:{s:s}}", "inputs", text, "parameters",
                                            "truncation", "longest_first"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = ask_json("/models/marian-0", json_pack("{s:s,s:b}", "inputs", text, "truncate", 1));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    stop();
}
END_TEST

/* No route has a silly answer for a model that writes, whether others stand beside it or not. */
START_TEST(routes_of_other_tasks_refuse_a_model_that_writes)
{
    static const struct {
        const char *path, *body;
    } cases[] = {
        {"/embed", "{\"inputs\":\"a\"}"},
        {"/embed_all", "{\"inputs\":\"a\"}"},
        {"/embed_sparse", "{\"inputs\":\"a\"}"},
        {"/predict", "{\"inputs\":\"a\"}"},
        {"/predict", "{\"inputs\":[[\"a\",\"b\"]]}"},
        {"/predict", "{\"text\":\"a\",\"text_pair\":\"b\"}"},
        {"/predict", "{\"text\":\"a\",\"question\":\"b\"}"},
        {"/decode", "{\"ids\":[1,2]}"},
        {"/similarity", "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[\"b\"]}}"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"b\"]}"},
        {"/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}"},
        {"/v1/embeddings", "{\"input\":\"a\"}"},
        {"/similar", "{\"text\":\"a\"}"},
    };
    for (int round = 0; round < 4; round++) { /* a text's model and a picture's, alone or not */
        const int model = round % 2 == 0 ? MARIAN : TROCR;
        start(round < 2 ? -1 : model);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            json_t *body = json_loads(cases[i].body, 0, NULL);
            json_object_set_new(body, "model", json_string(names[model]));
            struct reply reply = ask_json(cases[i].path, body);
            ck_assert_msg(reply.answer.status == 422, "%s: %d", cases[i].path, reply.answer.status);
            reply_free(&reply);
        }
        struct reply info = contract_ask(server.port, "GET", "/info", "", NULL);
        reply_expect_status(&info, 200);
        if (round >= 2) {
            ck_assert_ptr_null(contract_at(info.json, "model_type"));
            reply_expect_text(&info, "model_pipeline_tag",
                              model == MARIAN ? "translation" : "image-to-text");
        }
        reply_free(&info);
        stop();
    }
}
END_TEST

SUITE("contract_written", written_texts_have_the_form_of_the_models_task,
      written_texts_of_raw_pictures_are_those_of_their_base64,
      written_texts_of_a_list_stand_as_pipelines_have_them,
      written_texts_take_the_form_of_the_paths_task, generate_tells_each_token_of_the_text,
      generate_is_answered_at_the_address_alone, generate_streams_the_tokens_that_it_answers,
      written_texts_that_break_a_rule_of_the_model_are_refused,
      written_texts_are_the_output_of_kserve_and_tensorflow,
      written_texts_refuse_by_name_what_would_change_them,
      written_texts_of_long_inputs_are_cut_only_if_that_is_allowed,
      routes_of_other_tasks_refuse_a_model_that_writes)
