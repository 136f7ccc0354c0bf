#include "tools/answers/asking.h"

#include "engine/base/memory_file.h"
#include "engine/cli/cli.h"
#include "wire/codec_writing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 100000 };

static enum err_code set_truth(bool *out, const char *value, struct err *err)
{
    *out = value == NULL || strcmp(value, "true") == 0;
    return *out || strcmp(value, "false") == 0
               ? ERR_OK
               : err_set(err, ERR_UNUSABLE, "expected true or false");
}

static enum err_code set_count(unsigned *out, const char *value, unsigned least, unsigned most,
                               struct err *err)
{
    size_t number = 0;
    if (cli_option_parse_whole(value, least, most, &number, err) == ERR_OK)
        *out = (unsigned)number;
    return err->code;
}

enum err_code asking_set(struct asking *out, const char *name, const char *value, struct err *err)
{
    struct engine_question *question = &out->question;
    const size_t len = value != NULL ? strlen(value) : 0;
    char key[32];
    snprintf(key, sizeof key, "%s", name);
    for (char *at = key; (at = strchr(at, '-')) != NULL;)
        *at = '_';
    if (strcmp(key, "aggregation") == 0)
        return aggregation_find(value, len, &out->aggregation)
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "expected " AGGREGATION_NAMES);
    if (strcmp(key, "encoding") == 0)
        return vector_encoding_find(value, len, &out->vector.encoding)
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "expected " VECTOR_ENCODING_NAMES);
    if (strcmp(key, "chunks") == 0)
        return vector_chunks_find(value, len, &out->vector.chunks)
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "expected " VECTOR_CHUNKS_NAMES);
    if (strcmp(key, "question") == 0) {
        question->text = value;
        question->len = len;
        return len > 0 ? ERR_OK : err_set(err, ERR_UNUSABLE, "empty");
    }
    if (strcmp(key, "doc_stride") == 0) {
        if (set_count(&question->overlap, value, 0, TOKENS_MAX, err) == ERR_OK)
            question->overlap++; /* 0: the default */
        return err->code;
    }
    if (strcmp(key, "max_seq_len") == 0)
        return set_count(&question->tokens_max, value, 1, TOKENS_MAX, err);
    if (strcmp(key, "max_answer_len") == 0)
        return set_count(&question->length_max, value, 1, TOKENS_MAX, err);
    if (strcmp(key, "handle_impossible_answer") == 0)
        return set_truth(&question->may_be_empty, value, err);
    if (strcmp(key, "align_to_words") == 0) {
        bool aligns = true;
        if (set_truth(&aligns, value, err) == ERR_OK)
            question->keeps_tokens = !aligns;
        return err->code;
    }
    if (strcmp(key, "dimensions") == 0)
        return set_count(&out->vector.dimensions, value, 1, INT_MAX, err);
    if (strcmp(key, "normalize") == 0)
        return set_truth(&out->vector.is_scaled, value, err);
    return writing_options_set(&out->write, name, value, err);
}

static bool asks(const struct engine_question *question)
{
    return question->text != NULL || question->overlap > 0 || question->tokens_max > 0 ||
           question->length_max > 0 || question->may_be_empty || question->keeps_tokens;
}

static bool forms(const struct vector_form *vector)
{
    return vector->dimensions > 0 || vector->encoding != VECTOR_FLOAT || vector->is_scaled;
}

enum err_code asking_check(const struct asking *asking, unsigned tasks, struct err *err)
{
    if (asking->aggregation != AGGREGATION_OWN && (tasks >> ENGINE_TAG & 1) == 0)
        return err_set(err, ERR_UNUSABLE, "aggregation: the model does not tag tokens");
    if (asks(&asking->question) && (tasks >> ENGINE_ANSWER & 1) == 0)
        return err_set(err, ERR_UNUSABLE,
                       "question, doc_stride, max_seq_len, max_answer_len, "
                       "handle_impossible_answer, align_to_words: the model answers no questions");
    if (forms(&asking->vector) && (tasks >> ENGINE_EMBED & 1) == 0)
        return err_set(err, ERR_UNUSABLE,
                       "dimensions, encoding, normalize: the model answers no vectors");
    if (asking->vector.chunks != VECTORS_ONE && (tasks >> ENGINE_EMBED & 1) == 0)
        return err_set(err, ERR_UNUSABLE, "chunks: the model answers no vectors");
    if (asking->write.is_given && (tasks >> ENGINE_GENERATE & 1) == 0)
        return err_set(
            err, ERR_UNUSABLE,
            "max_new_tokens, num_beams and other options of writing: the model writes no "
            "texts");
    return ERR_OK;
}

enum err_code asking_write(char **out, const struct asking *asking, struct err *err)
{
    const struct engine_question *question = &asking->question;
    const struct {
        const char *name;
        unsigned number; /* 0: it is not told */
        unsigned less;   /* of the number */
    } counts[] = {{"doc_stride", question->overlap, 1},
                  {"max_seq_len", question->tokens_max, 0},
                  {"max_answer_len", question->length_max, 0},
                  {"dimensions", asking->vector.dimensions, 0}};
    struct memory_file file;
    *out = NULL;
    if (memory_file_open(&file, err))
        return err->code;
    FILE *stream = file.stream;
    if (asking->aggregation != AGGREGATION_OWN)
        fprintf(stream, "\"aggregation\":\"%s\",", aggregation_name(asking->aggregation));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].number > 0)
            fprintf(stream, "\"%s\":%u,", counts[i].name, counts[i].number - counts[i].less);
    if (asking->vector.encoding != VECTOR_FLOAT)
        fprintf(stream, "\"encoding\":\"%s\",", vector_encoding_name(asking->vector.encoding));
    if (asking->vector.chunks != VECTORS_ONE)
        fprintf(stream, "\"chunks\":\"%s\",", vector_chunks_name(asking->vector.chunks));
    fprintf(stream, "%s%s%s", question->may_be_empty ? "\"handle_impossible_answer\":true," : "",
            question->keeps_tokens ? "\"align_to_words\":false," : "",
            asking->vector.is_scaled ? "\"normalize\":true," : "");
    if (asking->write.is_given && !codec_writing_print(&asking->write.writing, stream))
        err_no_memory(err, 0);
    memory_file_close(&file, err);
    *out = file.bytes;
    return err->code;
}
