/* Memory that requests claim, between a fake edge and a fake engine. stage_close finds claims that
 * were not given back. */
#include "server/serve/claim.h"

#include "engine/base/doc.h"
#include "tests/unit/server/stage.h"
#include "wire/codec.h"
#include "wire/limits.h"

#include <malloc.h>

/* Bytes of a request that is nothing but heavy: the fake image declares its pixels, and its engine
 * takes a byte for each while it prepares. */
#define HEAVY_IMAGE "600000..."
enum { HEAVY_PIXELS = 600000 };

static void limit_memory(struct stage *stage, size_t pool_bytes)
{
    memory_init(&stage->service.memory, pool_bytes, 0, 0);
    stage->service.memory.small_bytes = 0;
}

static unsigned post_image(struct stage *stage, struct http_exchange *exchange)
{
    fake_headers = (const struct fake_header[]){{"Content-Type", "image/png"}, {NULL, NULL}};
    unsigned status = call(stage, exchange, HEAVY_IMAGE);
    fake_headers = NULL;
    return status;
}

START_TEST(claim_refuses_for_good_what_is_never_free)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    limit_memory(&stage, HEAVY_PIXELS);
    ck_assert_uint_eq(post_image(&stage, &exchange), 413);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "memory_max"));
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "too_large"));
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(claim_refuses_for_now_what_others_hold)
{
    struct stage stage;
    struct http_exchange exchange;
    struct err err = {0};
    stage_open(&stage, 1);
    limit_memory(&stage, 2 * HEAVY_PIXELS);
    ck_assert_int_eq(memory_take(&stage.service.memory, HEAVY_PIXELS, MEMORY_LARGE, &err), ERR_OK);
    ck_assert_uint_eq(post_image(&stage, &exchange), 429);
    ck_assert_uint_ge(exchange.reply.retry_after_s, 1);
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, "memory_max"));
    exchange_done(&stage, &exchange);
    memory_give(&stage.service.memory, HEAVY_PIXELS);
    ck_assert_uint_eq(post_image(&stage, &exchange), 200);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(claim_gives_back_what_passed_before_the_queue)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    ck_assert_uint_eq(post_image(&stage, &exchange), 200);
    ck_assert_uint_gt(exchange.memory_bytes, 0);
    ck_assert_uint_lt(exchange.memory_bytes, HEAVY_PIXELS);
    ck_assert_uint_eq(memory_taken(&stage.service.memory), exchange.memory_bytes);
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(claim_is_given_back_when_the_client_leaves)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    atomic_store(&fake_client_gone, true);
    ck_assert_uint_ne(post_image(&stage, &exchange), 200);
    exchange_done(&stage, &exchange);
    atomic_store(&fake_client_gone, false);
    stage_close(&stage);
}
END_TEST

START_TEST(claim_lets_small_requests_pass_while_large_ones_hold_the_rest)
{
    struct stage stage;
    struct http_exchange exchange;
    struct err err = {0};
    stage_open(&stage, 1);
    limit_memory(&stage, 4 * HEAVY_PIXELS);
    stage.service.memory.small_bytes = HEAVY_PIXELS;
    ck_assert_int_eq(memory_take(&stage.service.memory, 3 * HEAVY_PIXELS, MEMORY_LARGE, &err),
                     ERR_OK);
    ck_assert_uint_eq(post_image(&stage, &exchange), 429);
    exchange_done(&stage, &exchange);
    check_call(&stage, "{\"text\": \"a\"}", 200, "label");
    memory_give(&stage.service.memory, 3 * HEAVY_PIXELS);
    stage_close(&stage);
}
END_TEST

START_TEST(claim_counts_what_an_explanation_keeps)
{
    struct stage stage;
    struct http_exchange plain, explained;
    stage_open(&stage, 1);
    ck_assert_uint_eq(call(&stage, &plain, "{\"text\": \"abc\"}"), 200);
    size_t without = plain.memory_bytes;
    exchange_done(&stage, &plain);
    ck_assert_uint_eq(call(&stage, &explained, "{\"text\": \"abc\", \"explain\": true}"), 200);
    ck_assert_uint_ge(explained.memory_bytes, without + FAKE_CAPTURE_BYTES);
    exchange_done(&stage, &explained);
    stage_close(&stage);
}
END_TEST

/* ---- the bound of a JSON body against what its tree took ---- */

static size_t heap_bytes(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static char *repeated(const char *head, const char *unit, size_t count, const char *tail)
{
    size_t unit_len = strlen(unit);
    char *text = malloc(strlen(head) + count * unit_len + strlen(tail) + 1), *to = text;
    ck_assert_ptr_nonnull(text);
    to = stpcpy(to, head);
    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, unit);
    strcpy(to, tail);
    return text;
}

START_TEST(claim_of_a_json_body_bounds_its_tree)
{
    static const char *const units[] = {"[],",        "{},",     "\"\",",       "0,",
                                        "{\"a\":1},", "[[[]]],", "\"\\u00e4\","};
    const struct codec_limits limits = {.inputs_max = 64};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char *text = repeated("[", units[i], 600, "0]");
        struct json_t *tree;
        struct err err = {0};
        size_t before = heap_bytes();
        ck_assert_msg(doc_parse(&tree, text, strlen(text), &doc_limits_request, &err) == ERR_OK,
                      "%s", err.text);
        size_t taken = heap_bytes() - before;
        size_t told = codec_parse_bytes(strlen(text), &limits);
        doc_free(tree);
        ck_assert_msg(taken <= told, "%s: %zu told, %zu taken", units[i], told, taken);
        free(text);
    }
}
END_TEST

SUITE("claim", claim_refuses_for_good_what_is_never_free, claim_refuses_for_now_what_others_hold,
      claim_gives_back_what_passed_before_the_queue, claim_is_given_back_when_the_client_leaves,
      claim_lets_small_requests_pass_while_large_ones_hold_the_rest,
      claim_counts_what_an_explanation_keeps, claim_of_a_json_body_bounds_its_tree)
