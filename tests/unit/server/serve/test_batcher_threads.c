/* The queue between many threads: rows are made here, no engine and no sockets. */
#include "engine/base/clock.h"
#include "server/serve/batcher.h"
#include "server/serve/served_model.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static struct served_model models[2] = {
    {.name = "text", .batch_tokens = 100},
    {.name = "image", .batch_tokens = 100},
};

static struct row make_row(unsigned model, unsigned tokens, uint64_t deadline_ns)
{
    return (struct row){
        .model = &models[model], .input = {.tokens = tokens}, .deadline_ns = deadline_ns};
}

static struct batcher *open_batcher(unsigned limit)
{
    struct err err = {0};
    struct batcher *batcher;
    ck_assert_int_eq(batcher_open(&batcher, limit, &err), ERR_OK);
    return batcher;
}

static struct batch open_batch(void)
{
    struct err err = {0};
    struct batch batch;
    ck_assert_int_eq(batch_init(&batch, 100, &err), ERR_OK);
    return batch;
}

static uint64_t in_ms(unsigned ms)
{
    return clock_now_ns() + (uint64_t)ms * CLOCK_NS_PER_MS;
}

/* Many submitters and takers; every row must come out exactly once. */
enum { SUBMITTERS = 4, TAKERS = 3, ROWS_EACH = 3000, LIMIT = 64 };

struct crowd {
    struct batcher *batcher;
    struct row rows[SUBMITTERS][ROWS_EACH];
    atomic_uint seen[SUBMITTERS][ROWS_EACH];
};

struct submitter {
    struct crowd *crowd;
    unsigned index;
};

static void *submit_main(void *context)
{
    struct submitter *self = context;
    struct row *rows = self->crowd->rows[self->index];
    for (unsigned i = 0; i < ROWS_EACH;) {
        struct err err = {0};
        unsigned count = 1 + i % 5 < ROWS_EACH - i ? 1 + i % 5 : ROWS_EACH - i;
        if (batcher_reserve(self->crowd->batcher, count, &err)) {
            sched_yield();
            continue;
        }
        struct row *group[5];
        for (unsigned k = 0; k < count; k++) {
            unsigned at = i + k;
            rows[at] = make_row(at % 2, 1 + at % 60, at % 7 == 0 ? in_ms(at % 3) : 0);
            group[k] = &rows[at];
        }
        if (!batcher_submit(self->crowd->batcher, group, count))
            abort();
        i += count;
    }
    return NULL;
}

static void count_row(struct crowd *crowd, struct row *row)
{
    size_t at = (size_t)(row - &crowd->rows[0][0]);
    atomic_fetch_add(&crowd->seen[at / ROWS_EACH][at % ROWS_EACH], 1);
}

static void *take_main(void *context)
{
    struct crowd *crowd = context;
    struct batch batch = open_batch();
    while (batcher_take(crowd->batcher, &batch)) {
        if (batch.tokens > 100)
            abort();
        for (unsigned i = 0; i < batch.row_count; i++) {
            if (batch.rows[i]->model != batch.rows[0]->model)
                abort();
            count_row(crowd, batch.rows[i]);
        }
        for (unsigned i = 0; i < batch.expired_count; i++)
            count_row(crowd, batch.expired[i]);
    }
    batch_deinit(&batch);
    return NULL;
}

START_TEST(batcher_loses_nothing_between_many_submitters_and_takers)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    pthread_t submitters[SUBMITTERS], takers[TAKERS];
    struct submitter self[SUBMITTERS];
    crowd->batcher = open_batcher(LIMIT);
    for (unsigned i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_create(&takers[i], NULL, take_main, crowd), 0);
    for (unsigned i = 0; i < SUBMITTERS; i++) {
        self[i] = (struct submitter){crowd, i};
        ck_assert_int_eq(pthread_create(&submitters[i], NULL, submit_main, &self[i]), 0);
    }
    for (unsigned i = 0; i < SUBMITTERS; i++)
        pthread_join(submitters[i], NULL);
    batcher_close(crowd->batcher);
    for (unsigned i = 0; i < TAKERS; i++)
        pthread_join(takers[i], NULL);
    for (unsigned s = 0; s < SUBMITTERS; s++)
        for (unsigned i = 0; i < ROWS_EACH; i++)
            ck_assert_uint_eq(crowd->seen[s][i], 1);
    ck_assert_uint_eq(
        batcher_depth(crowd->batcher, &models[0]) + batcher_depth(crowd->batcher, &models[1]), 0);
    batcher_free(crowd->batcher);
    free(crowd);
}
END_TEST

/* Two submitters and a queue so long that inserting at its head is nearly all they do: were one to
 * enter while the other is inside, rows would be lost or doubled. */
enum { WRITERS = 2, LONG = 4096 };

struct writer {
    struct batcher *batcher;
    struct row rows[LONG];
};

/* Each row is due before all others of its writer. */
static void *write_main(void *context)
{
    struct writer *self = context;
    uint64_t first = in_ms(900);
    for (unsigned i = 0; i < LONG; i++) {
        self->rows[i] = make_row(i % 2, 1, first - i);
        if (!batcher_submit(self->batcher, (struct row *[]){&self->rows[i]}, 1))
            abort();
    }
    return NULL;
}

static unsigned rows_of(const struct writer *writer, struct row *const *rows, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += rows[i] == &writer->rows[LONG - 1 - found];
    return found;
}

START_TEST(batcher_lets_one_submitter_in_at_a_time)
{
    struct err err = {0};
    struct batcher *batcher = open_batcher(WRITERS * LONG);
    struct writer *writers = calloc(WRITERS, sizeof *writers);
    struct row **rows = calloc(WRITERS * LONG, sizeof *rows);
    pthread_t threads[WRITERS];
    ck_assert_int_eq(batcher_reserve(batcher, WRITERS * LONG, &err), ERR_OK);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].batcher = batcher;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_main, &writers[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(batcher_depth(batcher, &models[0]), WRITERS * LONG / 2);
    ck_assert_uint_eq(batcher_depth(batcher, &models[1]), WRITERS * LONG / 2);
    ck_assert_uint_eq(batcher_flush(batcher, rows, WRITERS * LONG), WRITERS * LONG);
    for (unsigned i = 0; i < WRITERS; i++) /* all of each, the last submitted first */
        ck_assert_uint_eq(rows_of(&writers[i], rows, WRITERS * LONG), LONG);
    batcher_free(batcher);
    free(rows);
    free(writers);
}
END_TEST

SUITE("batcher_threads", batcher_loses_nothing_between_many_submitters_and_takers,
      batcher_lets_one_submitter_in_at_a_time)
