/* The places where requests wait to be sent. */
#include "server/otlp/otlp_spans.h"

#include "tests/support/suite.h"

#include <pthread.h>

static struct otlp_ring *opened(void)
{
    struct otlp_ring *ring;
    struct err err = {0};
    ck_assert_int_eq(otlp_ring_open(&ring, &err), ERR_OK);
    return ring;
}

static bool put(struct otlp_ring *ring, unsigned number)
{
    const struct otlp_entry entry = {.inputs = number};
    return otlp_ring_put(ring, &entry);
}

START_TEST(entries_come_out_in_the_order_in_which_they_went_in)
{
    struct otlp_ring *ring = opened();
    unsigned in = 0, out = 0;
    /* around its end, too */
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < OTLP_RING_ENTRIES - 300; i++)
            ck_assert(put(ring, in++));
        unsigned count = otlp_ring_await(ring, 1, 1);
        ck_assert_uint_eq(count, OTLP_RING_ENTRIES - 300);
        for (unsigned i = 0; i < count; i++)
            ck_assert_uint_eq(otlp_ring_at(ring, i)->inputs, out++);
        otlp_ring_remove(ring, count);
    }
    ck_assert_uint_eq(out, in);
    otlp_ring_free(ring);
}
END_TEST

START_TEST(a_full_ring_takes_no_more_until_some_are_removed)
{
    struct otlp_ring *ring = opened();
    for (unsigned i = 0; i < OTLP_RING_ENTRIES; i++)
        ck_assert(put(ring, i));
    ck_assert(!put(ring, 7777));
    ck_assert_uint_eq(otlp_ring_at(ring, 0)->inputs, 0);
    otlp_ring_remove(ring, 2);
    ck_assert(put(ring, 1));
    ck_assert(put(ring, 2));
    ck_assert(!put(ring, 3));
    ck_assert_uint_eq(otlp_ring_at(ring, 0)->inputs, 2);
    ck_assert_uint_eq(otlp_ring_at(ring, OTLP_RING_ENTRIES - 1)->inputs, 2);
    otlp_ring_free(ring);
}
END_TEST

START_TEST(a_closed_ring_gives_what_it_has_and_does_not_wait)
{
    struct otlp_ring *ring = opened();
    put(ring, 1);
    otlp_ring_close(ring);
    ck_assert_uint_eq(otlp_ring_await(ring, 100, 3600 * 1000), 1);
    ck_assert(!otlp_ring_rest(ring, 3600 * 1000));
    otlp_ring_remove(ring, 1);
    ck_assert_uint_eq(otlp_ring_await(ring, 100, 3600 * 1000), 0);
    otlp_ring_free(ring);
}
END_TEST

START_TEST(a_rest_ends_by_itself)
{
    struct otlp_ring *ring = opened();
    ck_assert(otlp_ring_rest(ring, 1));
    otlp_ring_free(ring);
}
END_TEST

enum { PUTS = 20000, THREADS = 3 };

static void *put_many(void *ring)
{
    for (unsigned i = 0; i < PUTS; i++)
        while (!put(ring, i))
            sched_yield();
    return NULL;
}

/* Each thread's in its order; a reader that keeps entries while others are put. */
START_TEST(nothing_is_lost_or_doubled_between_threads)
{
    struct otlp_ring *ring = opened();
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_many, ring), 0);
    for (unsigned taken = 0; taken < PUTS * THREADS;) {
        unsigned count = otlp_ring_await(ring, 73, 1);
        for (unsigned i = 0; i < count; i++)
            sum += otlp_ring_at(ring, i)->inputs;
        otlp_ring_remove(ring, count);
        taken += count;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(sum, (uint64_t)THREADS * PUTS * (PUTS - 1) / 2);
    otlp_ring_close(ring);
    ck_assert_uint_eq(otlp_ring_await(ring, 1, 1), 0);
    otlp_ring_free(ring);
}
END_TEST

SUITE("otlp_ring", entries_come_out_in_the_order_in_which_they_went_in,
      a_full_ring_takes_no_more_until_some_are_removed,
      a_closed_ring_gives_what_it_has_and_does_not_wait, a_rest_ends_by_itself,
      nothing_is_lost_or_doubled_between_threads)
