#include "server/bounds/memory.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A pool of 800 bytes, 100 of them for small requests. */
static void open_pool(struct memory *memory)
{
    memory_init(memory, 1000, 200, 0);
    ck_assert_uint_eq(memory->pool_bytes, 800);
    ck_assert_uint_eq(memory->small_bytes, 100);
}

START_TEST(memory_gives_what_is_left_beside_the_fixed_part)
{
    struct memory memory;
    struct err err = {0};
    open_pool(&memory);
    ck_assert_int_eq(memory_take(&memory, 800, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 800);
    memory_give(&memory, 800);
    ck_assert_uint_eq(memory_taken(&memory), 0);
}
END_TEST

START_TEST(memory_refuses_for_now_what_others_hold)
{
    struct memory memory;
    struct err err = {0};
    open_pool(&memory);
    ck_assert_int_eq(memory_take(&memory, 400, MEMORY_LARGE, &err), ERR_OK);
    ck_assert_int_eq(memory_take(&memory, 301, MEMORY_LARGE, &err), ERR_QUEUE_FULL);
    ck_assert_ptr_nonnull(strstr(err.text, "301 more bytes"));
    ck_assert_ptr_nonnull(strstr(err.text, "memory_max is 1000"));
    ck_assert_uint_eq(memory_taken(&memory), 400);
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, 300, MEMORY_LARGE, &err), ERR_OK);
}
END_TEST

START_TEST(memory_refuses_for_good_what_is_too_large_even_alone)
{
    struct memory memory;
    struct err err = {0};
    open_pool(&memory);
    ck_assert_int_eq(memory_take(&memory, 701, MEMORY_LARGE, &err), ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.text, "needs 701 bytes"));
    ck_assert_ptr_nonnull(strstr(err.text, "memory_max is 1000"));
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, SIZE_MAX, MEMORY_SMALL, &err), ERR_TOO_LARGE);
    ck_assert_uint_eq(memory_taken(&memory), 0);
}
END_TEST

/* Memory that a request holds already counts against it, though it is taken once. */
START_TEST(memory_judges_a_request_by_all_that_it_holds)
{
    struct memory memory;
    struct err err = {0};
    open_pool(&memory);
    ck_assert_int_eq(memory_take(&memory, 600, MEMORY_LARGE, &err), ERR_OK);
    ck_assert_int_eq(memory_take_more(&memory, 600, 101, MEMORY_LARGE, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(memory_take_more(&memory, 600, 100, MEMORY_LARGE, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 700);
}
END_TEST

START_TEST(memory_keeps_a_part_for_small_requests)
{
    struct memory memory;
    struct err err = {0};
    open_pool(&memory);
    ck_assert_int_eq(memory_take(&memory, 700, MEMORY_LARGE, &err), ERR_OK);
    ck_assert_int_eq(memory_take(&memory, 1, MEMORY_LARGE, &err), ERR_QUEUE_FULL);
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, 100, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_int_eq(memory_take(&memory, 1, MEMORY_SMALL, &err), ERR_QUEUE_FULL);
}
END_TEST

START_TEST(memory_has_no_pool_where_the_fixed_part_takes_all)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 100, 100, 0);
    ck_assert_int_eq(memory_take(&memory, 1, MEMORY_SMALL, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    memory_init(&memory, 100, 101, 0);
    ck_assert_int_eq(memory_take(&memory, 1, MEMORY_SMALL, &err), ERR_TOO_LARGE);
}
END_TEST

START_TEST(memory_counts_too_much_as_too_much)
{
    ck_assert_uint_eq(memory_sum(2, 3), 5);
    ck_assert_uint_eq(memory_sum(SIZE_MAX - 1, 2), SIZE_MAX);
    ck_assert_uint_eq(memory_product(2, 3), 6);
    ck_assert_uint_eq(memory_product(0, SIZE_MAX), 0);
    ck_assert_uint_eq(memory_product(SIZE_MAX / 2, 3), SIZE_MAX);
}
END_TEST

enum { TURNS = 20000 };

static void *take_and_give(void *context)
{
    struct memory *memory = context;
    size_t *over = calloc(1, sizeof *over);
    for (size_t i = 0; over != NULL && i < TURNS; i++) {
        struct err err = {0};
        size_t bytes = 100 + i % 300;
        if (memory_take(memory, bytes, MEMORY_SMALL, &err))
            continue;
        *over += memory_taken(memory) > memory->pool_bytes;
        memory_give(memory, bytes);
    }
    return over;
}

START_TEST(memory_is_never_above_its_pool_whoever_takes_at_once)
{
    struct memory memory;
    pthread_t threads[4];
    open_pool(&memory);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, &memory), 0);
    for (int i = 0; i < 4; i++) {
        void *over;
        pthread_join(threads[i], &over);
        ck_assert_ptr_nonnull(over);
        ck_assert_uint_eq(*(size_t *)over, 0);
        free(over);
    }
    ck_assert_uint_eq(memory_taken(&memory), 0);
}
END_TEST

/* ---- models ---- */

enum { MIB = 1024 * 1024 };

START_TEST(memory_counts_the_first_models_as_held)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 1000, 500, 300);
    ck_assert_uint_eq(memory_taken(&memory), 0); /* requests have none of it */
    ck_assert_uint_eq(memory.small_bytes, 500 / 8);
    ck_assert_int_eq(memory_take(&memory, 501, MEMORY_SMALL, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, 500, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 500);
    ck_assert_int_eq(memory_take(&memory, 1, MEMORY_SMALL, &err), ERR_QUEUE_FULL);
    memory_release(&memory, 300); /* a model goes, and requests have its part */
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, 300, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 800);
}
END_TEST

START_TEST(memory_leaves_requests_their_part_when_a_model_comes)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 20 * MIB, 0, 0);
    ck_assert_int_eq(memory_hold(&memory, 20 * MIB - MEMORY_REQUESTS_MIN + 1, &err), ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.text, "the model needs 12582913 bytes"));
    ck_assert_ptr_nonnull(strstr(err.text, "(20971520)"));
    ck_assert_uint_eq(atomic_load(&memory.held), 0);
    ck_assert_uint_eq(atomic_load(&memory.taken), 0);
    err = (struct err){0};
    ck_assert_int_eq(memory_hold(&memory, 20 * MIB - MEMORY_REQUESTS_MIN, &err), ERR_OK);
    ck_assert_int_eq(memory_hold(&memory, 1, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, MEMORY_REQUESTS_MIN, MEMORY_SMALL, &err), ERR_OK);
    memory_give(&memory, MEMORY_REQUESTS_MIN);
    memory_release(&memory, 20 * MIB - MEMORY_REQUESTS_MIN);
    ck_assert_uint_eq(atomic_load(&memory.held), 0);
    ck_assert_int_eq(memory_take(&memory, 20 * MIB, MEMORY_SMALL, &err), ERR_OK);
}
END_TEST

/* A model that would fit alone does not beside what requests have. */
START_TEST(memory_gives_a_model_nothing_that_requests_hold)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 20 * MIB, 0, 0);
    ck_assert_int_eq(memory_take(&memory, 10 * MIB, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_int_eq(memory_hold(&memory, 2 * MIB + 1, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(memory_hold(&memory, 2 * MIB, &err), ERR_OK);
    ck_assert_uint_eq(memory_taken(&memory), 10 * MIB);
}
END_TEST

START_TEST(memory_of_less_than_requests_need_has_none_for_a_model)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, MEMORY_REQUESTS_MIN, 0, 0);
    ck_assert_int_eq(memory_hold(&memory, 1, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    memory_init(&memory, MEMORY_REQUESTS_MIN - 1, 0, 0);
    ck_assert_int_eq(memory_hold(&memory, 1, &err), ERR_TOO_LARGE);
}
END_TEST

/* The most that a request may have alone is what the models leave, not the whole. */
START_TEST(memory_refuses_for_good_what_models_leave_no_room_for)
{
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 20 * MIB, 0, 0);
    ck_assert_int_eq(memory_hold(&memory, 10 * MIB, &err), ERR_OK);
    ck_assert_int_eq(memory_take(&memory, 10 * MIB + 1, MEMORY_SMALL, &err), ERR_TOO_LARGE);
    err = (struct err){0};
    ck_assert_int_eq(memory_take(&memory, 10 * MIB, MEMORY_SMALL, &err), ERR_OK);
    memory_give(&memory, 10 * MIB);
    memory_release(&memory, 10 * MIB);
    ck_assert_int_eq(memory_take(&memory, 10 * MIB + 1, MEMORY_SMALL, &err), ERR_OK);
}
END_TEST

static void *hold_and_release(void *context)
{
    struct memory *memory = context;
    size_t *over = calloc(1, sizeof *over);
    for (size_t i = 0; over != NULL && i < TURNS; i++) {
        struct err err = {0};
        size_t bytes = 1 + i % (2 * MIB);
        bool is_model = i % 2 == 0;
        if (is_model ? memory_hold(memory, bytes, &err)
                     : memory_take(memory, bytes, MEMORY_SMALL, &err))
            continue;
        *over += atomic_load(&memory->taken) > memory->pool_bytes;
        *over += atomic_load(&memory->held) > memory->pool_bytes - MEMORY_REQUESTS_MIN;
        if (is_model)
            memory_release(memory, bytes);
        else
            memory_give(memory, bytes);
    }
    return over;
}

START_TEST(memory_keeps_both_bounds_whoever_holds_and_takes_at_once)
{
    struct memory memory;
    pthread_t threads[4];
    memory_init(&memory, MEMORY_REQUESTS_MIN + 10000, 0, 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hold_and_release, &memory), 0);
    for (int i = 0; i < 4; i++) {
        void *over;
        pthread_join(threads[i], &over);
        ck_assert_ptr_nonnull(over);
        ck_assert_uint_eq(*(size_t *)over, 0);
        free(over);
    }
    ck_assert_uint_eq(atomic_load(&memory.taken), 0);
    ck_assert_uint_eq(atomic_load(&memory.held), 0);
}
END_TEST

SUITE("memory", memory_gives_what_is_left_beside_the_fixed_part,
      memory_refuses_for_now_what_others_hold, memory_refuses_for_good_what_is_too_large_even_alone,
      memory_judges_a_request_by_all_that_it_holds, memory_keeps_a_part_for_small_requests,
      memory_has_no_pool_where_the_fixed_part_takes_all, memory_counts_too_much_as_too_much,
      memory_is_never_above_its_pool_whoever_takes_at_once, memory_counts_the_first_models_as_held,
      memory_leaves_requests_their_part_when_a_model_comes,
      memory_gives_a_model_nothing_that_requests_hold,
      memory_of_less_than_requests_need_has_none_for_a_model,
      memory_refuses_for_good_what_models_leave_no_room_for,
      memory_keeps_both_bounds_whoever_holds_and_takes_at_once)
