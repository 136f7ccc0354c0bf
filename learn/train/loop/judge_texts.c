#include "learn/train/loop/judge.h"

#include "engine/base/file.h"
#include "engine/engine.h"
#include "learn/data/picture.h"
#include "learn/train/checkpoint/export.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_ITEMS = 64, BATCH_TOKENS = 2048, PIXELS_MAX = 64 * 1024 * 1024 };

/* ---- the texts ---- */

/* Some items, of which as many as a session holds are written together. */
struct writing {
    const struct judge_writer *writer;
    const struct dataset *dataset;
    struct engine_model *model;
    struct engine_session *session;
    struct pictures pictures;
    struct engine_writing how;
    struct engine_input inputs[CHUNK_ITEMS];
    struct engine_result results[CHUNK_ITEMS];
    struct arena arenas[CHUNK_ITEMS];
    bool refused[CHUNK_ITEMS]; /* the engine does not take it: it counts as written otherwise */
    size_t right;
};

static enum err_code prepare(struct writing *writing, size_t item, unsigned place, struct err *err)
{
    const struct dataset_item *from = &writing->dataset->items[item];
    const struct image_options options = {.pixels_max = PIXELS_MAX};
    struct engine_source source = {.kind = writing->dataset->kind,
                                   .bytes = from->input,
                                   .len = from->input_len,
                                   .writing = &writing->how};
    struct arena scratch, *arena = &writing->arenas[place];
    struct image image;
    struct engine_result *result = &writing->results[place];
    arena_init(&scratch);
    if (source.kind == ENGINE_IMAGE) {
        source.image = &image;
        picture_read(&writing->pictures, from->input, &options, &scratch, &image, err);
    }
    if (err->code == ERR_OK &&
        !engine_prepare(writing->model, &source, NULL, arena, &writing->inputs[place], err) &&
        !engine_result_init(result, writing->model, arena, err))
        engine_result_rows(result, writing->model, &writing->inputs[place], arena, err);
    arena_deinit(&scratch);
    if (err_is_of_system(err->code))
        return err_prefix(err, "%.80s: ", from->name);
    writing->refused[place] = err->code != ERR_OK;
    *err = (struct err){0};
    return ERR_OK;
}

/* Runs the items of a chunk in batches that the session holds. */
static void run_chunk(struct writing *writing, unsigned count)
{
    const struct engine_input *inputs[CHUNK_ITEMS];
    struct engine_result *results[CHUNK_ITEMS];
    unsigned rows = 0, tokens = 0;
    for (unsigned i = 0; i < count; i++) {
        if (writing->refused[i])
            continue;
        if (rows > 0 && tokens + writing->inputs[i].tokens > BATCH_TOKENS) {
            engine_run(writing->session, inputs, rows, results);
            rows = tokens = 0;
        }
        inputs[rows] = &writing->inputs[i];
        results[rows++] = &writing->results[i];
        tokens += writing->inputs[i].tokens;
    }
    if (rows > 0)
        engine_run(writing->session, inputs, rows, results);
}

/* Compares the text of an item, which is none if the search met numbers that are not finite. */
static enum err_code compare(struct writing *writing, size_t item, unsigned place, struct err *err)
{
    const struct dataset_item *from = &writing->dataset->items[item];
    struct engine_result *result = &writing->results[place];
    const bool is_written = !writing->refused[place] && result->is_finite;
    const char *text = NULL;
    if (is_written && engine_result_texts(result, &writing->arenas[place], err))
        return err->code;
    if (is_written && result->text_count > 0)
        text = result->texts[0].text;
    writing->right += text != NULL && strcmp(text, from->label) == 0;
    if (writing->writer->written != NULL)
        writing->writer->written(writing->writer->context, from, text != NULL ? text : "");
    return ERR_OK;
}

static enum err_code write_all(struct writing *writing, const struct corpus_items *items,
                               struct err *err)
{
    const struct judge_writer *writer = writing->writer;
    for (size_t first = 0, count; first < items->count; first += count) {
        count = items->count - first < CHUNK_ITEMS ? items->count - first : CHUNK_ITEMS;
        for (unsigned i = 0; i < count; i++)
            arena_init(&writing->arenas[i]);
        for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
            prepare(writing, items->item[first + i], i, err);
        if (err->code == ERR_OK)
            run_chunk(writing, (unsigned)count);
        for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
            compare(writing, items->item[first + i], i, err);
        for (unsigned i = 0; i < count; i++)
            arena_deinit(&writing->arenas[i]);
        if (err->code != ERR_OK)
            return err->code;
        if (writer->progress != NULL)
            writer->progress(writer->context, first + count);
    }
    return ERR_OK;
}

enum err_code judge_writer_run(const struct judge_writer *writer, const struct corpus_items *items,
                               double *exact, struct err *err)
{
    const struct engine_options options = {.writes_texts = true};
    struct writing *writing = calloc(1, sizeof *writing);
    if (writing == NULL)
        return err_no_memory(err, sizeof *writing);
    writing->writer = writer;
    writing->dataset = &items->part->dataset;
    writing->how = (struct engine_writing){.asked = generation_request_empty,
                                           .source_language = writer->source_language,
                                           .target_language = writer->target_language};
    writing->how.asked.num_beams = writing->how.asked.num_return_sequences = 1;
    writing->how.asked.max_new_tokens =
        writer->tokens < GENERATION_NEW_MAX ? writer->tokens : GENERATION_NEW_MAX;
    if (engine_open(&writing->model, writer->dir, &options, err))
        err_prefix(err, "%s: ", writer->dir);
    else if (!engine_session_open(&writing->session, writing->model, BATCH_TOKENS, writer->threads,
                                  err) &&
             !write_all(writing, items, err))
        *exact = items->count > 0 ? (double)writing->right / (double)items->count : 0;
    pictures_close(&writing->pictures);
    engine_session_close(writing->session);
    engine_close(writing->model);
    free(writing);
    return err->code;
}

/* ---- an epoch ---- */

/* Removes a directory with its files. What cannot be removed stays. */
static void remove_dir(const char *dir)
{
    char path[PATH_MAX];
    struct err ignored = {0};
    DIR *list = opendir(dir);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;)
        if (entry->d_name[0] != '.' && !file_path(path, dir, entry->d_name, &ignored))
            file_remove(path, &ignored);
    if (list != NULL)
        closedir(list);
    rmdir(dir);
}

static enum err_code sum_losses(const struct judge *judge, struct learner *learner,
                                struct data_loader *loader, struct judge_result *out,
                                struct err *err)
{
    const struct corpus_items *items = judge->items;
    size_t words = 0, hits = 0;
    double sum = 0;
    for (size_t first = 0; first < items->count; first += loader->rows) {
        const size_t left = items->count - first;
        const unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        const struct data_loader_order order = {.view = &judge->view, .writes = true};
        if (data_loader_prepare(loader, network_pool(learner->network), items->item + first, count,
                                &order, err) ||
            learner_texts(learner, loader, judge->loss, &sum, &words, &hits, err))
            return err->code;
        if (judge->progress != NULL)
            judge->progress(judge->context, first + count);
    }
    out->loss = words > 0 ? sum / (double)words : 0;
    out->accuracy = words > 0 ? (double)hits / (double)words : 0;
    return ERR_OK;
}

enum err_code judge_texts(const struct judge *judge, struct learner *learner,
                          struct data_loader *loader, struct judge_result *out, struct err *err)
{
    const struct judge_texts_options *texts = judge->texts;
    const struct export what = {.parameters = &learner->parameters,
                                .values = optimizer_best(&learner->optimizer),
                                .dtype = DTYPE_F32,
                                .source_dir = texts->source_dir,
                                .tokens_max = texts->tokens_max};
    const struct judge_writer writer = {.dir = texts->scratch_dir,
                                        .source_language = texts->source_language,
                                        .target_language = texts->target_language,
                                        .threads = learner->setup.network.threads,
                                        .tokens =
                                            samples_target_tokens(judge->items->part->samples)};
    if (sum_losses(judge, learner, loader, out, err))
        return err->code;
    if (!export_checkpoint(texts->scratch_dir, &what, err))
        judge_writer_run(&writer, judge->items, &out->exact, err);
    remove_dir(texts->scratch_dir);
    return err->code;
}
