/* charsmap_fixture.h - a precompiled_charsmap made from pairs of texts. */
#ifndef ATTND_TESTS_UNIT_ENGINE_TEXT_CHARSMAP_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_TEXT_CHARSMAP_FIXTURE_H

#include "engine/base/arena.h"
#include "engine/base/base64.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <string.h>

struct charsmap_rule {
    const char *from, *to;
};

enum { CHARSMAP_NODES = 48, CHARSMAP_UNITS = (CHARSMAP_NODES + 1) * 256, CHARSMAP_STRINGS = 1024 };

/* Each node's children have 256 units of their own, from number 256 x (node + 1) on. */
struct charsmap {
    uint32_t units[CHARSMAP_UNITS];
    char strings[CHARSMAP_STRINGS];
    size_t strings_len, nodes;
    size_t children[CHARSMAP_UNITS]; /* of the node whose unit it is; 0: it is none */
};

static inline uint32_t charsmap_unit(size_t at, size_t children, bool has_leaf, uint32_t label)
{
    return (uint32_t)(at ^ children) << 10 | (uint32_t)has_leaf << 8 | label;
}

static inline size_t charsmap_descend(struct charsmap *map, size_t at, unsigned char label)
{
    size_t child = map->children[at] ^ label;
    if (map->children[child] == 0) {
        ck_assert_uint_lt(map->nodes, CHARSMAP_NODES);
        map->children[child] = 256 * ++map->nodes;
        map->units[child] = charsmap_unit(child, map->children[child], false, label);
    }
    return child;
}

static inline void charsmap_add(struct charsmap *map, const char *from, const char *to)
{
    size_t at = 0, len = strlen(to) + 1;
    for (; *from != '\0'; from++)
        at = charsmap_descend(map, at, (unsigned char)*from);
    map->units[at] |= 1u << 8;
    map->units[map->children[at]] = 1u << 31 | (uint32_t)map->strings_len;
    ck_assert_uint_le(map->strings_len + len, CHARSMAP_STRINGS);
    memcpy(map->strings + map->strings_len, to, len);
    map->strings_len += len;
}

static inline struct charsmap *charsmap_make(const struct charsmap_rule *rules, size_t count,
                                             struct arena *arena)
{
    struct charsmap *map = arena_alloc_array(arena, 1, sizeof *map);
    ck_assert_ptr_nonnull(map);
    map->nodes = 1;
    map->children[0] = 256;
    map->units[0] = charsmap_unit(0, 256, false, 0);
    for (size_t i = 0; i < count; i++)
        charsmap_add(map, rules[i].from, rules[i].to);
    return map;
}

/* The bytes of the member, before they are base64. `units`: the size of the trie. */
static inline char *charsmap_bytes(const struct charsmap *map, size_t units, size_t *len,
                                   struct arena *arena)
{
    uint32_t size = (uint32_t)(4 * units);
    *len = 4 + size + map->strings_len;
    char *bytes = arena_alloc(arena, *len);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, &size, 4);
    memcpy(bytes + 4, map->units, size);
    memcpy(bytes + 4 + size, map->strings, map->strings_len);
    return bytes;
}

static inline char *charsmap_base64(const char *bytes, size_t len, struct arena *arena)
{
    char *text = arena_alloc(arena, base64_encoded_size(len));
    ck_assert_ptr_nonnull(text);
    base64_encode(text, bytes, len);
    return text;
}

#endif
