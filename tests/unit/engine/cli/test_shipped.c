/* shipped.h: models by their names, from a build and from an installation. */
#include "engine/cli/shipped.h"
#include "engine/model/spec.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[PATH_MAX], out[PATH_MAX], want[PATH_MAX + 64];
static struct err err;

static void expect_found(const char *bin, const char *name, const char *place)
{
    err = (struct err){0};
    ck_assert_msg(!shipped_find_from(out, bin, name, &err), "%s", err.text);
    snprintf(want, sizeof want, "%s/%s", root, place);
    ck_assert_str_eq(out, want);
}

START_TEST(a_name_is_looked_for_beside_the_build)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    expect_found("tests", "wafer-vit", "models/wafer-vit");
    expect_found("tests", "vit-small", "models/configs/vit-small");
    expect_found("tests/unit/..", "bert-base", "models/configs/bert-base");
}
END_TEST

START_TEST(a_name_is_looked_for_in_an_installation)
{
    char bin[160], command[512];
    struct tempdir dir;
    tempdir_open(&dir);
    snprintf(root, sizeof root, "%s", dir.path);
    snprintf(bin, sizeof bin, "%s/bin", dir.path);
    snprintf(command, sizeof command,
             "mkdir -p %s %s/share/attnd/models && cp -r models/configs %s/share/attnd/models", bin,
             dir.path, dir.path);
    ck_assert_int_eq(system(command), 0);
    expect_found(bin, "vit-scratch", "share/attnd/models/configs/vit-scratch");
    err = (struct err){0};
    ck_assert_int_eq(shipped_find_from(out, bin, "wafer-vit", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "wafer-vit: no directory and no shipped model has this name (there are: "
                     "bert-base, bert-scratch, bert-small, vit-base, vit-scratch, vit-small)");
    snprintf(command, sizeof command, "rm -r %s/bin %s/share", dir.path, dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_path_is_itself)
{
    static const char *const paths[] = {"models", "no/where", "./x", ".", "", "/no/where"};
    static char path[PATH_MAX + 1];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        err = (struct err){0};
        ck_assert(!shipped_find_from(out, "tests", paths[i], &err));
        ck_assert_str_eq(out, paths[i]);
    }
    memset(path, '/', PATH_MAX);
    ck_assert_int_eq(shipped_find_from(out, "tests", path, &err), ERR_UNUSABLE);
}
END_TEST

/* The sizes are those of their README: the small ones are small. */
START_TEST(every_configuration_is_one_that_is_served)
{
    static const char *const names[] = {"vit-scratch",  "vit-small",  "vit-base",
                                        "bert-scratch", "bert-small", "bert-base"};
    static const unsigned widths[] = {128, 192, 768, 192, 384, 768};
    for (unsigned i = 0; i < 6; i++) {
        struct spec spec;
        struct arena arena;
        arena_init(&arena);
        snprintf(out, sizeof out, "models/configs/%s", names[i]);
        err = (struct err){0};
        ck_assert_msg(!spec_read(&spec, out, &arena, &err), "%s", err.text);
        ck_assert_uint_eq(spec.hidden, widths[i]);
        arena_deinit(&arena);
    }
}
END_TEST

/* ---- the program ---- */

static struct train_fixture f;

#define RUN(program, ...) outcome_of(program, (const char *[]){__VA_ARGS__, NULL})

START_TEST(train_begins_with_a_name)
{
    train_fixture_images(&f, "right");
    struct outcome *outcome =
        RUN("attnd-train", "--model", "vit-scratch", "--data", f.list, "--out", f.first.path,
            "--epochs", "1", "--stages", "16:1", "--threads", "1");
    outcome_holds(outcome, 0, "", "vit, 1");
    outcome_expect(outcome, 0, "", " --image FILE --explain rollout ");
    outcome = RUN("attnd-train", "--model", "vit-tiny", "--data", f.list, "--out", f.second.path);
    outcome_expect(outcome, 2, "",
                   "attnd-train: vit-tiny: no directory and no shipped model has this name (there "
                   "are: ");
    train_fixture_close(&f);
}
END_TEST

/* A test for each program that asks for a checkpoint directory: attnd-stream is left out where
 * librdkafka is. */
START_TEST(every_program_refuses_a_name_that_no_shipped_model_has)
{
    static const char *const calls[][9] = {
        {"attnd-batch", "--model", "vit-tiny", "--lines", "README.md"},
        {"attnd-eval", "--model", "vit-tiny", "--data", "README.md"},
        {"attnd-fit", "--model", "vit-tiny", "--data", "README.md", "--out", "no/where"},
        {"attnd-inspect", "vit-tiny"},
        {"attnd-predict", "--model", "vit-tiny", "--text", "scan"},
        {"attnd-prune", "--model", "vit-tiny", "--data", "README.md", "--out", "no/where"},
        {"attnd-train", "--model", "vit-tiny", "--data", "README.md", "--out", "no/where"},
        {"attnd-vocab", "trim", "--model", "vit-tiny", "--data", "README.md", "--out", "no/where"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        outcome_expect(outcome_of(calls[i][0], &calls[i][1]), 2, "",
                       "vit-tiny: no directory and no shipped model has this name (there are: ");
}
END_TEST

START_TEST(every_program_takes_a_shipped_model_by_its_name)
{
    outcome_expect(RUN("attnd-inspect", "wafer-vit"), 0, "family         vit", "");
    outcome_expect(RUN("attnd-predict", "--model", "testlog-bert", "--text", "scan fail", "--json"),
                   0, "\"name\":\"testlog-bert\"", "");
    outcome_expect(RUN("attnd-batch", "--model", "testlog-bert", "--lines", ".version"), 0,
                   "\"name\":\"testlog-bert\"", "");
    outcome_expect(RUN("attnd", "--check-config", "--model", "maps=wafer-vit"), 0, "", "");
    outcome_expect(RUN("attnd", "--print-config", "--model", "maps=wafer-vit"), 0,
                   "models/wafer-vit\"", "");
}
END_TEST

START_TEST(a_vocabulary_and_a_configuration_make_a_bert)
{
    char command[256];
    train_fixture_texts(&f);
    struct outcome *outcome =
        RUN("attnd-vocab", "build", "--data", f.list, "--size", "200", "--out", f.second.path);
    outcome_expect(outcome, 0, "", "");
    snprintf(command, sizeof command, "cp models/configs/bert-scratch/config.json %s",
             f.second.path);
    ck_assert_int_eq(system(command), 0);
    outcome = RUN("attnd-train", "--model", f.second.path, "--data", f.list, "--out", f.first.path,
                  "--epochs", "1", "--threads", "1");
    outcome_expect(outcome, 0, "", "bert, 2");
    outcome = RUN("attnd-train", "--model", "bert-scratch", "--data", f.list, "--out", f.first.path,
                  "--restart");
    outcome_expect(outcome, 2, "", "attnd-vocab build --data");
    train_fixture_close(&f);
}
END_TEST

START_TEST(shipped_models_name_the_sizes_that_a_configuration_lacks)
{
    static const char config[] = "{\"model_type\":\"vit\",\"hidden_size\":24,"
                                 "\"num_attention_heads\":2,\"intermediate_size\":32,"
                                 "\"image_size\":16,\"patch_size\":4}";
    train_fixture_images(&f, "right");
    tempdir_write(&f.model, "config.json", config, strlen(config));
    tempdir_write(&f.model, "preprocessor_config.json", "{\"size\": 16}", strlen("{\"size\": 16}"));
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_str_eq(f.remarks,
                     "note: config.json does not say num_hidden_layers: Hugging Face's default is "
                     "taken, 12 blocks 24 wide; --model vit-small is a small model\n");
    train_fixture_close(&f);
}
END_TEST

START_TEST(sizes_of_a_family_with_stages_have_names_of_their_own)
{
    static const char config[] = "{\"model_type\":\"swin\",\"embed_dim\":8,\"depths\":[1,1],"
                                 "\"num_heads\":[2,2],\"mlp_ratio\":2,\"window_size\":2,"
                                 "\"image_size\":16,\"patch_size\":4}";
    train_fixture_images(&f, "right");
    tempdir_write(&f.model, "config.json", config, strlen(config));
    tempdir_write(&f.model, "preprocessor_config.json", "{\"size\": 16}", strlen("{\"size\": 16}"));
    f.options.epochs = 1;
    train_fixture_learn(&f);
    ck_assert_str_eq(f.remarks, "");
    train_fixture_close(&f);
}
END_TEST

SUITE("shipped", a_name_is_looked_for_beside_the_build, a_name_is_looked_for_in_an_installation,
      a_path_is_itself, every_configuration_is_one_that_is_served, train_begins_with_a_name,
      every_program_refuses_a_name_that_no_shipped_model_has,
      every_program_takes_a_shipped_model_by_its_name, a_vocabulary_and_a_configuration_make_a_bert,
      shipped_models_name_the_sizes_that_a_configuration_lacks,
      sizes_of_a_family_with_stages_have_names_of_their_own)
