#include "engine/prepare/pipeline.h"

#include "engine/base/utf8.h"

#include <string.h>

size_t lines_count(const char *text, size_t len, size_t most)
{
    size_t lines = 0;
    for (const char *at = text, *end = text + len; at < end && lines <= most; lines++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed != NULL ? feed + 1 : end;
    }
    return lines;
}

/* Writes the characters of each line, [count]. */
static void measure(const char *text, size_t len, struct input_part *lines, size_t count)
{
    uint32_t start = 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        const char *feed = memchr(text + at, '\n', len - at);
        const size_t bytes = feed != NULL ? (size_t)(feed - text) - at : len - at;
        const uint32_t characters = (uint32_t)utf8_count(text + at, bytes);
        const bool has_return = feed != NULL && bytes > 0 && feed[-1] == '\r';
        lines[i] = (struct input_part){.start = start, .stop = start + characters - has_return};
        start += characters + 1;
        at += bytes + 1;
    }
}

enum err_code lines_cut(const char *text, size_t len, int64_t shift, unsigned most,
                        struct arena *arena, struct engine_input *input, struct err *err)
{
    const size_t count = lines_count(text, len, most);
    if (input->truncated)
        return err_set(
            err, ERR_TOO_LARGE,
            "chunks: the text is longer than the %u tokens that the model reads at once: "
            "send fewer lines",
            most);
    if (count > most)
        return err_set(err, ERR_TOO_LARGE, "chunks: the text has more than %u lines", most);
    struct input_part *lines = arena_alloc_array(arena, count, sizeof *lines);
    if (lines == NULL)
        return err_no_memory(err, count * sizeof *lines);
    measure(text, len, lines, count);
    for (unsigned t = 0, at = 0; t < input->tokens; t++) {
        const int64_t last = (int64_t)input->ends[t] - 1 - shift;
        if (input->ends[t] == 0 || last < 0)
            continue;
        while (at + 1 < count && last >= lines[at + 1].start)
            at++;
        struct input_part *line = &lines[at];
        if (last >= line->stop)
            continue;
        if (line->end == 0)
            line->first = t;
        line->end = t + 1;
    }
    input->parts = lines;
    input->part_count = (unsigned)count;
    input->has_lines = true;
    return ERR_OK;
}
