/* The document of the interface, held against what it describes: the table of routes, the names
 * that the codec takes, the kinds of errors, the limits in service. tests/openapi holds it against
 * the replies of a running server. */
#include "server/openapi/openapi.h"

#include "engine/base/doc.h"
#include "engine/fab/lot_formats.h"
#include "engine/vision/input_formats.h"
#include "tests/unit/server/stage.h"
#include "wire/codec_check.h"
#include "wire/limits.h"
#include "wire/media_type.h"
#include "wire/problem.h"

#include <jansson.h>

/* A stage, and the document that it answers with. */
struct bench {
    struct stage stage;
    struct http_exchange exchange;
    json_t *document;
};

static void bench_ask(struct bench *bench)
{
    exchange_init(&bench->exchange, "");
    bench->exchange.method = HTTP_GET;
    bench->exchange.path = "/openapi.json";
    ck_assert_int_eq(bench->stage.app.head(&bench->stage.service, &bench->exchange), HTTP_CONTINUE);
    ck_assert_int_eq(bench->stage.app.begin(&bench->stage.service, &bench->exchange), HTTP_REPLY);
}

static void bench_read(struct bench *bench)
{
    bench_ask(bench);
    const struct http_reply *reply = &bench->exchange.reply;
    ck_assert_uint_eq(reply->status, 200);
    ck_assert_str_eq(reply->content_type, "application/json");
    ck_assert_uint_eq(reply->body_len, strlen(reply->body));
    bench->document = json_loads(reply->body, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(bench->document);
}

static void bench_open(struct bench *bench)
{
    stage_open(&bench->stage, 1);
    bench_read(bench);
}

static void bench_close(struct bench *bench)
{
    json_decref(bench->document);
    exchange_done(&bench->stage, &bench->exchange);
    stage_close(&bench->stage);
}

/* "components/schemas/Model"; NULL: there is nothing. A path's own '/' is written '~1'. */
static json_t *at(json_t *value, const char *path)
{
    while (value != NULL && *path != '\0') {
        char key[128] = "";
        size_t len = strcspn(path, "/"), used = 0;
        for (size_t i = 0; i < len && used + 1 < sizeof key; i++) {
            bool is_slash = path[i] == '~' && path[i + 1] == '1';
            key[used++] = is_slash ? '/' : path[i];
            i += is_slash;
        }
        value = json_object_get(value, key);
        path += len + (path[len] == '/');
    }
    return value;
}

static long long number(json_t *document, const char *path)
{
    json_t *value = at(document, path);
    ck_assert_msg(json_is_integer(value), "no number at %s", path);
    return json_integer_value(value);
}

/* ---- routes ---- */

static const char *verb_of(enum http_method method)
{
    return method == HTTP_POST     ? "post"
           : method == HTTP_PATCH  ? "patch"
           : method == HTTP_DELETE ? "delete"
                                   : "get";
}

START_TEST(each_route_is_a_path_and_there_is_no_other)
{
    struct bench bench;
    size_t operations = 0;
    bench_open(&bench);
    json_t *paths = at(bench.document, "paths");
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        json_t *path = json_object_get(paths, route->pattern);
        json_t *operation = json_object_get(path, verb_of(route->method));
        ck_assert_msg(operation != NULL, "%s is not described", route->pattern);
        ck_assert_int_eq(at(operation, "requestBody") != NULL, route->has_body);
        ck_assert_int_eq(json_is_true(at(operation, "x-changes-state")),
                         route_changes_state(route));
    }
    const char *pattern;
    json_t *path;
    json_object_foreach(paths, pattern, path) operations +=
        json_object_size(path) - 1; /* beside its parameters */
    ck_assert_uint_eq(operations, routes_count());
    bench_close(&bench);
}
END_TEST

START_TEST(each_route_says_what_it_is_and_answers)
{
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct openapi_operation *says = &routes_at(i)->says;
        ck_assert_msg(says->id != NULL && says->summary != NULL, "%s", routes_at(i)->pattern);
        ck_assert_msg((says->schema != NULL) != (says->media_type != NULL), "%s",
                      routes_at(i)->pattern);
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(says->id, routes_at(k)->says.id);
    }
}
END_TEST

/* A server without keys takes any request, one with keys only those that have one. */
START_TEST(each_route_with_a_scope_says_which_key_it_needs)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    for (int has_keys = 0; has_keys < 2; has_keys++) {
        for (unsigned i = 0; i < routes_count(); i++) {
            const struct route *route = routes_at(i);
            json_t *path = json_object_get(at(bench.document, "paths"), route->pattern);
            json_t *operation = at(path, verb_of(route->method));
            json_t *security = at(operation, "security");
            const char *scope = scope_name(route->scope);
            json_t *needed = at(json_array_get(security, 0), "key");
            ck_assert_int_eq(security != NULL, scope != NULL);
            ck_assert_int_eq(at(operation, "responses/401") != NULL, scope != NULL);
            if (scope == NULL)
                continue;
            ck_assert_str_eq(json_string_value(json_array_get(needed, 0)), scope);
            ck_assert_uint_eq(json_array_size(security), has_keys ? 1 : 2);
            ck_assert_ptr_nonnull(at(operation, "responses/403"));
            ck_assert_ptr_nonnull(at(operation, "responses/429"));
        }
        json_decref(bench.document);
        exchange_done(&bench.stage, &bench.exchange);
        if (!has_keys)
            ck_assert_int_eq(keys_parse(&bench.stage.snapshot->keys, "", 0, "", NULL, &err), 0);
        bench_read(&bench);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(each_value_in_a_pattern_is_a_parameter_of_the_path)
{
    struct bench bench;
    bench_open(&bench);
    json_t *parameters = at(bench.document, "paths/~1models~1{name}/parameters");
    ck_assert_uint_eq(json_array_size(parameters), 3);
    json_t *name = json_array_get(parameters, 2);
    ck_assert_str_eq(json_string_value(at(name, "name")), "name");
    ck_assert_str_eq(json_string_value(at(name, "in")), "path");
    ck_assert(json_is_true(at(name, "required")));
    ck_assert_uint_eq(json_array_size(at(bench.document, "paths/~1models/parameters")), 2);
    bench_close(&bench);
}
END_TEST

/* ---- the tree ---- */

/* References that lead nowhere, and places that nothing was put into. */
static int count_faults(json_t *document, json_t *value)
{
    int faults = 0;
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach(value, key, member)
    {
        const char *text = json_string_value(member);
        if (strcmp(key, "$ref") == 0 &&
            (strncmp(text, "#/", 2) != 0 || at(document, text + 2) == NULL)) {
            fprintf(stderr, "%s leads nowhere\n", text);
            faults++;
        }
        if (text != NULL && text[0] == '@') {
            fprintf(stderr, "%s: %s\n", key, text);
            faults++;
        }
        faults += count_faults(document, member);
    }
    json_array_foreach(value, i, member) faults += count_faults(document, member);
    return faults;
}

START_TEST(each_reference_leads_somewhere)
{
    struct bench bench;
    bench_open(&bench);
    ck_assert_int_eq(count_faults(bench.document, bench.document), 0);
    json_object_set_new(at(bench.document, "paths"), "x",
                        json_pack("[{s:s, s:s}]", "$ref", "#/nowhere", "y", "@place"));
    ck_assert_int_eq(count_faults(bench.document, bench.document), 2);
    bench_close(&bench);
}
END_TEST

START_TEST(each_component_is_referred_to)
{
    struct bench bench;
    const char *kind, *name;
    json_t *kinds, *component;
    bench_open(&bench);
    json_object_foreach(at(bench.document, "components"), kind, kinds)
        json_object_foreach(kinds, name, component)
    {
        char reference[128];
        if (strcmp(kind, "securitySchemes") == 0)
            snprintf(reference, sizeof reference, "\"security\":[{\"%s\":[", name);
        else
            snprintf(reference, sizeof reference, "\"#/components/%s/%s\"", kind, name);
        ck_assert_msg(strstr(bench.exchange.reply.body, reference) != NULL, "%s", reference);
    }
    bench_close(&bench);
}
END_TEST

/* ---- names ---- */

/* The properties of the schema are the names but for those of `without`, in their order. */
static void expect_members(json_t *document, const char *schema, const struct codec_names *names,
                           const char *without)
{
    char path[96];
    size_t count = 0;
    snprintf(path, sizeof path, "components/schemas/%s", schema);
    json_t *object = at(document, path), *properties = at(object, "properties");
    for (size_t i = 0; i < names->count; i++) {
        bool is_out = strstr(without, names->list[i]) != NULL;
        ck_assert_msg((at(properties, names->list[i]) == NULL) == is_out, "%s of %s",
                      names->list[i], schema);
        count += !is_out;
    }
    ck_assert_uint_eq(json_object_size(properties), count);
    ck_assert(json_is_false(at(object, "additionalProperties")));
}

START_TEST(requests_have_the_members_that_the_codec_takes)
{
    struct bench bench;
    bench_open(&bench);
    expect_members(bench.document, "SimilarText", &codec_names_search, "image inputs");
    expect_members(bench.document, "SimilarImage", &codec_names_search, "text inputs text_pair");
    expect_members(bench.document, "SimilarInputs", &codec_names_search, "text image text_pair");
    expect_members(bench.document, "PredictText", &codec_names_call, "image inputs");
    expect_members(bench.document, "PredictImage", &codec_names_call,
                   "text inputs text_pair question");
    expect_members(bench.document, "PredictInputs", &codec_names_call,
                   "text image text_pair question");
    expect_members(bench.document, "TextItem", &codec_names_item, "image");
    expect_members(bench.document, "ImageItem", &codec_names_item, "text text_pair question");
    expect_members(bench.document, "context", &codec_names_context, "");
    bench_close(&bench);
}
END_TEST

static bool is_parameter(json_t *document, const char *name)
{
    char reference[96];
    size_t i;
    json_t *parameter;
    snprintf(reference, sizeof reference, "#/components/parameters/%s", name);
    json_array_foreach(at(document, "paths/~1predict/post/parameters"), i, parameter)
    {
        if (strcmp(json_string_value(at(parameter, "$ref")), reference) == 0)
            return strcmp(json_string_value(at(at(document, reference + 2), "name")), name) == 0;
    }
    return false;
}

START_TEST(a_query_has_the_options_that_the_codec_takes)
{
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < codec_names_query.count; i++)
        ck_assert_msg(is_parameter(bench.document, codec_names_query.list[i]), "%s",
                      codec_names_query.list[i]);
    for (size_t i = 0; i < codec_names_context.count; i++) {
        char name[64];
        snprintf(name, sizeof name, "context.%s", codec_names_context.list[i]);
        ck_assert_msg(is_parameter(bench.document, name), "%s", name);
    }
    ck_assert_uint_eq(json_array_size(at(bench.document, "paths/~1predict/post/parameters")),
                      codec_names_query.count + codec_names_context.count + 2); /* two headers */
    bench_close(&bench);
}
END_TEST

START_TEST(bodies_have_the_types_that_are_read)
{
    struct bench bench;
    const char *type;
    json_t *content, *media;
    size_t count = 0;
    enum request_body body;
    bench_open(&bench);
    content = at(bench.document, "paths/~1predict/post/requestBody/content");
    json_object_foreach(content, type, media)
    {
        struct media_type found;
        struct err err = {0};
        ck_assert_int_eq(media_type_parse(type, &found, &err), ERR_OK);
        const char *schema = json_string_value(at(media, "schema/$ref"));
        ck_assert_str_eq(strrchr(schema, '/') + 1, found.body == REQUEST_JSON    ? "PredictRequest"
                                                   : found.body == REQUEST_TEXT  ? "TextBody"
                                                   : found.body == REQUEST_LOT   ? "LotBody"
                                                   : found.body == REQUEST_LINES ? "LinesBody"
                                                                                 : "ImageBody");
    }
    while (media_type_proper((unsigned)count, &body) != NULL)
        count++;
    ck_assert_uint_eq(json_object_size(content), count);
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        count--;
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        count--;
    ck_assert_uint_eq(count, 3); /* JSON, a plain text and lines */
    bench_close(&bench);
}
END_TEST

/* ---- errors ---- */

START_TEST(each_error_is_in_the_reply_of_its_status)
{
    struct bench bench;
    bench_open(&bench);
    for (unsigned code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        char name[64];
        const unsigned status = problem_status((enum err_code)code);
        snprintf(name, sizeof name, "components/responses/Problem%u", status);
        json_t *reply = at(bench.document, name);
        ck_assert_msg(reply != NULL, "%s", name);
        ck_assert_ptr_nonnull(strstr(json_string_value(at(reply, "description")),
                                     problem_title((enum err_code)code)));
        json_t *properties = at(reply, "content/application~1problem+json/schema/properties");
        ck_assert_int_eq(number(properties, "status/const"), status);
        char *names = json_dumps(at(properties, "error_type/enum"), 0);
        ck_assert_ptr_nonnull(strstr(names, err_name((enum err_code)code)));
        free(names);
        ck_assert_ptr_nonnull(at(reply, "headers/X-Request-Id"));
        ck_assert_int_eq(at(reply, "headers/Retry-After") != NULL, status == 429 || status == 503);
        ck_assert_int_eq(at(reply, "headers/Allow") != NULL, status == 405);
        ck_assert_int_eq(at(reply, "headers/WWW-Authenticate") != NULL, status == 401);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(a_route_can_fail_as_its_kind_can_and_as_it_says)
{
    static const struct {
        const char *operation;
        const char *statuses;
    } cases[] = {
        {"paths/~1healthz/get", "200 400 405 408 413 500 "},
        {"paths/~1readyz/get", "200 400 405 408 413 500 503 "},
        {"paths/~1models~1{name}/get", "200 400 401 403 404 405 408 413 422 429 500 "},
        {"paths/~1feedback/post", "200 400 401 403 404 405 408 411 413 415 422 429 500 503 "},
        {"paths/~1feedback~1{id}/delete", "200 400 401 403 404 405 408 413 415 422 429 500 503 "},
        {"paths/~1/get", "200 304 400 405 408 413 500 "},
        {"paths/~1predict/post",
         "200 400 401 403 404 405 408 409 411 413 415 422 429 500 503 504 "},
        {"paths/~1admin~1reload/post", "200 400 401 403 405 408 409 413 415 422 429 500 503 "},
    };
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char statuses[128] = "";
        const char *status;
        json_t *reply;
        json_object_foreach(at(at(bench.document, cases[i].operation), "responses"), status, reply)
            snprintf(statuses + strlen(statuses), sizeof statuses - strlen(statuses), "%s ",
                     status);
        ck_assert_msg(strcmp(statuses, cases[i].statuses) == 0, "%s: %s", cases[i].operation,
                      statuses);
    }
    bench_close(&bench);
}
END_TEST

/* ---- limits ---- */

static void expect_numbers(json_t *document, const struct config *config)
{
    const struct {
        const char *path;
        size_t value;
    } cases[] = {
        {"x-limits/inputs_max", config->inputs_max},
        {"x-limits/body_bytes_max", config->body_bytes_max},
        {"x-limits/image_pixels_max", config->image_pixels_max},
        {"x-limits/request_pixels_max", config->request_pixels_max},
        {"x-limits/deadline_ms", config->deadline_ms},
        {"components/schemas/inputs/maxItems", config->inputs_max},
        {"components/schemas/Results/properties/results/maxItems", config->inputs_max},
        {"components/schemas/TextBody/maxLength", config->body_bytes_max},
        {"components/schemas/ImageBody/maxLength", config->body_bytes_max},
        {"components/schemas/Model/properties/inputs_max/const", config->inputs_max},
        {"components/schemas/Model/properties/body_bytes_max/const", config->body_bytes_max},
        {"components/schemas/id/maxLength", LIMIT_ID_BYTES},
        {"components/schemas/model/maxLength", LIMIT_MODEL_NAME_BYTES},
        {"components/schemas/context_value/maxLength", LIMIT_CONTEXT_BYTES},
        {"components/schemas/explain_layer/maximum", CODEC_LAYER_MAX},
        {"components/schemas/deadline_ms/maximum", CODEC_DEADLINE_MS_MAX},
        {"components/schemas/k/maximum", INDEX_NEIGHBOURS_MAX},
        {"components/parameters/X-Request-Id/schema/maxLength", LIMIT_ID_BYTES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg((size_t)number(document, cases[i].path) == cases[i].value, "%s",
                      cases[i].path);
}

START_TEST(limits_are_those_in_service)
{
    struct bench bench;
    struct config *config;
    bench_open(&bench);
    config = &bench.stage.snapshot->config;
    expect_numbers(bench.document, config);
    json_decref(bench.document);
    exchange_done(&bench.stage, &bench.exchange);
    config->inputs_max = 3;
    config->body_bytes_max = 12345;
    config->image_pixels_max = 678;
    config->request_pixels_max = 910;
    config->deadline_ms = 1112;
    bench_read(&bench);
    expect_numbers(bench.document, config);
    bench_close(&bench);
}
END_TEST

START_TEST(words_are_those_of_the_code)
{
    struct bench bench;
    bench_open(&bench);
    static const char *const cases[][2] = {
        {"components/schemas/explain/oneOf",
         "[{\"type\":\"boolean\"},{\"enum\":[\"rollout\",\"attention\",\"gradient\","
         "\"gradient-last\",\"alignment\"]}]"},
        {"components/schemas/Result/properties/decision/enum", "[\"auto\",\"review\",\"unknown\"]"},
        {"components/schemas/model/examples", "[\"logs\",\"wafers\"]"},
        {"info/version", "\"" ATTND_VERSION "\""},
        {"servers", "[{\"url\":\"/\"}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = json_dumps(at(bench.document, cases[i][0]), JSON_COMPACT | JSON_ENCODE_ANY);
        ck_assert_str_eq(text, cases[i][1]);
        free(text);
    }
    bench_close(&bench);
}
END_TEST

/* ---- the reply ---- */

START_TEST(openapi_document_is_sent_again_only_after_a_change)
{
    struct bench bench;
    char tag[80];
    bench_open(&bench);
    ck_assert_str_eq(bench.exchange.reply.more[0].name, "ETag");
    snprintf(tag, sizeof tag, "%s", bench.exchange.reply.more[0].value);
    ck_assert_str_eq(bench.exchange.reply.more[1].name, "Cache-Control");
    ck_assert_str_eq(bench.exchange.reply.more[1].value, "no-cache");
    ck_assert_ptr_null(bench.exchange.reply.more[2].name);
    exchange_done(&bench.stage, &bench.exchange);
    const struct fake_header headers[] = {{"If-None-Match", tag}, {NULL, NULL}};
    for (unsigned status = 304; status >= 200; status -= 104) {
        fake_headers = headers;
        bench_ask(&bench);
        fake_headers = NULL;
        ck_assert_uint_eq(bench.exchange.reply.status, status);
        bench.stage.snapshot->config.inputs_max = 2;
        if (status == 304)
            exchange_done(&bench.stage, &bench.exchange);
    }
    bench_close(&bench);
}
END_TEST

/* ---- memory ---- */

/* The bytes that jansson holds, its calls, and the number of the call that fails (0: none). */
static size_t held, held_most;
static unsigned calls, failing;
static json_malloc_t real_malloc;
static json_free_t real_free;

struct counted {
    size_t size;
    max_align_t bytes[];
};

static void *counted_malloc(size_t size)
{
    if (++calls == failing)
        return NULL;
    struct counted *block = real_malloc(sizeof *block + size);
    ck_assert_ptr_nonnull(block);
    block->size = size;
    held += size;
    held_most = held > held_most ? held : held_most;
    return block->bytes;
}

static void counted_free(void *bytes)
{
    if (bytes == NULL)
        return;
    struct counted *block = (struct counted *)((char *)bytes - offsetof(struct counted, bytes));
    held -= block->size;
    real_free(block);
}

static void count_memory(void)
{
    json_get_alloc_funcs(&real_malloc, &real_free);
    json_set_alloc_funcs(counted_malloc, counted_free);
}

/* The document of all routes; the arena is the caller's. */
static const char *make(struct bench *bench, struct arena *arena, size_t *len)
{
    struct openapi_route rows[64];
    ck_assert_uint_le(routes_count(), 64);
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        rows[i] = (struct openapi_route){.pattern = route->pattern,
                                         .method = verb_of(route->method),
                                         .has_body = route->has_body,
                                         .is_body_optional = route->is_body_optional,
                                         .changes_state = route_changes_state(route),
                                         .scope = scope_name(route->scope),
                                         .says = &route->says};
    }
    const struct openapi_source source = {rows, routes_count(), bench->stage.snapshot};
    arena_init(arena);
    return openapi_document(&source, arena, len);
}

START_TEST(the_document_takes_less_memory_than_is_claimed)
{
    struct bench bench;
    struct arena arena;
    size_t len;
    bench_open(&bench);
    count_memory();
    ck_assert_ptr_nonnull(make(&bench, &arena, &len));
    json_set_alloc_funcs(real_malloc, real_free);
    ck_assert_uint_eq(held, 0);
    ck_assert_uint_gt(held_most, 64 * 1024);
    /* Blocks of malloc are larger than what was asked for; twice the sum is more than enough. */
    ck_assert_uint_le(2 * held_most + arena.bytes, OPENAPI_BYTES);
    ck_assert_uint_ge(bench.exchange.memory_bytes, OPENAPI_BYTES);
    arena_deinit(&arena);
    bench_close(&bench);
}
END_TEST

/* How many calls reading the shapes takes: a failure there does not return to jansson (doc_load.c),
 * and tests/torture has it. */
static unsigned calls_of_reading(void)
{
    extern const char openapi_shapes_begin[], openapi_shapes_end[];
    static const struct doc_limits limits = {.depth_max = 32, .tokens_max = 100000};
    struct json_t *shapes;
    struct err err = {0};
    calls = 0;
    ck_assert_int_eq(doc_parse(&shapes, openapi_shapes_begin,
                               (size_t)(openapi_shapes_end - openapi_shapes_begin), &limits, &err),
                     ERR_OK);
    doc_free(shapes);
    return calls;
}

START_TEST(openapi_without_memory_has_no_document_and_leaks_nothing)
{
    struct bench bench;
    struct arena arena;
    size_t len;
    const char *text = NULL;
    bench_open(&bench);
    count_memory();
    const unsigned first = calls_of_reading() + 1;
    for (failing = first; text == NULL; failing += 97) {
        calls = 0;
        text = make(&bench, &arena, &len);
        ck_assert_int_eq(text == NULL, calls >= failing);
        ck_assert(text == NULL || strcmp(text, bench.exchange.reply.body) == 0);
        arena_deinit(&arena);
        ck_assert_uint_eq(held, 0);
    }
    ck_assert_uint_gt(failing - first, 3000);
    failing = 0;
    json_set_alloc_funcs(real_malloc, real_free);
    bench_close(&bench);
}
END_TEST

START_TEST(a_document_that_memory_lacks_for_is_refused)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    struct memory *memory = &bench.stage.service.memory;
    exchange_done(&bench.stage, &bench.exchange);
    const size_t others = memory->pool_bytes - OPENAPI_BYTES + 1;
    ck_assert_int_eq(memory_take(memory, others, MEMORY_SMALL, &err), ERR_OK);
    bench_ask(&bench);
    ck_assert_uint_eq(bench.exchange.reply.status, 429);
    memory_give(memory, others);
    bench_close(&bench);
}
END_TEST

SUITE("openapi", each_route_with_a_scope_says_which_key_it_needs,
      each_route_is_a_path_and_there_is_no_other, each_route_says_what_it_is_and_answers,
      each_value_in_a_pattern_is_a_parameter_of_the_path, each_reference_leads_somewhere,
      each_component_is_referred_to, requests_have_the_members_that_the_codec_takes,
      a_query_has_the_options_that_the_codec_takes, bodies_have_the_types_that_are_read,
      each_error_is_in_the_reply_of_its_status, a_route_can_fail_as_its_kind_can_and_as_it_says,
      limits_are_those_in_service, words_are_those_of_the_code,
      openapi_document_is_sent_again_only_after_a_change,
      the_document_takes_less_memory_than_is_claimed,
      openapi_without_memory_has_no_document_and_leaks_nothing,
      a_document_that_memory_lacks_for_is_refused)
