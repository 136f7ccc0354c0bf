#include "tests/support/writing_fixture.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "tests/support/writing_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, PIXELS_MAX = 1 << 22 };

const char *const writing_names[] = {"marian-0", "marian-1", "bart-0",    "t5-0",   "t5-gated-0",
                                     "m2m100-0", "mbart-0",  "pegasus-0", "mt5-0",  "umt5-0",
                                     "nllb-0",   "trocr-0",  "trocr-1",   "trocr-3"};

void writing_fixture_gather(struct writing_fixture *f, const char *name,
                            char dir[WRITING_PATH_BYTES])
{
    const char *golden = getenv("ATTND_GOLDEN");
    tempdir_open(&f->dir);
    snprintf(dir, WRITING_PATH_BYTES, "%s/%s", golden != NULL ? golden : "", name);
    if (golden != NULL && access(dir, R_OK) == 0)
        return;
    writing_model_copy(&f->dir, name);
    snprintf(dir, WRITING_PATH_BYTES, "%s", f->dir.path);
}

static void open_in(struct writing_fixture *f, const char *name, const char *dir)
{
    char path[WRITING_PATH_BYTES + 16];
    const struct engine_options options = {.writes_texts = true};
    ck_assert_msg(!engine_open(&f->model, dir, &options, &f->err), "%s: %s", name, f->err.text);
    ck_assert(!engine_session_open(&f->session, f->model, 0, 2, &f->err));
    snprintf(path, sizeof path, "%s/cases.json", dir);
    ck_assert(!doc_parse_file(&f->root, path, FILE_MAX, &f->err));
    f->cases = doc_member(f->root, "cases");
    ck_assert(doc_array_count(f->cases) > 0);
}

void writing_fixture_open(struct writing_fixture *f, const char *name)
{
    char dir[WRITING_PATH_BYTES];
    *f = (struct writing_fixture){0};
    arena_init(&f->arena);
    writing_fixture_gather(f, name, dir);
    open_in(f, name, dir);
}

static void open_with(struct writing_fixture *f, const char *name, const char *file,
                      const char *text)
{
    *f = (struct writing_fixture){0};
    arena_init(&f->arena);
    writing_model_open(&f->dir, name);
    tempdir_write(&f->dir, file, text, strlen(text));
    open_in(f, name, f->dir.path);
}

void writing_fixture_open_with(struct writing_fixture *f, const char *name, const char *settings)
{
    open_with(f, name, "attnd.json", settings);
}

void writing_fixture_open_bound(struct writing_fixture *f, const char *name, const char *config)
{
    open_with(f, name, "generation_config.json", config);
}

void writing_fixture_close(struct writing_fixture *f)
{
    doc_free(f->root);
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
    tempdir_close(&f->dir);
}

/* Prepares a case, a text or a picture. */
void writing_fixture_prepare(struct writing_fixture *f, const struct json_t *one,
                             struct engine_writing *writing, struct engine_input *input,
                             struct engine_need *need)
{
    const char *text = doc_as_string(doc_member(one, "text"));
    const char *image = doc_as_string(doc_member(one, "image"));
    const char *golden = getenv("ATTND_GOLDEN");
    struct engine_source source = {.kind = ENGINE_TEXT, .writing = writing};
    char path[WRITING_PATH_BYTES], *bytes = NULL;
    writing->source_language = doc_as_string(doc_member(one, "src_lang"));
    writing->target_language = doc_as_string(doc_member(one, "tgt_lang"));
    if (image != NULL) {
        snprintf(path, sizeof path, "%s/images/%s", golden != NULL ? golden : "tests/data/golden",
                 image);
        ck_assert_msg(!file_read(&bytes, &source.len, path, FILE_MAX, &f->err), "%s", f->err.text);
        source.kind = ENGINE_IMAGE;
        source.pixels_max = PIXELS_MAX;
        source.bytes = bytes;
    } else {
        source.bytes = text;
        source.len = strlen(text);
    }
    *need = engine_need(f->model, &source);
    ck_assert_msg(!engine_prepare(f->model, &source, NULL, &f->arena, input, &f->err), "%s",
                  f->err.text);
    free(bytes);
}

struct engine_result writing_fixture_room(struct writing_fixture *f,
                                          const struct engine_input *input)
{
    struct engine_result result;
    ck_assert(!engine_result_init(&result, f->model, &f->arena, &f->err));
    ck_assert_msg(!engine_result_rows(&result, f->model, input, &f->arena, &f->err), "%s",
                  f->err.text);
    return result;
}
