/* The arguments of a request target: written again, every byte escaped, they read the same. */

#include "server/http/framing.h"
#include "tests/fuzz/driver/fuzz.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes written to out, which has room. */
static size_t escape(char *out, const char *text)
{
    size_t len = 0;
    for (; *text != '\0'; text++)
        len += (size_t)snprintf(out + len, 4, "%%%02X", (unsigned)(unsigned char)*text);
    return len;
}

/* A target with these arguments; to be freed. */
static char *write_target(const struct query *query, size_t len)
{
    char *target = malloc(3 * len + 3), *at = target;
    FUZZ_CLAIM(target != NULL);
    *at++ = '/';
    *at++ = '?';
    for (size_t i = 0; i < query->count; i++) {
        at += escape(at, query->arguments[i].name);
        if (query->arguments[i].value != NULL) {
            *at++ = '=';
            at += escape(at, query->arguments[i].value);
        }
        *at++ = '&'; /* the last one begins no argument */
    }
    *at = '\0';
    return target;
}

static void check_again(const struct query *query, const char *target, struct arena *arena)
{
    struct query again;
    struct err err = {0};
    FUZZ_CLAIM(query_parse(&again, target, arena, &err) == ERR_OK);
    FUZZ_CLAIM(again.count == query->count);
    for (size_t i = 0; i < query->count; i++) {
        const struct query_argument *a = &query->arguments[i], *b = &again.arguments[i];
        FUZZ_CLAIM(strcmp(a->name, b->name) == 0 && (a->value == NULL) == (b->value == NULL));
        FUZZ_CLAIM(a->value == NULL || strcmp(a->value, b->value) == 0);
    }
}

static void check_target(const char *target, struct arena *arena)
{
    struct query query;
    struct err err = {0};
    if (query_parse(&query, target, arena, &err) == ERR_OK) {
        FUZZ_CLAIM(query.count <= LIMIT_QUERY_ARGUMENTS);
        char *again = write_target(&query, strlen(target));
        check_again(&query, again, arena);
        free(again);
    }
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_TOO_LARGE);
    fuzz_check_err(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *target = fuzz_part(&input, '\0', NULL), *path = malloc(strlen(target) + 1);
    struct arena arena;
    struct err err = {0};
    FUZZ_CLAIM(path != NULL);
    arena_init(&arena);
    if (framing_path(path, "GET", target, &err) == ERR_OK)
        check_target(target, &arena);
    arena_deinit(&arena);
    free(path);
    free(target);
    return 0;
}
