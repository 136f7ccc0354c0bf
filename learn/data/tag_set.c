#include "learn/data/tag_set.h"

#include <stdio.h>
#include <string.h>

enum { KNOWN_BYTES = 256 };

unsigned tag_set_find(const struct tag_set *set, const char *label)
{
    unsigned at = 0;
    while (at < set->count && strcmp(set->name[at], label) != 0)
        at++;
    return at;
}

/* ---- of data ---- */

/* Inserts a label among those that are sorted by bytes. */
static enum err_code insert(struct tag_set *set, const char *label, struct err *err)
{
    unsigned place = set->count;
    if (set->count == TAG_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d different labels of spans", TAG_LABELS_MAX);
    while (place > 0 && strcmp(set->name[place - 1], label) > 0)
        place--;
    memmove(set->name + place + 1, set->name + place, (set->count - place) * sizeof *set->name);
    set->name[place] = label;
    set->count++;
    return ERR_OK;
}

static enum err_code collect(struct tag_set *set, const struct dataset *dataset, struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++)
        for (unsigned s = 0; s < dataset->items[i].span_count; s++) {
            const char *label = dataset->items[i].spans[s].label;
            if (tag_set_find(set, label) == set->count && insert(set, label, err))
                return err_prefix(err, "%.80s: ", dataset->items[i].name);
        }
    return set->count > 0 ? ERR_OK
                          : err_set(err, ERR_UNUSABLE, "no text has a span: nothing to learn");
}

static unsigned find_tag(const struct tag_set *set, const char *tag)
{
    unsigned at = 0;
    while (at < set->tag_count && strcmp(set->tags[at], tag) != 0)
        at++;
    return at;
}

/* Finds each tag among the source's labels. False: one is not there. */
static bool take_order(struct tag_set *set, const struct spec *source)
{
    struct tag_set theirs = {.tags = source->labels, .tag_count = source->label_count};
    if (source->label_count != set->tag_count)
        return false;
    for (unsigned t = 0; t < set->tag_count; t++)
        if (find_tag(&theirs, set->tags[t]) == set->tag_count)
            return false;
    memcpy(set->tags, source->labels, set->tag_count * sizeof *set->tags);
    return true;
}

static enum err_code make_room(struct tag_set *set, unsigned names, unsigned tags,
                               struct arena *arena, struct err *err)
{
    set->name = arena_alloc_array(arena, names, sizeof *set->name);
    set->begin = arena_alloc_array(arena, names, sizeof *set->begin);
    set->inside = arena_alloc_array(arena, names, sizeof *set->inside);
    set->tags = arena_alloc_array(arena, tags, sizeof *set->tags);
    set->label_of = arena_alloc_array(arena, tags, sizeof *set->label_of);
    if (set->label_of == NULL || set->name == NULL || set->begin == NULL || set->inside == NULL ||
        set->tags == NULL)
        return err_no_memory(err, (names + tags) * sizeof *set->name);
    return ERR_OK;
}

enum err_code tag_set_learn(struct tag_set *out, const struct dataset *dataset,
                            const struct spec *source, struct arena *arena, struct err *err)
{
    *out = (struct tag_set){0};
    if (make_room(out, TAG_LABELS_MAX, 2 * TAG_LABELS_MAX + 1, arena, err) ||
        collect(out, dataset, err))
        return err->code;
    const char **begin = arena_alloc_array(arena, out->count, sizeof *begin);
    const char **inside = arena_alloc_array(arena, out->count, sizeof *inside);
    if (begin == NULL || inside == NULL)
        return err_no_memory(err, out->count * sizeof *begin);
    out->tag_count = 2 * out->count + 1;
    out->tags[0] = "O";
    for (unsigned i = 0; i < out->count; i++) {
        begin[i] = out->tags[1 + 2 * i] = arena_format(arena, "B-%s", out->name[i]);
        inside[i] = out->tags[2 + 2 * i] = arena_format(arena, "I-%s", out->name[i]);
        if (begin[i] == NULL || inside[i] == NULL)
            return err_no_memory(err, strlen(out->name[i]));
    }
    take_order(out, source);
    out->outside = find_tag(out, "O");
    for (unsigned i = 0; i < out->count; i++) {
        out->begin[i] = find_tag(out, begin[i]);
        out->inside[i] = find_tag(out, inside[i]);
        out->label_of[out->begin[i]] = out->label_of[out->inside[i]] = i;
    }
    out->label_of[out->outside] = out->count;
    return ERR_OK;
}

/* ---- of a model ---- */

/* The name of a served span with this tag (decide/spans.h). */
static const char *name_of(const char *tag)
{
    const char *dash = strchr(tag, '-');
    return dash != NULL ? dash + 1 : tag;
}

enum err_code tag_set_of(struct tag_set *out, const char *const *tags, unsigned tag_count,
                         struct arena *arena, struct err *err)
{
    *out = (struct tag_set){.tag_count = tag_count, .outside = tag_count};
    if (make_room(out, tag_count, tag_count, arena, err))
        return err->code;
    memcpy(out->tags, tags, tag_count * sizeof *out->tags);
    for (unsigned t = 0; t < tag_count; t++) {
        const char *name = name_of(tags[t]);
        if (strcmp(name, "O") == 0) {
            out->outside = strcmp(tags[t], "O") == 0 ? t : out->outside;
            continue;
        }
        const unsigned at = tag_set_find(out, name);
        const bool begins = strncmp(tags[t], "B-", 2) == 0;
        if (at == out->count) {
            out->name[out->count++] = name;
            out->begin[at] = out->inside[at] = t;
        }
        if (begins)
            out->begin[at] = t;
        else
            out->inside[at] = t;
        out->label_of[t] = at;
    }
    for (unsigned t = 0; t < tag_count; t++)
        if (strcmp(name_of(tags[t]), "O") == 0)
            out->label_of[t] = out->count;
    return ERR_OK;
}

enum err_code tag_set_check(const struct tag_set *set, const struct dataset *dataset,
                            struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++)
        for (unsigned s = 0; s < dataset->items[i].span_count; s++) {
            const char *label = dataset->items[i].spans[s].label;
            char known[KNOWN_BYTES] = "";
            size_t used = 0;
            if (tag_set_find(set, label) < set->count)
                continue;
            for (unsigned c = 0; c < set->count && used < sizeof known; c++)
                used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                         c > 0 ? ", " : "", set->name[c]);
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: spans[%u]: the label '%.60s' is not known (known are: %s)",
                           dataset->items[i].name, s, label, known);
        }
    return ERR_OK;
}

/* ---- tokens ---- */

unsigned tag_set_mark(const struct tag_set *set, const struct dataset_item *item,
                      const struct tag_tokens *tokens, int32_t *tags)
{
    const uint32_t *starts = tokens->starts, *ends = tokens->ends;
    unsigned misfits = 0, at = 0;
    for (unsigned t = 0; t < tokens->count; t++)
        tags[t] = starts[t] < ends[t] ? (int32_t)set->outside : TAG_NONE;
    for (unsigned s = 0; s < item->span_count; s++) {
        const struct dataset_span *span = &item->spans[s];
        const unsigned label = tag_set_find(set, span->label);
        while (at < tokens->count && (tags[at] == TAG_NONE || ends[at] <= span->start))
            at++;
        if (at == tokens->count && tokens->is_cut)
            break;
        const unsigned first = at;
        unsigned last = at;
        for (; at < tokens->count && (tags[at] == TAG_NONE || starts[at] < span->end); at++) {
            if (tags[at] == TAG_NONE)
                continue;
            tags[at] = (int32_t)(at == first ? set->begin[label] : set->inside[label]);
            last = at;
        }
        misfits += at == first || starts[first] != span->start || ends[last] != span->end;
    }
    return misfits;
}
