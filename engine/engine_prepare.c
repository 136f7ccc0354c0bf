/* engine_prepare.c - a client's text or image -> an input, and the memory that this takes. */
#include "engine/content/document.h"
#include "engine/engine_rules.h"
#include "engine/prepare/pipeline.h"
#include "engine/prepare/question.h"
#include "engine/text/token_list.h"
#include "engine/vision/image.h"

#include <string.h>

enum { SPECIALS = 2 }; /* of a text, one at each end */

/* A pair is never read in windows. */
static bool is_in_windows(const struct engine_model *model, const struct engine_source *source)
{
    if (source->pair_len > 0)
        return false;
    if (source->reading.long_text == LONG_TEXT_OWN)
        return model->stacks[0].spec.long_text.in_windows;
    return source->reading.long_text == LONG_TEXT_WINDOWS;
}

/* Tokens of a text's encoding, special ones included; 0: as many as the model reads at once. */
static unsigned limit_of(const struct engine_model *model, const struct engine_source *source)
{
    const struct pipeline *pipeline = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    const unsigned shortest = pipeline->tokenizer->limit;
    unsigned most = ENGINE_TEXT_TOKENS_MAX;
    if (!is_in_windows(model, source))
        return 0;
    if (source->reading.text_tokens_max > 0)
        most = source->reading.text_tokens_max;
    most += shortest - pipeline->windows.room;
    return most > shortest ? most : shortest;
}

/* Adds the evidence of n-grams, if the model has a table. Of a pair it reads the first text. */
static enum err_code take_evidence(const struct ngram_table *table,
                                   const struct pipeline_text *text, struct arena *arena,
                                   struct engine_input *out, struct err *err)
{
    if (table->bias == NULL)
        return ERR_OK;
    float *evidence = arena_alloc_array(arena, table->labels, sizeof *evidence);
    if (evidence == NULL)
        return err_no_memory(err, table->labels * sizeof *evidence);
    out->evidence = evidence;
    return ngram_table_evidence(table, text->bytes, text->len, arena, evidence, err);
}

static size_t evidence_bytes(const struct ngram_table *table, size_t len)
{
    if (table->bias == NULL)
        return 0;
    return table->labels * sizeof(float) + ngrams_list_bytes(&table->reading, len);
}

/* A model gives a label to anything. */
static enum err_code check_text(const char *text, size_t len, struct err *err)
{
    char described[DOCUMENT_TEXT_BYTES];
    if (len > 0 && document_describe(text, len, described))
        return err_set(err, ERR_UNUSABLE, "%s", described);
    return ERR_OK;
}

/* Lists the masked tokens. */
static enum err_code find_masks(const struct pipeline *pipeline, struct arena *arena,
                                struct engine_input *out, struct err *err)
{
    const int32_t mask = pipeline->tokenizer->specials.mask;
    unsigned *masks = arena_alloc_array(arena, ENGINE_MASKS_MAX, sizeof *masks);
    if (masks == NULL)
        return err_no_memory(err, ENGINE_MASKS_MAX * sizeof *masks);
    for (unsigned t = 0; t < out->tokens; t++) {
        if (mask < 0 || out->ids[t] != mask)
            continue;
        if (out->mask_count == ENGINE_MASKS_MAX)
            return err_set(err, ERR_UNUSABLE, "the text has more than %d masked tokens",
                           ENGINE_MASKS_MAX);
        masks[out->mask_count++] = t;
    }
    out->masks = masks;
    if (out->mask_count == 0)
        return err_set(err, ERR_UNUSABLE,
                       "the text has no masked token, such as [MASK] or <mask>, that is read");
    return ERR_OK;
}

/* The token that a target stands for: the one with its string, else the first of its text. */
static enum err_code find_target(const struct pipeline *pipeline, const char *target,
                                 struct interrupt *interrupt, struct arena *arena, int32_t *out,
                                 struct err *err)
{
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const size_t len = strlen(target);
    struct token_list list;
    *out = tokenizer_find(tokenizer, target, len);
    if (*out >= 0)
        return ERR_OK;
    if (token_list_init(&list, 1, false, arena, err) ||
        tokenizer->kind->encode(tokenizer, target, len, interrupt, arena, &list, err))
        return err->code;
    if (list.count == 0)
        return err_set(err, ERR_UNUSABLE, "it has no token");
    *out = list.ids[0];
    return ERR_OK;
}

/* Lists the tokens that may fill a mask, the lowest first. */
static enum err_code find_targets(const struct pipeline *pipeline,
                                  const struct engine_source *source, unsigned vocab_size,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct engine_input *out, struct err *err)
{
    int32_t *ids = arena_alloc_array(arena, source->target_count, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err, source->target_count * sizeof *ids);
    for (unsigned i = 0; i < source->target_count; i++) {
        int32_t id;
        unsigned at = out->target_count;
        if (find_target(pipeline, source->targets[i], interrupt, arena, &id, err))
            return err_prefix(err, "targets[%u]: ", i);
        if ((unsigned)id >= vocab_size)
            return err_set(err, ERR_UNUSABLE, "targets[%u]: the model has no row for its token", i);
        while (at > 0 && ids[at - 1] > id)
            at--;
        if (at > 0 && ids[at - 1] == id)
            continue;
        memmove(ids + at + 1, ids + at, (out->target_count - at) * sizeof *ids);
        ids[at] = id;
        out->target_count++;
    }
    out->targets = ids;
    return ERR_OK;
}

static size_t targets_bytes(const struct tokenizer *tokenizer, const struct engine_source *source)
{
    enum { LIST_BYTES = 4 * (sizeof(int32_t) + ARENA_ALIGNMENT) };
    size_t bytes = source->target_count * sizeof(int32_t) + ARENA_ALIGNMENT;
    for (unsigned i = 0; i < source->target_count; i++)
        bytes += LIST_BYTES + tokenizer->kind->encode_bytes(tokenizer, source->targets[i],
                                                            strlen(source->targets[i]));
    return bytes;
}

/* Makes each token a part. `shift` is pipeline_text's. */
static enum err_code place_tokens(int64_t shift, struct arena *arena, struct engine_input *input,
                                  struct err *err)
{
    struct input_part *parts = arena_alloc_array(arena, input->tokens, sizeof *parts);
    if (parts == NULL)
        return err_no_memory(err, input->tokens * sizeof *parts);
    for (unsigned t = 0; t < input->tokens; t++) {
        const int64_t start = (int64_t)input->starts[t] - shift, stop = input->ends[t] - shift;
        const bool is_of_text = input->ends[t] > 0 && stop > 0;
        parts[t] = (struct input_part){.first = t,
                                       .end = t + 1,
                                       .start = is_of_text && start > 0 ? (uint32_t)start : 0,
                                       .stop = is_of_text ? (uint32_t)stop : 0};
    }
    input->parts = parts;
    input->part_count = input->tokens;
    return ERR_OK;
}

static enum err_code prepare_text(const struct engine_model *model,
                                  const struct engine_source *source, struct interrupt *interrupt,
                                  struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct stack *stack = engine_stack_of(model, ENGINE_TEXT);
    const struct pipeline *pipeline = &stack->pipeline;
    const unsigned limit = limit_of(model, source);
    struct pipeline_text text = {.bytes = source->bytes,
                                 .len = source->len,
                                 .is_utf8 = source->is_utf8,
                                 .pair = source->pair,
                                 .pair_len = source->pair_len};
    struct encoding encoding;
    unsigned skipped = 0;
    if (check_text(text.bytes, text.len, err) || check_text(text.pair, text.pair_len, err))
        return err->code;
    if (stack->spec.sentence != NULL &&
        prompt_add(&text, &skipped, pipeline, source->prompt_name, arena, err))
        return err->code;
    if (pipeline_encode(pipeline, limit, &text, interrupt, arena, &encoding, err) ||
        (spec_pooling(&stack->spec) == POOLING_LAST &&
         engine_cut_at_end(&stack->spec, &encoding, err)))
        return err->code;
    if (skipped >= encoding.count)
        return err_set(err, ERR_UNUSABLE, "the prompt leaves no room for the text");
    if (limit > 0 && encoding.truncated)
        return err_set(err, ERR_TOO_LARGE,
                       "the text has more than %u tokens, the limit for a text in windows "
                       "(text_tokens_max); send less of it, or \"long_text\": \"truncate\"",
                       limit - (pipeline->tokenizer->limit - pipeline->windows.room));
    if (limit == 0)
        *out = windows_whole(&encoding);
    else if (windows_cut(&encoding, &pipeline->windows, arena, out, err))
        return err->code;
    out->skipped = skipped;
    if (source->reading.vectors != VECTORS_ONE)
        out->row_size = source->reading.vectors == VECTORS_LINES ? spec_features(&stack->spec)
                                                                 : stack->spec.hidden;
    if (source->reading.vectors == VECTORS_LINES)
        return lines_cut(source->bytes, source->len, text.shift, pipeline->tokenizer->limit, arena,
                         out, err);
    if (source->reading.vectors == VECTORS_TOKENS)
        return place_tokens(text.shift, arena, out, err);
    out->aggregation =
        (unsigned char)(source->reading.aggregation != AGGREGATION_OWN ? source->reading.aggregation
                                                                       : stack->spec.aggregation);
    out->keeps_outside = source->reading.keeps_outside;
    if (model->info.task == ENGINE_FILL && source->target_count > 0 &&
        find_targets(pipeline, source, model->info.vocab_size, interrupt, arena, out, err))
        return err->code;
    if (model->info.task == ENGINE_FILL)
        return find_masks(pipeline, arena, out, err);
    if (model->info.task == ENGINE_TAG)
        return tags_order(pipeline, text.bytes, text.len, arena, out, err);
    return take_evidence(&model->ngrams, &text, arena, out, err);
}

static struct question_asked asked_of(const struct engine_source *source)
{
    const struct engine_question *question = &source->question;
    const unsigned most = source->reading.text_tokens_max;
    return (struct question_asked){
        .question = question->text,
        .question_len = question->len,
        .text = source->bytes,
        .len = source->len,
        .tokens_max = question->tokens_max,
        .overlap = question->overlap,
        .asked_max = question->asked_max,
        .text_tokens_max = most > 0 ? most : ENGINE_TEXT_TOKENS_MAX,
        .options = {.top = question->top > 0 ? question->top : 1,
                    .length_max = question->length_max > 0 ? question->length_max : 15,
                    .may_be_empty = question->may_be_empty,
                    .keeps_tokens = question->keeps_tokens}};
}

static bool asks(const struct engine_question *question)
{
    return question->text != NULL || question->top > 0 || question->length_max > 0 ||
           question->tokens_max > 0 || question->overlap > 0 || question->asked_max > 0 ||
           question->may_be_empty || question->keeps_tokens;
}

static enum err_code prepare_question(const struct engine_model *model,
                                      const struct engine_source *source,
                                      struct interrupt *interrupt, struct arena *arena,
                                      struct engine_input *out, struct err *err)
{
    const struct question_asked asked = asked_of(source);
    if (asked.question == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "question: it is missing: the model answers a question from a text");
    if (asked.options.top > EXTRACTION_TOP_MAX)
        return err_set(err, ERR_UNUSABLE, "top_k: for answers it must be from 1 to %d",
                       EXTRACTION_TOP_MAX);
    if (source->reading.long_text == LONG_TEXT_TRUNCATE)
        return err_set(err, ERR_UNUSABLE, "long_text: a question is always asked of all the text");
    if (!source->is_utf8 &&
        (err_check_utf8(err, asked.text, asked.len, "the text") ||
         err_check_utf8(err, asked.question, asked.question_len, "the question")))
        return err->code;
    if (check_text(asked.text, asked.len, err) ||
        check_text(asked.question, asked.question_len, err))
        return err->code;
    return question_encode(&model->stacks[0].pipeline, &asked, interrupt, arena, out, err);
}

static enum err_code prepare_image(const struct engine_model *model,
                                   const struct engine_source *source, struct interrupt *interrupt,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct image *image = source->image;
    struct image decoded;
    struct arena scratch;
    arena_init(&scratch);
    if (image == NULL && !pipeline_decode(&model->stacks[0].pipeline, source->bytes, source->len,
                                          source->pixels_max, interrupt, &scratch, &decoded, err))
        image = &decoded;
    if (image != NULL && !pipeline_patches(&model->stacks[0].pipeline, image, NULL, interrupt,
                                           &scratch, arena, out, err))
        out->coloured = pixels_are_coloured(image);
    arena_deinit(&scratch);
    return err->code;
}

/* The text or the picture that a text is written from. Rules come first: they may be refused. */
static enum err_code prepare_writing(const struct engine_model *model,
                                     const struct engine_source *asked, struct interrupt *interrupt,
                                     struct arena *arena, struct engine_input *out, struct err *err)
{
    struct engine_writing room;
    const struct engine_source own = engine_write_source(model, asked, &room), *source = &own;
    const struct tokenizer *tokenizer = model->stacks[0].pipeline.tokenizer;
    struct encoding encoding;
    int32_t language;
    if (engine_write_prepare(model, source, &language, arena, out, err))
        return err->code;
    const struct writing_input *writing = out->writing;
    if (source->kind == ENGINE_IMAGE) {
        prepare_image(model, source, interrupt, arena, out, err);
        out->writing = writing;
        return err->code;
    }
    if (check_text(source->bytes, source->len, err) ||
        tokenizer_encode_language(tokenizer, language, 0, source->bytes, source->len, interrupt,
                                  arena, &encoding, err))
        return err->code;
    if (encoding.count == 0) /* an empty text is its end token, as for transformers */
        return err_set(err, ERR_UNUSABLE, "the text has no token, nor a token that ends it");
    *out = windows_whole(&encoding);
    out->writing = writing;
    return ERR_OK;
}

/* True for a model whose tokens all have states that one pooling makes a vector. */
static enum err_code check_vectors(const struct engine_model *model,
                                   const struct engine_source *source, struct err *err)
{
    const bool has_lines = source->reading.vectors == VECTORS_LINES;
    const char *what = has_lines ? "chunks" : "vectors of tokens";
    const struct spec *spec = &engine_stack_of(model, ENGINE_TEXT)->spec;
    if (model->info.task != ENGINE_EMBED || source->kind != ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE, "%s: only a text has them, of a model of embeddings",
                       what);
    if (spec->sentence == NULL || spec_has_own_vector(spec) || model->info.full_layers > 0)
        return err_set(err, ERR_UNUSABLE,
                       "%s: the model pools its tokens by itself: they have no vectors", what);
    for (unsigned i = 0; has_lines && i < spec->sentence->pooling.count; i++)
        if (spec->sentence->pooling.modes[i] == SENTENCE_CLS)
            return err_set(err, ERR_UNUSABLE,
                           "%s: the model's vector is the state of its first token, which no line "
                           "has",
                           what);
    return ERR_OK;
}

enum err_code engine_prepare(const struct engine_model *model, const struct engine_source *source,
                             struct interrupt *interrupt, struct arena *arena,
                             struct engine_input *out, struct err *err)
{
    *out = (struct engine_input){.kind = source->kind};
    if (!engine_reads(&model->info, source->kind))
        return err_set(err, ERR_UNUSABLE, "the model takes %s",
                       model->info.kind == ENGINE_IMAGE ? "images" : "texts");
    if (source->prompt_name != NULL && model->stacks[0].spec.sentence == NULL)
        return err_set(err, ERR_UNUSABLE, "prompt_name: the model has no prompts");
    if (source->reading.aggregation != AGGREGATION_OWN && model->info.task != ENGINE_TAG)
        return err_set(err, ERR_UNUSABLE,
                       "aggregation: the model does not answer spans (its task is another)");
    if (asks(&source->question) && model->info.task != ENGINE_ANSWER)
        return err_set(err, ERR_UNUSABLE,
                       "question and its options: the model does not answer questions (its task is "
                       "another)");
    if (source->reading.vectors != VECTORS_ONE && check_vectors(model, source, err))
        return err->code;
    if (source->target_count > 0 && model->info.task != ENGINE_FILL)
        return err_set(err, ERR_UNUSABLE,
                       "targets: the model does not fill masked tokens (its task is another)");
    if (source->target_count > ENGINE_TARGETS_MAX)
        return err_set(err, ERR_UNUSABLE, "targets: at most %d, found %u", ENGINE_TARGETS_MAX,
                       source->target_count);
    if (source->pair_len > 0 && model->info.row_size > 0)
        return err_set(err, ERR_UNUSABLE, "the model reads one text, not a pair");
    if (source->reading.long_text == LONG_TEXT_WINDOWS && model->info.task == ENGINE_EMBED)
        return err_set(err, ERR_UNUSABLE,
                       "long_text: a text has one vector, without windows: send its parts");
    if (source->reading.long_text == LONG_TEXT_WINDOWS &&
        (model->info.task == ENGINE_FILL || model->info.task == ENGINE_SPARSE))
        return err_set(err, ERR_UNUSABLE, "long_text: the model reads a text without windows");
    if (source->writing != NULL && model->info.task != ENGINE_GENERATE)
        return err_set(err, ERR_UNUSABLE,
                       "options of writing: the model writes no text (its task is another)");
    if (source->pair_len > 0 && model->info.task == ENGINE_GENERATE)
        return err_set(err, ERR_UNUSABLE, "the model reads one text, not a pair");
    if (source->reading.long_text == LONG_TEXT_WINDOWS && model->info.task == ENGINE_GENERATE)
        return err_set(err, ERR_UNUSABLE, "long_text: the model reads a text without windows");
    if (model->info.task == ENGINE_ANSWER)
        prepare_question(model, source, interrupt, arena, out, err);
    else if (model->info.task == ENGINE_GENERATE)
        prepare_writing(model, source, interrupt, arena, out, err);
    else if (source->kind == ENGINE_TEXT)
        prepare_text(model, source, interrupt, arena, out, err);
    else
        prepare_image(model, source, interrupt, arena, out, err);
    out->model = model;
    return err->code;
}

size_t engine_image_pixels(const void *bytes, size_t len)
{
    unsigned width, height;
    return image_probe(bytes, len, &width, &height) ? (size_t)width * height : 0;
}

static struct engine_need need_of_tags(const struct engine_model *model,
                                       const struct engine_source *source)
{
    const struct pipeline *pipeline = &model->stacks[0].pipeline;
    const struct tokenizer *tokenizer = pipeline->tokenizer;
    const unsigned limit = limit_of(model, source);
    const unsigned tokens = tokenizer_tokens_max(tokenizer, limit, source->bytes, source->len);
    const unsigned windows = windows_count(&pipeline->windows, tokens - SPECIALS);
    const size_t rows = windows > 1 ? (size_t)windows * tokenizer->limit : tokens;
    const size_t scratch = spans_scratch_rows(model->stacks[0].spec.pairs.weights, tokens);
    if (source->pair_len > 0)
        return (struct engine_need){0};
    return (struct engine_need){
        .windows = windows > 1 ? windows : 0,
        .kept = tokenizer_encode_bytes(tokenizer, limit, source->bytes, source->len) +
                windows_bytes(&pipeline->windows, tokens - SPECIALS) + tags_bytes(rows),
        .answer = (rows + scratch) * model->info.row_size * sizeof(float) +
                  (tokens + 1) * sizeof(struct span) + 2 * (size_t)ARENA_ALIGNMENT,
        .tokens = (unsigned)rows,
        .spans = tokens};
}

static struct engine_need need_of_question(const struct engine_model *model,
                                           const struct engine_source *source)
{
    const struct question_asked asked = asked_of(source);
    if (asked.question == NULL || asked.options.top > EXTRACTION_TOP_MAX)
        return (struct engine_need){0};
    const struct pipeline *pipeline = &model->stacks[0].pipeline;
    const struct question_size size = question_size(pipeline, &asked);
    return (struct engine_need){.windows = size.windows > 1 ? (unsigned)size.windows : 0,
                                .kept = question_bytes(pipeline, &asked),
                                .answer = (size.tokens + 1) * 2 * sizeof(float) + ARENA_ALIGNMENT +
                                          question_room_bytes(pipeline, &asked),
                                .spans = asked.options.top};
}

static struct engine_need need_of_image(const struct engine_model *model,
                                        const struct engine_source *source)
{
    const struct spec *spec = &model->stacks[0].spec;
    const struct image *image = source->image;
    const unsigned views = spec->image_reading.views;
    unsigned width = image != NULL ? image->width : 0, height = image != NULL ? image->height : 0;
    if (image == NULL && (!image_probe(source->bytes, source->len, &width, &height) ||
                          (size_t)width * height > source->pixels_max))
        return (struct engine_need){0};
    const size_t turned = views == 1 ? 0 : 3 * extent_area(spec->image_size);
    const size_t decoded = image == NULL ? image_decode_bytes(source->bytes, source->len) : 0;
    return (struct engine_need){
        .kept = pipeline_patches_bytes(&model->stacks[0].pipeline),
        .passing = decoded +
                   preprocess_bytes(&model->stacks[0].pipeline.preprocess, width, height) + turned,
        .windows = views > 1 ? views : 0};
}

/* The search has all its room before its first step. */
static struct engine_need need_of_writing(const struct engine_model *model,
                                          const struct engine_source *asked)
{
    struct engine_writing room;
    const struct engine_source own = engine_write_source(model, asked, &room), *source = &own;
    const struct stack *stack = &model->stacks[0];
    const bool is_text = source->kind == ENGINE_TEXT;
    const size_t tokens =
        is_text ? tokenizer_tokens_max(stack->pipeline.tokenizer, 0, source->bytes, source->len)
                : spec_image_tokens(&stack->spec);
    struct engine_need need = {0};
    size_t kept, passing;
    if (!engine_rules_bytes(source, &kept, &passing))
        return need;
    if (is_text)
        need.kept =
            tokenizer_encode_bytes(stack->pipeline.tokenizer, 0, source->bytes, source->len);
    else
        need = need_of_image(model, source);
    if (need.kept == 0)
        return need;
    need.kept += sizeof(struct generation_config) + 2 * (size_t)ARENA_ALIGNMENT + kept;
    need.passing = need.passing > passing ? need.passing : passing;
    engine_write_need(model, source->writing, tokens, &need);
    return need.answer > 0 ? need : (struct engine_need){0};
}

/* Bytes that engine_result_rows takes for so many rows. */
static size_t answer_bytes(const struct engine_model *model, size_t rows)
{
    return (rows + 1) * model->info.row_size * sizeof(float) + sizeof(struct span) +
           2 * (size_t)ARENA_ALIGNMENT;
}

/* An embedding's vectors of tokens or lines. */
static struct engine_need need_of_vectors(const struct engine_model *model,
                                          const struct engine_source *source)
{
    const struct pipeline *pipeline = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    const unsigned limit = pipeline->tokenizer->limit;
    const size_t tokens = prompt_tokens(pipeline, source->bytes, source->len, source->prompt_name);
    const size_t most = tokens < limit ? tokens : limit;
    const size_t kept = prompt_bytes(pipeline, source->bytes, source->len, source->prompt_name);
    if (source->reading.vectors == VECTORS_ONE)
        return (struct engine_need){.kept = kept};
    if (source->reading.vectors == VECTORS_TOKENS)
        return (struct engine_need){
            .kept = memory_sum(kept, most * sizeof(struct input_part) + ARENA_ALIGNMENT),
            .parts = (unsigned)most,
            .answer = (most + 1) * model->info.hidden_size * sizeof(float) + ARENA_ALIGNMENT};
    const size_t lines = lines_count(source->bytes, source->len, limit);
    const size_t size = spec_features(&model->stacks[0].spec);
    return (struct engine_need){
        .kept = memory_sum(kept, (lines + 1) * sizeof(struct input_part) + ARENA_ALIGNMENT),
        .parts = (unsigned)lines,
        .answer = (lines + 1) * size * sizeof(float) + ARENA_ALIGNMENT};
}

/* A text has no more tokens than bytes. */
static struct engine_need need_of_text(const struct engine_model *model,
                                       const struct engine_source *source)
{
    const struct pipeline *pipeline = &engine_stack_of(model, ENGINE_TEXT)->pipeline;
    const size_t len = source->len, evidence = evidence_bytes(&model->ngrams, len);
    const unsigned limit = limit_of(model, source);
    const unsigned tokens = len < limit ? (unsigned)len : limit;
    const unsigned windows = windows_count(&pipeline->windows, tokens);
    if (model->info.task == ENGINE_TAG)
        return need_of_tags(model, source);
    if (model->info.task == ENGINE_ANSWER)
        return need_of_question(model, source);
    if (model->info.task == ENGINE_FILL)
        return (struct engine_need){
            .kept = tokenizer_encode_bytes(pipeline->tokenizer, limit, source->bytes, len) +
                    targets_bytes(pipeline->tokenizer, source) +
                    ENGINE_MASKS_MAX * sizeof(unsigned) + ARENA_ALIGNMENT,
            .tokens = tokenizer_tokens_max(pipeline->tokenizer, limit, source->bytes, len),
            .answer = answer_bytes(model, ENGINE_MASKS_MAX)};
    if (model->info.task == ENGINE_SPARSE)
        return (struct engine_need){
            .kept = prompt_bytes(pipeline, source->bytes, len, source->prompt_name),
            .answer = answer_bytes(model, 1)};
    if (model->info.task == ENGINE_EMBED)
        return need_of_vectors(model, source);
    if (source->pair_len > 0)
        return (struct engine_need){
            .kept = tokenizer_encode_pair_bytes(pipeline->tokenizer, source->bytes, len,
                                                source->pair, source->pair_len) +
                    evidence};
    return (struct engine_need){
        .windows = windows > 1 ? windows : 0,
        .kept = tokenizer_encode_bytes(pipeline->tokenizer, limit, source->bytes, len) +
                windows_bytes(&pipeline->windows, tokens) + evidence};
}

struct engine_need engine_need(const struct engine_model *model, const struct engine_source *source)
{
    if (!engine_reads(&model->info, source->kind))
        return (struct engine_need){0};
    if (model->info.task == ENGINE_GENERATE)
        return need_of_writing(model, source);
    return source->kind == ENGINE_TEXT ? need_of_text(model, source) : need_of_image(model, source);
}
