/* disentangled.c - see disentangled.h. Defaults are those of DebertaV2Config or, for members that
 * it lacks, of the code that reads them. */
#include "engine/model/config/disentangled.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PLACES_LIMIT = 65536, BUCKETS_MIN = 2 };

/* ---- config.json ---- */

/* Checks numbers that have one supported value; `otherwise` is the advice for another. */
static enum err_code check_numbers(const struct json_t *config, unsigned hidden, unsigned heads,
                                   struct err *err)
{
    const struct {
        const char *key;
        long long value;
        const char *otherwise;
    } demands[] = {
        {"conv_kernel_size", 0,
         "; a convolution beside the first layer is not computed: take a checkpoint without one, "
         "as those of DeBERTa-v3 are"},
        {"type_vocab_size", 0, ""},
        {"embedding_size", hidden, ", the hidden size"},
        {"pooler_hidden_size", hidden, ", the hidden size"},
        {"attention_head_size", hidden / heads, ", the hidden size over the heads"},
    };
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        long long value = demands[i].value;
        if (doc_get_integer(config, "$", demands[i].key, LLONG_MIN, LLONG_MAX, &value, err))
            return err->code;
        if (value != demands[i].value)
            return err_set(err, ERR_UNSUPPORTED, "%s %lld is not supported (supported: %lld%s)",
                           demands[i].key, value, demands[i].value, demands[i].otherwise);
    }
    return ERR_OK;
}

static enum err_code check_texts(const struct json_t *config, struct err *err)
{
    static const struct {
        const char *key, *value, *fallback;
    } demands[] = {{"norm_rel_ebd", "layer_norm", "none"}, {"pooler_hidden_act", "gelu", "gelu"}};
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        const char *value = demands[i].fallback;
        if (doc_get_string(config, "$", demands[i].key, &value, err))
            return err->code;
        if (strcasecmp(value, demands[i].value) != 0)
            return err_set(err, ERR_UNSUPPORTED, "%s '%s' is not supported (supported: %s)",
                           demands[i].key, value, demands[i].value);
    }
    return ERR_OK;
}

/* Reads one name of pos_att_type. */
static enum err_code read_term(struct disentangled *out, const char *name, size_t len,
                               struct err *err)
{
    bool *term = NULL;
    if (len == 3 && strncasecmp(name, "c2p", len) == 0)
        term = &out->content_to_position;
    else if (len == 3 && strncasecmp(name, "p2c", len) == 0)
        term = &out->position_to_content;
    else
        return err_set(err, ERR_UNSUPPORTED,
                       "pos_att_type '%.*s' is not supported (supported: c2p, p2c)",
                       len < 32 ? (int)len : 32, name);
    *term = true;
    return ERR_OK;
}

/* Reads "p2c|c2p", the form of published checkpoints, or the list that transformers saves. */
static enum err_code read_terms(struct disentangled *out, const struct json_t *config,
                                struct err *err)
{
    const struct json_t *types = doc_member(config, "pos_att_type");
    const char *names = doc_as_string(types);
    for (size_t i = 0; i < doc_array_count(types); i++) {
        const char *name = doc_as_string(doc_array_item(types, i));
        if (name == NULL)
            return err_set(err, ERR_UNSUPPORTED, "pos_att_type has an item that is not a name");
        if (read_term(out, name, strlen(name), err))
            return err->code;
    }
    while (names != NULL) {
        size_t len;
        names += strspn(names, " ");
        len = strcspn(names, " |");
        if (read_term(out, names, len, err))
            return err->code;
        names = strchr(names, '|');
        names = names != NULL ? names + 1 : NULL;
    }
    if (disentangled_terms(out) == 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "pos_att_type names no term (supported: c2p, p2c or both)");
    return ERR_OK;
}

enum err_code disentangled_read(struct disentangled *out, const struct json_t *config,
                                unsigned hidden, unsigned heads, unsigned tokens, struct err *err)
{
    *out = (struct disentangled){0};
    if (check_numbers(config, hidden, heads, err) || check_texts(config, err) ||
        read_terms(out, config, err))
        return err->code;
    long long buckets = -1, distance = -1;
    doc_get_integer(config, "$", "position_buckets", -1, PLACES_LIMIT / 2, &buckets, err);
    if (doc_get_integer(config, "$", "max_relative_positions", -1, PLACES_LIMIT, &distance, err))
        return err->code;
    out->buckets = buckets > 0 ? (unsigned)buckets : 0;
    out->distance_max = distance > 0 ? (unsigned)distance : tokens;
    out->span = buckets > 0 ? out->buckets : out->distance_max;
    if (buckets == 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "position_buckets 1 is not supported (supported: at least %d, or -1)",
                       BUCKETS_MIN);
    if (buckets > 0 && tokens - 1 > out->buckets / 2 && out->distance_max - 1 <= out->buckets / 2)
        return err_set(err, ERR_UNSUPPORTED,
                       "max_relative_positions %u is not supported with position_buckets %u "
                       "(supported: at least %u)",
                       out->distance_max, out->buckets, out->buckets / 2 + 2);
    return ERR_OK;
}

/* ---- rows ---- */

unsigned disentangled_terms(const struct disentangled *disentangled)
{
    return 1u + disentangled->content_to_position + disentangled->position_to_content;
}

static long bucket_of(const struct disentangled *disentangled, long distance)
{
    long middle = disentangled->buckets / 2, far = labs(distance);
    if (disentangled->buckets == 0 || far <= middle)
        return distance;
    float last = (float)((double)(disentangled->distance_max - 1) / (double)middle);
    float share = logf((float)far / (float)middle) / logf(last);
    long bucket = (long)ceilf(share * (float)(middle - 1)) + middle;
    return distance < 0 ? -bucket : bucket;
}

unsigned disentangled_row(const struct disentangled *disentangled, long distance)
{
    long span = disentangled->span, row = bucket_of(disentangled, distance) + span;
    if (row < 0)
        return 0;
    return row < 2 * span ? (unsigned)row : (unsigned)(2 * span - 1);
}
