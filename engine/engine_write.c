/* engine_write.c - a model that writes: an encoder reads the input once, then a step of the engine
 * reads one token of each open hypothesis of all inputs, as one packed batch, and the search of
 * each input goes on with its logits (model/decoder/decoder.h, generate/generation.h). */
#include "engine/engine_rules.h"
#include "engine/generate/generation.h"
#include "engine/generate/look_ahead.h"
#include "engine/prepare/views.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocab.h"

#include <assert.h>
#include <string.h>

/* A request's wishes, by the checkpoint's rules. */
struct writing_input {
    struct generation_config config;
    bool aligns;
    const struct writing_rules *rules; /* NULL: there are none */
};

struct writer {
    const struct engine_model *model;
    const struct generation_config *config;
    struct generation *generation;
    unsigned views;                        /* of an image, else 1: a hypothesis has a row of each */
    struct decoder_cache cache[VIEWS_MAX]; /* [views] */
    float *layers; /* [beams][views][layers][source tokens] attention of a step; NULL: not wanted */
    float *alignment; /* [slots][source tokens] its mean over views and layers, by the row's slot */
    bool has_begun;   /* the source is read */
    enum input_doubt doubt;
    /* [result->written] of greedy search, but for a last token that ends it. */
    int32_t *ids;
    float *logs;
    const struct writing_rules *rules; /* NULL: there are none, nor what follows */
    struct output_check check;
    char *room; /* [room_bytes] for a text that ends, while it is checked */
    size_t room_bytes;
};

/* ---- languages ---- */

/* Sets the token of a language in the text, and the one that is written first. A model with one
 * vocabulary for both sides writes the target's first; Marian has it in the text. */
static enum err_code choose_languages(const struct engine_model *model,
                                      const struct engine_writing *writing, int32_t *in_text,
                                      struct generation_request *asked, struct err *err)
{
    const struct tokenizer *source = model->stacks[0].pipeline.tokenizer;
    const struct tokenizer *target = model->stacks[1].pipeline.tokenizer;
    unsigned targets;
    int32_t first;
    tokenizer_languages(target, &targets);
    if (writing->source_language != NULL && (source == NULL || targets == 0))
        return err_set(err, ERR_UNUSABLE, "source_language: the model reads no language by name");
    if (writing->source_language != NULL &&
        tokenizer_find_language(source, "source_language", writing->source_language, in_text, err))
        return err->code;
    if (writing->target_language == NULL)
        return ERR_OK;
    if (targets == 0 && source != NULL)
        return tokenizer_find_language(source, "target_language", writing->target_language, in_text,
                                       err);
    if (tokenizer_find_language(target, "target_language", writing->target_language, &first, err))
        return err->code;
    asked->first = (uint32_t)first;
    return ERR_OK;
}

/* ---- before the run ---- */

static struct generation_model sizes_of(const struct engine_model *model)
{
    const struct spec *target = &model->stacks[1].spec;
    return (struct generation_model){.vocabulary = target->vocab_size,
                                     .positions = spec_text_tokens(target)};
}

struct engine_source engine_write_source(const struct engine_model *model,
                                         const struct engine_source *source,
                                         struct engine_writing *room)
{
    struct engine_source own = *source;
    if (model->checksum == ENGINE_CHECKSUM_OWN ||
        (source->writing != NULL && source->writing->checksum != ENGINE_CHECKSUM_OWN))
        return own;
    *room = source->writing != NULL ? *source->writing
                                    : (struct engine_writing){.asked = generation_request_empty};
    room->checksum = model->checksum;
    own.writing = room;
    return own;
}

enum err_code engine_write_prepare(const struct engine_model *model,
                                   const struct engine_source *source, int32_t *language,
                                   struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct generation_model sizes = sizes_of(model);
    struct writing_input *writing = arena_alloc_array(arena, 1, sizeof *writing);
    *language = VOCAB_NONE;
    if (writing == NULL)
        return err_no_memory(err, sizeof *writing);
    *writing = (struct writing_input){.config = model->generation};
    out->writing = writing;
    if (source->writing == NULL)
        return ERR_OK;
    struct generation_request asked = source->writing->asked;
    writing->aligns = source->writing->aligns;
    if (choose_languages(model, source->writing, language, &asked, err) ||
        generation_config_ask(&writing->config, &asked, &sizes, err) ||
        !engine_rules_are_asked(source->writing))
        return err->code;
    struct writing_rules *rules = arena_alloc_array(arena, 1, sizeof *rules);
    if (rules == NULL)
        return err_no_memory(err, sizeof *rules);
    writing->rules = rules;
    return engine_rules_make(rules, model, source, arena, err);
}

/* Lists the bytes that each token adds to a text. */
static enum err_code take_texts(struct engine_model *model, struct err *err)
{
    const struct tokenizer *tokenizer = model->stacks[1].pipeline.tokenizer;
    const unsigned count = model->stacks[1].spec.vocab_size;
    struct token_texts *texts = &model->texts, *first = &model->first_texts;
    if (tokenizer_additions(tokenizer, count, false, &texts->bytes, &texts->offset, &model->arena,
                            err))
        return err->code;
    *first = *texts;
    if (!tokenizer_first_differs(tokenizer))
        return ERR_OK;
    return tokenizer_additions(tokenizer, count, true, &first->bytes, &first->offset, &model->arena,
                               err);
}

/* True if each token adds one byte to a text, or none. */
static bool writes_bytes(const struct engine_model *model)
{
    const uint32_t *offset = model->texts.offset;
    bool are_bytes = model->first_texts.bytes == model->texts.bytes;
    for (unsigned id = 0; id < model->stacks[1].spec.vocab_size; id++)
        are_bytes = are_bytes && offset[id + 1] - offset[id] <= 1;
    return are_bytes;
}

bool engine_write_is_greedy(const struct engine_input *input)
{
    return input->writing->config.beams == 1;
}

struct engine_text engine_write_so_far(const struct engine_result *result,
                                       const struct tokenizer **tokenizer)
{
    const struct engine_text *text = result->text_count > 0 ? result->texts : result->rejected;
    const struct writer *writer = result->writer;
    *tokenizer = writer->model->stacks[1].pipeline.tokenizer;
    return text != NULL ? *text
                        : (struct engine_text){.ids = writer->ids,
                                               .has_start = writer->model->writes_start,
                                               .probabilities = writer->logs,
                                               .count = result->is_done ? 0 : result->written};
}

unsigned engine_write_tokens_max(const struct engine_input *input)
{
    return input->writing->config.new_max;
}

enum err_code engine_write_open(struct engine_model *model, const char *dir, struct err *err)
{
    const char *checksum = model->stacks[0].spec.text_checksum;
    if (checksum != NULL && !engine_checksum_find(checksum, strlen(checksum), &model->checksum))
        return err_set(err, ERR_UNSUPPORTED,
                       "attnd.json: $.checksum: expected " ENGINE_CHECKSUM_NAMES);
    const struct generation_model sizes = sizes_of(model);
    const struct tokenizer *tokenizer = model->stacks[1].pipeline.tokenizer;
    for (unsigned id = 0; id < tokenizer->vocab_size; id++) {
        const struct token_string *string = tokenizer_string(tokenizer, (int32_t)id);
        if (string != NULL && string->len > model->token_bytes)
            model->token_bytes = (unsigned)string->len;
    }
    if (take_texts(model, err) ||
        (writes_bytes(model) &&
         engine_rules_checksum(&model->checksum_automaton, &model->arena, err)))
        return err->code;
    if (generation_config_read(&model->generation, dir, &sizes, &model->arena, err))
        return err->code;
    model->writes_start = tokenizer_decodes(tokenizer, (int32_t)model->generation.start);
    return ERR_OK;
}

enum err_code engine_check_writing(const struct engine_model *model,
                                   const struct engine_writing *writing, struct err *err)
{
    const struct engine_source source = {.writing = writing};
    struct engine_input input = {0};
    struct arena arena;
    int32_t language;
    arena_init(&arena);
    engine_write_prepare(model, &source, &language, &arena, &input, err);
    arena_deinit(&arena);
    return err->code;
}

/* The codes of a tokenizer's languages. NULL without memory. */
static const char *const *codes_of(const struct tokenizer *tokenizer, unsigned *count,
                                   struct arena *arena)
{
    const struct tokenizer_language *languages = tokenizer_languages(tokenizer, count);
    const char **codes = arena_alloc_array(arena, *count + 1u, sizeof *codes);
    for (unsigned i = 0; codes != NULL && i < *count; i++)
        codes[i] = languages[i].code;
    return codes;
}

enum err_code engine_write_describe(struct engine_model *model, struct err *err)
{
    const struct spec *spec = &model->stacks[1].spec;
    const struct tokenizer *source = model->stacks[0].pipeline.tokenizer;
    const struct tokenizer *target = model->stacks[1].pipeline.tokenizer;
    const struct generation_model sizes = sizes_of(model);
    struct engine_writes *writes = arena_alloc_array(&model->arena, 1, sizeof *writes);
    if (writes == NULL)
        return err_no_memory(err, sizeof *writes);
    *writes = (struct engine_writes){.family = spec->family->name,
                                     .layers = spec->layers,
                                     .heads = spec->heads,
                                     .hidden_size = spec->hidden,
                                     .intermediate_size = spec->intermediate,
                                     .vocab_size = spec->vocab_size,
                                     .new_tokens_max = generation_new_max(&sizes),
                                     .config = &model->generation,
                                     .cache_token_bytes = decoder_cache_bytes(spec, 1, 0)};
    writes->target_languages = codes_of(target, &writes->target_language_count, &model->arena);
    if (source != NULL)
        writes->source_languages = codes_of(source, &writes->source_language_count, &model->arena);
    if (writes->target_languages == NULL || (source != NULL && writes->source_languages == NULL))
        return err_no_memory(err, sizeof *writes->target_languages);
    if (writes->target_language_count == 0) { /* Marian's are in the vocabulary of its source */
        writes->target_languages = writes->source_languages;
        writes->target_language_count = writes->source_language_count;
        writes->source_language_count = 0;
    }
    model->info.writes = writes;
    return ERR_OK;
}

/* Takes the room for the attention of each row and each slot. */
static bool take_alignment(struct writer *writer, const struct spec *target,
                           const struct generation_config *config, struct arena *arena)
{
    const size_t source = writer->cache->source_tokens;
    writer->layers = arena_alloc_array(arena, (size_t)config->beams * writer->views,
                                       target->layers * source * sizeof *writer->layers);
    writer->alignment =
        arena_alloc_array(arena, writer->cache->slots, source * sizeof *writer->alignment);
    return writer->layers != NULL && writer->alignment != NULL;
}

/* Bytes in which any text of the search is decoded, with its start. */
static size_t text_bytes(const struct engine_model *model, const struct generation_config *config)
{
    const size_t count = config->new_max + (size_t)1;
    return tokenizer_decode_bytes(model->stacks[1].pipeline.tokenizer, count * model->token_bytes,
                                  count);
}

/* True if a text that ends obeys the rules as it is decoded. */
static bool holds(void *context, const uint32_t *ids, unsigned count)
{
    struct writer *writer = context;
    const unsigned start = writer->model->writes_start;
    size_t len;
    const char *text = tokenizer_decode_into(writer->model->stacks[1].pipeline.tokenizer,
                                             (const int32_t *)ids - start, count + start, true,
                                             writer->room, writer->room_bytes, &len);
    return engine_rules_broken(writer->rules, text, len) == NULL;
}

/* The automaton of texts with the checksum. NULL: none is asked for, or tokens are no bytes. */
static const struct automaton *whole_of(const struct engine_model *model,
                                        enum engine_checksum checksum)
{
    return checksum == ENGINE_CHECKSUM_SEMI_M13 && model->checksum_automaton.states > 0
               ? &model->checksum_automaton
               : NULL;
}

static enum err_code take_rules(struct writer *writer, const struct writing_input *input,
                                struct arena *arena, struct err *err)
{
    const struct engine_model *model = writer->model;
    writer->rules = input->rules;
    if (writer->rules == NULL)
        return ERR_OK;
    writer->room_bytes = text_bytes(model, &input->config);
    writer->room = arena_alloc_array(arena, 1, writer->room_bytes);
    writer->check =
        (struct output_check){.texts = &model->texts,
                              .first = &model->first_texts,
                              .start = model->writes_start ? &model->generation.start : NULL,
                              .skips_empty = tokenizer_strips(model->stacks[1].pipeline.tokenizer),
                              .automaton_count = writer->rules->count,
                              .holds = holds,
                              .context = writer};
    for (unsigned a = 0; a < writer->rules->count; a++)
        writer->check.automata[a] = &writer->rules->automata[a];
    writer->check.whole = whole_of(model, writer->rules->checksum);
    return writer->room != NULL ? ERR_OK : err_no_memory(err, writer->room_bytes);
}

/* A doubt of the input comes first. A threshold vouches for texts with the checksum of attnd.json:
 * one that was fitted with it says nothing of free texts, and a checksum that is demanded has texts
 * made of pictures without any. */
static enum input_doubt doubt_of(const struct engine_model *model, const struct engine_input *input)
{
    const enum input_doubt doubt = engine_input_doubt(input);
    const bool is_fitted = model->checksum == ENGINE_CHECKSUM_SEMI_M13;
    const bool is_demanded = input->writing->rules != NULL &&
                             input->writing->rules->checksum == ENGINE_CHECKSUM_SEMI_M13;
    return doubt == DOUBT_NONE && is_fitted != is_demanded ? DOUBT_CHECKSUM : doubt;
}

/* Room for ids behind the start. NULL without memory. */
static int32_t *ids_behind_start(const struct engine_model *model, size_t count,
                                 struct arena *arena)
{
    int32_t *ids = arena_alloc_array(arena, count + 1, sizeof *ids);
    if (ids == NULL)
        return NULL;
    ids[0] = (int32_t)model->generation.start;
    return ids + 1;
}

enum err_code engine_write_room(struct engine_result *out, const struct engine_model *model,
                                const struct engine_input *input, struct arena *arena,
                                struct err *err)
{
    const struct spec *target = &model->stacks[1].spec;
    const struct generation_config *config = &input->writing->config;
    struct generation_options options = {
        .config = config, .kernels = model->stacks[1].kernels, .vocabulary = target->vocab_size};
    const size_t slots = generation_slots(config);
    const unsigned source = engine_input_tokens(input, 0, 1);
    const size_t cache = decoder_cache_bytes(target, source, slots);
    struct writer *writer = arena_alloc_array(arena, 1, sizeof *writer);
    const unsigned views = engine_input_windows(input);
    char *memory = cache < SIZE_MAX ? arena_alloc_array(arena, views, cache) : NULL;
    out->rows = arena_alloc_array(arena, input->tokens, target->source * sizeof *out->rows);
    if (writer == NULL || memory == NULL || out->rows == NULL)
        return err_no_memory(err, cache);
    *writer = (struct writer){
        .model = model, .config = config, .views = views, .doubt = doubt_of(model, input)};
    writer->ids = ids_behind_start(model, config->new_max, arena);
    writer->logs = arena_alloc_array(arena, config->new_max, sizeof *writer->logs);
    if (writer->ids == NULL || writer->logs == NULL)
        return err_no_memory(err, config->new_max * (sizeof *writer->ids + sizeof *writer->logs));
    out->writer = writer;
    for (unsigned v = 0; v < views; v++)
        decoder_cache_place(&writer->cache[v], target, source, (unsigned)slots, memory + v * cache);
    if (input->writing->aligns && !take_alignment(writer, target, config, arena))
        return err_no_memory(err, slots * source * sizeof(float));
    if (take_rules(writer, input->writing, arena, err))
        return err->code;
    options.check = writer->rules != NULL ? &writer->check : NULL;
    return generation_begin(&writer->generation, &options, arena, err);
}

void engine_write_need(const struct engine_model *model, const struct engine_writing *writing,
                       size_t tokens, struct engine_need *need)
{
    const struct spec *target = &model->stacks[1].spec;
    const struct generation_model sizes = sizes_of(model);
    struct generation_config config = model->generation;
    struct err err = {0};
    if (writing != NULL && generation_config_ask(&config, &writing->asked, &sizes, &err))
        return;
    const size_t slots = generation_slots(&config), few = 16 * (size_t)ARENA_ALIGNMENT;
    const size_t views = model->stacks[0].spec.image_reading.views;
    const size_t layers = config.beams * views * target->layers;
    const size_t aligned = writing == NULL || !writing->aligns ? 0 : (2 * slots + layers) * tokens;
    const size_t answer =
        GENERATION_BEAMS_MAX * (sizeof(struct engine_text) + text_bytes(model, &config) +
                                (config.new_max + 2u) * (sizeof(int32_t) + sizeof(float)) + few);
    const struct automaton *whole = writing != NULL ? whole_of(model, writing->checksum) : NULL;
    const size_t checked = (engine_rules_are_asked(writing) ? text_bytes(model, &config) : 0) +
                           (whole != NULL ? look_ahead_bytes(whole, config.new_max) : 0);
    need->written = config.sequences * text_bytes(model, &config);
    need->written_tokens = config.new_max;
    const size_t cache = decoder_cache_bytes(target, tokens, slots);
    need->answer = memory_sum(
        cache < SIZE_MAX / VIEWS_MAX ? views * cache : SIZE_MAX,
        generation_bytes(&config, target->vocab_size) +
            (views * tokens * target->source + aligned) * sizeof(float) + sizeof(struct writer) +
            (config.new_max + 1u) * (sizeof(int32_t) + sizeof(float)) + answer + checked + few);
}

/* ---- steps ---- */

bool engine_write_has_begun(const struct engine_result *result)
{
    return result->writer->has_begun;
}

unsigned engine_write_rows(const struct engine_result *result)
{
    struct generation_rows open;
    return generation_rows(result->writer->generation, &open) * result->writer->views;
}

void engine_write_begin(struct decoder_workspace *workspace, struct engine_result *result)
{
    struct writer *writer = result->writer;
    const struct stack *stack = &writer->model->stacks[1];
    for (unsigned v = 0; v < writer->views; v++)
        decoder_begin(&stack->spec, &stack->weights, workspace, &writer->cache[v],
                      result->rows + v * (size_t)writer->cache->source_tokens * stack->spec.source,
                      stack->spec.source);
    writer->has_begun = true;
}

/* Means of a row's attention over the views and layers. */
static void take_alignment_row(struct writer *writer, unsigned row, uint32_t slot)
{
    const size_t source = writer->cache->source_tokens;
    const unsigned layers = writer->views * writer->model->stacks[1].spec.layers;
    const float *from = writer->layers + row * layers * source;
    float *to = writer->alignment + slot * source;
    for (size_t t = 0; t < source; t++) {
        float total = 0;
        for (unsigned l = 0; l < layers; l++)
            total += from[l * source + t];
        to[t] = total / (float)layers;
    }
}

/* The rows of several searches, which one step reads. */
struct packed {
    struct decoder_workspace *workspace;
    struct decoder_row rows[ENGINE_WRITE_ROWS];
    unsigned count;
    unsigned searches;
    struct engine_result *results[ENGINE_WRITE_ROWS];
};

/* Logits of `rows` hypotheses in all views become their means, in the first rows. Normalised, they
 * are the product of the views' probabilities. */
static void take_means(float *logits, size_t stride, unsigned vocabulary, unsigned rows,
                       unsigned views)
{
    for (unsigned r = 0; r < rows && views > 1; r++) {
        const float *from = logits + (size_t)r * views * stride;
        float *to = logits + r * stride;
        for (unsigned i = 0; i < vocabulary; i++) {
            float total = 0;
            for (unsigned v = 0; v < views; v++)
                total += from[v * stride + i];
            to[i] = total / (float)views;
        }
    }
}

/* Reads the rows, and gives each search its logits. */
static void run(struct packed *packed)
{
    struct decoder_workspace *w = packed->workspace;
    struct generation_rows open;
    struct err err = {0};
    unsigned first = 0;
    if (packed->count == 0)
        return;
    const struct stack *stack = &packed->results[0]->writer->model->stacks[1];
    decoder_step(&stack->spec, &stack->weights, w, packed->rows, packed->count);
    for (unsigned s = 0; s < packed->searches; s++) {
        struct engine_result *result = packed->results[s];
        struct writer *writer = result->writer;
        const unsigned count = generation_rows(writer->generation, &open);
        for (unsigned r = 0; writer->alignment != NULL && r < count; r++)
            take_alignment_row(writer, r, open.row[r].slots[open.position]);
        float *logits = w->logits + first * w->logits_stride;
        take_means(logits, w->logits_stride, stack->spec.vocab_size, count, writer->views);
        const enum err_code code =
            generation_take(writer->generation, logits, w->logits_stride, &err);
        first += count * writer->views;
        struct generation_hypothesis best;
        result->task = ENGINE_GENERATE;
        result->written++;
        result->is_done = code != ERR_OK || generation_rows(writer->generation, &open) == 0;
        if (!result->is_done && open.position > 0) { /* 0: it looks ahead, and begins once more */
            writer->ids[open.position - 1] = (int32_t)open.row[0].token;
            writer->logs[open.position - 1] = open.row[0].probability;
        }
        const bool is_found =
            code == ERR_OK && result->is_done && generation_result(writer->generation, 0, &best);
        result->is_finite = code == ERR_OK && result->is_done;
        result->number = is_found ? best.score : 0;
    }
    packed->count = packed->searches = 0;
}

static void add(struct packed *packed, struct engine_result *result)
{
    struct writer *writer = result->writer;
    struct generation_rows open;
    const unsigned views = writer->views;
    const unsigned count = generation_rows(writer->generation, &open) * views;
    const size_t wide = (size_t)writer->model->stacks[1].spec.layers * writer->cache->source_tokens;
    if (packed->count + count > ENGINE_WRITE_ROWS)
        run(packed);
    for (unsigned r = 0; r < count; r++)
        packed->rows[packed->count++] = (struct decoder_row){
            .cache = &writer->cache[r % views],
            .token = (int32_t)open.row[r / views].token,
            .before = open.position,
            .slots = open.row[r / views].slots,
            .alignment = writer->layers != NULL ? writer->layers + r * wide : NULL};
    packed->results[packed->searches++] = result;
}

void engine_write_step(struct decoder_workspace *workspace, unsigned rows,
                       struct engine_result *const *results)
{
    struct packed packed = {.workspace = workspace};
    for (unsigned r = 0; r < rows; r++)
        if (!results[r]->is_done && engine_write_has_begun(results[r]))
            add(&packed, results[r]);
    run(&packed);
}

enum err_code engine_write_fix(const struct engine_model *model, struct engine_input *input,
                               unsigned count, struct arena *arena, struct err *err)
{
    struct writing_input *writing = arena_alloc_array(arena, 1, sizeof *writing);
    const unsigned most = sizes_of(model).positions;
    if (count > GENERATION_NEW_MAX || (most > 0 && count > most))
        return err_set(err, ERR_UNUSABLE, "%u tokens, the limit is %u", count,
                       most > 0 && most < GENERATION_NEW_MAX ? most : GENERATION_NEW_MAX);
    if (writing == NULL)
        return err_no_memory(err, sizeof *writing);
    writing->config = model->generation;
    writing->config.new_max = count + 1; /* slots: the last of its tokens is not read */
    writing->config.new_min = 0;
    writing->config.beams = writing->config.sequences = 1;
    input->writing = writing;
    return ERR_OK;
}

void engine_write_teach(struct decoder_workspace *workspace, struct engine_result *result,
                        const int32_t *ids, unsigned count, uint32_t *slots, float *logits)
{
    struct writer *writer = result->writer;
    const struct stack *stack = &writer->model->stacks[1];
    const unsigned vocabulary = stack->spec.vocab_size;
    for (unsigned i = 0; i < count; i++) {
        struct decoder_row rows[VIEWS_MAX];
        slots[i] = i;
        for (unsigned v = 0; v < writer->views; v++)
            rows[v] = (struct decoder_row){
                .cache = &writer->cache[v],
                .token = i > 0 ? ids[i - 1] : (int32_t)writer->model->generation.start,
                .before = i,
                .slots = slots};
        decoder_step(&stack->spec, &stack->weights, workspace, rows, writer->views);
        take_means(workspace->logits, workspace->logits_stride, vocabulary, 1, writer->views);
        memcpy(logits + (size_t)i * vocabulary, workspace->logits, vocabulary * sizeof *logits);
    }
}

/* ---- texts ---- */

/* Copies a hypothesis, which the search overwrites, and decodes it. */
static enum err_code take_text(const struct writer *writer,
                               const struct generation_hypothesis *found, struct engine_text *out,
                               struct arena *arena, struct err *err)
{
    const size_t source = writer->cache->source_tokens;
    int32_t *ids = ids_behind_start(writer->model, found->count, arena);
    float *logs = arena_alloc_array(arena, found->count + 1u, sizeof *logs);
    float *alignment = writer->alignment == NULL
                           ? NULL
                           : arena_alloc_array(arena, found->count, source * sizeof *alignment);
    if (ids == NULL || logs == NULL || (writer->alignment != NULL && alignment == NULL))
        return err_no_memory(err, found->count * (sizeof *ids + sizeof *logs));
    for (unsigned t = 0; t < found->count; t++) {
        ids[t] = (int32_t)found->ids[t];
        logs[t] = found->probabilities[t];
        if (alignment != NULL)
            memcpy(alignment + t * source, writer->alignment + found->slots[t] * source,
                   source * sizeof *alignment);
    }
    *out = (struct engine_text){
        .ids = ids,
        .has_start = writer->model->writes_start,
        .probabilities = logs,
        .count = found->count,
        .log_probability = found->sum,
        .confidence = policy_confidence(&writer->model->stacks[0].spec.policy, found->sum),
        .score = found->score,
        .alignment = alignment};
    return tokenizer_decode(writer->model->stacks[1].pipeline.tokenizer, ids - out->has_start,
                            found->count + out->has_start, true, &out->text, &out->len, arena, err);
}

/* The option that lets a text of `count` tokens neither end nor go on. */
static const char *unending_rule(const struct generation_config *config, unsigned count)
{
    return count < config->new_min ? "min_new_tokens"
           : config->no_repeat > 0 ? "no_repeat_ngram_size"
                                   : "generation_config.json";
}

/* Says why there is no text. The rejected one may obey the rules of the text, and have to go on. */
static enum err_code take_rejected(struct engine_result *result, struct engine_text *room,
                                   struct arena *arena, struct err *err)
{
    struct writer *writer = result->writer;
    struct generation_hypothesis found;
    const bool is_there = generation_dropped(writer->generation, &found);
    if (is_there && take_text(writer, &found, room, arena, err))
        return err->code;
    result->rejected = is_there ? room : NULL;
    if (writer->rules != NULL)
        result->broken_rule = engine_rules_broken(writer->rules, is_there ? room->text : "",
                                                  is_there ? room->len : 0);
    if (result->broken_rule == NULL)
        result->broken_rule = unending_rule(writer->config, is_there ? found.count : 0);
    return ERR_OK;
}

bool engine_text_is_longest(const struct engine_input *input, const struct engine_text *text)
{
    return text->count >= input->writing->config.new_max;
}

enum err_code engine_result_texts(struct engine_result *result, struct arena *arena,
                                  struct err *err)
{
    struct generation_hypothesis found;
    struct engine_text *texts = arena_alloc_array(arena, GENERATION_BEAMS_MAX, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(err, GENERATION_BEAMS_MAX * sizeof *texts);
    result->texts = texts;
    result->text_count = 0;
    result->rejected = NULL;
    result->broken_rule = NULL;
    while (generation_result(result->writer->generation, result->text_count, &found)) {
        if (take_text(result->writer, &found, &texts[result->text_count], arena, err))
            return err->code;
        result->text_count++;
    }
    if (result->text_count == 0 && take_rejected(result, texts, arena, err))
        return err->code;
    policy_judge_text(&result->writer->model->stacks[0].spec.policy, texts[0].confidence,
                      result->writer->doubt, &result->judgement);
    if (result->text_count == 0)
        result->judgement.decision = result->rejected != NULL ? DECISION_REVIEW : DECISION_UNKNOWN;
    return ERR_OK;
}
