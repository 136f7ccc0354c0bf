#include "server/protocol/parts.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/decide/extraction.h"
#include "engine/text/decoder.h"
#include "server/protocol/texts.h"
#include "server/serve/served_model.h"
#include "wire/limits.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The answer of one row while it is written. */
struct parts {
    struct codec_text *text;
    const struct engine_model *model;
    const struct row *row;
    const struct parts_how *how;
    char *rooms[2]; /* [room] for a word, and for words */
    size_t room[2];
    struct utf8_place place; /* in the text */
};

/* ---- options ---- */

/* A list of short texts. */
static enum err_code read_words(struct request *request, const struct json_t *parameters,
                                const char *key, unsigned most, const char *const **out,
                                unsigned *count)
{
    const struct json_t *list = doc_member(parameters, key);
    const size_t found = doc_array_count(list);
    char where[CALL_PLACE_BYTES];
    size_t len;
    if (list == NULL)
        return ERR_OK;
    if (!texts_is_array(list) || found > most)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected a list of at most %u texts", key,
                       most);
    const char **texts = arena_alloc_array(&request->exchange->arena, found, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(&request->err, found * sizeof *texts);
    for (unsigned i = 0; i < found; i++) {
        snprintf(where, sizeof where, "%s[%u]", key, i);
        if (texts_text(request, doc_array_item(list, i), where, &texts[i], &len))
            return request->err.code;
        if (len > LIMIT_LABEL_BYTES || len != strlen(texts[i]))
            return err_set(&request->err, ERR_UNUSABLE,
                           "%s: expected at most %d bytes without a NUL, found %zu", where,
                           LIMIT_LABEL_BYTES, len);
    }
    *out = texts;
    *count = (unsigned)found;
    return ERR_OK;
}

/* Spans with the label "O" are left out unless other labels are. */
static enum err_code read_spans(struct request *request, const struct json_t *parameters,
                                const struct served_model *model, struct parts_how *how)
{
    static const char strategy[] = "aggregation_strategy", overlap[] = "stride";
    struct predict_call *call = &request->call;
    const char *name = NULL;
    long long stride = 0;
    const bool has_list = doc_member(parameters, "ignore_labels") != NULL;
    const bool has_stride = doc_member(parameters, overlap) != NULL;
    if (doc_get_string(parameters, "$.parameters", strategy, &name, &request->err) ||
        doc_get_integer(parameters, "$.parameters", overlap, 0, INT_MAX, &stride, &request->err) ||
        read_words(request, parameters, "ignore_labels", ENGINE_LABELS_MAX, &how->ignored,
                   &how->ignored_count))
        return request->err.code;
    if (name != NULL && !aggregation_find(name, strlen(name), &call->aggregation))
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected " AGGREGATION_NAMES, strategy);
    if ((has_list || has_stride) && model != NULL && model->info->task != ENGINE_TAG)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: the model does not answer spans (its task is another)",
                       has_list ? "ignore_labels" : overlap);
    if (model != NULL && model->info->task == ENGINE_TAG &&
        decoder_check(engine_decoder(model->engine), &request->err))
        return request->err.code = ERR_UNUSABLE;
    call->keeps_outside = has_list;
    if (has_stride) {
        call->refuses_cut = true;
        call->long_text = LONG_TEXT_TRUNCATE;
        call->cut_advice = "send less, or no stride: then it is read in windows whose seams are "
                           "joined";
    }
    return ERR_OK;
}

/* A number of tokens; *out stays 0 without it. */
static enum err_code read_tokens(struct request *request, const struct json_t *parameters,
                                 const char *key, unsigned least, unsigned *out)
{
    long long number = 0;
    if (doc_get_integer(parameters, "$.parameters", key, least, INT_MAX - 1, &number,
                        &request->err))
        return request->err.code;
    *out = (unsigned)number;
    return ERR_OK;
}

static enum err_code read_asking(struct request *request, const struct json_t *parameters)
{
    struct engine_question *asking = &request->call.asking;
    bool aligns = true;
    if (doc_get_bool(parameters, "$.parameters", "handle_impossible_answer", &asking->may_be_empty,
                     &request->err) ||
        doc_get_bool(parameters, "$.parameters", "align_to_words", &aligns, &request->err) ||
        read_tokens(request, parameters, "max_answer_len", 1, &asking->length_max) ||
        read_tokens(request, parameters, "max_seq_len", 1, &asking->tokens_max) ||
        read_tokens(request, parameters, "max_question_len", 1, &asking->asked_max) ||
        read_tokens(request, parameters, "doc_stride", 0, &asking->overlap))
        return request->err.code;
    asking->overlap += doc_member(parameters, "doc_stride") != NULL;
    asking->keeps_tokens = !aligns;
    return ERR_OK;
}

enum err_code parts_read(struct request *request, const struct json_t *parameters,
                         const struct served_model *model, struct parts_how *how)
{
    struct predict_call *call = &request->call;
    if (read_words(request, parameters, "targets", ENGINE_TARGETS_MAX, &call->targets,
                   &call->target_count))
        return request->err.code;
    if (doc_member(parameters, "targets") != NULL && call->target_count == 0)
        return err_set(&request->err, ERR_UNUSABLE, "targets: the list is empty");
    return read_spans(request, parameters, model, how) ? request->err.code
                                                       : read_asking(request, parameters);
}

/* ---- members ---- */

static void put_number(struct parts *parts, const char *key, double number)
{
    char written[WRITING_NUMBER_BYTES + 8];
    codec_text_add(parts->text, key);
    snprintf(written, sizeof written, "%.9g", number);
    codec_text_add(parts->text, written);
}

static void put_string(struct parts *parts, const char *key, const char *string, size_t len)
{
    codec_text_add(parts->text, key);
    codec_text_string_of(parts->text, string, len);
}

/* The text's bytes from character start to end; the first calls come first. */
static const char *text_part(struct parts *parts, uint32_t start, uint32_t end, size_t *len)
{
    const struct answer *answer = &parts->row->answer;
    const size_t first = utf8_move(&parts->place, answer->text, answer->text_len, start);
    struct utf8_place last = parts->place;
    *len = end > start ? utf8_move(&last, answer->text, answer->text_len, end) - first : 0;
    return answer->text + first;
}

/* ---- words of tags ---- */

/* The string of the text's token i: of an unknown one its part of the text. */
static const char *string_of(struct parts *parts, unsigned i, size_t *len)
{
    const struct engine_input *input = &parts->row->input;
    const unsigned at = input->order[i];
    bool is_special;
    const char *string = engine_token(parts->model, input->ids[at], len, &is_special);
    if (string != NULL && input->ids[at] != engine_unknown(parts->model))
        return string;
    return text_part(parts, input->starts[at], input->ends[at], len);
}

/* Tokens of a span become a text; where words count, each word does so first, and then they do. */
static void put_word(struct parts *parts, const struct span *span)
{
    const struct engine_input *input = &parts->row->input;
    const struct decoder *decoder = engine_decoder(parts->model);
    const bool has_words = input->aggregation >= AGGREGATION_FIRST;
    struct decoding whole, word;
    size_t len;
    decoding_begin(&whole, decoder, parts->rooms[1], parts->room[1]);
    for (unsigned i = span->first; i < span->first + span->count;) {
        const unsigned end = has_words ? tagged_word_end(input->continued, input->order,
                                                         span->first + span->count, i)
                                       : i + 1;
        const char *string;
        if (has_words) {
            decoding_begin(&word, decoder, parts->rooms[0], parts->room[0]);
            for (; i < end; i++) {
                string = string_of(parts, i, &len);
                decoding_add(&word, string, len);
            }
            string = decoding_end(&word, &len);
        } else {
            string = string_of(parts, i++, &len);
        }
        decoding_add(&whole, string, len);
    }
    const char *string = decoding_end(&whole, &len);
    put_string(parts, ",\"word\":", string, len);
}

static bool is_ignored(const struct parts *parts, const char *name)
{
    for (unsigned i = 0; i < parts->how->ignored_count; i++)
        if (strcmp(parts->how->ignored[i], name) == 0)
            return true;
    return false;
}

static void write_spans(struct parts *parts)
{
    const struct engine_input *input = &parts->row->input;
    const struct engine_result *result = &parts->row->answer.result;
    const bool is_single = input->aggregation == AGGREGATION_NONE;
    unsigned written = 0;
    codec_text_add(parts->text, "[");
    for (unsigned i = 0; i < result->span_count; i++) {
        const struct span *span = &result->spans[i];
        size_t len;
        if (is_ignored(parts, span->name))
            continue;
        codec_text_add(parts->text, written++ > 0 ? ",{" : "{");
        put_string(parts, is_single ? "\"entity\":" : "\"entity_group\":", span->name,
                   strlen(span->name));
        put_number(parts, ",\"score\":", (double)span->score);
        if (is_single) {
            put_number(parts, ",\"index\":", input->order[0] + span->first);
            const char *string = string_of(parts, span->first, &len);
            put_string(parts, ",\"word\":", string, len);
        } else {
            put_word(parts, span);
        }
        put_number(parts, ",\"start\":", span->start);
        put_number(parts, ",\"end\":", span->end);
        codec_text_add(parts->text, "}");
    }
    codec_text_add(parts->text, "]");
}

/* ---- answers ---- */

static void write_answers(struct parts *parts)
{
    const struct engine_result *result = &parts->row->answer.result;
    const bool is_one = result->answer_count == 1;
    codec_text_add(parts->text, is_one ? "" : "[");
    for (unsigned i = 0; i < result->answer_count; i++) {
        const struct extract *extract = &result->extraction->found[i];
        size_t len;
        const char *string = text_part(parts, extract->start, extract->end, &len);
        put_number(parts, i > 0 ? ",{\"score\":" : "{\"score\":", (double)extract->score);
        put_number(parts, ",\"start\":", extract->start);
        put_number(parts, ",\"end\":", extract->end);
        put_string(parts, ",\"answer\":", string, len);
        codec_text_add(parts->text, "}");
    }
    codec_text_add(parts->text, is_one ? "" : "]");
}

/* ---- words for masked tokens ---- */

/* ids [top] <- the tokens with the largest logits, the first of equal ones first; returns their
 * number. */
static unsigned find_best(const struct engine_input *input, const float *logits, unsigned count,
                          unsigned top, unsigned *ids)
{
    const unsigned asked = input->targets != NULL ? input->target_count : count;
    unsigned found = 0;
    for (unsigned i = 0; i < asked; i++) {
        const unsigned id = input->targets != NULL ? (unsigned)input->targets[i] : i;
        unsigned at = found;
        while (at > 0 && logits[ids[at - 1]] < logits[id])
            at--;
        if (at == top)
            continue;
        found += found < top;
        memmove(ids + at + 1, ids + at, (found - 1 - at) * sizeof *ids);
        ids[at] = id;
    }
    return found;
}

static const char *tidied(struct decoding *decoding, size_t *len)
{
    const char *text = decoding_end(decoding, len);
    if (decoding->decoder->tidies)
        *len = decoding_tidy(decoding->out, *len);
    return text;
}

/* A token by itself. */
static const char *decode(struct parts *parts, int32_t id, size_t *len)
{
    struct decoding decoding;
    bool is_special;
    size_t bytes;
    const char *string = engine_token(parts->model, id, &bytes, &is_special);
    decoding_begin(&decoding, engine_decoder(parts->model), parts->rooms[0], parts->room[0]);
    if (string != NULL)
        decoding_add(&decoding, string, bytes);
    return tidied(&decoding, len);
}

/* All tokens with `id` in place of a mask; without padding, and of one mask without specials. */
static const char *fill(struct parts *parts, unsigned mask, int32_t id, size_t *len)
{
    const struct engine_input *input = &parts->row->input;
    const int32_t padding = engine_padding(parts->model);
    struct decoding decoding;
    decoding_begin(&decoding, engine_decoder(parts->model), parts->rooms[0], parts->room[0]);
    for (unsigned t = 0; t < input->tokens; t++) {
        const int32_t token = t == input->masks[mask] ? id : input->ids[t];
        bool is_special = false;
        size_t bytes;
        const char *string = engine_token(parts->model, token, &bytes, &is_special);
        if (string != NULL && token != padding && !(is_special && input->mask_count == 1))
            decoding_add(&decoding, string, bytes);
    }
    return tidied(&decoding, len);
}

static void write_filled(struct parts *parts, unsigned mask, const float *logits)
{
    const struct engine_info *info = row_info(parts->row);
    const unsigned count = info->vocab_size;
    unsigned ids[PARTS_TOP_MAX + 1];
    double largest = -INFINITY, sum = 0;
    for (unsigned i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (unsigned i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    const unsigned found = find_best(&parts->row->input, logits, count, parts->how->top_k, ids);
    codec_text_add(parts->text, "[");
    for (unsigned i = 0; i < found; i++) {
        size_t len;
        put_number(parts, i > 0 ? ",{\"score\":" : "{\"score\":",
                   (double)(float)(exp((double)logits[ids[i]] - largest) / sum));
        put_number(parts, ",\"token\":", ids[i]);
        const char *string = decode(parts, (int32_t)ids[i], &len);
        put_string(parts, ",\"token_str\":", string, len);
        string = fill(parts, mask, (int32_t)ids[i], &len);
        put_string(parts, ",\"sequence\":", string, len);
        codec_text_add(parts->text, "}");
    }
    codec_text_add(parts->text, "]");
}

/* ---- the whole ---- */

enum {
    PART_BYTES = 160,  /* names of members and numbers of one part */
    LETTER_BYTES = 6,  /* of a character in JSON */
    STRING_GROWTH = 3, /* of a token's string as JSON writes it, once it is decoded */
    WORD_GROWTH = 4,   /* of the room for words, if the words are decoded, too */
};

size_t parts_bytes(const struct request *request, const struct row *row,
                   const struct parts_how *how, size_t *work)
{
    const struct engine_info *info = row_info(row);
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const struct engine_need need = engine_need(row_engine(row), &source);
    const size_t strings = memory_product(need.tokens, info->string_bytes_max);
    const size_t text = memory_product(LETTER_BYTES, source.len);
    size_t label = 0;
    if (info->task == ENGINE_ANSWER)
        return memory_product(need.spans, memory_sum(PART_BYTES, text));
    if (info->task == ENGINE_FILL) {
        const size_t parts = (size_t)ENGINE_MASKS_MAX * how->top_k;
        *work = memory_sum(*work, decoder_room(strings, need.tokens) + ARENA_ALIGNMENT);
        return memory_product(
            parts, PART_BYTES + memory_product(STRING_GROWTH, strings + info->string_bytes_max));
    }
    for (unsigned i = 0; i < info->label_count; i++)
        label = strlen(info->labels[i]) > label ? strlen(info->labels[i]) : label;
    *work = memory_sum(*work,
                       memory_product(1 + WORD_GROWTH,
                                      decoder_room(memory_sum(strings, source.len), need.tokens)) +
                           2 * (size_t)ARENA_ALIGNMENT);
    return memory_sum(memory_product(need.spans, PART_BYTES + LETTER_BYTES * label),
                      memory_sum(text, memory_product(STRING_GROWTH, strings)));
}

/* Room for the words of all of a row's tokens. */
static bool take_rooms(struct parts *parts, struct arena *arena)
{
    const struct engine_input *input = &parts->row->input;
    const bool has_words = row_info(parts->row)->task == ENGINE_TAG;
    const size_t bytes =
        memory_sum(memory_product(input->tokens, row_info(parts->row)->string_bytes_max),
                   has_words ? parts->row->answer.text_len : 0);
    parts->room[0] = decoder_room(bytes, input->tokens);
    parts->room[1] = has_words ? memory_product(WORD_GROWTH, parts->room[0]) : 0;
    for (int i = 0; i < 2; i++)
        if (parts->room[i] > 0 && (parts->rooms[i] = arena_alloc(arena, parts->room[i])) == NULL)
            return false;
    return true;
}

void parts_write(struct codec_text *text, const struct request *request, const struct row *row,
                 const struct parts_how *how)
{
    const struct engine_info *info = row_info(row);
    const struct engine_result *result = &row->answer.result;
    struct parts parts = {.text = text, .model = row_engine(row), .row = row, .how = how};
    if (info->task == ENGINE_ANSWER) {
        write_answers(&parts);
        return;
    }
    if (!take_rooms(&parts, &request->exchange->arena)) {
        text->has_failed = true;
        return;
    }
    if (info->task == ENGINE_TAG) {
        write_spans(&parts);
        return;
    }
    codec_text_add(text, row->input.mask_count > 1 ? "[" : "");
    for (unsigned i = 0; i < row->input.mask_count; i++) {
        codec_text_add(text, i > 0 ? "," : "");
        write_filled(&parts, i, result->rows + (size_t)i * info->row_size);
    }
    codec_text_add(text, row->input.mask_count > 1 ? "]" : "");
}
