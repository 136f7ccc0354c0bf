/* An image all the way to a model's numbers: decoding, resizing, cropping, patches, and back to a
 * PNG. Four bytes choose the preprocessing; the image follows. */
#include "engine/vision/png.h"
#include "engine/vision/preprocess.h"
#include "tests/fuzz/driver/fuzz.h"
#include "tests/fuzz/driver/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_BYTES = 4, SIDE_MAX = 48 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    if (size <= CHOICE_BYTES || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, size_max);
    uint8_t *image = data + CHOICE_BYTES;
    size_t len = size - CHOICE_BYTES, len_max = size_max - CHOICE_BYTES;
    size_t changed = seed % 8 < 3 ? fuzz_png_pixels(image, len, len_max) : 0;
    if (changed == 0)
        changed = LLVMFuzzerMutate(image, len, len_max);
    if (image[0] == 0x89)
        fuzz_png_checksums(image, changed);
    return changed + CHOICE_BYTES;
}

/* Settings that preprocess_open would accept. */
static struct preprocess choose(struct fuzz_input *input, unsigned *side)
{
    unsigned flags = fuzz_byte(input), resized = 1 + fuzz_byte(input) % SIDE_MAX;
    *side = 1 + fuzz_byte(input) % SIDE_MAX;
    struct preprocess chosen = {.do_resize = true,
                                .do_center_crop = (flags & 1) != 0,
                                .do_rescale = (flags & 2) != 0,
                                .do_normalize = (flags & 4) != 0,
                                .keeps_lines = (flags & 16) != 0,
                                .resample = fuzz_byte(input) % (RESAMPLE_HAMMING + 1),
                                .rescale_factor = 1 / 255.0,
                                .mean = {0.5f, 0.5f, 0.5f},
                                .std = {0.5f, 0.5f, 0.5f}};
    chosen.crop_height = chosen.crop_width = *side;
    if (chosen.do_center_crop && (flags & 8) != 0)
        chosen.shortest_edge = resized;
    else
        chosen.resize_height = chosen.resize_width = chosen.do_center_crop ? resized : *side;
    return chosen;
}

static void check_patches(const struct preprocess *preprocess, const struct image *image,
                          unsigned patch, struct arena *arena)
{
    unsigned across = image->width / patch;
    size_t count = (size_t)across * across * 3 * patch * patch;
    float *patches = arena_alloc_array(arena, count, sizeof *patches);
    FUZZ_CLAIM(patches != NULL);
    preprocess_patches(preprocess, image, extent_square(patch), patches);
    for (size_t i = 0; i < count; i++)
        FUZZ_CLAIM(isfinite(patches[i]));
}

/* Checks that an image that was written is read as the same pixels. */
static void write_again(const struct image *image, struct arena *arena)
{
    char *png = NULL;
    size_t len = 0;
    struct image again;
    struct err err = {0};
    FUZZ_CLAIM(png_encode(&png, &len, image, &err) == ERR_OK);
    FUZZ_CLAIM(fuzz_decode(&again, png, len, false, arena));
    FUZZ_CLAIM(again.width == image->width && again.height == image->height);
    FUZZ_CLAIM(memcmp(again.rgb, image->rgb, (size_t)image->width * image->height * 3) == 0);
    free(png);
}

static void prepare(const struct preprocess *preprocess, const struct image *image, unsigned side,
                    struct arena *arena)
{
    struct image out;
    struct err err = {0};
    if (preprocess_geometry(preprocess, image, NULL, arena, &out, &err) == ERR_OK) {
        FUZZ_CLAIM(out.width == side && out.height == side);
        check_patches(preprocess, &out, 1 + side / 3, arena);
        write_again(&out, arena);
    }
    fuzz_check_err(&err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNUSABLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned side;
    struct preprocess preprocess = choose(&input, &side);
    struct arena arena;
    struct image image;
    char *bytes = fuzz_copy(input.at, input.left);
    arena_init(&arena);
    if (fuzz_decode(&image, bytes, input.left, false, &arena))
        prepare(&preprocess, &image, side, &arena);
    arena_deinit(&arena);
    free(bytes);
    return 0;
}
