#include "engine/prepare/views.h"

#include <assert.h>
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
