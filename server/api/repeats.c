/* repeats.c - see repeats.h. A kept answer is the fingerprint of its request, its content type, its
 * id, names and values of further headers and an empty name, each ended by a zero byte, and its
 * body. Requests that are being answered are linked; the list is as long as there are such requests
 * at once. */
#include "server/api/repeats.h"

#include "engine/base/clock.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/audit/audit_record.h"
#include "server/cache/store.h"
#include "server/observe/metrics_text.h"
#include "server/serve/claim.h"
#include "wire/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_MAX = 16 }; /* further headers; a reply with more of them is not kept */

struct repeats {
    struct store *store;
    pthread_mutex_t lock;
    struct repeat *first; /* under lock */
};

/* A request with a key, in its arena. */
struct repeat {
    struct repeat *before, *next; /* of those that are being answered */
    const char *text;             /* the client's key */
    char key[SHA256_HEX_BYTES], fingerprint[SHA256_HEX_BYTES];
    bool is_linked;
    const char *type, *id, *body; /* the answer of the first; NULL: this is the first */
    size_t body_len;
    struct http_field more[MORE_MAX + 2]; /* its headers, Idempotent-Replayed, and the end */
};

enum err_code repeats_open(struct repeats **out, size_t bytes_max, unsigned life_s,
                           struct memory *memory, struct err *err)
{
    struct repeats *repeats = calloc(1, sizeof *repeats);
    *out = NULL;
    if (repeats == NULL)
        return err_no_memory(err, sizeof *repeats);
    if (store_open(&repeats->store, bytes_max, life_s * 1000 * (uint64_t)CLOCK_NS_PER_MS, memory,
                   err)) {
        free(repeats);
        return err->code;
    }
    pthread_mutex_init(&repeats->lock, NULL);
    *out = repeats;
    return ERR_OK;
}

void repeats_close(struct repeats *repeats)
{
    if (repeats == NULL)
        return;
    store_close(repeats->store);
    pthread_mutex_destroy(&repeats->lock);
    free(repeats);
}

/* ---- the key and what was asked with it ---- */

enum err_code repeats_head(struct service *service, struct request *request)
{
    const char *text = http_header(request->exchange, "Idempotency-Key");
    if (service->repeats == NULL || text == NULL)
        return ERR_OK;
    if (!request_id_is_plain(text))
        return err_set(&request->err, ERR_UNUSABLE,
                       "Idempotency-Key: expected 1 to %d characters of ASCII without a blank",
                       LIMIT_ID_BYTES);
    if (request->body == REQUEST_LINES)
        return err_set(&request->err, ERR_UNUSABLE,
                       "Idempotency-Key: the answers of a body of lines are not kept");
    struct arena *arena = &request->exchange->arena;
    request->repeat = arena_alloc_array(arena, 1, sizeof *request->repeat);
    if (request->repeat == NULL ||
        (request->repeat->text = arena_copy(arena, text, strlen(text))) == NULL)
        return err_no_memory(&request->err, sizeof *request->repeat);
    return ERR_OK;
}

static void add_text(struct sha256_pieces *pieces, const char *text)
{
    store_key_add(pieces, text, text != NULL ? strlen(text) : 0);
}

static void add_option(void *context, const char *name, const char *value)
{
    add_text(context, name);
    add_text(context, value);
}

static void make_keys(const struct repeats *repeats, const struct request *request)
{
    static const char *const headers[] = {"Content-Type", "Content-Encoding", "Accept"};
    const struct http_exchange *exchange = request->exchange;
    struct repeat *repeat = request->repeat;
    struct sha256_pieces pieces;
    store_key_begin(repeats->store, &pieces);
    add_text(&pieces, request->grant.name);
    add_text(&pieces, exchange->path);
    add_text(&pieces, repeat->text);
    sha256_pieces_end(&pieces, repeat->key);
    store_key_begin(repeats->store, &pieces);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        add_text(&pieces, http_header(exchange, headers[i]));
    http_query_each(exchange, add_option, &pieces);
    store_key_add(&pieces, exchange->body, exchange->body_len);
    sha256_pieces_end(&pieces, repeat->fingerprint);
}

/* ---- the first, and its repeats ---- */

static enum err_code refuse_other(struct request *request)
{
    return err_set(&request->err, ERR_UNUSABLE,
                   "Idempotency-Key: it was used for another request; the same key goes with the "
                   "same body, options and types");
}

/* ERR_CONFLICT if one with this key is being answered. */
static enum err_code enter(struct repeats *repeats, struct request *request)
{
    struct repeat *repeat = request->repeat;
    pthread_mutex_lock(&repeats->lock);
    const struct repeat *other = repeats->first;
    while (other != NULL && strcmp(other->key, repeat->key) != 0)
        other = other->next;
    const bool is_same = other != NULL && strcmp(other->fingerprint, repeat->fingerprint) == 0;
    if (other == NULL) {
        repeat->next = repeats->first;
        if (repeat->next != NULL)
            repeat->next->before = repeat;
        repeats->first = repeat;
        repeat->is_linked = true;
    }
    pthread_mutex_unlock(&repeats->lock);
    if (other == NULL)
        return ERR_OK;
    if (!is_same)
        return refuse_other(request);
    request->retry_after_s = LIMIT_RETRY_AFTER_S;
    return err_set(&request->err, ERR_CONFLICT,
                   "Idempotency-Key: the first request with this key is being answered");
}

/* The answer of the first, copied into the request's memory. */
static enum err_code read_entry(struct service *service, struct request *request,
                                const struct store_entry *entry)
{
    struct repeat *repeat = request->repeat;
    if (memcmp(entry->bytes, repeat->fingerprint, SHA256_HEX_BYTES) != 0)
        return refuse_other(request);
    if (claim_reply(service, request, entry->len))
        return request->err.code;
    const char *copy = arena_copy(&request->exchange->arena, entry->bytes, entry->len);
    if (copy == NULL)
        return err_no_memory(&request->err, entry->len);
    repeat->type = copy + SHA256_HEX_BYTES;
    repeat->id = repeat->type + strlen(repeat->type) + 1;
    const char *at = repeat->id + strlen(repeat->id) + 1;
    unsigned count = 0;
    for (; *at != '\0'; count++) {
        const char *value = at + strlen(at) + 1;
        repeat->more[count] = (struct http_field){at, value};
        at = value + strlen(value) + 1;
    }
    repeat->more[count] = (struct http_field){"Idempotent-Replayed", "true"};
    repeat->body = at + 1;
    repeat->body_len = entry->len - (size_t)(repeat->body - copy);
    return ERR_OK;
}

enum err_code repeats_begin(struct service *service, struct request *request)
{
    struct repeats *repeats = service->repeats;
    struct repeat *repeat = request->repeat;
    if (repeat == NULL)
        return ERR_OK;
    make_keys(repeats, request);
    if (enter(repeats, request))
        return request->err.code;
    const struct store_entry *entry = store_find(repeats->store, repeat->key, clock_now_ns());
    if (entry == NULL)
        return ERR_OK;
    read_entry(service, request, entry);
    store_release(repeats->store, entry);
    repeats_end(service, request);
    return request->err.code;
}

bool repeats_has_reply(const struct request *request)
{
    return request->repeat != NULL && request->repeat->body != NULL;
}

enum err_code repeats_reply(struct service *service, struct request *request)
{
    const struct repeat *repeat = request->repeat;
    const struct audit_repeat line = {
        .id = repeat->id, .key = request->grant.name, .idempotency_key = repeat->text};
    if (service->audit != NULL && audit_repeat(service->audit, &line, &request->err))
        return request->err.code;
    reply_fill(request, 200, repeat->type, repeat->body, repeat->body_len);
    request->exchange->reply.request_id = repeat->id;
    request->exchange->reply.more = repeat->more;
    return ERR_OK;
}

void repeats_keep(struct service *service, const struct request *request)
{
    const struct http_reply *reply = &request->exchange->reply;
    const struct repeat *repeat = request->repeat;
    if (repeat == NULL)
        return;
    const char *id = reply->request_id != NULL ? reply->request_id : "";
    struct store_part parts[3 + 2 * MORE_MAX + 2] = {
        {repeat->fingerprint, SHA256_HEX_BYTES},
        {reply->content_type, strlen(reply->content_type) + 1},
        {id, strlen(id) + 1}};
    unsigned count = 3;
    for (const struct http_field *more = reply->more; more != NULL && more->name != NULL; more++) {
        if (count == 3 + 2 * MORE_MAX)
            return;
        parts[count++] = (struct store_part){more->name, strlen(more->name) + 1};
        parts[count++] = (struct store_part){more->value, strlen(more->value) + 1};
    }
    parts[count++] = (struct store_part){"", 1};
    parts[count++] = (struct store_part){reply->body, reply->body_len};
    store_keep(service->repeats->store, repeat->key, parts, count, clock_now_ns());
}

void repeats_end(struct service *service, struct request *request)
{
    struct repeats *repeats = service->repeats;
    struct repeat *repeat = request->repeat;
    if (repeat == NULL || !repeat->is_linked)
        return;
    pthread_mutex_lock(&repeats->lock);
    *(repeat->before != NULL ? &repeat->before->next : &repeats->first) = repeat->next;
    if (repeat->next != NULL)
        repeat->next->before = repeat->before;
    pthread_mutex_unlock(&repeats->lock);
    repeat->is_linked = false;
}

/* ---- metrics ---- */

static void collect(void *context, enum metric_id id, struct metrics_text *out)
{
    static const char *const names[] = {"answers", "idempotency"};
    const struct service *service = context;
    struct store *const stores[] = {service->answers,
                                    service->repeats != NULL ? service->repeats->store : NULL};
    uint64_t numbers[2] = {0};
    for (int i = 0; i < 2; i++) {
        if (stores[i] == NULL)
            continue;
        const struct store_figures figures = store_figures(stores[i]);
        numbers[i] = id == METRIC_CACHE_HITS     ? figures.hits
                     : id == METRIC_CACHE_MISSES ? figures.misses
                     : id == METRIC_CACHE_BYTES  ? figures.bytes
                                                 : figures.evictions;
    }
    metrics_text_values(out, id, names, numbers, 2);
}

void repeats_register(struct service *service)
{
    static const enum metric_id ids[] = {METRIC_CACHE_HITS, METRIC_CACHE_MISSES,
                                         METRIC_CACHE_EVICTIONS, METRIC_CACHE_BYTES};
    metrics_register(service->metrics, ids, sizeof ids / sizeof *ids,
                     (struct metrics_collector){.context = service, .collect = collect});
}
