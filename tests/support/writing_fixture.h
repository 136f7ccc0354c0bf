/* writing_fixture.h - the golden checkpoints of models that write, opened through the engine's
 * door. ATTND_GOLDEN names a directory with whole checkpoints; without it each is put together from
 * tests/data/golden and tests/data/recoding. Failures end the test. Threads: one at a time. */
#ifndef ATTND_TESTS_SUPPORT_WRITING_FIXTURE_H
#define ATTND_TESTS_SUPPORT_WRITING_FIXTURE_H

#include "engine/engine.h"
#include "tests/support/tempdir.h"

struct json_t;

enum { WRITING_NAMES = 14, WRITING_PATH_BYTES = 1024 };
extern const char *const writing_names[WRITING_NAMES]; /* the last three read pictures */

struct writing_fixture {
    struct tempdir dir;
    struct engine_model *model;
    struct engine_session *session;
    struct json_t *root;        /* of cases.json */
    const struct json_t *cases; /* its member */
    struct arena arena;
    struct err err;
};

void writing_fixture_open(struct writing_fixture *f, const char *name);
/* The same, with an attnd.json. */
void writing_fixture_open_with(struct writing_fixture *f, const char *name, const char *settings);
/* The same, with a generation_config.json. */
void writing_fixture_open_bound(struct writing_fixture *f, const char *name, const char *config);
void writing_fixture_close(struct writing_fixture *f);
/* dir <- a directory with all files of the checkpoint; f->dir is to be closed. */
void writing_fixture_gather(struct writing_fixture *f, const char *name,
                            char dir[WRITING_PATH_BYTES]);
/* Prepares a case, a text or a picture, in its languages. */
void writing_fixture_prepare(struct writing_fixture *f, const struct json_t *one,
                             struct engine_writing *writing, struct engine_input *input,
                             struct engine_need *need);
struct engine_result writing_fixture_room(struct writing_fixture *f,
                                          const struct engine_input *input);

#endif
