#include "tests/bench/steps.h"

#include "engine/base/clock.h"
#include "learn/train/loop/learner.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 256, ROWS_MAX = 256, MICRO_TOKENS = 4096, FIRST_WORD = 1000, WORDS = 20000 };
enum { DIR_BYTES = 400 };
enum { STRIDE = 7919 }; /* a prime: neighbours are unlike each other */

static const float rate = 1e-4f;

/* One model in one precision, with the inputs of a batch. */
struct stepper {
    char dtype[8], dir[DIR_BYTES];
    unsigned rows;
    struct learner learner;
    struct data_loader loader;
    struct loss loss;
    struct arena arena;
    const float *targets[ROWS_MAX];
    uint64_t steps;
};

/* ---- inputs ---- */

static unsigned at_most(unsigned value, unsigned limit)
{
    return value < limit ? value : limit;
}

static void fill_text(struct engine_input *input, const struct spec *spec, unsigned row,
                      int32_t *ids)
{
    unsigned tokens = at_most(spec_text_tokens(spec), TOKENS_MAX);
    unsigned first = at_most(spec->vocab_size / 4, FIRST_WORD);
    unsigned words = at_most(spec->vocab_size / 2, WORDS);
    for (unsigned t = 0; t < tokens; t++)
        ids[t] = (int32_t)(first + STRIDE * (uint64_t)(tokens * row + t) % words);
    *input = (struct engine_input){.kind = ENGINE_TEXT, .tokens = tokens, .ids = ids};
}

static void fill_image(struct engine_input *input, const struct spec *spec, unsigned row,
                       float *patches)
{
    const struct extent size = spec->image_size, patch = spec->patch;
    const unsigned across = extent_parts(size, patch).width;
    float *out = patches;
    for (unsigned p = 0; p < spec->patches; p++)
        for (unsigned c = 0; c < 3; c++)
            for (unsigned y = 0; y < patch.height; y++)
                for (unsigned x = 0; x < patch.width; x++) {
                    unsigned py = p / across * patch.height + y;
                    unsigned px = p % across * patch.width + x;
                    uint64_t i = ((row * 3ul + c) * size.height + py) * size.width + px;
                    *out++ = (float)(STRIDE * i % 255) / 127.5f - 1;
                }
    *input = (struct engine_input){
        .kind = ENGINE_IMAGE, .tokens = spec_image_tokens(spec), .patches = patches};
}

static enum err_code fill_loader(struct stepper *stepper, const struct spec *spec, struct err *err)
{
    struct data_loader *loader = &stepper->loader;
    size_t numbers = (size_t)spec->patches * 3 * extent_area(spec->patch);
    float *targets = arena_alloc_array(&stepper->arena, stepper->rows, spec->label_count * 4);
    loader->inputs = arena_alloc_array(&stepper->arena, stepper->rows, sizeof *loader->inputs);
    loader->listed = arena_alloc_array(&stepper->arena, stepper->rows, sizeof *loader->listed);
    loader->rows = stepper->rows;
    for (unsigned r = 0; r < stepper->rows; r++) {
        void *room = arena_alloc(&stepper->arena,
                                 (numbers > TOKENS_MAX ? numbers : TOKENS_MAX) * sizeof(float));
        if (room == NULL || targets == NULL || loader->inputs == NULL || loader->listed == NULL)
            return err_no_memory(err, numbers * sizeof(float));
        if (spec->family->kind == ENGINE_TEXT)
            fill_text(&loader->inputs[r], spec, r, room);
        else
            fill_image(&loader->inputs[r], spec, r, room);
        loader->listed[r] = &loader->inputs[r];
        stepper->targets[r] = targets + (size_t)r * spec->label_count;
        targets[(size_t)r * spec->label_count + r % spec->label_count] = 1;
    }
    return ERR_OK;
}

/* ---- the model ---- */

static enum err_code open_learner(struct stepper *stepper, unsigned threads, struct err *err)
{
    const char *dir = stepper->dir;
    struct checkpoint *checkpoint = NULL;
    struct learner_setup setup = {.head = HEAD_CLASSIFIER,
                                  .network = {.threads = threads, .tokens_max = MICRO_TOKENS},
                                  .optimizer = {.beta1 = 0.9f,
                                                .beta2 = 0.999f,
                                                .eps = 1e-8f,
                                                .weight_decay = 0.01f,
                                                .layer_decay = 1,
                                                .clip = 1}};
    if (!precision_find(stepper->dtype, &setup.network.precision))
        return err_set(err, ERR_UNUSABLE, "dtype '%s' is not known", stepper->dtype);
    if (spec_read(&setup.spec, dir, &stepper->arena, err) || checkpoint_open(&checkpoint, dir, err))
        return err->code;
    stepper->loss = (struct loss){.scores = setup.spec.scores, .labels = setup.spec.label_count};
    if (!learner_open(&stepper->learner, &setup, checkpoint, err))
        fill_loader(stepper, &setup.spec, err);
    checkpoint_close(checkpoint);
    return err->code;
}

static void close_stepper(struct stepper *stepper)
{
    learner_close(&stepper->learner);
    arena_deinit(&stepper->arena);
    *stepper = (struct stepper){0};
}

static enum err_code open_stepper(struct stepper *stepper, unsigned threads,
                                  const struct stepper *wanted, struct err *err)
{
    close_stepper(stepper);
    *stepper = *wanted;
    arena_init(&stepper->arena);
    return open_learner(stepper, threads, err);
}

static enum err_code take_step(struct stepper *stepper, double *ms, double *loss, struct err *err)
{
    struct learner_targets targets = {.rows = stepper->targets};
    uint64_t start = clock_now_ns();
    if (learner_batch(&stepper->learner, &stepper->loader, &stepper->loss, &targets,
                      stepper->steps++, loss, err))
        return err->code;
    learner_step(&stepper->learner, rate);
    *ms = clock_ms_between(start, clock_now_ns());
    return ERR_OK;
}

/* ---- the conversation ---- */

static bool is_same(const struct stepper *a, const struct stepper *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && strcmp(a->dir, b->dir) == 0 && a->rows == b->rows;
}

static enum err_code answer(struct stepper *stepper, unsigned threads, const char *line, FILE *out,
                            struct err *err)
{
    struct stepper wanted = {0};
    double ms = 0, loss = 0;
    if (sscanf(line, "%7s %u %399[^\n]", wanted.dtype, &wanted.rows, wanted.dir) != 3 ||
        wanted.rows == 0 || wanted.rows > ROWS_MAX)
        return err_set(err, ERR_UNUSABLE, "a line is DTYPE ROWS DIR");
    if (!is_same(stepper, &wanted) && open_stepper(stepper, threads, &wanted, err))
        return err->code;
    if (take_step(stepper, &ms, &loss, err))
        return err->code;
    fprintf(out, "%.6f %.9g %u\n", ms, loss, stepper->loader.inputs[0].tokens);
    fflush(out);
    return ERR_OK;
}

enum err_code steps_run(unsigned threads, FILE *in, FILE *out, struct err *err)
{
    char line[DIR_BYTES + 32];
    struct stepper *stepper = calloc(1, sizeof *stepper);
    if (stepper == NULL)
        return err_no_memory(err, sizeof *stepper);
    while (err->code == ERR_OK && fgets(line, sizeof line, in) != NULL)
        answer(stepper, threads, line, out, err);
    close_stepper(stepper);
    free(stepper);
    return err->code;
}
