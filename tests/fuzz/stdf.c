/* An STDF file in memory; its wafers are found by name and drawn. */
#include "engine/fab/stdf.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { SIDE_DRAWN_MAX = 256, WAFERS_DRAWN_MAX = 4 };

/* Coordinates far apart make large maps of nothing; a few of them are enough. */
static bool is_small(const struct stdf *stdf, const struct stdf_wafer *wafer)
{
    for (size_t i = wafer->first; i < wafer->first + wafer->count; i++)
        if (abs(stdf->dies[i].x) > SIDE_DRAWN_MAX || abs(stdf->dies[i].y) > SIDE_DRAWN_MAX)
            return false;
    return true;
}

static void draw(const struct stdf *stdf, unsigned wafer)
{
    struct stdf_map map;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (stdf_draw(stdf, wafer, &arena, &map, &err) == ERR_OK) {
        FUZZ_CLAIM(map.width >= 1 && map.width <= STDF_SIDE_MAX);
        FUZZ_CLAIM(map.height >= 1 && map.height <= STDF_SIDE_MAX);
        for (size_t i = 0; i < (size_t)map.width * map.height; i++)
            FUZZ_CLAIM(map.grey[i] == STDF_NO_DIE || map.grey[i] == STDF_PASS ||
                       map.grey[i] == STDF_FAIL);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

static void check_wafers(const struct stdf *stdf)
{
    size_t dies = 0;
    for (unsigned i = 0; i < stdf->wafer_count; i++) {
        const struct stdf_wafer *wafer = &stdf->wafers[i];
        unsigned found = 0;
        struct err err = {0};
        FUZZ_CLAIM(wafer->first == dies);
        dies += wafer->count;
        for (const char *c = wafer->id; *c != '\0'; c++)
            FUZZ_CLAIM(*c >= 0x20 && *c < 0x7F);
        stdf_find(stdf, wafer->id, &found, &err);
        fuzz_check_err(&err);
        if (i < WAFERS_DRAWN_MAX && is_small(stdf, wafer))
            draw(stdf, i);
    }
    FUZZ_CLAIM(dies == stdf->die_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stdf stdf;
    struct err err = {0};
    char *bytes = fuzz_copy(data, size);
    if (stdf_parse(&stdf, bytes, size, &err) == ERR_OK)
        check_wafers(&stdf);
    fuzz_check_err(&err);
    stdf_close(&stdf);
    free(bytes);
    return 0;
}
