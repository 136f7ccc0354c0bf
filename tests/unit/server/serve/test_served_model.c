/* One generation of a model over a fake engine: how it is opened and warmed, what is left when that
 * fails, when its directory is another, and who closes it. */
#include "tests/support/log_capture.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/models.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

START_TEST(a_model_is_opened_as_it_is_configured)
{
    static const char *const dtypes[] = {"bf16", NULL};
    struct models models;
    models_open(&models, 1);
    for (int i = 0; i < 2; i++) {
        char name[] = "logs", dir[] = "text", dtype[] = "bf16";
        struct err err = {0};
        struct served_model *model;
        struct served_model_options options = models_options(&models, name, dir, 7);
        options.linear_backend = "reference";
        options.dtype = dtypes[i] != NULL ? dtype : NULL;
        ck_assert_int_eq(models_try(&models, &model, &options, &err), ERR_OK);
        ck_assert_str_eq(fake_seen.dir, "text");
        ck_assert_str_eq(fake_seen.linear_backend, "reference");
        ck_assert_ptr_eq(fake_seen.dtype, options.dtype);
        memset(name, 'x', 4); /* the strings are the model's own */
        memset(dir, 'x', 4);
        memset(dtype, 'x', 4);
        ck_assert_str_eq(model->name, "logs");
        ck_assert_str_eq(model->dir, "text");
        ck_assert_pstr_eq(model->dtype, dtypes[i]);
        ck_assert_uint_eq(model->generation, 7);
        ck_assert_ptr_eq(model->engine, &fake_models[0]);
        ck_assert_ptr_eq(model->info, &fake_models[0].info);
        ck_assert_uint_eq(model->batch_tokens, MODELS_TOKENS);
        ck_assert(model->load_seconds >= 0 && model->load_seconds < 100);
        ck_assert_uint_eq(model->lane.depth, 0);
        ck_assert_ptr_null(served_model_digest(model));
        served_model_release(model);
    }
    models_close(&models);
}
END_TEST

START_TEST(a_model_says_in_the_log_what_it_is)
{
    struct models models;
    models_open(&models, 1);
    log_set_level("info");
    log_capture_start();
    struct served_model *model = models_make(&models, "logs", "text", 3);
    const char *text = log_capture_end();
    static const char expected[] = ",\"model\":\"logs\",\"family\":\"bert\",\"dtype\":\"f32\","
                                   "\"kernels\":\"avx2\",\"generation\":3,\"ms\":";
    const char *fields = log_capture_fields(text, "model_loaded");
    ck_assert_msg(strncmp(fields, expected, strlen(expected)) == 0, "%s", fields);
    ck_assert_double_eq_tol(strtod(fields + strlen(expected), NULL), model->load_seconds * 1000,
                            1e-3);
    const char *warned = log_capture_fields(text, "model_uncalibrated");
    ck_assert_msg(model->info->is_calibrated == (warned == NULL), "%s", text);
    served_model_release(model);
    models_close(&models);
}
END_TEST

START_TEST(a_model_whose_dtype_was_chosen_says_why)
{
    static const char expected[] = ",\"model\":\"logs\",\"version\":\"1\",\"dtype\":\"f32\","
                                   "\"reason\":\"f32: int8 was not measured\"";
    struct models models;
    models_open(&models, 1);
    log_set_level("info");
    for (int is_chosen = 0; is_chosen < 2; is_chosen++) {
        fake_models[0].info.dtype_reason = is_chosen ? "f32: int8 was not measured" : NULL;
        log_capture_start();
        struct served_model *model = models_make(&models, "logs", "text", 3);
        const char *text = log_capture_end();
        if (is_chosen)
            ck_assert_int_eq(
                strncmp(log_capture_fields(text, "dtype_chosen"), expected, strlen(expected)), 0);
        else
            ck_assert_ptr_null(strstr(text, "dtype_chosen"));
        served_model_release(model);
    }
    fake_models[0].info.dtype_reason = NULL;
    models_close(&models);
}
END_TEST

START_TEST(a_model_is_counted_under_a_slot_of_its_own)
{
    struct models models;
    models_open(&models, 1);
    struct served_model *logs = models_make(&models, "logs", "text", 3);
    struct served_model *wafers = models_make(&models, "wafers", "image", 3);
    ck_assert_uint_ne(logs->slot, wafers->slot);
    ck_assert(!models_tell(&models, "model=\"logs\"")); /* it is not served yet */
    metrics_serve_model(models.metrics, logs->slot, 3);
    metrics_serve_model(models.metrics, wafers->slot, 3);
    ck_assert(models_tell(&models, "attnd_model_generation{model=\"logs\"} 3\n"));
    ck_assert(models_tell(&models, "attnd_model_generation{model=\"wafers\"} 3\n"));
    served_model_release(logs);
    ck_assert(!models_tell(&models, "model=\"logs\""));
    ck_assert(models_tell(&models, "model=\"wafers\""));
    served_model_release(wafers);
    models_close(&models);
}
END_TEST

START_TEST(each_worker_has_a_warm_session_and_lends_it_its_pool)
{
    struct models models;
    models_open(&models, 3);
    struct served_model *model = models_make(&models, "logs", "text", 1);
    ck_assert_uint_eq(model->workers, 3);
    ck_assert_uint_eq(fake_sessions_open, 3);
    ck_assert_uint_eq(fake_seen.tokens, MODELS_TOKENS);
    ck_assert_uint_eq(fake_seen.threads, MODELS_THREADS);
    ck_assert_uint_eq(fake_seen.runs[0], 3);
    ck_assert_uint_eq(fake_rows, 3);
    ck_assert_uint_eq(fake_seen.prepared_len[0], strlen("pass"));
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_ptr_eq(model->sessions[i]->pool, models.pools[i]);
        ck_assert_uint_eq(model->sessions[i]->runs, 1);
        for (unsigned k = 0; k < 3; k++) /* it was warmed on none of those that may be serving */
            ck_assert_ptr_ne(model->sessions[i]->opened_on, models.pools[k]);
    }
    served_model_release(model);
    ck_assert_uint_eq(fake_sessions_open, 0);
    models_close(&models);
}
END_TEST

/* The smallest PNG: its signature, one pixel of one byte, nothing behind the end. */
START_TEST(an_image_model_is_warmed_with_a_picture)
{
    struct models models;
    models_open(&models, 1);
    struct served_model *model = models_make(&models, "wafers", "image", 1);
    ck_assert_uint_eq(fake_seen.prepared_len[1], 67);
    ck_assert_uint_eq(fake_seen.pixels_max, 1);
    served_model_release(model);
    models_close(&models);
}
END_TEST

START_TEST(a_model_is_warmed_in_spare_time_if_others_serve)
{
    struct models models;
    models_open(&models, 2);
    for (int spare = 0; spare < 2; spare++) {
        struct served_model_options options = models_options(&models, "logs", "text", 1);
        struct served_model *model;
        struct err err = {0};
        options.in_spare_time = spare;
        ck_assert_int_eq(models_try(&models, &model, &options, &err), ERR_OK);
        ck_assert_int_eq(fake_seen.run_policy, spare ? SCHED_IDLE : SCHED_OTHER);
        ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER); /* the opener stays as it was */
        served_model_release(model);
    }
    models_close(&models);
}
END_TEST

/* Pools of two nodes, of processors that this machine need not have. */
START_TEST(a_worker_reads_the_copy_of_its_node)
{
    static const unsigned short cpus[][MODELS_THREADS] = {{0, 0}, {1000, 1001}, {1002, 1003}};
    static struct placement_pool places[] = {{cpus[0], 0}, {cpus[1], 1}, {cpus[2], 1}};
    const struct placement placement = {
        .pools = places, .is_bound = true, .copies = 2, .nodes = {0, 1}};
    struct models models;
    struct err err = {0};
    struct served_model *model;
    models_open(&models, 3);
    models.plan.copies = 2;
    cpu_set_t before;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    struct served_model_options options = models_options(&models, "logs", "text", 1);
    options.placement = &placement;
    fake_tells_copies = true;
    ck_assert_int_eq(models_try(&models, &model, &options, &err), ERR_OK);
    fake_tells_copies = false;
    ck_assert_ptr_eq(model->engine, &fake_models[0]);
    ck_assert_ptr_eq(model->sessions[0]->model, &fake_models[0]);
    ck_assert_ptr_eq(model->sessions[1]->model, &fake_copy);
    ck_assert_ptr_eq(model->sessions[2]->model, &fake_copy);
    ck_assert_ptr_eq(fake_seen.copy_of, &fake_models[0]); /* and so computes as it does */
    cpu_set_t after;
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&before, &after)); /* the opener stays where it was */
    served_model_release(model);
    models_close(&models); /* which counts both as closed */
}
END_TEST

/* ---- failing ---- */

/* Expects that nothing is left of a model that could not be opened. */
static void expect_failure(struct models *models, const char *dir, enum err_code code,
                           const char *text)
{
    struct served_model_options options = models_options(models, "logs", dir, 1);
    struct served_model *model = (void *)models;
    struct err err = {0};
    ck_assert_int_eq(models_try(models, &model, &options, &err), code);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(model);
    ck_assert_uint_eq(atomic_load(&models->memory.held), 0);
    ck_assert_uint_eq(atomic_load(&models->memory.taken), 0);
    ck_assert_uint_eq(fake_sessions_open, 0);
    ck_assert_int_eq(fake_models_open, 0);
    ck_assert(!models_tell(models, "model=\"logs\""));
}

START_TEST(a_model_that_cannot_be_read_leaves_nothing)
{
    struct models models;
    models_open(&models, 2);
    expect_failure(&models, "nowhere", ERR_IO, "model logs: config.json: cannot be opened");
    ck_assert_uint_eq(fake_seen.runs[0], 0);
    models_close(&models);
}
END_TEST

/* The first, the second or the last of three. */
START_TEST(a_session_that_cannot_be_opened_closes_the_others)
{
    struct models models;
    models_open(&models, 3);
    for (unsigned fine = 0; fine < 3; fine++) {
        fake_fails.sessions_from = fine;
        expect_failure(&models, "text", ERR_NO_MEMORY,
                       "model logs: out of memory (1 bytes were needed)");
    }
    models_close(&models);
}
END_TEST

START_TEST(a_model_that_cannot_run_leaves_nothing)
{
    struct models models;
    models_open(&models, 2);
    fake_fails.prepare = ERR_UNUSABLE;
    expect_failure(&models, "text", ERR_UNUSABLE, "model logs: the vocabulary is empty");
    ck_assert_uint_eq(fake_seen.runs[0], 0);
    models_close(&models);
}
END_TEST

/* No address space holds such a stack, so pthread_create has no thread for anybody. */
START_TEST(a_model_without_threads_to_warm_it_leaves_nothing)
{
    struct models models;
    pthread_attr_t attributes;
    size_t usual;
    models_open(&models, 2);
    ck_assert_int_eq(pthread_getattr_default_np(&attributes), 0);
    pthread_attr_getstacksize(&attributes, &usual);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 47);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    expect_failure(&models, "text", ERR_NO_MEMORY,
                   "model logs: cannot start a thread: Resource temporarily unavailable");
    pthread_attr_setstacksize(&attributes, usual);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
    models_close(&models);
}
END_TEST

START_TEST(a_model_without_a_slot_leaves_nothing)
{
    struct models models;
    struct err err = {0};
    char name[16];
    models_open(&models, 1);
    for (unsigned i = 0; i < METRICS_SLOTS; i++) {
        unsigned slot;
        snprintf(name, sizeof name, "m%u", i);
        const struct metrics_model told = {.name = name, .info = &fake_models[0].info};
        ck_assert_int_eq(metrics_add_model(models.metrics, &told, &slot, &err), ERR_OK);
    }
    expect_failure(&models, "text", ERR_UNUSABLE,
                   "model logs: metrics: more than 256 models at once");
    models_close(&models);
}
END_TEST

START_TEST(a_model_tells_what_it_will_take_before_it_is_opened)
{
    size_t bytes = 0;
    struct err err = {0};
    struct plan plan = {.workers = 3, .threads_per_worker = 2, .batch_tokens = 64, .copies = 1};
    ck_assert_int_eq(served_model_bytes(&bytes, "text", NULL, &plan, &err), ERR_OK);
    ck_assert_uint_eq(bytes, FAKE_MODEL_BYTES + 3 * FAKE_SESSION_BYTES);
    plan.copies = 2;
    ck_assert_int_eq(served_model_bytes(&bytes, "text", NULL, &plan, &err), ERR_OK);
    ck_assert_uint_eq(bytes, 2 * FAKE_MODEL_BYTES + 3 * FAKE_SESSION_BYTES);
    ck_assert_uint_eq(fake_seen.opened, 0);
    ck_assert_int_eq(served_model_bytes(&bytes, "nowhere", NULL, &plan, &err), ERR_NOT_FOUND);
}
END_TEST

/* ---- closing ---- */

START_TEST(the_last_user_closes_a_model)
{
    struct models models;
    models_open(&models, 2);
    struct served_model *model = models_make(&models, "logs", "text", 1);
    ck_assert_uint_eq(atomic_load(&models.memory.held), MODELS_BYTES);
    served_model_acquire(model);
    served_model_acquire(model);
    for (int i = 0; i < 2; i++) {
        served_model_release(model);
        ck_assert_int_eq(fake_models_open, 1);
        ck_assert_uint_eq(fake_sessions_open, 2);
        ck_assert_uint_eq(atomic_load(&models.memory.held), MODELS_BYTES);
    }
    served_model_release(model);
    ck_assert_int_eq(fake_models_open, 0);
    ck_assert_uint_eq(atomic_load(&models.memory.held), 0);
    served_model_release(NULL);
    models_close(&models);
}
END_TEST

/* ---- the stamp ---- */

static int place_of(const struct tempdir *dir)
{
    int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* A file's times are of the kernel's tick, so a change within one tick may not be told by them. */
static void let_a_tick_pass(void)
{
    usleep(20000);
}

START_TEST(the_stamp_stays_while_nothing_changes)
{
    struct tempdir dir;
    tempdir_open(&dir);
    ck_assert_uint_ne(served_model_stamp(dir.path), 0); /* empty, but there */
    tempdir_write(&dir, "config.json", "{}", 2);
    tempdir_write(&dir, "model.safetensors", "weights", 7);
    uint64_t stamp = served_model_stamp(dir.path);
    let_a_tick_pass();
    char bytes[8];
    int fd = openat(AT_FDCWD, dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = openat(fd, "config.json", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(file, bytes, sizeof bytes), 2); /* reading is no change */
    close(file);
    ck_assert_uint_eq(served_model_stamp(dir.path), stamp);
    ck_assert_int_eq(mkdirat(fd, "more", 0700), 0); /* nor is a directory in it */
    ck_assert_uint_eq(served_model_stamp(dir.path), stamp);
    ck_assert_int_eq(unlinkat(fd, "more", AT_REMOVEDIR), 0);
    ck_assert_uint_eq(served_model_stamp(dir.path), stamp);
    close(fd);
    tempdir_close(&dir);
}
END_TEST

START_TEST(the_stamp_changes_when_a_file_is_written_renamed_added_or_removed)
{
    struct tempdir dir;
    tempdir_open(&dir);
    tempdir_write(&dir, "a", "one", 3);
    tempdir_write(&dir, "b", "two", 3);
    int fd = place_of(&dir);
    uint64_t seen[8];
    unsigned count = 0;
    seen[count++] = served_model_stamp(dir.path);
    let_a_tick_pass();
    tempdir_write(&dir, "a", "ONE", 3); /* as long as before, in place */
    seen[count++] = served_model_stamp(dir.path);
    tempdir_write(&dir, "a", "longer", 6);
    seen[count++] = served_model_stamp(dir.path);
    ck_assert_int_eq(renameat(fd, "a", fd, "c"), 0);
    seen[count++] = served_model_stamp(dir.path);
    tempdir_write(&dir, "d", "", 0);
    seen[count++] = served_model_stamp(dir.path);
    ck_assert_int_eq(unlinkat(fd, "d", 0), 0);
    ck_assert_int_eq(unlinkat(fd, "b", 0), 0);
    seen[count++] = served_model_stamp(dir.path);
    ck_assert_int_eq(mkdirat(fd, "1_Pooling", 0700), 0); /* a module of an embedding */
    tempdir_write(&dir, "1_Pooling/config.json", "{}", 2);
    seen[count++] = served_model_stamp(dir.path);
    tempdir_write(&dir, "1_Pooling/config.json", "{ }", 3);
    seen[count++] = served_model_stamp(dir.path);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert_msg(seen[i] != seen[k], "%u is as %u", i, k);
    ck_assert_int_eq(unlinkat(fd, "1_Pooling/config.json", 0), 0);
    ck_assert_int_eq(unlinkat(fd, "1_Pooling", AT_REMOVEDIR), 0);
    close(fd);
    tempdir_close(&dir);
}
END_TEST

/* The files have the same size and the same times. Another file in the place of one still is
 * another model. */
START_TEST(the_stamp_changes_when_a_file_is_exchanged_for_one_of_its_size_and_time)
{
    struct tempdir dir;
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    tempdir_open(&dir);
    int fd = place_of(&dir);
    tempdir_write(&dir, "a", "one", 3);
    ck_assert_int_eq(utimensat(fd, "a", times, 0), 0);
    uint64_t before = served_model_stamp(dir.path);
    tempdir_write(&dir, ".next", "two", 3);
    ck_assert_int_eq(utimensat(fd, ".next", times, 0), 0);
    ck_assert_int_eq(renameat(fd, ".next", fd, "a"), 0);
    ck_assert_uint_ne(served_model_stamp(dir.path), before);
    close(fd);
    tempdir_close(&dir);
}
END_TEST

/* A link is what it leads to, so that what is rolled out by turning a link is seen. */
START_TEST(the_stamp_looks_behind_links)
{
    struct tempdir dir, store;
    char path[128];
    tempdir_open(&dir);
    tempdir_open(&store);
    int fd = place_of(&dir);
    tempdir_write(&store, "weights", "one", 3);
    snprintf(path, sizeof path, "%s/weights", store.path);
    ck_assert_int_eq(symlinkat(path, fd, "model.safetensors"), 0);
    uint64_t before = served_model_stamp(dir.path);
    tempdir_write(&store, "weights", "longer", 6);
    ck_assert_uint_ne(served_model_stamp(dir.path), before);
    close(fd);
    tempdir_close(&store);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_directory_that_is_not_there_has_no_stamp)
{
    ck_assert_uint_eq(served_model_stamp("tests/data/no-such-directory"), 0);
}
END_TEST

SUITE("served_model", a_model_is_opened_as_it_is_configured, a_model_says_in_the_log_what_it_is,
      a_model_whose_dtype_was_chosen_says_why, a_model_is_counted_under_a_slot_of_its_own,
      each_worker_has_a_warm_session_and_lends_it_its_pool, an_image_model_is_warmed_with_a_picture,
      a_model_is_warmed_in_spare_time_if_others_serve, a_worker_reads_the_copy_of_its_node,
      a_model_that_cannot_be_read_leaves_nothing, a_session_that_cannot_be_opened_closes_the_others,
      a_model_that_cannot_run_leaves_nothing, a_model_without_threads_to_warm_it_leaves_nothing,
      a_model_without_a_slot_leaves_nothing, a_model_tells_what_it_will_take_before_it_is_opened,
      the_last_user_closes_a_model, the_stamp_stays_while_nothing_changes,
      the_stamp_changes_when_a_file_is_written_renamed_added_or_removed,
      the_stamp_changes_when_a_file_is_exchanged_for_one_of_its_size_and_time,
      the_stamp_looks_behind_links, a_directory_that_is_not_there_has_no_stamp)
