#include "engine/model/config/reading.h"


#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "pruned_heads";

struct reading {
    bool *is_gone; /* [layers][heads] */
    unsigned layers, heads;
};

/* Reads a layer's number: digits without a sign, a space or a leading zero. */
static bool layer_of(const char *name, unsigned layers, unsigned *out)
{
    char *end;
    if (name[0] < '0' || name[0] > '9' || (name[0] == '0' && name[1] != '\0'))
        return false;
    unsigned long layer = strtoul(name, &end, 10);
    *out = (unsigned)layer;
    return *end == '\0' && layer < layers;
}

static enum err_code read_head(const struct reading *reading, unsigned layer,
                               const struct json_t *value, struct err *err)
{
    double head;
    if (!doc_as_number(value, &head) || !(head >= 0 && head < reading->heads) ||
        head != floor(head))
        return err_set(err, ERR_UNSUPPORTED, "$.%s: layer %u: expected numbers from 0 to %u", key,
                       layer, reading->heads - 1);
    bool *is_gone = &reading->is_gone[(size_t)layer * reading->heads + (size_t)head];
    if (*is_gone)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: layer %u: head %.0f is named twice", key, layer,
                       head);
    *is_gone = true;
    return ERR_OK;
}

static enum err_code read_layer(void *context, const char *name, const struct json_t *value,
                                struct err *err)
{
    const struct reading *reading = context;
    unsigned layer;
    if (!layer_of(name, reading->layers, &layer))
        return err_set(err, ERR_UNSUPPORTED, "$.%s: '%s' is no layer; they are 0 to %u", key,
                       printable_name(name).text, reading->layers - 1);
    if (strcmp(doc_type_name(value), "an array") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: layer %u: expected an array, found %s", key,
                       layer, doc_type_name(value));
    for (size_t i = 0; i < doc_array_count(value); i++)
        if (read_head(reading, layer, doc_array_item(value, i), err))
            return err->code;
    return ERR_OK;
}

enum err_code pruned_heads_count(struct pruned_heads *out, const bool *is_gone, unsigned layers,
                                 unsigned heads, struct arena *arena, struct err *err)
{
    unsigned *left = arena_alloc_array(arena, layers, sizeof *left);
    if (left == NULL)
        return err_no_memory(err, layers * sizeof *left);
    for (unsigned layer = 0; layer < layers; layer++) {
        left[layer] = heads;
        for (unsigned h = 0; h < heads; h++)
            left[layer] -= is_gone[(size_t)layer * heads + h];
        if (left[layer] == 0)
            return err_set(err, ERR_UNSUPPORTED, "$.%s: layer %u has no head left", key, layer);
    }
    *out = (struct pruned_heads){.is_gone = is_gone, .left = left};
    return ERR_OK;
}

enum err_code pruned_heads_read(struct pruned_heads *out, const struct json_t *config,
                                unsigned layers, unsigned heads, struct arena *arena,
                                struct err *err)
{
    const struct json_t *member = doc_member(config, key);
    struct reading reading = {.layers = layers, .heads = heads};
    size_t count = (size_t)layers * heads;
    *out = (struct pruned_heads){0};
    if (member != NULL && strcmp(doc_type_name(member), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s: expected an object, found %s", key,
                       doc_type_name(member));
    if (doc_object_count(member) == 0)
        return ERR_OK;
    reading.is_gone = arena_alloc_array(arena, count, sizeof *reading.is_gone);
    if (reading.is_gone == NULL)
        return err_no_memory(err, count * sizeof *reading.is_gone);
    if (doc_each_member(member, read_layer, &reading, err))
        return err->code;
    return pruned_heads_count(out, reading.is_gone, layers, heads, arena, err);
}
