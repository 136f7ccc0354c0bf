/* Groups of vectors that are alike. */
#include "server/review/linkage.h"

#include "server/serve/likeness.h"
#include "tests/support/suite.h"

#include <string.h>

enum { SIZE = 16, COUNT = 60, KINDS = 3 };

static int8_t likenesses[COUNT][SIZE];
static struct arena arena;

static unsigned grouped(unsigned count, float least, unsigned *of)
{
    const struct linkage linkage = {
        .likenesses = likenesses[0], .count = count, .size = SIZE, .least = least};
    struct err err = {0};
    unsigned groups = 99;
    arena_init(&arena);
    ck_assert_int_eq(linkage_groups(&linkage, of, &groups, &arena, &err), ERR_OK);
    ck_assert_uint_le(arena.bytes, linkage_bytes(count));
    arena_deinit(&arena);
    return groups;
}

/* Each kind has an axis of its own, and some noise. */
static void make_kinds(void)
{
    unsigned seed = 7;
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < SIZE; k++) {
            seed = seed * 1664525 + 1013904223;
            likenesses[i][k] = (int8_t)((int)(seed >> 28) - 8 + (k == i % KINDS ? 100 : 0));
        }
}

START_TEST(linkage_groups_similar_inputs)
{
    unsigned of[COUNT];
    make_kinds();
    ck_assert_uint_eq(grouped(COUNT, 0.8F, of), KINDS);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_uint_eq(of[i], i % KINDS);
}
END_TEST

START_TEST(the_bound_says_how_alike)
{
    unsigned of[COUNT];
    make_kinds();
    ck_assert_uint_eq(grouped(COUNT, -1, of), 1);
    ck_assert_uint_eq(grouped(COUNT, 1.01F, of), COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_uint_eq(of[i], i);
}
END_TEST

/* In a fan of vectors each is like its neighbour, and the ends are not alike: a chain of neighbours
 * makes no group. */
START_TEST(a_chain_of_neighbours_is_no_group)
{
    static const int8_t fan[][2] = {{127, 0}, {120, 40}, {100, 78}, {78, 100}, {40, 120}, {0, 127}};
    unsigned of[6];
    memset(likenesses, 0, sizeof likenesses);
    for (unsigned i = 0; i < 6; i++)
        memcpy(likenesses[i], fan[i], 2);
    ck_assert_uint_eq(grouped(6, 0.8F, of), 3);
    ck_assert(of[0] == of[1] && of[2] == of[3] && of[4] == of[5]);
}
END_TEST

/* Groups by definition: the two most alike groups first, until none are alike. */
static unsigned by_definition(unsigned count, float least, unsigned *of)
{
    for (unsigned i = 0; i < count; i++)
        of[i] = i;
    for (;;) {
        float best = least;
        unsigned from = 0, into = 0;
        for (unsigned a = 0; a < count; a++)
            for (unsigned b = 0; b < a; b++) {
                float sum = 0;
                unsigned pairs = 0;
                for (unsigned i = 0; i < count; i++)
                    for (unsigned k = 0; k < count; k++)
                        if (of[i] == a && of[k] == b) {
                            sum += likeness_cosine(likenesses[i], likenesses[k], SIZE);
                            pairs++;
                        }
                if (pairs > 0 && sum / (float)pairs >= best) {
                    best = sum / (float)pairs;
                    from = a;
                    into = b;
                }
            }
        if (from == into)
            break;
        for (unsigned i = 0; i < count; i++)
            of[i] = of[i] == from ? into : of[i];
    }
    unsigned groups = 0;
    for (unsigned i = 0; i < count; i++) /* the least member names a group */
        groups += of[i] == i;
    return groups;
}

START_TEST(groups_are_those_of_the_definition)
{
    unsigned seed = 3, of[COUNT], expected[COUNT];
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 0; i < 30; i++)
            for (unsigned k = 0; k < SIZE; k++) {
                seed = seed * 1664525 + 1013904223;
                likenesses[i][k] = (int8_t)((int)(seed >> 25) - 64 + (k < 4 ? 60 : 0));
            }
        const float least = 0.05F * (float)round + 0.1F;
        const unsigned groups = by_definition(30, least, expected);
        ck_assert_uint_eq(grouped(30, least, of), groups);
        for (unsigned i = 0; i < 30; i++)
            for (unsigned k = 0; k < i; k++)
                ck_assert((of[i] == of[k]) == (expected[i] == expected[k]));
    }
}
END_TEST

static enum err_code refuse(void *context, struct err *err)
{
    (void)context;
    return err_set(err, ERR_SLOW, "the client has gone");
}

START_TEST(linkage_ends_when_nobody_waits)
{
    struct interrupt interrupt = {.look = refuse};
    const struct linkage linkage = {.likenesses = likenesses[0],
                                    .count = COUNT,
                                    .size = SIZE,
                                    .least = 0.5F,
                                    .interrupt = &interrupt};
    struct err err = {0};
    unsigned of[COUNT], groups;
    arena_init(&arena);
    ck_assert_int_eq(linkage_groups(&linkage, of, &groups, &arena, &err), ERR_SLOW);
    arena_deinit(&arena);
}
END_TEST

START_TEST(linkage_groups_no_input_and_one_input)
{
    unsigned of[1] = {7};
    make_kinds();
    ck_assert_uint_eq(grouped(0, 0.8F, of), 0);
    ck_assert_uint_eq(grouped(1, 0.8F, of), 1);
    ck_assert_uint_eq(of[0], 0);
}
END_TEST

SUITE("review/linkage", linkage_groups_similar_inputs, the_bound_says_how_alike,
      a_chain_of_neighbours_is_no_group, groups_are_those_of_the_definition,
      linkage_ends_when_nobody_waits, linkage_groups_no_input_and_one_input)
