#include "tests/support/encoder_model.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const encoder_models[ENCODER_MODELS] = {
    "roberta-1",    "xlm-roberta-1", "electra-0",    "albert-0",     "mpnet-0",   "bert-5",
    "deberta-v2-0", "longformer-0",  "modernbert-1", "modernbert-2", "roberta-0", "xlm-roberta-0"};

int encoder_models_count(void)
{
    return getenv("ATTND_GOLDEN") != NULL ? ENCODER_MODELS : ENCODER_MODELS - 2;
}

static void path_of(char path[512], const char *name, const char *file)
{
    const char *golden = getenv("ATTND_GOLDEN");
    if (golden != NULL)
        snprintf(path, 512, "%s/%s/%s", golden, name, file);
    if (golden == NULL || access(path, R_OK) != 0)
        snprintf(path, 512, "tests/data/encoders/%s/%s", name, file);
}

static void copy(const struct tempdir *to, const char *name, const char *file)
{
    char path[512], *bytes;
    size_t len;
    struct err err = {0};
    path_of(path, name, file);
    file_read(&bytes, &len, path, 1 << 26, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    tempdir_write(to, file, bytes, len);
    free(bytes);
}

void encoder_model_open(struct encoder_model *model, const char *name)
{
    static const char bert[] = "{\"tokenizer_class\": \"BertTokenizer\"}"; /* for any family */
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n";
    char path[512];
    struct err err = {0};
    tempdir_open(&model->dir);
    copy(&model->dir, name, "config.json");
    copy(&model->dir, name, "model.safetensors");
    tempdir_write(&model->dir, "vocab.txt", vocab, strlen(vocab));
    tempdir_write(&model->dir, "tokenizer_config.json", bert, strlen(bert));
    path_of(path, name, "cases.json");
    doc_parse_file(&model->cases, path, 1 << 26, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

void encoder_model_close(struct encoder_model *model)
{
    doc_free(model->cases);
    tempdir_close(&model->dir);
}

static size_t numbers(const struct json_t *one, const char *name, double *out, size_t max)
{
    const struct json_t *array = doc_member(one, name);
    size_t count = doc_array_count(array);
    ck_assert_uint_le(count, max);
    for (size_t i = 0; i < count; i++)
        ck_assert(doc_as_number(doc_array_item(array, i), &out[i]));
    return count;
}

bool encoder_model_case(const struct encoder_model *model, unsigned index, struct encoder_case *out)
{
    static double read[ENCODER_TOKENS];
    const struct json_t *one = doc_array_item(model->cases, index);
    if (one == NULL)
        return false;
    size_t tokens = numbers(one, "ids", read, ENCODER_TOKENS);
    for (size_t i = 0; i < tokens; i++)
        out->ids[i] = (int32_t)read[i];
    const char *types = doc_member(one, "types") != NULL ? "types" : "token_type_ids";
    size_t typed = numbers(one, types, read, ENCODER_TOKENS);
    for (size_t i = 0; i < typed; i++)
        out->types[i] = (uint8_t)read[i];
    ck_assert(typed == 0 || typed == tokens);
    out->input = (struct engine_input){.kind = ENGINE_TEXT,
                                       .tokens = (unsigned)tokens,
                                       .ids = out->ids,
                                       .types = typed > 0 ? out->types : NULL};
    out->labels = numbers(one, "logits", out->logits, ENCODER_LABELS);
    numbers(one, "probs", out->probs, ENCODER_LABELS);
    out->has_rollout = doc_member(one, "rollout") != NULL;
    size_t rolled = numbers(one, "rollout", out->rollout, ENCODER_TOKENS);
    ck_assert_uint_eq(rolled, out->has_rollout ? tokens : 0);
    ck_assert_uint_ge(numbers(one, "hidden_norms", read, ENCODER_TOKENS), 2);
    out->embedding_norm = read[0];
    return true;
}
