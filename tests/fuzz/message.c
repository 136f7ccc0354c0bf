/* A message of a stream all the way to an input of the encoder. The first byte says to which model
 * and as what; the rest is the message. */
#include "tools/stream/message.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 2048, IMAGES = 1, JSON = 2, NO_VALUE = 128, TYPES = 2 /* its bits begin */ };

static const char *const types[] = {NULL,
                                    "application/json; charset=utf-8",
                                    "text/plain",
                                    "image/png",
                                    "image/jpeg",
                                    "image/gif",
                                    "Application/JSON",
                                    "text/plain;"};

/* Open until the end of the process. */
static const struct engine_model *model_of(bool takes_images)
{
    static struct engine_model *models[2];
    struct engine_model **model = &models[takes_images];
    struct err err = {0};
    if (*model == NULL)
        FUZZ_CLAIM(engine_open(model, takes_images ? "models/wafer-vit" : "models/testlog-bert",
                               &(struct engine_options){0}, &err) == ERR_OK);
    return *model;
}

static void check_input(const struct message_input *input, bool takes_images)
{
    FUZZ_CLAIM(input->prepared.kind == (takes_images ? ENGINE_IMAGE : ENGINE_TEXT));
    FUZZ_CLAIM(input->prepared.tokens > 0);
    FUZZ_CLAIM((input->text != NULL) == !takes_images);
    FUZZ_CLAIM(input->context == NULL || fuzz_is_json(input->context, strlen(input->context)));
}

static void check_err(const struct message *message, const struct err *err)
{
    fuzz_check_err(err);
    FUZZ_CLAIM(err->code == ERR_OK || err->code == ERR_TOO_LARGE || err->code == ERR_MEDIA_TYPE ||
               err->code == ERR_MALFORMED || err->code == ERR_UNUSABLE);
    FUZZ_CLAIM(message->len <= BYTES_MAX || err->code != ERR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct message_input out;
    struct arena arena;
    struct err err = {0};
    unsigned how = fuzz_byte(&input);
    bool takes_images = (how & IMAGES) != 0;
    char *value = fuzz_copy(input.at, input.left);
    const struct message message = {.value = (how & NO_VALUE) != 0 ? NULL : value,
                                    .len = input.left,
                                    .bytes_max = BYTES_MAX,
                                    .content_type = types[how >> TYPES & 7],
                                    .is_json = (how & JSON) != 0};
    arena_init(&arena);
    if (message_prepare(&message, model_of(takes_images), &arena, &out, &err) == ERR_OK)
        check_input(&out, takes_images);
    FUZZ_CLAIM(out.id == NULL || message_id_is_plain(out.id));
    check_err(&message, &err);
    arena_deinit(&arena);
    free(value);
    return 0;
}
