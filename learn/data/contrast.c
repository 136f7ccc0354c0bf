#include "learn/data/contrast.h"

#include <string.h>

enum { LEVELS = 256, NEARLY = 20, OUTERMOST = 100 };

/* Reads bit depth and colour type from IHDR, a PNG's first chunk (PNG, 11.2.2). */
static bool is_grey16(const char *bytes, size_t len)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    enum { DEPTH = 24, COLOUR = 25, GREY = 0, GREY_ALPHA = 4 };
    return len > COLOUR && memcmp(bytes, signature, 8) == 0 && bytes[DEPTH] == 16 &&
           (bytes[COLOUR] == GREY || bytes[COLOUR] == GREY_ALPHA);
}

/* Width of the range of levels that remains without `left_out` values at either end. */
static unsigned char width_of(const size_t counts[LEVELS], size_t left_out)
{
    unsigned low = 0, high = LEVELS - 1;
    for (size_t seen = counts[0]; seen <= left_out && low < LEVELS - 1; seen += counts[low])
        low++;
    for (size_t seen = counts[LEVELS - 1]; seen <= left_out && high > low; seen += counts[high])
        high--;
    return (unsigned char)(high - low);
}

struct contrast contrast_of(const char *bytes, size_t len, const struct image *image)
{
    size_t counts[LEVELS] = {0}, values = 3 * (size_t)image->width * image->height;
    for (size_t i = 0; i < values; i++)
        counts[image->rgb[i]]++;
    return (struct contrast){.is_grey16 = is_grey16(bytes, len),
                             .spread = width_of(counts, 0),
                             .bulk = width_of(counts, values / OUTERMOST)};
}

void contrast_count_add(struct contrast_count *count, const struct contrast *contrast)
{
    count->images++;
    count->grey16 += contrast->is_grey16;
    count->grey16_narrow += contrast->is_grey16 && contrast->spread < CONTRAST_QUARTER;
    count->dull += contrast->bulk < CONTRAST_QUARTER;
}

bool contrast_wants_minmax(const struct contrast_count *count)
{
    return count->grey16 > 0 && (count->grey16 - count->grey16_narrow) <= count->grey16 / NEARLY;
}

bool contrast_is_low(const struct contrast_count *count)
{
    return count->images > 0 && count->images - count->dull <= count->images / NEARLY;
}
