/* rows.c - see rows.h. What one request may ask for is bounded before any of it is decoded: its
 * inputs by the protocol, its pixels here, by what the headers of its images declare. A header may
 * declare any size, but the decoders never exceed it: nothing is decoded that was not counted. An
 * image above image_pixels_max is refused by itself, and so does not count.
 */
#include "server/serve/rows.h"

#include "engine/base/clock.h"
#include "engine/base/sha256.h"
#include "server/serve/answered.h"
#include "server/serve/claim.h"
#include "server/serve/explain.h"
#include "server/serve/label_sets.h"
#include "server/serve/similar.h"
#include "server/serve/versions.h"
#include "server/serve/watch.h"

#include <string.h>
#include <strings.h>

/* ---- a row for each item ---- */

/* Puts the item's place in the call before the error text. */
static enum err_code prefix_item(const struct request *request, unsigned index, struct err *err)
{
    char place[CALL_PLACE_BYTES];
    request->call.place(&request->call, index, place);
    return err_prefix(err, "%s: ", place);
}

/* Labels go with models that take them, and such a model may have none of its own. A set that is
 * encoded already is the row's from now on. */
static enum err_code check_labels(const struct request *request, struct row *row)
{
    const struct served_model *model = row->model;
    const struct engine_labels *labels = &request->call.labels;
    if (labels->count == 0 && model->info->needs_labels)
        return err_set(&row->err, ERR_UNUSABLE,
                       "the model %s is zero-shot and has no labels of its own: send them as "
                       "candidate_labels",
                       model->name);
    if (labels->count > 0 && !model->info->is_zero_shot)
        return err_set(&row->err, ERR_UNUSABLE,
                       "candidate_labels: the labels of the model %s are fixed; a zero-shot model "
                       "takes others",
                       model->name);
    if (labels->count > 0)
        row->labels = label_sets_find(model->label_sets, labels);
    return ERR_OK;
}

int rows_entailment(const struct engine_info *info)
{
    static const char name[] = "entail";
    for (unsigned i = 0; info->reads_pairs && info->label_count > 1 && i < info->label_count; i++)
        if (strncasecmp(info->labels[i], name, strlen(name)) == 0)
            return (int)i;
    return -1;
}

static bool grants(const struct engine_info *info, enum predict_wish wish)
{
    return wish == WISH_WHOLE      ? info->row_size == 0
           : wish == WISH_VECTOR   ? info->task == ENGINE_EMBED
           : wish == WISH_SCORES   ? info->task == ENGINE_CLASSIFY || info->task == ENGINE_REGRESS
           : wish == WISH_ENTAIL   ? info->task == ENGINE_CLASSIFY && rows_entailment(info) >= 0
           : wish == WISH_PIPELINE ? info->task != ENGINE_SPARSE
           : wish == WISH_ANSWER   ? info->task == ENGINE_ANSWER
           : wish == WISH_SPARSE   ? info->task == ENGINE_SPARSE
           : wish == WISH_TEXT     ? info->task == ENGINE_GENERATE
           : wish == WISH_RANK
               ? info->task == ENGINE_CLASSIFY && info->reads_pairs && info->label_count == 1
               : true;
}

struct served_model *rows_default(const struct request *request, enum engine_kind kind)
{
    const struct snapshot *snapshot = request->snapshot;
    const enum predict_wish wish = request->call.wish;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (engine_reads(snapshot->models[i]->info, kind) &&
            grants(snapshot->models[i]->info, wish) &&
            (wish != WISH_SIMILAR || snapshot->indexes[i] != NULL))
            return snapshot->models[i];
    return snapshot_default(snapshot, kind);
}

static enum err_code check_wish(const struct predict_call *call, struct row *row)
{
    const struct engine_info *info = row->model->info;
    static const char *const lacks[] = {
        [WISH_WHOLE] = "answers parts of a text, which this route does not give",
        [WISH_VECTOR] = "answers no vectors",
        [WISH_RANK] = "does not score pairs of texts with one label",
        [WISH_SCORES] = "answers no labels",
        [WISH_ENTAIL] = "has no label of entailment",
        [WISH_PIPELINE] = "answers weights of words, which this route does not give",
        [WISH_ANSWER] = "answers no questions",
        [WISH_SPARSE] = "answers no sparse vectors",
        [WISH_TEXT] = "writes no texts",
    };
    if (!grants(info, call->wish))
        return err_set(&row->err, ERR_UNUSABLE,
                       "%sthe model %s %s: its task is another (GET /models)",
                       call->model == NULL ? "no model is named, and none here can do it: " : "",
                       row->model->name, lacks[call->wish]);
    if (call->stream && info->task != ENGINE_GENERATE)
        return err_set(&row->err, ERR_UNUSABLE,
                       "stream: the model %s writes no texts: its answer is one part",
                       row->model->name);
    if (info->task == ENGINE_GENERATE && call->wish == WISH_ANY && call->top_k != 1)
        return err_set(&row->err, ERR_UNUSABLE,
                       "top_k: the model %s writes texts, it has no labels; num_return_sequences "
                       "says how many texts are answered",
                       row->model->name);
    if (call->refuses_unit && info->normalizes)
        return err_set(
            &row->err, ERR_UNUSABLE,
            "normalize: the modules of the model %s scale vectors to length 1: \"false\" "
            "cannot be obeyed",
            row->model->name);
    return vector_form_check(&call->vector, info, &row->err);
}

/* A text's alignment is kept while it is written: it has to be asked for before. */
static enum err_code ask_alignment(const struct request *request, struct row *row)
{
    const struct predict_call *call = &request->call;
    if (!call->explain || row->model->info->task != ENGINE_GENERATE)
        return ERR_OK;
    struct engine_writing *writing =
        arena_alloc_array(&request->exchange->arena, 1, sizeof *writing);
    if (writing == NULL)
        return err_no_memory(&row->err, sizeof *writing);
    *writing = call->writing != NULL ? *call->writing
                                     : (struct engine_writing){.asked = generation_request_empty};
    writing->aligns = true;
    row->writing = writing;
    return ERR_OK;
}

/* The version that the call names; NULL: it is not served. */
static struct served_model *find_version(const struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i]->name, request->call.model) == 0 &&
            strcmp(snapshot->models[i]->info->version, request->call.version) == 0)
            return snapshot->models[i];
    return NULL;
}

/* The model of an item; what is wrong with the choice goes into the row. */
static void resolve_model(struct request *request, unsigned index, struct served_model *named)
{
    struct row *row = &request->rows[index];
    enum engine_kind kind = request->call.items[index].source.kind;
    struct served_model *model = named != NULL ? named : rows_default(request, kind);
    if (model != NULL && engine_reads(model->info, kind)) {
        const struct predict_call *call = &request->call;
        const struct predict_item *item = &call->items[index];
        const char *lot = item->lot != NULL ? item->lot : call->lot;
        const char *id = item->id != NULL ? item->id : call->id;
        /* items with the same key go to the same version */
        row->key = lot != NULL ? lot : id != NULL ? id : request->id;
        row->model = call->version != NULL ? find_version(request)
                                           : versions_choose(request->snapshot, model, row->key);
        if (check_wish(call, row) || check_labels(request, row) || ask_alignment(request, row) ||
            similar_find(request, row))
            prefix_item(request, index, &row->err);
        return;
    }
    const char *noun = kind == ENGINE_TEXT ? "texts" : "images";
    if (named != NULL)
        err_set(&row->err, ERR_UNUSABLE, "the model %s does not read %s", named->name, noun);
    else
        err_set(&row->err, ERR_UNUSABLE, "no model that reads %s is served", noun);
    prefix_item(request, index, &row->err);
}

enum err_code rows_open(struct request *request)
{
    unsigned count = request->call.item_count;
    struct arena *arena = &request->exchange->arena;
    request->rows = arena_alloc_array(arena, count, sizeof *request->rows);
    request->good = arena_alloc_array(arena, count, sizeof(struct row *));
    if (request->rows == NULL || request->good == NULL)
        return err_no_memory(&request->err, count * sizeof *request->rows);
    const struct predict_call *call = &request->call;
    struct served_model *named = NULL;
    if (call->model != NULL) {
        named = snapshot_find(request->snapshot, call->model);
        if (named == NULL)
            return err_set(&request->err, ERR_NOT_FOUND,
                           "%s: no model of this name is served; GET /models lists them",
                           call->model_place);
        if (call->version != NULL && find_version(request) == NULL)
            return err_set(&request->err, ERR_NOT_FOUND, "version: the model has no such version");
    }
    for (unsigned i = 0; i < call->item_count; i++) {
        request->rows[i].request = request;
        request->rows[i].deadline_ns = request->deadline_ns;
        request->rows[i].err = call->items[i].err;
        if (request->rows[i].err.code == ERR_OK)
            resolve_model(request, i, named);
    }
    const size_t image_most = request->snapshot->config.image_pixels_max;
    const size_t most = request->snapshot->config.request_pixels_max;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct engine_source *source = &request->call.items[i].source;
        if (source->kind != ENGINE_IMAGE || request->rows[i].err.code != ERR_OK)
            continue;
        size_t pixels = engine_image_pixels(source->bytes, source->len);
        if (pixels > image_most)
            continue;
        if (pixels > most - request->pixels)
            return err_set(&request->err, ERR_TOO_LARGE,
                           "the images up to $.inputs[%u] have %zu pixels, the limit for one "
                           "request (request_pixels_max) is %zu; send fewer or smaller ones",
                           i, request->pixels + pixels, most);
        request->pixels += pixels;
    }
    return ERR_OK;
}

/* ---- labels ---- */

/* The first row without the labels that it is to be answered in; NULL: none is. */
static struct row *unlabelled(const struct request *request)
{
    for (unsigned i = 0; request->call.labels.count > 0 && i < request->call.item_count; i++)
        if (request->rows[i].err.code == ERR_OK && request->rows[i].labels == NULL)
            return &request->rows[i];
    return NULL;
}

bool rows_want_labels(const struct request *request)
{
    return unlabelled(request) != NULL;
}

static enum err_code begin_labels(struct service *service, struct request *request,
                                  const struct served_model *model)
{
    if (request->labelling != NULL || claim_labels(service, request, model->engine))
        return request->err.code;
    return label_sets_begin(&request->labelling, model->label_sets, &request->call.labels,
                            &request->err);
}

enum err_code rows_label(struct service *service, struct request *request, unsigned *left)
{
    const struct served_model *model = unlabelled(request)->model;
    *left = 0;
    if (!watch_wanted(service, request) || begin_labels(service, request, model) ||
        label_set_step(request->labelling, left, &request->err))
        return request->err.code;
    if (*left == 0) {
        /* the labels in the making are ready: they are those of every row of the model */
        for (unsigned i = 0; i < request->call.item_count; i++) {
            struct row *row = &request->rows[i];
            if (row->model != model || row->err.code != ERR_OK || row->labels != NULL)
                continue;
            row->labels = request->labelling;
            label_set_acquire(row->labels);
        }
        label_set_release(request->labelling);
        request->labelling = NULL;
    }
    if (*left == 0 && rows_want_labels(request)) /* another version answers some of the items */
        *left = request->call.labels.count;
    return ERR_OK;
}

void rows_release_labels(struct request *request)
{
    for (unsigned i = 0; request->rows != NULL && i < request->call.item_count; i++) {
        label_set_release(request->rows[i].labels);
        request->rows[i].labels = NULL;
    }
    label_set_release(request->labelling);
    request->labelling = NULL;
}

/* ---- preparing ---- */

/* SHA-256 of the picture's bytes, or of the text as UTF-8, or of both texts of a pair, or of a text
 * and its question, with a zero byte between them. NULL if there is no memory. */
static const char *digest_source(const struct engine_source *source, struct arena *arena)
{
    char hex[SHA256_HEX_BYTES];
    const char *bytes = source->bytes;
    size_t len = source->len;
    const struct engine_question *question = &source->question;
    const char *second = source->pair != NULL ? source->pair : question->text;
    if (second != NULL) {
        const size_t more = source->pair != NULL ? source->pair_len : question->len;
        len = source->len + 1 + more;
        char *both = arena_alloc(arena, len);
        if (both == NULL)
            return NULL;
        memcpy(both, source->bytes, source->len);
        both[source->len] = '\0';
        memcpy(both + source->len + 1, second, more);
        bytes = both;
    }
    sha256_hex(bytes, len, hex);
    return arena_format(arena, "sha256:%s", hex);
}

static enum err_code check_whole(const struct predict_call *call, struct row *row)
{
    const struct engine_info *info = row_info(row);
    if (!call->refuses_cut || !row->input.truncated || info->accepts_truncated)
        return ERR_OK;
    return err_set(
        &row->err, ERR_TOO_LARGE, "the text is longer than the %u tokens that the model reads: %s",
        info->tokens_max,
        call->cut_advice != NULL ? call->cut_advice : "send less, or \"truncate\": true");
}

/* The item's tokens, which are the answer. */
static enum err_code tokenize_item(struct request *request, unsigned index,
                                   struct interrupt *interrupt)
{
    struct row *row = &request->rows[index];
    const struct engine_source source = request_source(request, index);
    struct engine_tokens *tokens = &row->tokens;
    if (engine_tokenize(row_engine(row), &source, interrupt, &request->exchange->arena, tokens,
                        &row->err))
        return prefix_item(request, index, &row->err);
    row->answer.result.tokens = tokens->count;
    return ERR_OK;
}

/* A stream's tokens have room before it begins, each as a piece and as an event; so has the last
 * event, which holds the reply once more. */
static enum err_code prepare_stream(struct service *service, struct request *request,
                                    struct row *row)
{
    const size_t bytes = engine_pieces_bytes(&row->input);
    if (bytes == 0)
        return err_set(&row->err, ERR_UNUSABLE,
                       "stream: of several hypotheses none is the text before its end; send "
                       "\"num_beams\": 1");
    if (claim_reply(service, request, memory_sum(memory_product(bytes, 2), request->reply_bytes)))
        row->err = request->err;
    return row->err.code;
}

static enum err_code prepare_item(struct service *service, struct request *request, unsigned index,
                                  struct interrupt *interrupt)
{
    struct row *row = &request->rows[index];
    struct arena *arena = &request->exchange->arena;
    const struct engine_source source = request_source(request, index);
    if (engine_prepare(row_engine(row), &source, interrupt, arena, &row->input, &row->err) ||
        check_whole(&request->call, row) ||
        (request->call.stream && prepare_stream(service, request, row)) ||
        (request->call.explain && explain_keep(service, request, row)) ||
        similar_keep(request, row))
        return prefix_item(request, index, &row->err);
    if (engine_result_init(&row->answer.result, row_engine(row), arena, &row->err) ||
        engine_result_rows(&row->answer.result, row_engine(row), &row->input, arena, &row->err))
        return row->err.code;
    row->answer.text = source.kind == ENGINE_TEXT ? source.bytes : NULL;
    row->answer.text_len = source.len;
    row->answer.input = &row->input;
    if (claim_has_likeness(service, row)) {
        row->likeness = arena_alloc(arena, row->model->info->classifier_size);
        if (row->likeness == NULL)
            return err_no_memory(&row->err, row->model->info->classifier_size);
    }
    if (row->input.windows > 0 && row_info(row)->row_size == 0 &&
        row_info(row)->task != ENGINE_GENERATE) {
        const unsigned numbers = row->model->info->feature_size;
        row->answer.result.pooled = arena_alloc_array(arena, numbers, sizeof(float));
        if (row->answer.result.pooled == NULL)
            return err_no_memory(&row->err, numbers * sizeof(float));
    }
    request->good[request->good_count++] = row;
    return ERR_OK;
}

enum err_code rows_prepare(struct service *service, struct request *request)
{
    struct watch watch;
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    size_t passing;
    if (!watch_wanted(service, request) || claim_preparing(service, request, &passing))
        return request->err.code;
    for (unsigned i = 0; i < request->call.item_count && request->err.code == ERR_OK; i++) {
        struct row *row = &request->rows[i];
        if (row->err.code != ERR_OK || request->call.wish == WISH_NOTHING)
            continue;
        if (request->call.wish == WISH_TOKENS) {
            tokenize_item(request, i, interrupt);
            continue;
        }
        const struct engine_source source = request_source(request, i);
        if (service->audit != NULL &&
            (row->input_digest = digest_source(&source, &request->exchange->arena)) == NULL)
            err_no_memory(&row->err, source.len);
        else if (!answered_find(service, request, i))
            prepare_item(service, request, i, interrupt);
    }
    claim_prepared(service, request, passing);
    request->prepared_ns = clock_now_ns();
    return request->err.code;
}
