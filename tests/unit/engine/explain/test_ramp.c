/* ramp.def: one ramp for the heat map of a reply, of a report and of the page. */
#include "engine/explain/patches.h"
#include "server/ui/page.h"
#include "tests/support/suite.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, STEPS = SIDE * SIDE };

/* The colours of the overlay that is written, step by step: a pixel a patch, patch i with i / 255
 * of the largest relevance. */
static void read_png(unsigned char rgb[STEPS][3])
{
    static const struct family family = {.name = "test", .image_specials = 1};
    static const struct spec spec = {
        .family = &family, .image_size = {SIDE, SIDE}, .patch = {1, 1}, .patches = STEPS};
    static const struct preprocess stretched = {
        .do_resize = true, .resize_height = SIDE, .resize_width = SIDE};
    struct patches_view view = patches_view(&spec, &stretched, SIDE, SIDE);
    float relevance[STEPS];
    unsigned char rgba[STEPS][4];
    char *bytes;
    size_t len;
    struct err err = {0};
    png_image png = {.version = PNG_IMAGE_VERSION};
    for (unsigned i = 0; i < STEPS; i++)
        relevance[i] = (float)i;
    ck_assert(!patches_overlay(&view, relevance, NULL, &bytes, &len, &err));
    ck_assert(png_image_begin_read_from_memory(&png, bytes, len));
    png.format = PNG_FORMAT_RGBA;
    ck_assert_uint_eq(PNG_IMAGE_SIZE(png), sizeof rgba);
    ck_assert(png_image_finish_read(&png, NULL, rgba, 0, NULL));
    free(bytes);
    for (unsigned i = 0; i < STEPS; i++)
        memcpy(rgb[i], rgba[i], sizeof rgb[i]);
}

static unsigned char read_channel(const char **at, char end)
{
    char *after;
    long value = strtol(*at, &after, 10);
    ck_assert_msg(after != *at && value >= 0 && value <= 255 && *after == end, "%.20s", *at);
    *at = after + 1;
    return (unsigned char)value;
}

/* "export const RAMP = [", rows "[1, 2, 3],", "];" */
static void read_page(unsigned char rgb[STEPS][3])
{
    static const char head[] = "RAMP = [";
    const struct page_file *file = page_find("/ui/colours.js");
    ck_assert_ptr_nonnull(file);
    char *text = strndup(file->begin, (size_t)(file->end - file->begin));
    ck_assert_ptr_nonnull(text);
    const char *at = strstr(text, head);
    ck_assert_ptr_nonnull(at);
    at += strlen(head);
    for (unsigned i = 0; i < STEPS; i++) {
        at += strspn(at, ", \n");
        ck_assert_msg(*at++ == '[', "step %u", i);
        for (int c = 0; c < 3; c++)
            rgb[i][c] = read_channel(&at, c < 2 ? ',' : ']');
    }
    at += strspn(at, ", \n");
    ck_assert_int_eq(strncmp(at, "];", 2), 0);
    free(text);
}

START_TEST(page_and_png_agree_in_every_step)
{
    unsigned char page[STEPS][3], png[STEPS][3];
    read_page(page);
    read_png(png);
    for (unsigned i = 0; i < STEPS; i++)
        ck_assert_msg(memcmp(page[i], png[i], 3) == 0,
                      "step %u: the page has %u %u %u, the PNG %u %u %u", i, page[i][0], page[i][1],
                      page[i][2], png[i][0], png[i][1], png[i][2]);
}
END_TEST

static double srgb(double linear)
{
    double x = fmin(fmax(linear, 0), 1);
    return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055);
}

/* The design that ramp.def states; the matrices are OKLab's. */
START_TEST(the_ramp_rises_evenly_in_lightness)
{
    unsigned char png[STEPS][3];
    read_png(png);
    for (unsigned i = 0; i < STEPS; i++) {
        double t = i / (STEPS - 1.0), lightness = 0.2 + 0.75 * t;
        double chroma = 0.08 + 0.28 * t * (1 - t) + 0.06 * t, hue = (290 + 175 * t) * M_PI / 180;
        double a = chroma * cos(hue), b = chroma * sin(hue);
        double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
        double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
        double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
        ck_assert_double_eq_tol(
            png[i][0], srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s), 0.501);
        ck_assert_double_eq_tol(
            png[i][1], srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s), 0.501);
        ck_assert_double_eq_tol(
            png[i][2], srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s), 0.501);
    }
}
END_TEST

SUITE("ramp", page_and_png_agree_in_every_step, the_ramp_rises_evenly_in_lightness)
