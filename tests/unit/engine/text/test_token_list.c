/* Lists that keep the first of too many tokens, or the last. */
#include "engine/text/token_list.h"
#include "tests/unit/engine/text/fixture.h"

enum { TOKENS_MAX = 12 };

/* Token i of a text in which every third begins a word. */
static struct token token_at(uint32_t i)
{
    return (struct token){.id = (int32_t)i, .start = 10 * i, .end = 10 * i + 7, .continued = i % 3};
}

static void fill(struct token_list *list, unsigned room, unsigned tokens, bool keeps_end,
                 struct arena *arena)
{
    struct err err = {0};
    ck_assert(!token_list_init(list, room, keeps_end, arena, &err));
    for (unsigned i = 0; i < tokens; i++)
        if (!token_list_append(list, token_at(i)))
            break;
    token_list_finish(list);
}

static void expect(const struct token_list *list, unsigned first, unsigned count)
{
    ck_assert_uint_eq(list->count, count);
    for (unsigned i = 0; i < count; i++) {
        struct token want = token_at(first + i), found = token_list_get(list, i);
        ck_assert_int_eq(found.id, want.id);
        ck_assert_uint_eq(found.start, want.start);
        ck_assert_uint_eq(found.end, want.end);
        ck_assert_int_eq(found.continued, want.continued && !(i == 0 && first > 0));
    }
}

START_TEST(token_list_keeps_the_first_or_the_last_in_order)
{
    for (unsigned room = 0; room < 7; room++)
        for (unsigned tokens = 0; tokens <= TOKENS_MAX; tokens++) {
            struct arena arena;
            struct token_list list;
            unsigned count = tokens < room ? tokens : room;
            arena_init(&arena);
            fill(&list, room, tokens, false, &arena);
            expect(&list, 0, count);
            ck_assert_uint_eq(list.total, tokens < room + 1 ? tokens : room + 1);
            fill(&list, room, tokens, true, &arena);
            expect(&list, tokens - count, count);
            ck_assert_uint_eq(list.total, tokens);
            arena_deinit(&arena);
        }
}
END_TEST

START_TEST(token_list_is_cut_at_the_same_side)
{
    for (unsigned keep = 0; keep <= 5; keep++) {
        struct arena arena;
        struct token_list list;
        arena_init(&arena);
        fill(&list, 5, 5, false, &arena);
        token_list_cut(&list, keep);
        expect(&list, 0, keep);
        fill(&list, 5, 9, true, &arena);
        token_list_cut(&list, keep);
        expect(&list, 9 - keep, keep);
        arena_deinit(&arena);
    }
}
END_TEST

#define VOCAB "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nc\n[LOT]\n"

/* Offsets are those of the whole text; a word that lost its beginning begins with what is left. */
START_TEST(tokenizer_keeps_the_end_of_a_text_with_its_offsets)
{
    struct err err = {0};
    struct arena arena;
    struct encoding encoding;
    struct tokenizer *t = fixture_open(
        VOCAB, NULL,
        "{\"truncation_side\": \"left\", \"model_max_length\": 5, \"additional_special_tokens\": "
        "[\"[LOT]\"]}");
    fixture_check(t, "c \xC3\xA9 c ab[LOT]", "2[0,0) 5[6,7) 6[7,8) 8[8,13) 3[0,0) truncated");
    fixture_check(t, "c [LOT] abb", "2[0,0) 5[8,9) 6[9,10) 6[10,11) 3[0,0) truncated");
    fixture_check(t, "c ab", "2[0,0) 7[0,1) 5[2,3) 6[3,4) 3[0,0)");
    arena_init(&arena);
    ck_assert(!tokenizer_encode(t, 0, "abbbb", 5, NULL, &arena, &encoding, &err));
    ck_assert(!encoding.continued[1] && encoding.continued[2]);
    ck_assert(!tokenizer_encode_pair(t, 7, "abbb", 4, "c abbb", 6, NULL, &arena, &encoding, &err));
    ck_assert_str_eq(fixture_print(&encoding, &arena),
                     "2[0,0) 6[2,3) 6[3,4) 3[0,0) 6[4,5) 6[5,6) 3[0,0) truncated");
    ck_assert(encoding.pair_at == 4 && !encoding.continued[4] && encoding.continued[5]);
    arena_deinit(&arena);
    tokenizer_close(t);
}
END_TEST

SUITE("token_list", token_list_keeps_the_first_or_the_last_in_order,
      token_list_is_cut_at_the_same_side, tokenizer_keeps_the_end_of_a_text_with_its_offsets)
