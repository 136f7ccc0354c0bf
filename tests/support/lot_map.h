/* lot_map.h - lots in memory for tests, and their wafers as the pixels that a model would see.
 *
 *     lot_map_parse(&lot, bytes, len, &err);
 *     lot_map_draw(&lot, wafer, &arena, &map, &err);
 */
#ifndef ATTND_TESTS_SUPPORT_LOT_MAP_H
#define ATTND_TESTS_SUPPORT_LOT_MAP_H

#include "engine/fab/lot_file.h"
#include "engine/fab/lot_formats.h"
#include "engine/fab/lot_picture.h"
#include "engine/vision/image.h"
#include "tests/support/suite.h"

struct lot_map {
    unsigned width, height;
    unsigned char *grey; /* [height, width] */
};

/* Reads it, and expects the memory to be within what is told. */
static inline enum err_code lot_map_parse(struct lot *out, const void *bytes, size_t len,
                                          struct err *err)
{
    lot_init(out);
    lot_read(out, bytes, len, err);
    ck_assert_uint_le(out->arena.bytes + out->wafer_capacity * sizeof *out->wafers +
                          out->die_capacity * sizeof *out->dies,
                      lot_formats_read_bytes(len, LOT_WAFERS_MAX));
    return err->code;
}

/* Draws the wafer, and expects the memory to be what is told, and the picture to be grey. */
static inline enum err_code lot_map_draw(const struct lot *lot, unsigned wafer, struct arena *arena,
                                         struct lot_map *out, struct err *err)
{
    const struct image_options options = {.pixels_max = (size_t)LOT_SIDE_MAX * LOT_SIDE_MAX};
    struct lot_picture picture, measured;
    struct image image;
    struct err found = {0};
    size_t need, before = arena->bytes;
    *out = (struct lot_map){0};
    ck_assert_int_eq(lot_picture_measure(lot, wafer, &measured, &need, &found),
                     lot_picture_draw(lot, wafer, arena, &picture, err));
    ck_assert_str_eq(found.text, err->text);
    ck_assert(measured.width == picture.width && measured.height == picture.height);
    if (err->code != ERR_OK) {
        ck_assert(picture.bytes == NULL && picture.len == 0 && picture.width == 0);
        return err->code;
    }
    ck_assert_uint_le(arena->bytes - before, need);
    ck_assert_uint_le(picture.len, arena->bytes - before);
    ck_assert_msg(!image_decode(&image, picture.bytes, picture.len, &options, arena, err), "%s",
                  err->text);
    ck_assert(image.width == picture.width && image.height == picture.height);
    const size_t count = (size_t)image.width * image.height;
    *out = (struct lot_map){image.width, image.height, image.rgb};
    size_t coloured = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *rgb = image.rgb + 3 * i;
        coloured += rgb[0] != rgb[1] || rgb[1] != rgb[2];
        out->grey[i] = rgb[0];
    }
    ck_assert_uint_eq(coloured, 0);
    return ERR_OK;
}

#endif
