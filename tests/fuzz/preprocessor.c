/* preprocessor_config.json for a model that takes 32 x 32. Every accepted file turns an image into
 * that size, and into numbers. */
#include "engine/vision/preprocess.h"

#include "tests/fuzz/driver/fuzz.h"

#include <math.h>

enum { IMAGE_SIZE = 32, NUMBERS = IMAGE_SIZE * IMAGE_SIZE * 3 };

static void prepare(const struct preprocess *preprocess)
{
    static unsigned char rgb[5 * 7 * 3] = {0, 255, 3, 4, 100};
    static float patches[NUMBERS];
    struct image image = {.width = 5, .height = 7, .rgb = rgb}, out;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    if (preprocess_geometry(preprocess, &image, NULL, &arena, &out, &err) == ERR_OK) {
        struct image_region view = preprocess_view(preprocess, image.width, image.height);
        FUZZ_CLAIM(out.width == IMAGE_SIZE && out.height == IMAGE_SIZE);
        FUZZ_CLAIM(view.width > 0 && view.height > 0 && isfinite(view.left + view.top));
        preprocess_patches(preprocess, &out, (struct extent){16, 8}, patches);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
}

/* True if a small image is resized to a small one: the time is in proportion to the new size. */
static bool is_cheap(const struct preprocess *preprocess)
{
    return preprocess->shortest_edge <= 256 && preprocess->resize_width <= 256 &&
           preprocess->resize_height <= 256;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct preprocess preprocess;
    struct err err = {0};
    fuzz_file("preprocessor_config.json", data, size);
    if (preprocess_open(&preprocess, fuzz_dir(), "ViT", extent_square(IMAGE_SIZE), &err) ==
            ERR_OK &&
        is_cheap(&preprocess))
        prepare(&preprocess);
    fuzz_check_err(&err);
    return 0;
}
