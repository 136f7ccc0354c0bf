/* The models that are served, over an engine without models. */
#include "tests/support/exposition.h"
#include "tests/support/log_capture.h"
#include "tests/unit/server/stage.h"

static struct config_model three[] = {
    {"logs", "text", "bf16"}, {"wafers", "image", "int8"}, {"more", "text", NULL}};
static const struct config served = {
    .models = three, .model_count = 3, .linear_backend = "reference"};

static struct registry *opened(const struct config *config)
{
    struct registry *registry;
    struct err err = {0};
    ck_assert_msg(registry_open(&registry, config, 48, &err) == ERR_OK, "%s", err.text);
    return registry;
}

START_TEST(registry_opens_each_model_as_it_is_configured)
{
    struct config one = served;
    for (unsigned i = 0; i < 3; i++) {
        one.models = &three[i];
        one.model_count = 1;
        struct registry *registry = opened(&one);
        ck_assert_str_eq(fake_seen.dir, three[i].dir);
        ck_assert_str_eq(fake_seen.linear_backend, "reference");
        ck_assert_ptr_eq(fake_seen.dtype, three[i].dtype);
        registry_close(registry);
        ck_assert_uint_eq(fake_seen.closed, i + 1);
    }
}
END_TEST

START_TEST(registry_knows_its_models_by_index_name_and_kind)
{
    struct registry *registry = opened(&served);
    ck_assert_uint_eq(registry_count(registry), 3);
    for (unsigned i = 0; i < 3; i++) {
        struct registry_model *model = registry_at(registry, i);
        ck_assert_ptr_eq(registry_find(registry, three[i].name), model);
        ck_assert_str_eq(model->name, three[i].name);
        ck_assert_uint_eq(model->index, i);
        ck_assert_ptr_eq(model->engine, &fake_models[i == 1]);
        ck_assert_ptr_eq(model->info, &fake_models[i == 1].info);
        ck_assert_uint_eq(model->batch_tokens, 48);
        ck_assert_int_eq(model->is_default, i < 2);
        ck_assert(model->load_seconds >= 0 && model->load_seconds < 100);
        ck_assert_ptr_null(registry_digest(model));
    }
    ck_assert_ptr_null(registry_find(registry, "none"));
    ck_assert_ptr_eq(registry_default(registry, ENGINE_TEXT), registry_at(registry, 0));
    ck_assert_ptr_eq(registry_default(registry, ENGINE_IMAGE), registry_at(registry, 1));
    registry_close(registry);
    ck_assert_uint_eq(fake_seen.closed, 3);
    registry_close(NULL);
}
END_TEST

START_TEST(registry_of_no_model_has_no_default)
{
    struct registry *registry = opened(&(struct config){.model_count = 0});
    ck_assert_uint_eq(registry_count(registry), 0);
    ck_assert_ptr_null(registry_default(registry, ENGINE_TEXT));
    ck_assert_ptr_null(registry_default(registry, ENGINE_IMAGE));
    ck_assert_ptr_null(registry_find(registry, "logs"));
    registry_close(registry);
}
END_TEST

START_TEST(registry_names_the_model_that_cannot_be_opened)
{
    struct err err = {0};
    struct registry *registry;
    struct config_model models[] = {
        {"logs", "text", NULL}, {"lost", "nowhere", NULL}, {"wafers", "image", NULL}};
    struct config config = {.models = models, .model_count = 3};
    ck_assert_int_eq(registry_open(&registry, &config, 64, &err), ERR_IO);
    ck_assert_ptr_null(registry);
    ck_assert_str_eq(err.text, "model lost: config.json: cannot be opened");
    ck_assert_str_eq(fake_seen.dir, "nowhere"); /* the one behind it is not opened */
    ck_assert_uint_eq(fake_seen.closed, 1);
}
END_TEST

START_TEST(registry_logs_what_it_has_opened)
{
    struct config one = served;
    one.model_count = 1;
    log_capture_start();
    struct registry *registry = opened(&one);
    const char *text = log_capture_end();
    char expected[256];
    ck_assert_ptr_nonnull(strstr(text, "\"level\":\"info\""));
    snprintf(expected, sizeof expected,
             ",\"model\":\"logs\",\"family\":\"bert\",\"dtype\":\"f32\",\"kernels\":\"avx2\","
             "\"ms\":%.12g}",
             registry_at(registry, 0)->load_seconds * 1000);
    const char *fields = log_capture_fields(text, "model_loaded");
    const size_t until_ms = (size_t)(strstr(expected, "\"ms\":") + 5 - expected);
    ck_assert_msg(strncmp(fields, expected, until_ms) == 0, "%s", fields);
    ck_assert_double_eq_tol(strtod(fields + until_ms, NULL), strtod(expected + until_ms, NULL),
                            1e-3);
    registry_close(registry);
}
END_TEST

/* Waits until the last model's digest is known; fails after a minute, as every test does. */
static void await_digests(struct registry *registry)
{
    while (registry_digest(registry_at(registry, registry_count(registry) - 1)) == NULL)
        sched_yield();
}

static const char *digest_of(unsigned engine, char out[80])
{
    snprintf(out, 80, "sha256:%064d", engine == 0 ? 7 : 8);
    return out;
}

START_TEST(registry_tells_digests_to_rows_metrics_and_log)
{
    struct stage stage;
    struct err err = {0};
    char expected[80], line[256];
    stage_open(&stage, 1);
    struct registry *registry = stage.service.registry;
    log_capture_start();
    ck_assert_int_eq(registry_start_digests(registry, stage.service.metrics, &err), ERR_OK);
    await_digests(registry);
    registry_stop_digests(registry);
    const char *text = log_capture_end();
    ck_assert_int_eq(fake_seen.digest_policy, SCHED_IDLE);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_str_eq(registry_digest(registry_at(registry, i)), digest_of(i, expected));
        snprintf(line, sizeof line,
                 "\"level\":\"info\",\"event\":\"model_digest\",\"model\":\"%s\",\"digest\":"
                 "\"%s\"}\n",
                 configured[i].name, expected);
        ck_assert_msg(strstr(text, line) != NULL, "no %s in %s", line, text);
        snprintf(line, sizeof line, "attnd_model_info{model=\"%s\",version=\"1\",digest=\"%s\",",
                 configured[i].name, expected);
        check_metric(&stage, line);
    }
    stage_close(&stage);
}
END_TEST

START_TEST(registry_computes_digests_without_metrics)
{
    struct err err = {0};
    char expected[80];
    struct registry *registry = opened(&served);
    ck_assert_int_eq(registry_start_digests(registry, NULL, &err), ERR_OK);
    await_digests(registry);
    ck_assert_str_eq(registry_digest(registry_at(registry, 2)), digest_of(0, expected));
    registry_close(registry);
}
END_TEST

START_TEST(registry_serves_a_model_without_digest_if_it_cannot_be_computed)
{
    struct err err = {0};
    struct config one = served;
    one.model_count = 1;
    struct registry *registry = opened(&one);
    fake_fails.digest = ERR_IO;
    log_capture_start();
    ck_assert_int_eq(registry_start_digests(registry, NULL, &err), ERR_OK);
    while (fake_seen.digest_policy != SCHED_IDLE)
        sched_yield();
    registry_stop_digests(registry);
    const char *text = log_capture_end();
    ck_assert_ptr_nonnull(strstr(text, "\"level\":\"warn\""));
    ck_assert_str_eq(log_capture_fields(text, "digest_failed"),
                     ",\"model\":\"logs\",\"error\":\"model.safetensors: cannot be read\"}");
    ck_assert_ptr_null(registry_digest(registry_at(registry, 0)));
    registry_close(registry);
}
END_TEST

START_TEST(registry_says_nothing_of_a_digest_that_it_gave_up)
{
    struct err err = {0};
    struct registry *registry = opened(&served);
    fake_fails.digest = ERR_NOT_READY;
    log_capture_start();
    ck_assert_int_eq(registry_start_digests(registry, NULL, &err), ERR_OK);
    while (fake_seen.digest_policy != SCHED_IDLE)
        sched_yield();
    registry_stop_digests(registry);
    ck_assert_str_eq(log_capture_end(), "");
    ck_assert_ptr_null(registry_digest(registry_at(registry, 0)));
    registry_close(registry);
}
END_TEST

/* The first of three is being hashed: it is given up, and the others are not begun. */
START_TEST(registry_ends_a_digest_before_it_closes)
{
    for (int way = 0; way < 2; way++) {
        struct err err = {0};
        struct registry *registry = opened(&served);
        fake_fails.digest_endless = true;
        atomic_store(&fake_seen.digest_policy, -1);
        atomic_store(&fake_seen.digests_ended, 0);
        ck_assert_int_eq(registry_start_digests(registry, NULL, &err), ERR_OK);
        while (fake_seen.digest_policy != SCHED_IDLE)
            sched_yield();
        ck_assert_uint_eq(fake_seen.digests_ended, 0);
        if (way == 0)
            registry_stop_digests(registry);
        else
            registry_close(registry);
        ck_assert_uint_eq(fake_seen.digests_ended, 1);
        if (way == 0)
            registry_close(registry);
    }
}
END_TEST

SUITE("registry", registry_ends_a_digest_before_it_closes,
      registry_opens_each_model_as_it_is_configured,
      registry_knows_its_models_by_index_name_and_kind, registry_of_no_model_has_no_default,
      registry_names_the_model_that_cannot_be_opened, registry_logs_what_it_has_opened,
      registry_tells_digests_to_rows_metrics_and_log, registry_computes_digests_without_metrics,
      registry_serves_a_model_without_digest_if_it_cannot_be_computed,
      registry_says_nothing_of_a_digest_that_it_gave_up)
