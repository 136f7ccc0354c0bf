#include "engine/generate/look_ahead.h"

#include <assert.h>
#include <math.h>

static size_t chances_of(const struct automaton *automaton, unsigned places)
{
    return (size_t)places * (automaton->classes + 2);
}

static size_t rests_of(const struct automaton *automaton, unsigned places)
{
    return ((size_t)places + 1) * automaton->states;
}

size_t look_ahead_bytes(const struct automaton *automaton, unsigned places)
{
    return (chances_of(automaton, places) + rests_of(automaton, places)) * sizeof(float) +
           2 * (size_t)ARENA_ALIGNMENT;
}

enum err_code look_ahead_open(struct look_ahead *out, const struct automaton *automaton,
                              const struct token_texts *texts, unsigned places, struct arena *arena,
                              struct err *err)
{
    *out = (struct look_ahead){.automaton = automaton, .texts = texts};
    out->chances = arena_alloc_array(arena, chances_of(automaton, places), sizeof *out->chances);
    out->rest = arena_alloc_array(arena, rests_of(automaton, places), sizeof *out->rest);
    return out->chances != NULL && out->rest != NULL
               ? ERR_OK
               : err_no_memory(err, look_ahead_bytes(automaton, places));
}

static float *chances_at(const struct look_ahead *ahead, unsigned place)
{
    return ahead->chances + chances_of(ahead->automaton, place);
}

static float *rests_at(const struct look_ahead *ahead, unsigned place)
{
    return ahead->rest + (size_t)place * ahead->automaton->states;
}

void look_ahead_begin(struct look_ahead *ahead, unsigned place)
{
    float *chances = chances_at(ahead, place);
    for (unsigned c = 0; c < ahead->automaton->classes + 2; c++)
        chances[c] = -INFINITY;
}

void look_ahead_note(struct look_ahead *ahead, unsigned place, uint32_t token, float logarithm,
                     bool ends)
{
    const uint32_t *offset = ahead->texts->offset + token;
    const unsigned silent = ahead->automaton->classes;
    float *chances = chances_at(ahead, place);
    assert(offset[1] - offset[0] <= 1);
    const unsigned which =
        ends ? silent + 1
        : offset[0] == offset[1]
            ? silent
            : ahead->automaton->class_of[(unsigned char)ahead->texts->bytes[*offset]];
    chances[which] = fmaxf(chances[which], logarithm);
}

bool look_ahead_compute(struct look_ahead *ahead, unsigned places, bool is_cut, unsigned first)
{
    const struct automaton *automaton = ahead->automaton;
    const unsigned classes = automaton->classes;
    for (unsigned s = 0; s < automaton->states; s++)
        rests_at(ahead, places)[s] = is_cut && automaton_accepts(automaton, s) ? 0 : -INFINITY;
    for (unsigned t = places; t > 0; t--) {
        const float *chances = chances_at(ahead, t - 1), *after = rests_at(ahead, t);
        float *rests = rests_at(ahead, t - 1);
        for (unsigned s = 0; s < automaton->states; s++) {
            const uint16_t *next = automaton->next + (size_t)s * classes;
            float best = chances[classes] + after[s];
            if (automaton_accepts(automaton, s))
                best = fmaxf(best, chances[classes + 1]);
            for (unsigned c = 0; c < classes; c++) {
                const float sum = chances[c] + after[next[c]];
                best = sum > best ? sum : best;
            }
            rests[s] = best;
        }
        rests[AUTOMATON_DEAD] = -INFINITY;
    }
    return rests_at(ahead, 0)[first] > -INFINITY;
}
