/* score_texts.c - measures pairs of texts from standard input, for compare_text_scores.py:
 * `score-texts`. A pair is two lengths (32 bits, little-endian), the written text and the right
 * one. Written are exact, edit_distance, error_rate, chrf and bleu of all of them. */
#include "learn/eval/texts/writing_assessment.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_BYTES_MAX = 64 * 1024 * 1024 };

static char *read_bytes(uint32_t len)
{
    char *bytes = len <= TEXT_BYTES_MAX ? calloc(1, (size_t)len + 1) : NULL;
    if (bytes == NULL || fread(bytes, 1, len, stdin) != len)
        exit(1);
    return bytes;
}

int main(void)
{
    struct text_counts sum = {0};
    uint32_t lengths[2];
    while (fread(lengths, sizeof lengths, 1, stdin) == 1) {
        char *written = read_bytes(lengths[0]), *right = read_bytes(lengths[1]);
        struct text_counts one;
        struct arena scratch;
        struct err err = {0};
        arena_init(&scratch);
        if (text_counts_take(&one, written, lengths[0], right, lengths[1], &scratch, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        text_counts_add(&sum, &one);
        arena_deinit(&scratch);
        free(written);
        free(right);
    }
    const struct text_scores scores = text_scores_of(&sum);
    printf("%.9g %.9g %.9g %.9g %.9g\n", scores.exact, scores.edit_distance, scores.error_rate,
           scores.chrf, scores.bleu);
    return 0;
}
