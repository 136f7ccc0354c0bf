/* The list of models that holds: the configuration's, or the one changed at run time; the changes
 * themselves, and their part on the disk. */
#include "server/rollout/rollout.h"

#include "config/config_change.h"
#include "config/config_load.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err err;

/* "a:1 a:2+.5 b:1" -> entries of the names and directories; "+" split, "~" shadow, "*" standby, "^"
 * a public index. */
static struct config listed(const char *words)
{
    struct config config = {0};
    struct config_model models[16] = {{0}};
    char texts[16][32];
    unsigned count = 0;
    arena_init(&config.arena);
    for (int used; sscanf(words, " %31s%n", texts[count], &used) == 1; words += used) {
        struct config_model *model = &models[count];
        char *colon = strchr(texts[count], ':'), *mark = strpbrk(texts[count], "+~*^");
        model->split = mark != NULL && *mark == '+' ? atof(mark + 1) : 0;
        model->shadow = mark != NULL && *mark == '~' ? atof(mark + 1) : 0;
        model->is_standby = mark != NULL && *mark == '*';
        model->is_public = mark != NULL && *mark == '^';
        model->index = model->is_public ? mark + 1 : NULL;
        if (mark != NULL)
            *mark = '\0';
        *colon = '\0';
        model->name = texts[count++];
        model->dir = colon + 1;
    }
    err = (struct err){0};
    ck_assert_msg(config_set_models(&config, models, count, &err) == ERR_OK, "%s", err.text);
    return config;
}

static const char *words_of(const struct config *config)
{
    static char words[512];
    size_t len = 0;
    words[0] = '\0';
    for (unsigned i = 0; i < config->model_count; i++) {
        const struct config_model *model = &config->models[i];
        len += (size_t)snprintf(words + len, sizeof words - len, "%s%s:%s", i > 0 ? " " : "",
                                model->name, model->dir);
        if (model->split > 0)
            len += (size_t)snprintf(words + len, sizeof words - len, "+%g", model->split);
        if (model->shadow > 0)
            len += (size_t)snprintf(words + len, sizeof words - len, "~%g", model->shadow);
        if (model->is_public)
            len += (size_t)snprintf(words + len, sizeof words - len, "^%s", model->index);
        if (model->is_standby)
            len += (size_t)snprintf(words + len, sizeof words - len, "*");
    }
    return words;
}

/* ---- what holds ---- */

static struct rollout *rolled(const char *file, const char *now)
{
    struct rollout *rollout;
    struct config a = listed(file), b = listed(now);
    ck_assert_int_eq(rollout_make(&rollout, a.models, a.model_count, b.models, b.model_count, &err),
                     ERR_OK);
    config_deinit(&a);
    config_deinit(&b);
    return rollout;
}

static void expect_effective(const struct rollout *rollout, const char *read, const char *effective,
                             const char *overruled)
{
    const char *dropped[CONFIG_MODELS_MAX];
    unsigned count;
    struct config config = listed(read);
    ck_assert_int_eq(rollout_apply(rollout, &config, dropped, &count, &err), ERR_OK);
    ck_assert_str_eq(words_of(&config), effective);
    ck_assert_uint_eq(count, overruled != NULL);
    if (overruled != NULL)
        ck_assert_str_eq(dropped[0], overruled);
    config_deinit(&config);
}

START_TEST(rollout_changes_hold_until_the_configuration_changes)
{
    static const struct {
        const char *file, *now, *read, *effective, *overruled;
    } cases[] = {
        {"a:1 b:1", "a:1 b:1", "a:1 b:2", "a:1 b:2", NULL},           /* nothing was */
        {"a:1 b:1", "a:2 a:1* b:1", "a:1 b:1", "a:2 a:1* b:1", NULL}, /* promoted */
        {"a:1 b:1", "a:2 a:1* b:1", "a:1 b:2", "a:2 a:1* b:2", NULL}, /* another name is others' */
        {"a:1 b:1", "a:2 a:1* b:1", "a:3 b:1", "a:3 b:1", "a"},
        {"a:1", "a:1 a:2+.5", "a:1 a:2+.25", "a:1 a:2+0.25", "a"},
        {"a:1", "a:1 c:1", "a:1", "a:1 c:1", NULL},    /* loaded */
        {"a:1", "a:1 c:1", "a:1 c:2", "a:1 c:2", "c"}, /* and configured meanwhile */
        {"a:1 b:1", "a:1", "a:1 b:1", "a:1", NULL},    /* unloaded */
        {"a:1 b:1", "a:1", "a:1 b:2", "a:1 b:2", NULL},
        {"a:1 b:1", "a:1 b:1 b:2", "a:1", "a:1", "b"}, /* no longer configured */
        {"a:1 b:1", "b:2 a:1 b:1*", "b:1 a:1", "b:2 b:1* a:1",
         NULL}, /* the file's order of names */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rollout *rollout = rolled(cases[i].file, cases[i].now);
        expect_effective(rollout, cases[i].read, cases[i].effective, cases[i].overruled);
        rollout_close(rollout);
    }
    rollout_close(NULL);
}
END_TEST

START_TEST(lists_that_are_too_long_together_are_refused)
{
    char words[2048] = "";
    const char *dropped[CONFIG_MODELS_MAX];
    unsigned count;
    for (unsigned i = 0; i < 12; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "m%u:1 ", i);
    struct rollout *rollout = rolled("", words);
    struct config config = {0};
    struct config_model many[CONFIG_MODELS_MAX];
    char names[CONFIG_MODELS_MAX][8];
    arena_init(&config.arena);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        many[i] = (struct config_model){.name = names[i], .dir = "1"};
    }
    ck_assert_int_eq(config_set_models(&config, many, 60, &err), ERR_OK);
    ck_assert_int_eq(rollout_apply(rollout, &config, dropped, &count, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "more than 64 models");
    config_deinit(&config);
    rollout_close(rollout);
}
END_TEST

/* ---- changes ---- */

/* The version of an entry is its directory. */
static enum err_code edit(struct config *config, const struct rollout_change *change)
{
    const char *versions[CONFIG_MODELS_MAX];
    for (unsigned i = 0; i < config->model_count; i++)
        versions[i] = config->models[i].dir;
    err = (struct err){0};
    return rollout_edit(config, change, versions, &err);
}

START_TEST(each_change_makes_another_list)
{
    static const struct {
        struct rollout_change change;
        const char *before, *after;
    } cases[] = {
        {{.action = ROLLOUT_LOAD, .name = "a", .dir = "2", .has_split = true, .split = 0.5},
         "a:1 b:1",
         "a:1 b:1 a:2+0.5"},
        {{.action = ROLLOUT_LOAD, .name = "c", .dir = "1"}, "a:1", "a:1 c:1"},
        {{.action = ROLLOUT_SHARES, .name = "a", .version = "2", .has_shadow = true, .shadow = 1},
         "a:1 a:2",
         "a:1 a:2~1"},
        {{.action = ROLLOUT_SHARES, .name = "a", .version = "2", .has_split = true},
         "a:1 a:2+.5",
         "a:1 a:2"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "2"},
         "a:1 b:1 a:2+.5 a:3+.25",
         "a:2 b:1 a:1* a:3+0.25"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "3"}, "a:2 a:1* a:3", "a:3 a:2*"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "1"}, "a:2 a:1*", "a:1 a:2*"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "2"}, "a:1^x a:2^y", "a:2^y a:1^x*"},
        {{.action = ROLLOUT_ROLLBACK, .name = "a"}, "b:1 a:2 a:1*", "b:1 a:1 a:2"},
        {{.action = ROLLOUT_UNLOAD, .name = "a", .version = "1"}, "a:2 a:1* b:1", "a:2 b:1"},
        {{.action = ROLLOUT_UNLOAD, .name = "a", .version = "2"}, "a:2 b:1", "b:1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = listed(cases[i].before);
        ck_assert_msg(edit(&config, &cases[i].change) == ERR_OK, "%zu: %s", i, err.text);
        ck_assert_str_eq(words_of(&config), cases[i].after);
        config_deinit(&config);
    }
}
END_TEST

START_TEST(rollout_refuses_a_senseless_change_and_says_why)
{
    static const struct {
        struct rollout_change change;
        const char *before;
        enum err_code code;
        const char *text;
    } cases[] = {
        {{.action = ROLLOUT_PROMOTE, .name = "c", .version = "1"},
         "a:1",
         ERR_NOT_FOUND,
         "no model of this name"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "3"},
         "a:1 b:3 a:2",
         ERR_NOT_FOUND,
         "no such version; there is 1, 2"},
        {{.action = ROLLOUT_PROMOTE, .name = "a", .version = "1"},
         "a:1 a:2",
         ERR_CONFLICT,
         "is the primary already"},
        {{.action = ROLLOUT_SHARES, .name = "a", .version = "1", .has_split = true},
         "a:1",
         ERR_CONFLICT,
         "is the primary, which answers what no split takes"},
        {{.action = ROLLOUT_ROLLBACK, .name = "a"},
         "a:1 a:2",
         ERR_CONFLICT,
         "nothing to roll back"},
        {{.action = ROLLOUT_UNLOAD, .name = "a", .version = "1"},
         "a:1",
         ERR_CONFLICT,
         "the only model"},
        {{.action = ROLLOUT_UNLOAD, .name = "a", .version = "1"},
         "a:1 a:2",
         ERR_CONFLICT,
         "promote another one first"},
        {{.action = ROLLOUT_SHARES, .name = "a", .version = "3", .has_split = true, .split = 0.6},
         "a:1 a:2+.5 a:3",
         ERR_UNUSABLE,
         "sum to 1.1, the limit is 1"},
        {{.action = ROLLOUT_LOAD, .name = "a", .dir = "1"},
         "a:1",
         ERR_UNUSABLE,
         "the same directory"},
        {{.action = ROLLOUT_LOAD, .name = "c", .dir = "1", .has_shadow = true, .shadow = 1},
         "a:1",
         ERR_UNUSABLE,
         "cannot be a shadow"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = listed(cases[i].before);
        ck_assert_int_eq(edit(&config, &cases[i].change), cases[i].code);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%zu: %s", i, err.text);
        config_deinit(&config);
    }
}
END_TEST

/* ---- the disk ---- */

START_TEST(rollout_stores_the_changes_and_nothing_else)
{
    struct tempdir dir;
    char state[256], path[300];
    struct stat file;
    struct rollout *read, *made = rolled("a:1 b:1 c:1", "a:2^i a:1* b:1 a:3+.25 d:1~0");
    tempdir_open(&dir);
    snprintf(state, sizeof state, "%s/state", dir.path); /* it is made */
    snprintf(path, sizeof path, "%s/rollout.json", state);
    ck_assert_int_eq(rollout_read(&read, state, &err), ERR_OK);
    ck_assert_uint_eq(read->now_count, 0);
    rollout_close(read);
    ck_assert_int_eq(rollout_write(made, state, &err), ERR_OK);
    ck_assert_int_eq(rollout_read(&read, state, &err), ERR_OK);
    expect_effective(read, "a:1 b:1 c:1", "a:2^i a:1* a:3+0.25 b:1 d:1", NULL);
    expect_effective(read, "a:9 b:1 c:1", "a:9 b:1 d:1", "a");
    ck_assert(!rollout_is_changed(read, "b"));
    rollout_close(read);
    ck_assert_int_eq(rollout_write(made, "", &err), ERR_OK); /* nowhere */
    ck_assert_int_eq(rollout_read(&read, "", &err), ERR_OK);
    ck_assert_uint_eq(read->now_count, 0);
    rollout_close(read);
    rollout_close(made);
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(state), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_damaged_or_newer_state_is_refused_by_name)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"", "the roll-out cannot be read; remove the file"},
        {"{\"format\": 2, \"models\": []}", "format 2; this program reads 1"},
        {"{\"models\": []}", "format 0"},
        {"[]", "format 0"},
        {"{\"format\": 1, \"models\": [{}]}", "has no \"name\""},
        {"{\"format\": 1, \"models\": [{\"name\": \"a\", \"now\": [{}]}]}", "has no \"dir\""},
        {"{\"format\": 1, \"models\": [{\"name\": 1}]}", "name"},
        {"{\"format\": 1, \"models\": [{\"name\": \"a\", \"now\": [{\"dir\": \"d\", \"split\": "
         "\"x\"}]}]}",
         "split"},
    };
    struct tempdir dir;
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rollout *read;
        err = (struct err){0};
        tempdir_write(&dir, "rollout.json", cases[i].json, strlen(cases[i].json));
        ck_assert_msg(rollout_read(&read, dir.path, &err) == ERR_UNUSABLE, "%zu", i);
        ck_assert_ptr_null(read);
        ck_assert_msg(strstr(err.text, "rollout.json") != NULL &&
                          strstr(err.text, cases[i].text) != NULL,
                      "%zu: %s", i, err.text);
    }
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_state_that_cannot_be_written_is_an_error)
{
    struct rollout *made = rolled("a:1", "a:2");
    err = (struct err){0};
    ck_assert_int_eq(rollout_write(made, "/dev/null/state", &err), ERR_IO);
    rollout_close(made);
}
END_TEST

START_TEST(a_directory_is_below_the_root_or_is_refused)
{
    static const struct {
        const char *dir, *text; /* NULL: it is good */
    } cases[] = {
        {"in", NULL},
        {"./in", NULL},
        {"in/deep", NULL},
        {"link-in", NULL},
        {"in/../in", ".."},
        {"..", ".."},
        {"../out", ".."},
        {"none", "no such directory"},
        {"link-out", "no such directory"},
        {".", "no such directory"},
        {"/", "no such directory"},
        {"/etc", "no such directory"},
        {"", "no such directory"},
        {"in..", "no such directory"},
    };
    struct tempdir dir;
    struct arena arena;
    char root[256], path[400];
    const char *out;
    arena_init(&arena);
    tempdir_open(&dir);
    snprintf(root, sizeof root, "%s/root", dir.path);
    static const char *const made[] = {"root", "root/in", "root/in/deep", "out"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, made[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/link-in", root);
    ck_assert_int_eq(symlink("in", path), 0);
    snprintf(path, sizeof path, "%s/link-out", root);
    ck_assert_int_eq(symlink("../out", path), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (struct err){0};
        enum err_code code = rollout_resolve(&out, root, cases[i].dir, &arena, &err);
        ck_assert_msg(code == (cases[i].text == NULL ? ERR_OK : ERR_UNUSABLE), "%s: %s",
                      cases[i].dir, err.text);
        if (cases[i].text != NULL)
            ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
        else
            ck_assert_msg(strstr(out, "/root/in") != NULL && out[0] == '/', "%s", out);
    }
    err = (struct err){0};
    ck_assert_int_eq(rollout_resolve(&out, "", "in", &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "$.dir: nothing may be loaded; the option models_root names where from");
    err = (struct err){0};
    ck_assert_int_eq(rollout_resolve(&out, "/none/such", "in", &arena, &err), ERR_UNUSABLE);
    arena_deinit(&arena);
    snprintf(path, sizeof path, "rm -r '%s/root' '%s/out'", dir.path, dir.path);
    ck_assert_int_eq(system(path), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("rollout", rollout_changes_hold_until_the_configuration_changes,
      lists_that_are_too_long_together_are_refused, each_change_makes_another_list,
      rollout_refuses_a_senseless_change_and_says_why, rollout_stores_the_changes_and_nothing_else,
      a_damaged_or_newer_state_is_refused_by_name, a_state_that_cannot_be_written_is_an_error,
      a_directory_is_below_the_root_or_is_refused)
