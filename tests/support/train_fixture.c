#include "tests/support/train_fixture.h"

#include "engine/base/file.h"
#include "engine/base/rng.h"
#include "engine/vision/png.h"

#include <check.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char text_config[] =
    "{\"model_type\":\"bert\",\"hidden_size\":16,\"num_hidden_layers\":2,"
    "\"num_attention_heads\":2,\"intermediate_size\":32,\"vocab_size\":9,"
    "\"max_position_embeddings\":16,\"type_vocab_size\":2}";
static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\ngreen\nblue\ngrey\n";
static const char image_steps[] = "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": 16}";
static const char image_config[] =
    "{\"model_type\":\"vit\",\"hidden_size\":24,\"num_hidden_layers\":2,"
    "\"num_attention_heads\":2,\"intermediate_size\":32,\"image_size\":16,\"patch_size\":4,"
    "\"num_channels\":3}";

/* ---- data ---- */

/* "hot" if a text has more reds than blues: order and filling do not matter. */
static void write_texts(const struct train_fixture *f)
{
    static const char *const words[] = {"red", "blue", "green", "grey"};
    char text[TRAIN_FIXTURE_TEXTS * 80] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_TEXTS; i++) {
        bool hot = i % 2 == 0;
        len +=
            (size_t)snprintf(text + len, sizeof text - len,
                             "{\"text\":\"%s %s %s %s\",\"label\":\"%s\"}\n", words[2 + i / 2 % 2],
                             words[!hot], words[2 + i / 4 % 2], words[!hot], hot ? "hot" : "cold");
    }
    tempdir_write(&f->data, "list.jsonl", text, len);
}

/* Like a wafer map: 0 in the corners, and of the dies of the bright half two in three fail. */
static void draw(unsigned char *rgb, unsigned number, bool left, bool other_is_right)
{
    enum { SIDE = TRAIN_FIXTURE_SIDE };
    struct rng rng = rng_for(17, number, 0);
    for (unsigned p = 0; p < SIDE * SIDE; p++) {
        unsigned x = p % SIDE, y = p / SIDE;
        bool corner = (x == 0 || x == SIDE - 1) && (y == 0 || y == SIDE - 1);
        bool bright = left ? x < SIDE / 2 : other_is_right ? x >= SIDE / 2 : y < SIDE / 2;
        bool fails = rng_below(&rng, 3) > 0 && bright;
        memset(rgb + (size_t)p * 3, corner ? 0 : fails ? 255 : 127, 3);
    }
}

static void write_images(const struct train_fixture *f, const char *other)
{
    char list[TRAIN_FIXTURE_IMAGES * 64] = "";
    size_t len = 0;
    for (unsigned i = 0; i < TRAIN_FIXTURE_IMAGES; i++) {
        unsigned char rgb[TRAIN_FIXTURE_SIDE * TRAIN_FIXTURE_SIDE * 3];
        struct image image = {TRAIN_FIXTURE_SIDE, TRAIN_FIXTURE_SIDE, rgb};
        struct err err = {0};
        char name[16], *png;
        size_t bytes;
        draw(rgb, i, i % 2 == 0, strcmp(other, "right") == 0);
        ck_assert_int_eq(png_encode(&png, &bytes, &image, &err), ERR_OK);
        snprintf(name, sizeof name, "%02u.png", i);
        tempdir_write(&f->data, name, png, bytes);
        free(png);
        len +=
            (size_t)snprintf(list + len, sizeof list - len, "{\"image\":\"%s\",\"label\":\"%s\"}\n",
                             name, i % 2 == 0 ? "left" : other);
    }
    tempdir_write(&f->data, "list.jsonl", list, len);
}

/* ---- open and close ---- */

static void open_dirs(struct train_fixture *f)
{
    *f = (struct train_fixture){0};
    tempdir_open(&f->model);
    tempdir_open(&f->data);
    tempdir_open(&f->first);
    tempdir_open(&f->second);
    snprintf(f->list, sizeof f->list, "%s/list.jsonl", f->data.path);
    train_options_default(&f->options);
    f->options.model = f->model.path;
    f->options.data = f->list;
    f->options.out = f->first.path;
    f->options.epochs = 6;
    f->options.batch = 8;
    f->options.rate = 5e-3f;
    f->options.threads = 1;
    f->options.precision = "f32";
    f->options.store = "f32";
    f->options.keep = "last";
}

void train_fixture_texts(struct train_fixture *f)
{
    open_dirs(f);
    tempdir_write(&f->model, "config.json", text_config, strlen(text_config));
    tempdir_write(&f->model, "vocab.txt", vocabulary, strlen(vocabulary));
    write_texts(f);
    f->options.dropout = 0.1f;
    f->options.attention_dropout = 0.1f;
    f->options.average = 0.9f;
}

void train_fixture_images(struct train_fixture *f, const char *other)
{
    open_dirs(f);
    tempdir_write(&f->model, "config.json", image_config, strlen(image_config));
    tempdir_write(&f->model, "preprocessor_config.json", image_steps, strlen(image_steps));
    write_images(f, other);
}

void train_fixture_close(struct train_fixture *f)
{
    tempdir_close(&f->model);
    tempdir_close(&f->data);
    tempdir_close(&f->first);
    tempdir_close(&f->second);
}

/* ---- run ---- */

static void watch(void *context, const struct trainer_progress *progress)
{
    struct train_fixture *f = context;
    if (progress->phase == TRAINER_LEARNING && ++f->learning_calls == f->stop_after)
        atomic_store(&f->stop, true);
}

/* Strings of a plan's inputs do not outlive the run. */
static void note_plan(void *context, const struct trainer_plan *plan)
{
    struct train_fixture *f = context;
    f->plan = *plan;
    if (plan->unusable > 0)
        snprintf(f->unusable, sizeof f->unusable, "%s: %s", plan->unusable_name,
                 plan->unusable_reason);
    f->plan.unusable_name = f->plan.unusable_reason = f->plan.replaced_version = f->plan.remarks =
        NULL;
    snprintf(f->remarks, sizeof f->remarks, "%s", plan->remarks);
    f->plan_calls++;
}

struct trainer_result train_fixture_run(struct train_fixture *f)
{
    struct trainer_hooks hooks = {
        .plan = note_plan, .progress = watch, .context = f, .stop = &f->stop};
    struct trainer_result result;
    struct err err = {0};
    trainer_run(&f->options, &hooks, &result, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return result;
}

void train_fixture_learn(struct train_fixture *f)
{
    struct trainer_result result = train_fixture_run(f);
    trainer_result_free(&result);
}

/* ---- what it wrote ---- */

char *train_fixture_weights(const struct tempdir *dir, size_t *len)
{
    char path[128], *bytes;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/model.safetensors", dir->path);
    ck_assert_msg(file_read(&bytes, len, path, 1 << 24, &err) == ERR_OK, "%s", err.text);
    return bytes;
}

static bool are_same(const struct tempdir *a, const struct tempdir *b)
{
    size_t a_len, b_len;
    char *a_bytes = train_fixture_weights(a, &a_len), *b_bytes = train_fixture_weights(b, &b_len);
    bool same = a_len == b_len && memcmp(a_bytes, b_bytes, a_len) == 0;
    free(a_bytes);
    free(b_bytes);
    return same;
}

void train_fixture_expect_same(const struct tempdir *a, const struct tempdir *b)
{
    ck_assert_msg(are_same(a, b), "the weights differ");
}

void train_fixture_expect_other(const struct tempdir *a, const struct tempdir *b)
{
    ck_assert_msg(!are_same(a, b), "the weights are the same");
}

bool train_fixture_has(const struct tempdir *dir, const char *name)
{
    char path[256];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    return stat(path, &info) == 0;
}
