/* An STDF file in memory; its wafers are found by name and drawn. */
#include "engine/fab/stdf.h"
#include "engine/fab/lot_picture.h"
#include "engine/vision/image.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

enum { SIDE_DRAWN_MAX = 256, WAFERS_DRAWN_MAX = 4 };

/* Coordinates far apart make large maps of nothing; a few of them are enough. */
static bool is_small(const struct lot *stdf, const struct lot_wafer *wafer)
{
    for (size_t i = wafer->first; i < wafer->first + wafer->count; i++)
        if (abs(stdf->dies[i].x) > SIDE_DRAWN_MAX || abs(stdf->dies[i].y) > SIDE_DRAWN_MAX)
            return false;
    return true;
}

static void draw(const struct lot *stdf, unsigned wafer)
{
    const struct image_options options = {.pixels_max = (size_t)LOT_SIDE_MAX * LOT_SIDE_MAX};
    struct lot_picture measured, picture;
    struct image image;
    struct arena arena;
    struct err err = {0}, same = {0};
    size_t need;
    arena_init(&arena);
    lot_picture_measure(stdf, wafer, &measured, &need, &same);
    if (lot_picture_draw(stdf, wafer, &arena, &picture, &err) == ERR_OK) {
        FUZZ_CLAIM(picture.width >= 1 && picture.width <= LOT_SIDE_MAX);
        FUZZ_CLAIM(picture.height >= 1 && picture.height <= LOT_SIDE_MAX);
        FUZZ_CLAIM(picture.len <= need && arena.bytes <= need);
        FUZZ_CLAIM(!image_decode(&image, picture.bytes, picture.len, &options, &arena, &err));
        FUZZ_CLAIM(image.width == picture.width && image.height == picture.height);
        for (size_t i = 0; i < 3 * (size_t)image.width * image.height; i++)
            FUZZ_CLAIM(image.rgb[i] == LOT_NO_DIE || image.rgb[i] == LOT_PASS ||
                       image.rgb[i] == LOT_FAIL);
    }
    FUZZ_CLAIM(err.code == same.code);
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

static void check_wafers(const struct lot *stdf)
{
    size_t dies = 0;
    for (unsigned i = 0; i < stdf->wafer_count; i++) {
        const struct lot_wafer *wafer = &stdf->wafers[i];
        unsigned found = 0;
        struct err err = {0};
        FUZZ_CLAIM(wafer->first == dies);
        dies += wafer->count;
        for (const char *c = wafer->id; *c != '\0'; c++)
            FUZZ_CLAIM(*c >= 0x20 && *c < 0x7F);
        lot_find(stdf, wafer->id, &found, &err);
        fuzz_check_err(&err);
        if (i < WAFERS_DRAWN_MAX && is_small(stdf, wafer))
            draw(stdf, i);
    }
    FUZZ_CLAIM(dies == stdf->die_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lot stdf;
    struct err err = {0};
    char *bytes = fuzz_copy(data, size);
    lot_init(&stdf);
    if (stdf_read(&stdf, bytes, size, &err) == ERR_OK)
        check_wafers(&stdf);
    fuzz_check_err(&err);
    lot_close(&stdf);
    free(bytes);
    return 0;
}
