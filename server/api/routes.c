/* routes.c - see routes.h: the five functions that http.h asks for, over the table of route.c. They
 * do what is common to all routes: the request's memory and id, 404 and 405, the problem reply of a
 * refusal, the counters and the log line. */
#include "server/api/routes.h"

#include "engine/base/clock.h"
#include "engine/base/nearest.h"
#include "server/api/guard.h"
#include "server/api/handlers.h"
#include "server/api/records.h"
#include "server/api/repeats.h"
#include "server/api/reply.h"
#include "server/api/stream.h"
#include "server/api/tracing.h"
#include "server/feedback/feedback.h"
#include "server/http/path_pattern.h"
#include "server/protocol/lines.h"
#include "server/review/review.h"
#include "server/serve/explain.h"
#include "server/serve/rows.h"
#include "wire/codec_check.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Adds what a route's method allows, once: a path may fit two patterns. */
static void add_allowed(char allow[ROUTES_ALLOW_BYTES], enum http_method method)
{
    size_t len = strlen(allow);
    if (strstr(allow, http_method_name(method)) != NULL)
        return;
    snprintf(allow + len, ROUTES_ALLOW_BYTES - len, "%s%s%s", len > 0 ? ", " : "",
             http_method_name(method), method == HTTP_GET ? ", HEAD" : "");
}

enum { NEAR_BYTES = 65 }; /* nearest.h: longer ones are near to nothing */

static bool is_near_part(const char *found, size_t found_len, const char *wanted, size_t wanted_len)
{
    char a[NEAR_BYTES], b[NEAR_BYTES];
    const char *known = b;
    snprintf(a, sizeof a, "%.*s", (int)found_len, found);
    snprintf(b, sizeof b, "%.*s", (int)wanted_len, wanted);
    return nearest_name(a, &known, 1) != NULL;
}

/* The pattern with the path's own values in the places of its own: "/models/{name}" and
 * "/model/a/b" are "/models/a". Before a value each part must be near: "/v1/chat/a" is nothing like
 * "/v1/models/a", though "a" stands in both. */
static void fill_pattern(char out[NEAR_BYTES], const char *pattern, const char *path)
{
    size_t len = 0;
    for (bool is_near = true; is_near && *pattern == '/';) {
        path += *path == '/';
        pattern++;
        size_t wanted = strcspn(pattern, "/"), found = strcspn(path, "/");
        bool is_value = *pattern == '{' && found > 0;
        if (!is_value && strchr(pattern, '{') != NULL && found > 0 &&
            !is_near_part(path, found, pattern, wanted)) {
            out[0] = '\0';
            return;
        }
        int part = (int)(is_value ? found : wanted);
        len +=
            (size_t)snprintf(out + len, NEAR_BYTES - len, "/%.*s", part, is_value ? path : pattern);
        is_near = len < NEAR_BYTES;
        pattern += wanted;
        path += found;
    }
}

/* Names the nearest route: the first that goes on from the path, or one that is spelled alike. A
 * slash at the end makes another path, of which a proxy may have another rule, so it is not taken
 * for the one without: that is the nearest. */
static enum err_code not_found(const char *path, struct err *err)
{
    char filled[ROUTE_COUNT_MAX][NEAR_BYTES];
    const char *names[ROUTE_COUNT_MAX];
    size_t count = 0;
    for (unsigned i = 0; i < route_count; i++) {
        if (strncmp(route_table[i].pattern, "/ui/", 4) == 0)
            continue; /* the page's own files */
        fill_pattern(filled[i], route_table[i].pattern, path);
        names[count++] = filled[i];
        const size_t len = strlen(path);
        if (len > 1 && strncmp(filled[i], path, len) == 0 && filled[i][len] == '/')
            return err_set(err, ERR_NOT_FOUND, "there is nothing at this path; the nearest is %s",
                           filled[i]);
    }
    const char *nearest = nearest_name(path, names, count);
    if (nearest == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "there is nothing at this path; GET /openapi.json lists what there is");
    return err_set(err, ERR_NOT_FOUND, "there is nothing at this path; the nearest is %s", nearest);
}

/* Tells what each method of administration does: a PUT may stand for several. */
static enum err_code wrong_method(const struct route *first, const char *path, const char *allow,
                                  struct err *err)
{
    char does[sizeof err->text] = "";
    size_t used = 0;
    for (const struct route *route = route_table; route < route_table + route_count; route++)
        if (route->scope == SCOPE_ADMIN && path_pattern_matches(route->pattern, path) &&
            used < sizeof does)
            used += (size_t)snprintf(does + used, sizeof does - used, "; %s: %s",
                                     http_method_name(route->method), route->says.summary);
    return err_set(err, ERR_METHOD, "%s answers only %s%s", first->pattern, allow, does);
}

enum err_code routes_find(const struct route **out, char allow[ROUTES_ALLOW_BYTES],
                          const char *path, enum http_method method, struct err *err)
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    *out = NULL;
    allow[0] = '\0';
    for (const struct route *route = route_table; route < route_table + route_count; route++) {
        if (!path_pattern_matches(route->pattern, path))
            continue;
        *out = route;
        if (route->method == wanted) {
            allow[0] = '\0';
            return ERR_OK;
        }
        add_allowed(allow, route->method);
    }
    if (*out == NULL)
        return not_found(path, err);
    return wrong_method(*out, path, allow, err);
}

unsigned routes_count(void)
{
    return route_count;
}

const struct route *routes_at(unsigned index)
{
    return &route_table[index];
}

/* ---- paths: routes of several methods share one ---- */

/* The first route of the pattern. */
static const struct route *first_of(const char *pattern)
{
    const struct route *route = route_table;
    while (strcmp(route->pattern, pattern) != 0)
        route++;
    return route;
}

unsigned routes_path_of(const struct route *route)
{
    const struct route *first = first_of(route->pattern);
    unsigned index = 0;
    for (const struct route *before = route_table; before < first; before++)
        index += first_of(before->pattern) == before;
    return index;
}

unsigned routes_path_count(void)
{
    unsigned count = 0;
    for (const struct route *route = route_table; route < route_table + route_count; route++)
        count += first_of(route->pattern) == route;
    return count;
}

/* The first route of the index-th path. */
static const struct route *path_at(unsigned index)
{
    const struct route *route = route_table;
    while (first_of(route->pattern) != route || index-- > 0)
        route++;
    return route;
}

const char *routes_path(unsigned index)
{
    return path_at(index)->pattern;
}

bool routes_path_takes_model(unsigned index)
{
    const char *pattern = path_at(index)->pattern;
    for (const struct route *route = route_table; route < route_table + route_count; route++)
        if (route->protocol != NULL && strcmp(route->pattern, pattern) == 0)
            return true;
    return false;
}

/* The exchange's request, made on first sight. Without memory for one, a bare 500 is the reply. */
static struct request *open_request(struct service *service, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    if (request != NULL)
        return request;
    request = request_open(exchange, service, &service->ids);
    if (request != NULL) {
        request->snapshot = snapshots_acquire(service->snapshots);
        request->trace = tracing_begin(request);
        observers_begun(&service->observers);
    } else
        exchange->reply = (struct http_reply){
            .status = 500, .content_type = "text/plain", .body = "out of memory\n", .body_len = 14};
    return request;
}

/* The key that the request sends, or the certificate of its connection, against the scope of its
 * route. */
static enum err_code check_key(struct service *service, struct request *request)
{
    const struct keys *keys = request->snapshot->keys;
    struct auth_question question = {
        .keys = keys,
        .scope = request->route->scope,
        .authorization = http_header(request->exchange, "Authorization"),
        .now_s = (int64_t)time(NULL),
        .now_ns = clock_now_ns(),
    };
    if (keys_have_certificates(keys) && question.authorization == NULL)
        question.names = http_client_names(request->exchange, &question.name_count);
    enum err_code code = auth_check(&service->auth, &question, &request->grant, &request->err);
    if (request->grant.retry_after_s != 0)
        request->retry_after_s = request->grant.retry_after_s;
    return code;
}

/* Without memory for the header the refusal has none. */
static enum http_next not_authorized(struct request *request)
{
    const char *challenge = request->grant.challenge;
    struct http_field *more = arena_alloc_array(&request->exchange->arena, 2, sizeof *more);
    reply_problem(request);
    if (challenge != NULL && more != NULL) {
        more[0] = (struct http_field){"WWW-Authenticate", challenge}; /* the last name is NULL */
        request->exchange->reply.more = more;
    }
    return HTTP_REPLY;
}

/* Lists the methods of the path's routes that change no state. */
static void allowed_to_pages(char allow[ROUTES_ALLOW_BYTES], const char *path)
{
    allow[0] = '\0';
    for (const struct route *route = route_table; route < route_table + route_count; route++)
        if (path_pattern_matches(route->pattern, path) && !route_changes_state(route))
            add_allowed(allow, route->method);
}

/* The path's route, if it is there for who asks on the exchange's address. */
static enum err_code find_route(const struct service *service, struct request *request,
                                char allow[ROUTES_ALLOW_BYTES])
{
    const struct http_exchange *exchange = request->exchange;
    routes_find(&request->route, allow, exchange->path, exchange->method, &request->err);
    request->pattern = request->route != NULL ? request->route->pattern : NULL;
    if (request->route == NULL ||
        route_is_at(request->route, service->has_admin_address, exchange->is_admin))
        return request->err.code;
    request->route = NULL;
    request->pattern = NULL;
    request->err = (struct err){0};
    allow[0] = '\0';
    return err_set(&request->err, ERR_NOT_FOUND,
                   exchange->is_admin
                       ? "there is nothing at this path here: it is on the main address"
                       : "there is nothing at this path here: it is where admin_listen says");
}

/* A body that is not needed is read and dropped, if it is short. One without inputs is unpacked,
 * decoded and parsed on the thread that reads for everybody: it has no more than its JSON may. */
static size_t body_bytes_max(const struct request *request)
{
    const struct route *route = request->route;
    const struct config *config = &request->snapshot->config;
    const size_t of_json = LIMIT_UNPOOLED_JSON_BYTES + (size_t)config->inputs_max * 4096;
    if (!route->has_body)
        return route->method == HTTP_POST ? LIMIT_UNUSED_BODY_BYTES : 0;
    return route->protocol != NULL || config->body_bytes_max < of_json ? config->body_bytes_max
                                                                       : of_json;
}

static void refuse_option(void *context, const char *name, const char *value)
{
    static const struct codec_names none = {NULL, 0};
    struct request *request = context;
    (void)value;
    if (request->err.code != ERR_OK)
        return;
    codec_check_unknown(CODEC_CHECK_QUERY, name, "option", &none, &request->err);
    err_prefix(&request->err,
               request->route->has_body
                   ? "this route takes no options in its query; put them into the JSON body: "
                   : "this route takes no options in its query: ");
}

struct named_options {
    struct request *request;
    const char *names[LIMIT_QUERY_ARGUMENTS];
    size_t count;
};

/* Refuses an option that comes twice: one of its two values would be ignored silently. Only
 * candidate_labels is a list. */
static void refuse_second(void *context, const char *name, const char *value)
{
    struct named_options *options = context;
    const bool is_shown = name[strspn(name, "abcdefghijklmnopqrstuvwxyz_.")] == '\0';
    (void)value;
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->names[i], name) == 0 && strcmp(name, "candidate_labels") != 0)
            err_set(&options->request->err, ERR_UNUSABLE, "?%.32s: this option is there twice",
                    is_shown ? name : "");
    if (options->count < LIMIT_QUERY_ARGUMENTS)
        options->names[options->count++] = name;
}

static enum http_next judge_head(struct service *service, struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    char allow[ROUTES_ALLOW_BYTES], pages[ROUTES_ALLOW_BYTES];
    enum err_code code = find_route(service, request, allow);
    allowed_to_pages(pages, exchange->path);
    if (code == ERR_METHOD && cors_preflight(request, pages))
        return HTTP_REPLY;
    if (code != ERR_OK) { /* a 405 has the Allow header, unless there is no memory for it */
        reply_problem(request);
        exchange->reply.allow =
            allow[0] != '\0' ? arena_copy(&exchange->arena, allow, strlen(allow)) : NULL;
        return HTTP_REPLY;
    }
    const struct route *route = request->route;
    if (route->has_body && !route->is_body_optional && !exchange->has_length) {
        err_set(&request->err, ERR_LENGTH,
                "request head: this POST needs Content-Length or Transfer-Encoding: chunked");
        reply_problem(request);
        exchange->reply.close = true; /* it may still send a body: nothing more is read */
        return HTTP_REPLY;
    }
    exchange->body_bytes_max = body_bytes_max(request);
    if (check_key(service, request))
        return not_authorized(request);
    const bool changes = route_changes_state(route);
    if (changes && guard_check(request))
        return reply_problem(request);
    /* A route that changes something or predicts refuses options that it does not take. A
     * prediction takes them where its body need not be JSON. */
    struct named_options options = {.request = request};
    const bool predicts = route->protocol != NULL;
    const bool has_options = (predicts && route->says.takes == NULL) || route->says.option != NULL;
    if (has_options)
        http_query_each(exchange, refuse_second, &options);
    else if (changes || predicts)
        http_query_each(exchange, refuse_option, request);
    if (request->err.code != ERR_OK || (route->head != NULL && route->head(service, request)))
        return reply_problem(request);
    return HTTP_CONTINUE;
}

static enum http_next app_head(void *context, struct http_exchange *exchange)
{
    struct request *request = open_request(context, exchange);
    enum http_next next = request != NULL ? judge_head(context, request) : HTTP_REPLY;
    if (request != NULL && next == HTTP_REPLY)
        cors_add(request);
    return next;
}

bool routes_work(void *context, struct request *request)
{
    return request->route->work(context, request);
}

static enum http_next app_begin(void *context, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    enum http_next next = request->route->begin(context, request);
    if (next == HTTP_REPLY)
        cors_add(request);
    return next;
}

static void app_finish(void *context, struct http_exchange *exchange)
{
    struct request *request = exchange->state;
    request->route->finish(context, request);
    cors_add(request);
}

static void app_refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    struct service *service = context;
    struct request *request = open_request(service, exchange);
    if (request == NULL)
        return;
    request->err = *err;
    reply_problem(request);
    cors_add(request);
}

/* Offers inputs to those who take copies, since their reply is out; but not under an id that is
 * somebody else's: a copy would be judged, or labelled, as the other's input. */
static void offer_inputs(struct service *service, const struct request *request)
{
    for (unsigned i = 0; service->feedback != NULL && i < request->good_count; i++)
        if (!feedback_is_own(service->feedback, request_reply_id(request),
                             request_index(request, request->good[i]), request->grant.name))
            return;
    shadow_offer(service->shadow, request);
    if (service->review != NULL)
        review_offer(service->review, request);
}

static enum http_next app_more(void *context, struct http_exchange *exchange)
{
    struct service *service = context;
    struct request *request = exchange->state;
    if (request->good_count > 0 && !request_goes_on(request))
        offer_inputs(service, request);
    return request->route->more(service, request);
}

static void app_done(void *context, struct http_exchange *exchange)
{
    struct service *service = context;
    struct request *request = exchange->state;
    if (request == NULL)
        return;
    int route = request->route != NULL ? (int)routes_path_of(request->route) : METRICS_OTHER_ROUTE;
    request_enter(request, REQUEST_DONE);
    stream_drop(service, request);
    records_request(service, request, route);
    if (request->exchange->reply.status == 200 && request->good_count > 0 &&
        request->call.wish != WISH_SIMILAR)
        offer_inputs(service, request);
    repeats_end(service, request);
    explain_release(service, request);
    rows_release_labels(request);
    auth_release(&request->grant);
    snapshots_release(service->snapshots, request->snapshot);
    lines_close(request);
}

struct http_app routes_app(struct service *service)
{
    return (struct http_app){
        .context = service,
        .head = app_head,
        .begin = app_begin,
        .finish = app_finish,
        .more = app_more,
        .refuse = app_refuse,
        .done = app_done,
    };
}
