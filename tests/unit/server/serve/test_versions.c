/* Versions of one name in a snapshot: roles, shares, and which one answers. */
#include "server/serve/versions.h"

#include "tests/unit/server/models.h"

enum { MODELS = 5, KEYS = 2000 };

/* logs 1 (.25 rest), 2 split .5, 3 split .25 shadow .5, 4 standby; wafers alone. */
static struct snapshot *made(struct models *models)
{
    static struct config_model entries[MODELS] = {
        {.name = "logs", .dir = "1", .split = 0.125},
        {.name = "wafers", .dir = "1"},
        {.name = "logs", .dir = "2", .split = 0.5},
        {.name = "logs", .dir = "3", .split = 0.25, .shadow = 0.5},
        {.name = "logs", .dir = "4", .is_standby = true},
    };
    struct config config = {.models = entries, .model_count = MODELS};
    struct snapshot *snapshot;
    struct err err = {0};
    ck_assert_int_eq(snapshot_create(&snapshot, 1, &config, &err), ERR_OK);
    for (unsigned i = 0; i < MODELS; i++)
        snapshot_add(snapshot,
                     models_make(models, entries[i].name, i == 1 ? "image" : "text", i + 1));
    return snapshot;
}

START_TEST(each_version_has_a_role_and_a_share)
{
    static const struct {
        enum version_role role;
        double share;
    } expected[MODELS] = {{VERSION_PRIMARY, 0.25},
                          {VERSION_PRIMARY, 1},
                          {VERSION_SPLIT, 0.5},
                          {VERSION_SPLIT, 0.25},
                          {VERSION_RETIRING, 0}};
    struct models models;
    models_open(&models, 1);
    struct snapshot *snapshot = made(&models);
    for (unsigned i = 0; i < MODELS; i++) {
        ck_assert_int_eq(versions_role(snapshot, i), expected[i].role);
        ck_assert_double_eq_tol(versions_share(snapshot, i), expected[i].share, 1e-12);
    }
    snapshot->config.models[2].split = 0;
    ck_assert_int_eq(versions_role(snapshot, 2), VERSION_SPLIT); /* it takes nothing yet */
    snapshot->config.models[3].split = 0;
    ck_assert_int_eq(versions_role(snapshot, 3), VERSION_SHADOW);
    snapshot->config.models[2].split = 0.5;
    snapshot->config.models[3].split = 0.25;
    ck_assert_str_eq(version_role_name(VERSION_RETIRING), "retiring");
    snapshot_discard(snapshot);
    models_close(&models);
}
END_TEST

START_TEST(versions_answer_exactly_their_share)
{
    struct models models;
    unsigned answers[MODELS] = {0}, copies = 0;
    models_open(&models, 1);
    struct snapshot *snapshot = made(&models);
    struct served_model *primary = snapshot_find(snapshot, "logs");
    for (unsigned key = 0; key < KEYS; key++) {
        char text[16];
        unsigned at = 0;
        snprintf(text, sizeof text, "k%u", key);
        struct served_model *chosen = versions_choose(snapshot, primary, text);
        for (unsigned i = 0; i < MODELS; i++)
            answers[i] += snapshot->models[i] == chosen;
        if (chosen == snapshot->models[0] &&
            versions_next_shadow(snapshot, chosen, text, &at) == snapshot->models[3])
            copies++;
        ck_assert_ptr_eq(versions_choose(snapshot, snapshot->models[1], text), snapshot->models[1]);
    }
    ck_assert_double_eq_tol((double)answers[0] / KEYS, 0.25, 0.04);
    ck_assert_double_eq_tol((double)answers[2] / KEYS, 0.5, 0.04);
    ck_assert_double_eq_tol((double)answers[3] / KEYS, 0.25, 0.04);
    ck_assert_uint_eq(answers[4], 0);
    ck_assert_double_eq_tol((double)copies / answers[0], 0.5, 0.1);
    snapshot_discard(snapshot);
    models_close(&models);
}
END_TEST

START_TEST(versions_choose_no_model_as_its_own_shadow)
{
    struct models models;
    models_open(&models, 1);
    struct snapshot *snapshot = made(&models);
    snapshot->config.models[3].shadow = 1;
    unsigned at = 0;
    ck_assert_ptr_null(versions_next_shadow(snapshot, snapshot->models[3], "k", &at));
    at = 0;
    ck_assert_ptr_eq(versions_next_shadow(snapshot, snapshot->models[2], "k", &at),
                     snapshot->models[3]);
    ck_assert_ptr_null(versions_next_shadow(snapshot, snapshot->models[2], "k", &at));
    at = 0;
    ck_assert_ptr_null(versions_next_shadow(snapshot, snapshot->models[1], "k", &at));
    snapshot->config.models[3].shadow = 0.5;
    snapshot_discard(snapshot);
    models_close(&models);
}
END_TEST

SUITE("versions", each_version_has_a_role_and_a_share, versions_answer_exactly_their_share,
      versions_choose_no_model_as_its_own_shadow)
