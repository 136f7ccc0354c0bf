#include "server/protocol/written.h"

#include "engine/base/doc.h"
#include "engine/text/decoder.h"
#include "server/protocol/texts.h"
#include "wire/codec_writing.h"
#include "wire/limits.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LETTER_BYTES = 6,   /* of a character in JSON */
    RECORD_BYTES = 192, /* of a text: names of members, and its details without tokens */
    TOKEN_BYTES = 96,   /* of a token: names of members and numbers, without its text */
    STRING_GROWTH = 3,  /* of a special token's string as JSON writes it */
};

/* ---- options that change nothing, or are refused ---- */

static const char sampled[] = "texts are not sampled: the most probable one is searched for";
static const char searched[] = "the search is greedy, or with num_beams hypotheses";
static const char scored[] = "it would change the scores of tokens";
static const char told[] = "the answer does not tell it";
static const char ended[] = "a text ends where the model ends it, or at max_new_tokens";
static const char served[] = "the model has none";
static const char grown[] = "POST /predict takes a pattern or the texts that are allowed";

static const struct neutral {
    const char *name;
    double value; /* that changes nothing; NaN: none but null, or an empty list */
    const char *why;
} neutrals[] = {
    {"do_sample", 0, sampled},
    {"temperature", 1, sampled},
    {"top_p", 1, sampled},
    {"typical_p", 1, sampled},
    {"epsilon_cutoff", 0, sampled},
    {"eta_cutoff", 0, sampled},
    {"best_of", 1, sampled},
    {"num_beam_groups", 1, searched},
    {"diversity_penalty", 0, searched},
    {"penalty_alpha", 0, searched},
    {"repetition_penalty", 1, scored},
    {"frequency_penalty", 0, scored},
    {"watermark", 0, scored},
    {"decoder_input_details", 0, told},
    {"top_n_tokens", 0, told},
    {"use_cache", 1, "the search always has one"},
    {"stop", NAN, ended},
    {"grammar", NAN, grown},
    {"adapter_id", NAN, served},
};

static enum err_code check_neutral(struct request *request, const struct json_t *object,
                                   const struct neutral *neutral)
{
    const struct json_t *value = doc_member(object, neutral->name);
    struct err other_type = {0};
    double number = NAN;
    bool flag = false;
    const bool is_empty = texts_is_array(value) && doc_array_count(value) == 0;
    if (value == NULL || (is_empty && isnan(neutral->value)))
        return ERR_OK;
    if (!doc_as_number(value, &number) &&
        doc_get_bool(object, "$", neutral->name, &flag, &other_type) == ERR_OK)
        number = flag;
    if (number == neutral->value)
        return ERR_OK;
    if (isnan(neutral->value))
        return err_set(&request->err, ERR_UNUSABLE, "%s: %s", neutral->name, neutral->why);
    return err_set(&request->err, ERR_UNUSABLE, "%s: %s; only %g changes nothing", neutral->name,
                   neutral->why, neutral->value);
}

/* A seed is of sampling, so that no value of it changes anything. */
static enum err_code check_ignored(struct request *request, const struct json_t *object)
{
    long long seed = 0;
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++)
        if (check_neutral(request, object, &neutrals[i]))
            return request->err.code;
    return doc_get_integer(object, "$.parameters", "seed", 0, LLONG_MAX, &seed, &request->err);
}

enum err_code written_read_top(struct request *request, const struct json_t *parameters)
{
    return check_neutral(request, parameters, &(struct neutral){"top_k", 0, sampled});
}

/* ---- options that are obeyed ---- */

/* A length of transformers counts the start token, which is no new one. */
static enum err_code read_length(struct request *request, const struct json_t *object,
                                 const char *place, bool is_least, long long *out)
{
    const char *name = is_least ? "min_length" : "max_length";
    const char *new_name = is_least ? "min_new_tokens" : "max_new_tokens";
    long long length = 0;
    if (doc_member(object, name) == NULL)
        return ERR_OK;
    if (doc_get_integer(object, place, name, is_least ? 1 : 2, INT_MAX, &length, &request->err))
        return request->err.code;
    if (doc_member(object, new_name) != NULL)
        return err_set(&request->err, ERR_UNUSABLE, "%s stands beside %s: send one of them", name,
                       new_name);
    *out = length - 1;
    return ERR_OK;
}

static enum err_code need_writing(struct request *request)
{
    struct engine_writing **writing = &request->call.writing;
    if (*writing != NULL)
        return ERR_OK;
    *writing = arena_alloc_array(&request->exchange->arena, 1, sizeof **writing);
    if (*writing == NULL)
        return err_no_memory(&request->err, sizeof **writing);
    (*writing)->asked = generation_request_empty;
    return ERR_OK;
}

static enum err_code read_generate(struct request *request, const struct json_t *object,
                                   const char *place)
{
    const bool has_length =
        doc_member(object, "max_length") != NULL || doc_member(object, "min_length") != NULL;
    if (codec_writing_read(&request->call.writing, object, place, NULL, &request->exchange->arena,
                           &request->err) ||
        !has_length || need_writing(request))
        return request->err.code;
    struct generation_request *asked = &request->call.writing->asked;
    return read_length(request, object, place, false, &asked->max_new_tokens)
               ? request->err.code
               : read_length(request, object, place, true, &asked->min_new_tokens);
}

static enum err_code read_languages(struct request *request, const struct json_t *parameters)
{
    const char *source = NULL, *target = NULL;
    if (texts_name(request, parameters, "$.parameters", "src_lang", LIMIT_LABEL_BYTES, &source) ||
        texts_name(request, parameters, "$.parameters", "tgt_lang", LIMIT_LABEL_BYTES, &target) ||
        (source == NULL && target == NULL) || need_writing(request))
        return request->err.code;
    request->call.writing->source_language = source;
    request->call.writing->target_language = target;
    return ERR_OK;
}

/* A text that is too long is cut at its end, or refused. */
static enum err_code read_truncation(struct request *request, const struct json_t *parameters)
{
    const char *strategy = NULL;
    if (doc_get_string(parameters, "$.parameters", "truncation", &strategy, &request->err) ||
        strategy == NULL)
        return request->err.code;
    const bool cuts = strcmp(strategy, "longest_first") == 0 || strcmp(strategy, "only_first") == 0;
    if (!cuts && strcmp(strategy, "do_not_truncate") != 0)
        return err_set(&request->err, ERR_UNUSABLE,
                       "truncation: expected do_not_truncate, longest_first or only_first");
    request->call.refuses_cut = !cuts;
    return ERR_OK;
}

static enum err_code read_details(struct request *request, const struct json_t *parameters,
                                  struct written_how *how)
{
    static const char *const theirs[] = {"adapter_id",
                                         "best_of",
                                         "decoder_input_details",
                                         "details",
                                         "frequency_penalty",
                                         "grammar",
                                         "return_full_text",
                                         "seed",
                                         "stop",
                                         "top_n_tokens",
                                         "watermark"};
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        how->is_generation |= doc_member(parameters, theirs[i]) != NULL;
    if (how->is_generation)
        how->form = WRITTEN_TEXT;
    if (doc_get_bool(parameters, "$.parameters", "details", &how->has_details, &request->err) ||
        doc_get_bool(parameters, "$.parameters", "return_full_text", &how->repeats_input,
                     &request->err))
        return request->err.code;
    return doc_get_bool(parameters, "$.parameters", "clean_up_tokenization_spaces", &how->tidies,
                        &request->err);
}

enum err_code written_read(struct request *request, const struct json_t *parameters,
                           struct written_how *how)
{
    static const char name[] = "generate_parameters", place[] = "$.parameters.generate_parameters";
    const struct json_t *inner = doc_member(parameters, name);
    if (doc_check_members(inner, place, WRITTEN_GENERATE, &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (read_details(request, parameters, how) || check_ignored(request, parameters) ||
        check_ignored(request, inner) || written_read_top(request, inner) ||
        read_generate(request, parameters, "$.parameters"))
        return request->err.code;
    if (inner != NULL && request->call.writing != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: options of generate() stand beside it: they go into one of the two "
                       "places",
                       name);
    if (read_generate(request, inner, place) || read_languages(request, parameters) ||
        read_truncation(request, parameters))
        return request->err.code;
    how->is_asked |= how->is_generation || request->call.writing != NULL || inner != NULL ||
                     doc_member(parameters, "clean_up_tokenization_spaces") != NULL ||
                     doc_member(parameters, "truncation") != NULL;
    return ERR_OK;
}

/* ---- the answer ---- */

enum written_form written_form_of(const struct engine_info *info)
{
    static const struct {
        const char *family;
        enum written_form form;
    } forms[] = {
        {"marian", WRITTEN_TRANSLATION}, {"m2m100", WRITTEN_TRANSLATION},
        {"mbart", WRITTEN_TRANSLATION},  {"bart", WRITTEN_SUMMARY},
        {"pegasus", WRITTEN_SUMMARY},
    };
    for (size_t i = 0; info->kind == ENGINE_TEXT && i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].family, info->family) == 0)
            return forms[i].form;
    return WRITTEN_TEXT;
}

size_t written_bytes(const struct request *request, const struct row *row,
                     const struct written_how *how, size_t *work)
{
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const struct engine_need need = engine_need(row_engine(row), &source);
    const size_t tokens = memory_product(GENERATION_BEAMS_MAX, need.written_tokens);
    size_t text = memory_sum(memory_product(LETTER_BYTES, need.written),
                             (size_t)GENERATION_BEAMS_MAX * RECORD_BYTES);
    if (how->repeats_input)
        text = memory_sum(
            text, memory_product(GENERATION_BEAMS_MAX, memory_product(LETTER_BYTES, source.len)));
    if (how->tidies)
        *work = memory_sum(*work, need.written + GENERATION_BEAMS_MAX * ARENA_ALIGNMENT);
    if (!how->has_details || request->call.stream)
        return text;
    const size_t string = memory_product(STRING_GROWTH, row_info(row)->string_bytes_max);
    *work = memory_sum(*work,
                       memory_sum(need.written, memory_product(tokens + GENERATION_BEAMS_MAX,
                                                               sizeof(struct engine_piece) +
                                                                   2 * (size_t)ARENA_ALIGNMENT)));
    return memory_sum(memory_sum(text, memory_product(LETTER_BYTES, need.written)),
                      memory_product(tokens, TOKEN_BYTES + string));
}

static void add_token(struct codec_text *text, const struct engine_piece *token)
{
    char part[TOKEN_BYTES];
    snprintf(part, sizeof part, "{\"id\":%d,\"text\":", token->id);
    codec_text_add(text, part);
    if (token->is_special)
        codec_text_string_of(text, token->name, token->name_len);
    else
        codec_text_string_of(text, token->text, token->len);
    codec_text_add(text, ",\"logprob\":");
    writing_number(text, token->probability);
    codec_text_add(text, token->is_special ? ",\"special\":true}" : ",\"special\":false}");
}

/* A stream has told the tokens. */
static void add_details(struct codec_text *text, const struct request *request,
                        const struct row *row, const struct engine_text *one)
{
    const struct engine_piece *pieces;
    struct err err = {0};
    char part[RECORD_BYTES];
    snprintf(part, sizeof part, "{\"finish_reason\":\"%s\",\"generated_tokens\":%u,\"seed\":null",
             engine_text_is_longest(&row->input, one) ? "length" : "eos_token", one->count);
    codec_text_add(text, part);
    if (request->call.stream) {
        snprintf(part, sizeof part, ",\"input_length\":%u}", row->input.tokens);
        codec_text_add(text, part);
        return;
    }
    if (engine_text_pieces(row_engine(row), one, &pieces, &request->exchange->arena, &err)) {
        text->has_failed = true;
        return;
    }
    codec_text_add(text, ",\"prefill\":[],\"tokens\":[");
    for (unsigned i = 0; i < one->count; i++) {
        codec_text_add(text, i > 0 ? "," : "");
        add_token(text, &pieces[i]);
    }
    codec_text_add(text, "]}");
}

/* The text, without the spaces that the option takes out, behind the input if that is wanted. */
static void add_text(struct codec_text *text, const struct request *request, const struct row *row,
                     const struct engine_text *one, const struct written_how *how)
{
    struct arena *arena = &request->exchange->arena;
    const struct answer *answer = &row->answer;
    const char *bytes = one->text;
    size_t len = one->len;
    if (how->tidies) {
        char *copy = arena_copy(arena, one->text, one->len);
        text->has_failed |= copy == NULL;
        if (copy == NULL)
            return;
        len = decoding_tidy(copy, len);
        bytes = copy;
    }
    if (!how->repeats_input || answer->text == NULL) {
        codec_text_string_of(text, bytes, len);
        return;
    }
    char *both = arena_alloc(arena, answer->text_len + len);
    text->has_failed |= both == NULL;
    if (both == NULL)
        return;
    memcpy(both, answer->text, answer->text_len);
    memcpy(both + answer->text_len, bytes, len);
    codec_text_string_of(text, both, answer->text_len + len);
}

void written_row(struct codec_text *text, const struct request *request, const struct row *row,
                 const struct written_how *how)
{
    static const char *const keys[] = {[WRITTEN_TRANSLATION] = "{\"translation_text\":",
                                       [WRITTEN_SUMMARY] = "{\"summary_text\":",
                                       [WRITTEN_TEXT] = "{\"generated_text\":"};
    const struct engine_result *result = &row->answer.result;
    const enum written_form form =
        how->form != WRITTEN_BY_MODEL ? how->form : written_form_of(row_info(row));
    for (unsigned i = 0; i < result->text_count; i++) {
        codec_text_add(text, i > 0 ? "," : "");
        codec_text_add(text, keys[form]);
        add_text(text, request, row, &result->texts[i], how);
        if (how->has_details || request->call.stream)
            codec_text_add(text, how->has_details ? ",\"details\":" : ",\"details\":null");
        if (how->has_details)
            add_details(text, request, row, &result->texts[i]);
        codec_text_add(text, "}");
    }
}

void written_event(struct codec_text *text, const struct engine_piece *token,
                   const struct protocol_end *end)
{
    char part[TOKEN_BYTES];
    codec_text_add(text, "data: ");
    if (token != NULL) {
        snprintf(part, sizeof part, "{\"index\":%u,\"token\":", token->index + 1);
        codec_text_add(text, part);
        add_token(text, token);
        codec_text_add(text, end != NULL ? "," : ",\"generated_text\":null,\"details\":null}");
    }
    if (end != NULL) /* of the last token the answer's members */
        codec_text_bytes(text, end->body + (token != NULL), end->len - (token != NULL));
    codec_text_add(text, "\n\n");
}
