/* The served models, changed as a whole: which request still sees which snapshot, when and by whom
 * an unused one is closed, and how the weights' digests are learnt. */
#include "tests/support/log_capture.h"
#include "tests/unit/server/models.h"

/* A snapshot of no models, of the limit by which the tests know it. */
static struct snapshot *snapshot_of(unsigned generation, unsigned room)
{
    static struct config_model entries[4];
    struct config config = {.models = entries, .model_count = room, .inputs_max = generation};
    struct snapshot *snapshot;
    struct err err = {0};
    ck_assert_int_eq(snapshot_create(&snapshot, generation, &config, &err), ERR_OK);
    ck_assert_uint_eq(config.model_count, 0); /* it is the snapshot's now */
    return snapshot;
}

static struct snapshots *opened(struct snapshot *first)
{
    struct snapshots *snapshots;
    struct err err = {0};
    ck_assert_int_eq(snapshots_open(&snapshots, first, &err), ERR_OK);
    return snapshots;
}

/* A snapshot with one new model: a generation of "logs". */
static struct snapshot *snapshot_with_new(struct models *models, unsigned generation)
{
    struct snapshot *snapshot = snapshot_of(generation, 2);
    snapshot_add(snapshot, models_make(models, "logs", "text", generation));
    return snapshot;
}

static void await_open(int models)
{
    while (fake_models_open != models)
        sched_yield();
}

/* ---- one snapshot ---- */

START_TEST(a_snapshot_knows_its_models_by_name_and_kind)
{
    static const char *const names[] = {"logs", "wafers", "more"};
    struct models models;
    models_open(&models, 1);
    struct snapshot *snapshot = snapshot_of(3, 3);
    for (unsigned i = 0; i < 3; i++)
        snapshot_add(snapshot, models_make(&models, names[i], i == 1 ? "image" : "text", 3));
    ck_assert_uint_eq(snapshot->generation, 3);
    ck_assert_uint_eq(snapshot->config.inputs_max, 3);
    ck_assert_uint_eq(snapshot->model_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(snapshot->models[i]->name, names[i]);
        ck_assert_ptr_eq(snapshot_find(snapshot, names[i]), snapshot->models[i]);
        ck_assert_int_eq(snapshot_is_default(snapshot, snapshot->models[i]), i < 2);
    }
    ck_assert_ptr_null(snapshot_find(snapshot, "none"));
    ck_assert_ptr_null(snapshot_find(snapshot, "log"));
    ck_assert_ptr_eq(snapshot_default(snapshot, ENGINE_TEXT), snapshot->models[0]);
    ck_assert_ptr_eq(snapshot_default(snapshot, ENGINE_IMAGE), snapshot->models[1]);
    snapshot_discard(snapshot);
    snapshot_discard(NULL);
    models_close(&models);
}
END_TEST

START_TEST(a_snapshot_of_no_model_has_no_default)
{
    struct snapshot *snapshot = snapshot_of(1, 0);
    ck_assert_uint_eq(snapshot->model_count, 0);
    ck_assert_ptr_null(snapshot_default(snapshot, ENGINE_TEXT));
    ck_assert_ptr_null(snapshot_default(snapshot, ENGINE_IMAGE));
    ck_assert_ptr_null(snapshot_find(snapshot, "logs"));
    snapshot_discard(snapshot);
}
END_TEST

/* ---- one after the other ---- */

START_TEST(new_requests_get_what_was_published_and_old_ones_keep_what_they_have)
{
    struct snapshots *snapshots = opened(snapshot_of(1, 0));
    const struct snapshot *first = snapshots_acquire(snapshots);
    ck_assert_uint_eq(first->generation, 1);
    snapshots_publish(snapshots, snapshot_of(2, 0));
    const struct snapshot *second = snapshots_acquire(snapshots);
    ck_assert_uint_eq(second->generation, 2);
    ck_assert_uint_eq(second->config.inputs_max, 2);
    ck_assert_uint_eq(first->generation, 1);
    ck_assert_uint_eq(first->config.inputs_max, 1);
    snapshots_release(snapshots, second);
    snapshots_release(snapshots, first);
    snapshots_close(snapshots);
    snapshots_close(NULL);
}
END_TEST

/* The second is closed, so the closer has looked; the first is held meanwhile. */
START_TEST(snapshots_close_a_model_when_nobody_holds_it)
{
    struct models models;
    models_open(&models, 1);
    struct snapshots *snapshots = opened(snapshot_with_new(&models, 1));
    const struct snapshot *held = snapshots_acquire(snapshots);
    snapshots_publish(snapshots, snapshot_with_new(&models, 2));
    ck_assert_int_eq(fake_models_open, 2);
    snapshots_publish(snapshots, snapshot_with_new(&models, 3));
    await_open(2);
    ck_assert_uint_eq(held->models[0]->generation, 1);
    ck_assert_uint_eq(atomic_load(&held->models[0]->users), 1);
    snapshots_release(snapshots, held);
    await_open(1);
    const struct snapshot *last = snapshots_acquire(snapshots);
    ck_assert_uint_eq(last->models[0]->generation, 3);
    snapshots_release(snapshots, last);
    snapshots_close(snapshots);
    models_close(&models);
}
END_TEST

START_TEST(snapshots_close_models_on_a_thread_of_their_own)
{
    struct models models;
    models_open(&models, 1);
    struct snapshots *snapshots = opened(snapshot_with_new(&models, 1));
    const struct snapshot *held = snapshots_acquire(snapshots);
    snapshots_publish(snapshots, snapshot_of(2, 0));
    snapshots_release(snapshots, held);
    await_open(0);
    ck_assert(!pthread_equal(fake_closed_by, pthread_self()));
    snapshots_close(snapshots);
    models_close(&models);
}
END_TEST

START_TEST(a_model_that_two_snapshots_have_is_shared)
{
    struct models models;
    models_open(&models, 1);
    struct snapshots *snapshots = opened(snapshot_with_new(&models, 1));
    const struct snapshot *first = snapshots_acquire(snapshots);
    struct served_model *shared = first->models[0];
    struct snapshot *next = snapshot_of(2, 2);
    served_model_acquire(shared);
    snapshot_add(next, shared);
    snapshot_add(next, models_make(&models, "wafers", "image", 2));
    snapshots_publish(snapshots, next);
    ck_assert_uint_eq(atomic_load(&shared->users), 2);
    snapshots_release(snapshots, first);
    while (atomic_load(&shared->users) != 1)
        sched_yield();
    ck_assert_int_eq(fake_models_open, 2);
    ck_assert_uint_eq(fake_seen.closed, 0);
    snapshots_close(snapshots);
    ck_assert_uint_eq(fake_seen.closed, 2);
    models_close(&models);
}
END_TEST

/* ---- digests ---- */

static struct snapshot *snapshot_of_both(struct models *models)
{
    struct snapshot *snapshot = snapshot_of(1, 3);
    snapshot_add(snapshot, models_make(models, "logs", "text", 1));
    snapshot_add(snapshot, models_make(models, "wafers", "image", 1));
    return snapshot;
}

static void await_digest(const struct served_model *model)
{
    while (served_model_digest(model) == NULL)
        sched_yield();
}

START_TEST(snapshots_give_digests_to_rows_metrics_and_log)
{
    struct models models;
    struct err err = {0};
    char expected[80], line[256];
    models_open(&models, 1);
    struct snapshots *snapshots = opened(snapshot_of_both(&models));
    const struct snapshot *snapshot = snapshots_acquire(snapshots);
    log_set_level("info");
    log_capture_start();
    ck_assert_int_eq(snapshots_start_digests(snapshots, &err), ERR_OK);
    await_digest(snapshot->models[1]);
    snapshots_stop_digests(snapshots);
    const char *text = log_capture_end();
    ck_assert_int_eq(fake_seen.digest_policy, SCHED_IDLE);
    for (unsigned i = 0; i < 2; i++) {
        const char *name = snapshot->models[i]->name;
        snprintf(expected, sizeof expected, "sha256:%064d", i == 0 ? 7 : 8);
        ck_assert_str_eq(served_model_digest(snapshot->models[i]), expected);
        snprintf(line, sizeof line,
                 "\"level\":\"info\",\"event\":\"model_digest\",\"model\":\"%s\",\"digest\":"
                 "\"%s\"}\n",
                 name, expected);
        ck_assert_msg(strstr(text, line) != NULL, "no %s in %s", line, text);
        snprintf(line, sizeof line, "attnd_model_info{model=\"%s\",version=\"1\",digest=\"%s\",",
                 name, expected);
        ck_assert(models_tell(&models, line));
    }
    snapshots_release(snapshots, snapshot);
    snapshots_close(snapshots);
    models_close(&models);
}
END_TEST

START_TEST(each_new_model_is_hashed_once)
{
    struct models models;
    struct err err = {0};
    models_open(&models, 1);
    struct snapshots *snapshots = opened(snapshot_of_both(&models));
    const struct snapshot *first = snapshots_acquire(snapshots);
    ck_assert_int_eq(snapshots_start_digests(snapshots, &err), ERR_OK);
    await_digest(first->models[1]);
    for (unsigned generation = 2; generation < 5; generation++) {
        struct snapshot *next = snapshot_of(generation, 3);
        for (unsigned i = 0; i < 2; i++) {
            served_model_acquire(first->models[i]);
            snapshot_add(next, first->models[i]);
        }
        struct served_model *fresh = models_make(&models, "more", "text", generation);
        snapshot_add(next, fresh);
        served_model_acquire(fresh);
        snapshots_publish(snapshots, next);
        await_digest(fresh);
        served_model_release(fresh);
    }
    snapshots_stop_digests(snapshots);
    ck_assert_uint_eq(fake_seen.digests_ended, 2 + 3);
    snapshots_release(snapshots, first);
    snapshots_close(snapshots);
    models_close(&models);
}
END_TEST

/* The first of two models cannot be hashed. */
static const char *log_of_failure(struct models *models, enum err_code failure)
{
    struct err err = {0};
    struct snapshots *snapshots = opened(snapshot_of_both(models));
    const struct snapshot *snapshot = snapshots_acquire(snapshots);
    fake_fails.digest = failure;
    log_set_level("info");
    log_capture_start();
    ck_assert_int_eq(snapshots_start_digests(snapshots, &err), ERR_OK);
    while (fake_seen.digests_ended < 2)
        sched_yield();
    snapshots_stop_digests(snapshots);
    const char *text = log_capture_end();
    for (unsigned i = 0; i < 2; i++)
        ck_assert_ptr_null(served_model_digest(snapshot->models[i]));
    snapshots_release(snapshots, snapshot);
    snapshots_close(snapshots);
    return text;
}

START_TEST(a_model_whose_digest_cannot_be_computed_is_served_without)
{
    struct models models;
    models_open(&models, 1);
    const char *text = log_of_failure(&models, ERR_IO);
    ck_assert_ptr_nonnull(
        strstr(text, "\"level\":\"warn\",\"event\":\"digest_failed\",\"model\":\"logs\","
                     "\"error\":\"model.safetensors: cannot be read\"}"));
    models_close(&models);
}
END_TEST

START_TEST(snapshots_log_nothing_of_a_cancelled_digest)
{
    struct models models;
    models_open(&models, 1);
    ck_assert_str_eq(log_of_failure(&models, ERR_NOT_READY), "");
    models_close(&models);
}
END_TEST

/* The first of two is being hashed: it is given up, and the other is not begun. */
START_TEST(digests_are_given_up_to_stop_or_to_close)
{
    for (int way = 0; way < 2; way++) {
        struct models models;
        struct err err = {0};
        models_open(&models, 1);
        struct snapshots *snapshots = opened(snapshot_of_both(&models));
        fake_fails.digest_endless = true;
        atomic_store(&fake_seen.digest_policy, -1);
        atomic_store(&fake_seen.digests_ended, 0);
        ck_assert_int_eq(snapshots_start_digests(snapshots, &err), ERR_OK);
        while (fake_seen.digest_policy != SCHED_IDLE)
            sched_yield();
        ck_assert_uint_eq(fake_seen.digests_ended, 0);
        if (way == 0)
            snapshots_stop_digests(snapshots);
        snapshots_close(snapshots);
        ck_assert_uint_eq(fake_seen.digests_ended, 1);
        models_close(&models);
    }
}
END_TEST

/* ---- many threads ---- */

enum { READERS = 4, PUBLISHED = 300 };

struct crowd {
    struct snapshots *snapshots;
    atomic_bool stop;
    atomic_uint wrong, seen;
};

static void look_at(struct crowd *crowd, const struct snapshot *snapshot, unsigned *latest)
{
    const struct served_model *fresh = snapshot->models[1], *shared = snapshot->models[0];
    bool right = snapshot->generation >= *latest && /* never an older one again */
                 snapshot->config.inputs_max == snapshot->generation &&
                 fresh->generation == snapshot->generation && strcmp(fresh->name, "fresh") == 0 &&
                 shared->generation == 1 && fresh->sessions[0]->model == fresh->engine &&
                 atomic_load(&fresh->users) == 1 && atomic_load(&shared->users) >= 1;
    atomic_fetch_add(&crowd->wrong, !right);
    atomic_fetch_add(&crowd->seen, 1);
    *latest = snapshot->generation;
}

static void *read_main(void *context)
{
    struct crowd *crowd = context;
    unsigned latest = 0;
    while (!atomic_load(&crowd->stop)) {
        const struct snapshot *snapshot = snapshots_acquire(crowd->snapshots);
        look_at(crowd, snapshot, &latest);
        sched_yield();
        look_at(crowd, snapshot, &latest);
        snapshots_release(crowd->snapshots, snapshot);
    }
    return NULL;
}

/* The shared model and one that nobody has seen. */
static struct snapshot *crowd_snapshot(struct models *models, struct served_model *shared,
                                       unsigned generation)
{
    struct snapshot *snapshot = snapshot_of(generation, 2);
    served_model_acquire(shared);
    snapshot_add(snapshot, shared);
    snapshot_add(snapshot, models_make(models, "fresh", "image", generation));
    return snapshot;
}

START_TEST(nothing_is_lost_and_nothing_closed_too_early_among_many_threads)
{
    struct models models;
    struct crowd crowd = {0};
    pthread_t readers[READERS];
    models_open(&models, 1);
    struct served_model *shared = models_make(&models, "shared", "text", 1);
    crowd.snapshots = opened(crowd_snapshot(&models, shared, 1));
    for (unsigned i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_main, &crowd), 0);
    for (unsigned generation = 2; generation <= PUBLISHED; generation++)
        snapshots_publish(crowd.snapshots, crowd_snapshot(&models, shared, generation));
    unsigned before = crowd.seen;
    while (crowd.seen < before + READERS) /* somebody has seen the last one */
        sched_yield();
    atomic_store(&crowd.stop, true);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(crowd.wrong, 0);
    await_open(2); /* the shared one and the last */
    const struct snapshot *last = snapshots_acquire(crowd.snapshots);
    ck_assert_uint_eq(last->generation, PUBLISHED);
    snapshots_release(crowd.snapshots, last);
    snapshots_close(crowd.snapshots);
    ck_assert_int_eq(fake_models_open, 1);
    served_model_release(shared);
    ck_assert_uint_eq(fake_seen.opened, PUBLISHED + 1);
    ck_assert_uint_eq(fake_seen.closed, PUBLISHED + 1);
    models_close(&models);
}
END_TEST

SUITE("snapshots", a_snapshot_knows_its_models_by_name_and_kind,
      a_snapshot_of_no_model_has_no_default,
      new_requests_get_what_was_published_and_old_ones_keep_what_they_have,
      snapshots_close_a_model_when_nobody_holds_it, snapshots_close_models_on_a_thread_of_their_own,
      a_model_that_two_snapshots_have_is_shared, snapshots_give_digests_to_rows_metrics_and_log,
      each_new_model_is_hashed_once, a_model_whose_digest_cannot_be_computed_is_served_without,
      snapshots_log_nothing_of_a_cancelled_digest, digests_are_given_up_to_stop_or_to_close,
      nothing_is_lost_and_nothing_closed_too_early_among_many_threads)
