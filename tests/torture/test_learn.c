/* Training with every call to the C library failing in turn: texts with a teacher and with all
 * weights of classes, up to the report; images that grow in stages; masked words, stopped and taken
 * up again. The written files are those of a run that nothing disturbed, or the failure is told. */
#include "tests/support/train_fixture.h"
#include "tests/torture/drill.h"
#include "tests/torture/written.h"

#include <stdio.h>
#include <string.h>

struct learning {
    struct train_fixture f;
    struct written written;
    unsigned stop_after; /* batches; 0: in one go */
};

/* ---- one try ---- */

static void count_batch(void *context, const struct trainer_progress *progress)
{
    struct train_fixture *f = context;
    if (progress->phase == TRAINER_LEARNING && ++f->learning_calls == f->stop_after)
        atomic_store(&f->stop, true);
}

static enum err_code learn_until(struct train_fixture *f, unsigned stop_after, bool restart,
                                 struct err *err)
{
    const struct trainer_hooks hooks = {.progress = count_batch, .context = f, .stop = &f->stop};
    struct trainer_result result;
    f->learning_calls = 0;
    f->stop_after = stop_after;
    atomic_store(&f->stop, false);
    f->options.restart = restart;
    trainer_run(&f->options, &hooks, &result, err);
    trainer_result_free(&result);
    return err->code;
}

static enum drill_outcome learn(const void *context, char *why, size_t size)
{
    union {
        const void *from;
        struct learning *to;
    } learning = {.from = context}; /* it counts its batches */
    struct train_fixture *f = &learning.to->f;
    unsigned stop_after = learning.to->stop_after;
    struct err err = {0};
    if (stop_after == 0 || !learn_until(f, stop_after, true, &err))
        learn_until(f, 0, stop_after == 0, &err);
    return written_outcome(&learning.to->written, &err, why, size);
}

/* ---- what is learnt ---- */

/* The first lines of what the fixture would learn: a try takes as long as its inputs. */
static void shorten(const struct train_fixture *f, unsigned lines)
{
    char text[4096];
    FILE *list = fopen(f->list, "rb");
    ck_assert_ptr_nonnull(list);
    size_t len = fread(text, 1, sizeof text, list), end = 0;
    fclose(list);
    for (unsigned i = 0; i < lines; i++)
        end += strcspn(text + end, "\n") + 1;
    ck_assert_uint_le(end, len);
    tempdir_write(&f->data, "list.jsonl", text, end);
}

static void drill_learning(const struct drill *how, struct learning *learning,
                           const struct written_file *files, unsigned count)
{
    char why[256] = "";
    struct drill drill = *how;
    drill.run = learn;
    drill.context = learning;
    ck_assert_msg(learn(learning, why, sizeof why) == DRILL_RIGHT, "%s", why);
    written_keep(&learning->written, learning->f.first.path, files, count);
    ck_assert_uint_eq(drill_run(&drill), 0);
    written_free(&learning->written);
    train_fixture_close(&learning->f);
}

/* The same model, learnt before, is the teacher. The weights are written once before the biases are
 * fitted. */
static void drill_texts(const struct drill *how)
{
    static const struct written_file files[] = {
        {"config.json", WRITTEN_SAME}, {"model.safetensors", WRITTEN_IN_STEPS},
        {"vocab.txt", WRITTEN_SAME},   {"tokenizer_config.json", WRITTEN_SAME},
        {"attnd.json", WRITTEN_SAME},  {"report.json", WRITTEN_TIMED},
        {"report.html", WRITTEN_TIMED}};
    struct learning learning = {0};
    train_fixture_texts(&learning.f);
    shorten(&learning.f, 12);
    struct train_options *options = &learning.f.options;
    options->epochs = 1;
    options->validation_share = 0.5f;
    options->batch = 4;
    options->tokens = 8;
    options->out = learning.f.second.path;
    train_fixture_learn(&learning.f);
    options->out = learning.f.first.path;
    options->teacher = (struct train_paths){{learning.f.second.path}, 1};
    options->logit_adjust = 1;
    options->class_weight = 0.5f;
    options->balance = 0.5f;
    options->class_biases = "fit";
    options->line_dropout = options->word_dropout = 0.1f;
    drill_learning(how, &learning, files, 7);
}

/* The drill is cut in two, so that each ends in time. */
START_TEST(a_text_model_is_trained_rightly_or_short_of_memory)
{
    drill_texts(&(struct drill){.name = "learn texts, memory", .only = "malloc"});
}
END_TEST

START_TEST(a_text_model_is_trained_rightly_or_short_of_something_else)
{
    drill_texts(&(struct drill){.name = "learn texts", .but = "malloc"});
}
END_TEST

/* Several labels an input, so that the report, which is as a text model's, is none. */
START_TEST(an_image_model_is_trained_in_stages_rightly_or_not)
{
    static const struct written_file files[] = {{"config.json", WRITTEN_SAME},
                                                {"model.safetensors", WRITTEN_SAME},
                                                {"preprocessor_config.json", WRITTEN_SAME}};
    struct learning learning = {0};
    train_fixture_images(&learning.f, "right");
    shorten(&learning.f, 6);
    struct train_options *options = &learning.f.options;
    options->validation = learning.f.list;
    options->multi_label = true;
    options->init = "structured";
    options->mirror = options->turn = true;
    options->stages = (struct train_stages){.stage = {{8, 1}, {16, 1}}, .count = 2};
    options->epochs = 2;
    drill_learning(&(struct drill){.name = "learn images"}, &learning, files, 3);
}
END_TEST

START_TEST(masked_words_are_learnt_and_gone_on_with_rightly_or_not)
{
    static const struct written_file files[] = {{"config.json", WRITTEN_SAME},
                                                {"model.safetensors", WRITTEN_SAME},
                                                {"vocab.txt", WRITTEN_SAME}};
    struct learning learning = {.stop_after = 2};
    train_fixture_texts(&learning.f);
    shorten(&learning.f, 12);
    struct train_options *options = &learning.f.options;
    options->task = "mlm";
    options->epochs = 2;
    options->batch = 4;
    options->store = "f16";
    drill_learning(&(struct drill){.name = "learn masked words"}, &learning, files, 3);
}
END_TEST

DRILLS("learn", a_text_model_is_trained_rightly_or_short_of_memory,
       a_text_model_is_trained_rightly_or_short_of_something_else,
       an_image_model_is_trained_in_stages_rightly_or_not,
       masked_words_are_learnt_and_gone_on_with_rightly_or_not)
