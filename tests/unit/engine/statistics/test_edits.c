#include "engine/statistics/edits.h"

#include "engine/base/rng.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct edits between(const char *written, const char *right)
{
    struct arena arena;
    struct edits out;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(
        edits_count(written, strlen(written), right, strlen(right), &arena, &out, &err), ERR_OK);
    arena_deinit(&arena);
    return out;
}

START_TEST(edits_counts_what_is_put_in_taken_out_and_replaced)
{
    static const struct {
        const char *written, *right;
        unsigned count, characters;
    } rows[] = {{"", "", 0, 0},
                {"W12", "W12", 0, 3},
                {"", "W12", 3, 3},
                {"W12", "", 3, 0},
                {"timeoutup The", "timeout up The", 1, 14},
                {"kitten", "sitting", 3, 7},
                {"abc", "cab", 2, 3},
                {"D\xC3\xBCse \xF0\x9F\x94\xA5", "Duse \xF0\x9F\x94\xA5", 1, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct edits found = between(rows[i].written, rows[i].right);
        ck_assert_msg(found.count == rows[i].count, "row %zu: %u", i, found.count);
        ck_assert_uint_eq(found.characters, rows[i].characters);
    }
}
END_TEST

/* The table of Wagner and Fischer 1974, a whole number a cell. */
static unsigned by_table(const char *a, const char *b)
{
    unsigned row[512];
    const size_t a_len = strlen(a), b_len = strlen(b);
    for (size_t j = 0; j <= b_len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_len];
}

/* Lengths about the borders of words, of few characters and of many. */
START_TEST(edits_are_those_of_the_table)
{
    struct rng rng = rng_for(36, 0, 0);
    for (unsigned n = 0; n < 2000; n++) {
        char texts[2][300];
        const uint32_t letters = 1 + rng_below(&rng, 26);
        for (unsigned t = 0; t < 2; t++) {
            const uint32_t len = rng_below(&rng, n % 2 == 0 ? 200 : 70);
            for (uint32_t i = 0; i < len; i++)
                texts[t][i] = (char)('a' + rng_below(&rng, letters));
            texts[t][len] = '\0';
        }
        ck_assert_msg(between(texts[0], texts[1]).count == by_table(texts[0], texts[1]), "%s | %s",
                      texts[0], texts[1]);
    }
}
END_TEST

SUITE("edits", edits_counts_what_is_put_in_taken_out_and_replaced, edits_are_those_of_the_table)
