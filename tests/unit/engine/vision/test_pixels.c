/* pixels.h: which images have colours. */
#include "engine/vision/pixels.h"
#include "tests/support/suite.h"

#include <string.h>

enum { SIDE = 80, PIXELS = SIDE * SIDE };

static unsigned char rgb[3 * PIXELS];
static const struct image image = {SIDE, SIDE, rgb};

/* A drawn map's greys, each channel off by up to `noise`. */
static void fill(int noise)
{
    static const int greys[] = {0, 127, 255};
    for (unsigned i = 0; i < 3 * PIXELS; i++) {
        const int value = greys[i / 3 * 7 % 3] + (int)(i * 2654435761u >> 16) % (2 * noise + 1);
        rgb[i] = (unsigned char)(value - noise < 0 ? 0 : value - noise > 255 ? 255 : value - noise);
    }
}

static void paint(unsigned count, unsigned char r, unsigned char g, unsigned char b)
{
    for (unsigned i = 0; i < count; i++)
        memcpy(rgb + i * 3 * 11, (unsigned char[]){r, g, b}, 3);
}

START_TEST(an_image_of_equal_channels_is_grey_and_so_is_the_noise_of_a_jpeg)
{
    for (int noise = 0; noise <= 24; noise += 8) {
        fill(noise);
        ck_assert_msg(!pixels_are_coloured(&image), "noise of %d", noise);
    }
}
END_TEST

START_TEST(one_pixel_in_a_thousand_is_enough_in_any_colour)
{
    static const unsigned char colours[][3] = {{255, 0, 0}, {0, 160, 0},   {30, 30, 200},
                                               {68, 1, 84}, {255, 215, 0}, {214, 39, 40}};
    for (unsigned c = 0; c < sizeof colours / sizeof *colours; c++) {
        fill(8);
        paint(PIXELS / PIXELS_COLOURED_SHARE - 1, colours[c][0], colours[c][1], colours[c][2]);
        ck_assert(!pixels_are_coloured(&image));
        paint(PIXELS / PIXELS_COLOURED_SHARE, colours[c][0], colours[c][1], colours[c][2]);
        ck_assert_msg(pixels_are_coloured(&image), "colour %u", c);
    }
}
END_TEST

START_TEST(a_small_image_takes_four)
{
    const struct image small = {20, 20, rgb};
    fill(0);
    memset(rgb, 0, sizeof rgb);
    paint(PIXELS_COLOURED_MIN - 1, 255, 0, 0);
    ck_assert(!pixels_are_coloured(&small));
    paint(PIXELS_COLOURED_MIN, 255, 0, 0);
    ck_assert(pixels_are_coloured(&small));
}
END_TEST

SUITE("pixels", an_image_of_equal_channels_is_grey_and_so_is_the_noise_of_a_jpeg,
      one_pixel_in_a_thousand_is_enough_in_any_colour, a_small_image_takes_four)
