/* Every allocation of a parse fails in turn. The program has a malloc of its own to that end; under
 * AddressSanitizer, which has one already, only large allocations can be made to fail. */
#include "engine/base/doc.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 4 << 20 };

static const char document[] =
    "{\"text\": \"caf\\u00e9 and some more bytes, so that the lexer's buffer must grow\", "
    "\"list\": [1, 2.5, -3e7, true, null, [], {}, \"\\ud83d\\ude00\", 4, 5, 6, 7, 8, 9, 10], "
    "\"a\": {\"b\": {\"c\": \"d\"}}, \"e\": 1, \"f\": 2, \"g\": 3, \"h\": 4, \"i\": 5, \"j\": 6}";

static enum err_code parse(const char *bytes, size_t len, struct json_t **out)
{
    struct err err = {0};
    return doc_parse(out, bytes, len, &doc_limits_file, &err);
}

#ifdef __SANITIZE_ADDRESS__

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=4";
}

static void large_fail(bool fail)
{
    (void)fail;
}

#else

void *__libc_malloc(size_t bytes);
void __libc_free(void *block);

/* Counts of this thread. */
static _Thread_local bool counting;
static _Thread_local unsigned allowed; /* allocations that succeed before all others fail */
static _Thread_local long live;
static _Thread_local size_t bytes_max = SIZE_MAX;

void *malloc(size_t bytes)
{
    if (bytes > bytes_max || (counting && allowed == 0))
        return NULL;
    if (counting)
        allowed--;
    void *block = __libc_malloc(bytes);
    live += counting && block != NULL;
    return block;
}

void free(void *block)
{
    live -= counting && block != NULL;
    __libc_free(block);
}

static void large_fail(bool fail)
{
    bytes_max = fail ? LARGE_BYTES : SIZE_MAX;
}

START_TEST(parse_frees_everything_whichever_allocation_fails)
{
    unsigned failures = 0;
    enum err_code code = ERR_NO_MEMORY;
    for (; code != ERR_OK; failures++) {
        struct json_t *root;
        ck_assert_uint_lt(failures, 1000);
        live = 0;
        allowed = failures;
        counting = true;
        code = parse(document, sizeof document - 1, &root);
        doc_free(root);
        counting = false;
        ck_assert_int_eq(live, 0);
        ck_assert(code == ERR_OK || code == ERR_NO_MEMORY);
    }
    ck_assert_uint_gt(failures, 50);
}
END_TEST

#endif

/* {"text": "aaa..."}, longer than what one allocation may be. */
static char *long_document(size_t *len)
{
    static const char head[] = "{\"text\": \"\\n";
    *len = LARGE_BYTES - 4096;
    char *text = malloc(*len);
    memset(text, 'a', *len);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + *len - 2, "\"}", 2);
    return text;
}

/* Many threads, because each has a parse of its own to leave. */
static void *parse_long(void *context)
{
    size_t *failures = context, len;
    struct json_t *root;
    char *text = long_document(&len);
    large_fail(true);
    for (int i = 0; i < 20; i++) {
        *failures += parse(text, len, &root) == ERR_NO_MEMORY && root == NULL;
        if (parse(document, sizeof document - 1, &root) != ERR_OK)
            *failures = 1000;
        doc_free(root);
    }
    large_fail(false);
    free(text);
    return NULL;
}

START_TEST(parse_of_a_long_string_is_refused_when_the_buffer_cannot_grow)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t failures[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, parse_long, &failures[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(failures[i], 20);
    }
}
END_TEST

#ifdef __SANITIZE_ADDRESS__
SUITE("doc_load", parse_of_a_long_string_is_refused_when_the_buffer_cannot_grow)
#else
SUITE("doc_load", parse_frees_everything_whichever_allocation_fails,
      parse_of_a_long_string_is_refused_when_the_buffer_cannot_grow)
#endif
