#include "engine/prepare/views.h"

#include <assert.h>
#include <math.h>
#include <string.h>

unsigned views_source(unsigned view, unsigned side, unsigned place)
{
    const unsigned turn = view % 4, last = side - 1;
    const unsigned y = place / side, x = place % side;
    const unsigned rows[] = {y, last - y, last - x, x};
    const unsigned columns[] = {x, last - x, y, last - y};
    const unsigned column = view < 4 ? columns[turn] : last - columns[turn];
    return rows[turn] * side + column;
}

void views_turn(const struct image *image, unsigned view, unsigned char *rgb)
{
    assert(view < VIEWS_MAX && image->width == image->height);
    const unsigned side = image->width;
    for (unsigned p = 0; p < side * side; p++)
        memcpy(rgb + 3 * (size_t)p, image->rgb + 3 * (size_t)views_source(view, side, p), 3);
}

/* A place between two of `count` pixels, which are the same one at the end. */
struct between {
    unsigned at, next;
    double share; /* of the next one */
};

static struct between between_of(double place, unsigned count)
{
    const double inside = fmin(fmax(place, 0), count - 1);
    const unsigned at = (unsigned)inside;
    return (struct between){at, at + 1 < count ? at + 1 : at, inside - at};
}

void views_move(const struct image *image, unsigned view, unsigned char *rgb)
{
    static const struct {
        double scale, degrees, right, down; /* of the place that is read */
    } moves[VIEWS_MAX] = {{1, 0, 0, 0},      {1, 0, 2, 0},       {0.97, 0, 0, 0}, {1, 0, -2, 0},
                          {0.97, 0.8, 0, 0}, {0.97, -0.8, 0, 0}, {1, 0, 0, 1},    {1, 0, 0, -1}};
    const unsigned width = image->width, height = image->height;
    assert(view < VIEWS_MAX);
    const double angle = moves[view].degrees * acos(-1) / 180;
    const double along = moves[view].scale * cos(angle), across = moves[view].scale * sin(angle);
    const double middle_x = (width - 1) / 2.0, middle_y = (height - 1) / 2.0;
    for (unsigned row = 0; row < height; row++)
        for (unsigned column = 0; column < width; column++, rgb += 3) {
            const double x = column - middle_x, y = row - middle_y;
            const struct between h =
                between_of(along * x - across * y + middle_x + moves[view].right, width);
            const struct between v =
                between_of(across * x + along * y + middle_y + moves[view].down, height);
            const unsigned char *top = image->rgb + 3 * (size_t)v.at * width;
            const unsigned char *bottom = image->rgb + 3 * (size_t)v.next * width;
            for (unsigned c = 0; c < 3; c++) {
                const unsigned left = 3 * h.at + c, right = 3 * h.next + c;
                const double above = top[left] + h.share * (top[right] - top[left]);
                const double below = bottom[left] + h.share * (bottom[right] - bottom[left]);
                rgb[c] = (unsigned char)(above + v.share * (below - above) + 0.5);
            }
        }
}
