/* The trainer against one that counts everything anew for every merge. */
#include "engine/text/vocab_build.h"

#include "engine/base/rng.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct normalizer_flags uncased = {true, true, true, true};
static const struct normalizer_flags cased = {.clean_text = true, .space_cjk = true};

struct fixture {
    struct word_counts words;
    struct vocab_list list;
    struct err err;
};

static void setup(struct fixture *fixture, struct normalizer_flags flags, const char *text,
                  struct vocab_build_options options)
{
    fixture->err = (struct err){0};
    word_counts_init(&fixture->words, flags);
    ck_assert_int_eq(word_counts_add(&fixture->words, text, strlen(text), &fixture->err), ERR_OK);
    enum err_code code = vocab_build(&fixture->list, &fixture->words, &options, &fixture->err);
    ck_assert_int_eq(code, fixture->err.code);
}

static void drop(struct fixture *fixture)
{
    vocab_build_close(&fixture->list);
    word_counts_deinit(&fixture->words);
}

static size_t find(const struct vocab_list *list, const char *piece)
{
    size_t at = 0;
    while (at < list->count && strcmp(list->pieces[at], piece) != 0)
        at++;
    return at;
}

static bool has(const struct vocab_list *list, const char *piece)
{
    return find(list, piece) < list->count;
}

#define SIZES(n) ((struct vocab_build_options){.size = (n), .pair_min = 2, .character_min = 2})

START_TEST(vocab_build_begins_with_special_tokens_and_characters)
{
    struct fixture fixture;
    setup(&fixture, uncased, "\xCE\xA9 \xCE\xA9 \xC3\x9F", SIZES(500));
    const struct vocab_list *list = &fixture.list;
    static const char *const head[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "!", "\""};
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        ck_assert_str_eq(list->pieces[i], head[i]);
    ck_assert(has(list, "z") && has(list, "##z") && has(list, "0") && has(list, "##0"));
    ck_assert(has(list, "~") && !has(list, "##~") && !has(list, "A") && !has(list, " "));
    ck_assert(has(list, "\xCF\x89") && has(list, "##\xCF\x89"));
    ck_assert(!has(list, "\xC3\x9F"));
    for (size_t i = 0; i < list->count; i++)
        ck_assert_uint_eq(find(list, list->pieces[i]), i);
    drop(&fixture);
}
END_TEST

START_TEST(vocab_build_keeps_capitals_if_cased)
{
    struct fixture fixture;
    setup(&fixture, cased, "VDD VDD", SIZES(500));
    ck_assert(has(&fixture.list, "V") && has(&fixture.list, "##D") && has(&fixture.list, "VDD"));
    ck_assert(!has(&fixture.list, "vdd"));
    drop(&fixture);
}
END_TEST

/* "hug" 10, "pug" 5, "pun" 12, "bun" 4, "hugs" 5: the pairs are u-g 20, u-n 16, h-ug 15. */
START_TEST(vocab_build_merges_the_most_frequent_pair_first)
{
    char text[1024] = "";
    static const struct {
        const char *word;
        int count;
    } words[] = {{"hug ", 10}, {"pug ", 5}, {"pun ", 12}, {"bun ", 4}, {"hugs ", 5}};
    for (size_t w = 0; w < 5; w++)
        for (int i = 0; i < words[w].count; i++)
            strcat(text, words[w].word);
    struct fixture fixture;
    setup(&fixture, uncased, text, SIZES(500));
    size_t ug = find(&fixture.list, "##ug");
    static const char *const merged[] = {"##ug", "##un", "hug", "pun", "pug", "hugs", "bun"};
    for (size_t i = 0; i < sizeof merged / sizeof merged[0]; i++)
        ck_assert_str_eq(fixture.list.pieces[ug + i], merged[i]);
    ck_assert_uint_eq(fixture.list.count, ug + 7);
    drop(&fixture);
}
END_TEST

START_TEST(vocab_build_stops_at_its_size_and_at_rare_pairs)
{
    struct fixture fixture;
    setup(&fixture, uncased, "abc abc abd xy", SIZES(113));
    size_t characters = find(&fixture.list, "ab");
    ck_assert_uint_eq(fixture.list.count, characters + 2);
    ck_assert(has(&fixture.list, "abc") && !has(&fixture.list, "abd") && !has(&fixture.list, "xy"));
    drop(&fixture);
    setup(&fixture, uncased, "abc abc abd xy", SIZES(characters + 1));
    ck_assert_uint_eq(fixture.list.count, characters + 1);
    ck_assert(!has(&fixture.list, "abc"));
    drop(&fixture);
}
END_TEST

START_TEST(vocab_build_says_that_its_size_is_too_small)
{
    struct fixture fixture;
    setup(&fixture, uncased, "abc", SIZES(20));
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    drop(&fixture);
}
END_TEST

/* ---- the naive trainer ---- */

enum { NAIVE_WORDS = 6000, NAIVE_LEN = 32, NAIVE_PIECES = 400 };

struct naive {
    char pieces[NAIVE_PIECES][NAIVE_LEN + 4];
    size_t count;
    unsigned split[NAIVE_WORDS][NAIVE_LEN];
    unsigned len[NAIVE_WORDS];
    unsigned long pairs[NAIVE_PIECES][NAIVE_PIECES];
};

static unsigned naive_id(struct naive *naive, const char *piece)
{
    for (unsigned i = 0; i < naive->count; i++)
        if (strcmp(naive->pieces[i], piece) == 0)
            return i;
    ck_assert_uint_lt(naive->count, NAIVE_PIECES);
    strcpy(naive->pieces[naive->count], piece);
    return (unsigned)naive->count++;
}

/* The alphabet is taken from the list under test: a test above checks it. */
static void naive_split(struct naive *naive, const struct fixture *fixture, size_t alphabet)
{
    for (size_t i = 0; i < alphabet; i++)
        strcpy(naive->pieces[i], fixture->list.pieces[i]);
    naive->count = alphabet;
    ck_assert_uint_le(fixture->words.count, NAIVE_WORDS);
    for (size_t w = 0; w < fixture->words.count; w++) {
        const char *text = word_counts_text(&fixture->words, w);
        naive->len[w] = fixture->words.items[w].len;
        for (unsigned i = 0; i < naive->len[w]; i++) {
            char piece[8];
            snprintf(piece, sizeof piece, "%s%c", i > 0 ? "##" : "", text[i]);
            naive->split[w][i] = naive_id(naive, piece);
        }
    }
    ck_assert_uint_eq(naive->count, alphabet);
}

static bool naive_merge(struct naive *naive, const struct word_counts *words)
{
    unsigned left = 0, right = 0;
    unsigned long best = 1;
    memset(naive->pairs, 0, sizeof naive->pairs);
    for (size_t w = 0; w < words->count; w++)
        for (unsigned i = 0; i + 1 < naive->len[w]; i++)
            naive->pairs[naive->split[w][i]][naive->split[w][i + 1]] += words->items[w].count;
    for (unsigned a = 0; a < naive->count; a++)
        for (unsigned b = 0; b < naive->count; b++)
            if (naive->pairs[a][b] > best) {
                best = naive->pairs[a][b];
                left = a;
                right = b;
            }
    if (best < 2)
        return false;
    char piece[2 * NAIVE_LEN + 8];
    snprintf(piece, sizeof piece, "%s%s", naive->pieces[left], naive->pieces[right] + 2);
    unsigned merged = naive_id(naive, piece);
    for (size_t w = 0; w < words->count; w++) {
        unsigned kept = 0, *split = naive->split[w];
        for (unsigned i = 0; i < naive->len[w]; i++) {
            bool meets = i + 1 < naive->len[w] && split[i] == left && split[i + 1] == right;
            split[kept++] = meets ? merged : split[i];
            i += meets;
        }
        naive->len[w] = kept;
    }
    return true;
}

/* Words of up to 9 letters, out of the first `letters` letters and digits or fewer. */
static void random_text(unsigned seed, unsigned words, unsigned letters, char *text, size_t size)
{
    struct rng rng = rng_for(seed, 0, 0);
    size_t used = 0;
    for (unsigned w = 0; w < words; w++) {
        unsigned len = 1 + rng_below(&rng, 9), of = 2 + rng_below(&rng, letters - 1);
        ck_assert_uint_lt(used + len + 1, size);
        for (unsigned i = 0; i < len; i++)
            text[used++] = "abcdefghijklmnopqrstuvwxyz0123456789"[rng_below(&rng, of)];
        text[used++] = ' ';
    }
    text[used] = '\0';
}

static void expect_naive(struct naive *naive, unsigned seed, unsigned words, unsigned letters)
{
    static char text[65536];
    struct fixture fixture;
    random_text(seed, words, letters, text, sizeof text);
    setup(&fixture, uncased, text, SIZES(350));
    naive_split(naive, &fixture, find(&fixture.list, "##z") + 1);
    while (naive->count < 350 && naive_merge(naive, &fixture.words))
        continue;
    ck_assert_uint_eq(fixture.list.count, naive->count);
    for (size_t i = 0; i < naive->count; i++)
        ck_assert_msg(strcmp(fixture.list.pieces[i], naive->pieces[i]) == 0,
                      "seed %u, piece %zu: %s instead of %s", seed, i, fixture.list.pieces[i],
                      naive->pieces[i]);
    drop(&fixture);
}

/* Few letters: pairs overlap, and two ways lead to the same piece. */
START_TEST(vocab_build_agrees_with_counting_everything_anew)
{
    struct naive *naive = malloc(sizeof *naive);
    ck_assert_ptr_nonnull(naive);
    for (unsigned seed = 0; seed < 12; seed++)
        expect_naive(naive, seed, 300, 4);
    free(naive);
}
END_TEST

/* Many letters: more pairs than every array begins with room for. */
START_TEST(vocab_build_agrees_also_when_its_arrays_grow)
{
    struct naive *naive = malloc(sizeof *naive);
    ck_assert_ptr_nonnull(naive);
    for (unsigned seed = 0; seed < 3; seed++)
        expect_naive(naive, seed, 6000, 36);
    free(naive);
}
END_TEST

static void count_calls(void *context, size_t pieces)
{
    ck_assert_uint_eq(pieces, ++*(size_t *)context);
}

START_TEST(vocab_build_tells_of_every_piece)
{
    struct fixture fixture;
    size_t calls = 0;
    struct vocab_build_options options = SIZES(500);
    options.progress = count_calls;
    options.context = &calls;
    setup(&fixture, uncased, "abc abc", options);
    ck_assert_uint_eq(calls, fixture.list.count);
    drop(&fixture);
}
END_TEST

START_TEST(vocab_build_bounds_its_size_and_leaves_nothing_when_closed)
{
    struct fixture fixture;
    setup(&fixture, uncased, "abc", SIZES((1 << 20) + 1));
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, "1048577 pieces; at most 1048576 are supported");
    drop(&fixture);
    setup(&fixture, uncased, "abc", SIZES(20));
    ck_assert_str_eq(fixture.err.text,
                     "20 pieces have no room for the special tokens and the characters of the "
                     "texts; ask for more, or for fewer characters");
    ck_assert_uint_eq(fixture.list.count, 20);
    drop(&fixture);
    ck_assert_ptr_null(fixture.list.pieces);
    ck_assert_uint_eq(fixture.list.count, 0);
    setup(&fixture, uncased, "", SIZES(1 << 20));
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    drop(&fixture);
}
END_TEST

/* 5 special tokens; uncased 68 printable characters that begin a word, of which 36 continue one. */
START_TEST(vocab_build_has_room_for_its_alphabet_exactly)
{
    struct fixture fixture;
    for (size_t size = 108; size <= 109; size++) {
        setup(&fixture, uncased, "", SIZES(size));
        ck_assert_int_eq(fixture.err.code, size < 109 ? ERR_UNUSABLE : ERR_OK);
        drop(&fixture);
    }
    setup(&fixture, cased, "", SIZES(500));
    ck_assert_uint_eq(fixture.list.count, 5 + 94 + 62);
    ck_assert_str_eq(fixture.list.pieces[5], "!");
    ck_assert_str_eq(fixture.list.pieces[5 + 93], "~");
    ck_assert_str_eq(fixture.list.pieces[5 + 94], "##0");
    ck_assert_str_eq(fixture.list.pieces[5 + 94 + 61], "##z");
    ck_assert_int_eq(fixture.list.pieces[5 + 93][1], '\0');
    drop(&fixture);
}
END_TEST

/* Ideographs stand alone if they are set apart, and continue a word if they are not. */
START_TEST(vocab_build_takes_characters_that_are_frequent_enough)
{
    static const struct normalizer_flags joined = {.clean_text = true};
    static const char text[] = "\xE4\xB8\xAD\xE5\x9B\xBD \xE4\xB8\xAD \xC3\xA9 \xC3\xA9 \xC3\xA8";
    struct vocab_build_options options = SIZES(500);
    struct fixture fixture;
    setup(&fixture, cased, text, options);
    ck_assert(has(&fixture.list, "\xE4\xB8\xAD") && !has(&fixture.list, "##\xE4\xB8\xAD"));
    ck_assert(has(&fixture.list, "\xC3\xA9") && has(&fixture.list, "##\xC3\xA9"));
    ck_assert(!has(&fixture.list, "\xC3\xA8") && !has(&fixture.list, "\xE5\x9B\xBD"));
    drop(&fixture);
    options.character_min = options.pair_min = 1;
    setup(&fixture, joined, text, options);
    ck_assert(has(&fixture.list, "\xC3\xA8") && has(&fixture.list, "##\xE5\x9B\xBD"));
    ck_assert(has(&fixture.list, "\xE4\xB8\xAD\xE5\x9B\xBD"));
    ck_assert_uint_eq(fixture.list.count, 5 + 94 + 62 + 2 * 4 + 1);
    drop(&fixture);
}
END_TEST

/* Two pairs of equal counts: the older pieces first, then the older second pieces. */
START_TEST(vocab_build_breaks_ties_by_age)
{
    static const char *const merged[] = {"ax", "by", "bz"};
    struct fixture fixture;
    setup(&fixture, uncased, "bz ax by bz ax by", SIZES(500));
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(fixture.list.pieces[fixture.list.count - 3 + i], merged[i]);
    drop(&fixture);
}
END_TEST

SUITE("vocab_build", vocab_build_begins_with_special_tokens_and_characters,
      vocab_build_keeps_capitals_if_cased, vocab_build_merges_the_most_frequent_pair_first,
      vocab_build_stops_at_its_size_and_at_rare_pairs, vocab_build_says_that_its_size_is_too_small,
      vocab_build_agrees_with_counting_everything_anew,
      vocab_build_agrees_also_when_its_arrays_grow, vocab_build_tells_of_every_piece,
      vocab_build_bounds_its_size_and_leaves_nothing_when_closed,
      vocab_build_has_room_for_its_alphabet_exactly,
      vocab_build_takes_characters_that_are_frequent_enough, vocab_build_breaks_ties_by_age)
