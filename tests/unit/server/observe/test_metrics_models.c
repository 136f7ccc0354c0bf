/* test_metrics_models.c - the metrics of models that come and go: slots, generations of one name,
 * and a page that is whole meanwhile. */
#include "tests/unit/server/observe/metrics_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* A generation of the first model, of those labels. */
static struct metrics_model generation_of(unsigned generation, const struct engine_info *info)
{
    return (struct metrics_model){"wafer-vit", info, generation / 4.0, generation};
}

START_TEST(metrics_count_two_generations_of_one_name_and_labels_together)
{
    struct engine_info other = wafer_info;
    other.version = "9";
    other.dtype = "bf16";
    const struct metrics_model next = generation_of(2, &other);
    struct metrics *metrics = opened(&setup);
    metrics_batch(metrics, WAFER, 1, 16);
    metrics_set_digest(metrics, WAFER, 1, "sha256:ab");
    ck_assert_uint_eq(added(metrics, &next), WAFER);
    metrics_batch(metrics, WAFER, 1, 16);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"wafer-vit\"}", 2);
    expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 2);
    expect_sample(metrics, "attnd_model_load_duration_seconds{model=\"wafer-vit\"}", 0.5);
    metrics_set_digest(metrics, WAFER, 1, "sha256:late"); /* of the one before */
    expect_sample(metrics,
                  "attnd_model_info{model=\"wafer-vit\",version=\"9\",digest=\"\",dtype=\"bf16\","
                  "kernels=\"avx512\"}",
                  1);
    metrics_set_digest(metrics, WAFER, 2, "sha256:cd");
    metrics_remove_model(metrics, WAFER, 1); /* the one before */
    expect_sample(metrics, "attnd_batch_rows_count{model=\"wafer-vit\"}", 2);
    expect_sample(metrics,
                  "attnd_model_info{model=\"wafer-vit\",version=\"9\",digest=\"sha256:cd\",dtype="
                  "\"bf16\",kernels=\"avx512\"}",
                  1);
    metrics_remove_model(metrics, WAFER, 2);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"wafer-vit\"}", -1);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"kernel-bert\"}", 0);
    metrics_close(metrics);
}
END_TEST

/* A reload opens models, and then may not come to serve them. */
START_TEST(metrics_tell_of_no_model_before_it_is_served)
{
    static const char *const fewer[] = {"Center"};
    struct engine_info infos[] = {wafer_info, wafer_info};
    infos[0].version = infos[1].version = "9";
    infos[1].labels = fewer;
    infos[1].label_count = 1;
    for (int i = 0; i < 2; i++) {
        const struct metrics_model next = generation_of(2, &infos[i]);
        struct metrics *metrics = opened(&setup);
        struct err err = {0};
        unsigned slot;
        metrics_set_digest(metrics, WAFER, 1, "sha256:ab");
        for (int serves = 0; serves < 2; serves++) {
            ck_assert(!metrics_add_model(metrics, &next, &slot, &err));
            ck_assert_uint_eq(slot, i == 0 ? WAFER : MODELS);
            expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 1);
            if (serves)
                metrics_serve_model(metrics, slot, 2);
            expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 1 + serves);
            metrics_remove_model(metrics, slot, 2);
            expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 1);
            expect_sample(metrics,
                          "attnd_model_info{model=\"wafer-vit\",version=\"1\",digest=\"sha256:ab\","
                          "dtype=\"f32\",kernels=\"avx512\"}",
                          1);
        }
        metrics_close(metrics);
    }
}
END_TEST

/* Versions of a name may have other labels: they are told apart by GET /models/{name}, and in a sum
 * by label. */
START_TEST(metrics_of_one_name_go_on_whatever_its_labels)
{
    static const char *const fewer[] = {"Center", "Scratch"};
    static const char *const renamed[] = {"Scratch", "Center", "Loc"};
    static const char count[] = "attnd_batch_rows_count{model=\"wafer-vit\"}";
    static const char center[] =
        "attnd_predictions_total{model=\"wafer-vit\",label=\"Center\",decision=\"auto\"}";
    struct engine_info infos[] = {wafer_info, wafer_info};
    infos[0].labels = fewer;
    infos[0].label_count = 2;
    infos[1].labels = renamed;
    for (unsigned i = 0; i < 2; i++) {
        const struct metrics_model next = generation_of(2, &infos[i]);
        struct metrics *metrics = opened(&setup);
        metrics_batch(metrics, WAFER, 1, 16);
        metrics_prediction(metrics, WAFER, 0, DECISION_AUTO, 0.5);
        unsigned slot = added(metrics, &next);
        ck_assert_uint_eq(slot, MODELS);
        for (int times = 0; times < 3; times++)
            metrics_batch(metrics, slot, 1, 16);
        metrics_prediction(metrics, slot, i, DECISION_AUTO, 0.5);
        expect_sample(metrics, count, 4);
        expect_sample(metrics, center, 2);
        metrics_batch(metrics, WAFER, 1, 16);
        expect_sample(metrics, count, 5);
        metrics_remove_model(metrics, slot, 2); /* a count never falls */
        expect_sample(metrics, count, 5);
        expect_sample(metrics, center, 2);
        expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 1);
        ck_assert_uint_eq(added(metrics, &next), slot); /* it is free again */
        expect_sample(metrics, count, 5);
        metrics_remove_model(metrics, WAFER, 1);
        expect_sample(metrics, count, 5);
        expect_sample(metrics, center, 2);
        expect_sample(metrics, "attnd_model_generation{model=\"wafer-vit\"}", 2);
        metrics_close(metrics);
    }
}
END_TEST

START_TEST(metrics_have_no_more_slots_than_they_say)
{
    struct metrics *metrics = opened_with(&setup, NULL, 0);
    struct err err = {0};
    unsigned slot;
    char name[16];
    for (unsigned i = 0; i <= METRICS_SLOTS; i++) {
        snprintf(name, sizeof name, "m%u", i);
        const struct metrics_model model = {name, &kernel_info, 0, 1};
        if (i < METRICS_SLOTS)
            ck_assert_uint_eq(added(metrics, &model), i);
        else
            ck_assert_int_eq(metrics_add_model(metrics, &model, &slot, &err), ERR_UNUSABLE);
    }
    ck_assert_str_eq(err.text, "metrics: more than 256 models at once");
    const struct metrics_model again = {"m7", &kernel_info, 0, 2},
                               other = {"n", &kernel_info, 0, 2};
    ck_assert_uint_eq(added(metrics, &again), 7); /* it needs none of its own */
    metrics_remove_model(metrics, 9, 1);
    ck_assert_uint_eq(added(metrics, &other), 9);
    metrics_batch(metrics, METRICS_SLOTS - 1, 1, 1);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"m255\"}", 1);
    metrics_close(metrics);
}
END_TEST

START_TEST(metrics_ask_for_the_queue_of_each_slot)
{
    struct metrics *metrics = opened(&setup);
    metrics_remove_model(metrics, WAFER, 1);
    expect_sample(metrics, "attnd_queue_depth{model=\"kernel-bert\"}", 7 + KERNEL);
    expect_sample(metrics, "attnd_queue_depth{model=\"wafer-vit\"}", -1);
    metrics_close(metrics);
}
END_TEST

struct passer {
    struct metrics *metrics;
    int number;
    atomic_int *running;
};

/* Models of other labels come and go while others are counted and all is scraped. */
static void *come_and_go(void *argument)
{
    struct passer *self = argument;
    static const char *const labels[] = {"a", "b"};
    const struct engine_info info = {
        .version = "1", .labels = labels, .label_count = 1 + (unsigned)self->number % 2};
    struct metrics_model model = {"passing", &info, 0, 0};
    for (int i = 0; i < 1000; i++) {
        struct err err = {0};
        unsigned slot;
        model.generation++;
        if (metrics_add_model(self->metrics, &model, &slot, &err))
            break;
        metrics_serve_model(self->metrics, slot, model.generation);
        metrics_batch(self->metrics, slot, 1, 1);
        metrics_prediction(self->metrics, slot, 0, DECISION_AUTO, 0.5);
        metrics_remove_model(self->metrics, slot, model.generation);
    }
    atomic_fetch_sub(self->running, 1);
    return NULL;
}

START_TEST(metrics_are_whole_while_models_come_and_go)
{
    struct metrics *metrics = opened(&setup);
    atomic_int running = 4;
    pthread_t threads[4];
    struct passer passers[4];
    for (int i = 0; i < 4; i++) {
        passers[i] = (struct passer){metrics, i, &running};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, &passers[i]), 0);
    }
    do {
        struct arena arena;
        size_t len;
        arena_init(&arena);
        ck_assert_uint_gt(metrics_expose_bytes(metrics), 0);
        ck_assert_ptr_nonnull(metrics_expose(metrics, &arena, &len));
        arena_deinit(&arena);
        exposition_free(scrape(metrics)); /* no series occurs twice */
    } while (atomic_load(&running) > 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"passing\"}", -1);
    expect_sample(metrics, "attnd_batch_rows_count{model=\"wafer-vit\"}", 0);
    metrics_close(metrics);
}
END_TEST

SUITE("metrics_models", metrics_count_two_generations_of_one_name_and_labels_together,
      metrics_tell_of_no_model_before_it_is_served, metrics_of_one_name_go_on_whatever_its_labels,
      metrics_have_no_more_slots_than_they_say, metrics_ask_for_the_queue_of_each_slot,
      metrics_are_whole_while_models_come_and_go)
