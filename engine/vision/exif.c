#include "engine/vision/exif.h"

#include <stdbool.h>
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12, UPRIGHT = 1, ORIENTATION_MAX = 8 };
enum tiff_type { TIFF_SHORT = 3, TIFF_LONG = 4 };

struct reader {
    const unsigned char *bytes;
    size_t len;
    bool little_endian;
};

/* Reads an unsigned number of `size` bytes; the caller has checked that it lies inside the
 * block. */
static unsigned long number(const struct reader *reader, size_t at, unsigned size)
{
    unsigned long value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | reader->bytes[at + (reader->little_endian ? size - 1 - i : i)];
    return value;
}

/* Returns the first value of an entry: from the entry itself if all values fit, else from the place
 * that it points to. PIL also takes the first if there are more than the one value allowed. */
static unsigned long entry_value(const struct reader *reader, size_t entry)
{
    unsigned long type = number(reader, entry + 2, 2), count = number(reader, entry + 4, 4);
    /* The standard requires SHORT; PIL also reads LONG, and no other type. */
    unsigned size = type == TIFF_SHORT ? 2 : 4;
    if ((type != TIFF_SHORT && type != TIFF_LONG) || count == 0)
        return 0;
    if (count <= 4 / size)
        return number(reader, entry + 8, size);
    unsigned long at = number(reader, entry + 8, 4);
    return at <= reader->len && size <= reader->len - at ? number(reader, at, size) : 0;
}

unsigned exif_orientation(const unsigned char *block, size_t len)
{
    struct reader reader = {.bytes = block, .len = len};
    if (len < 8)
        return UPRIGHT;
    reader.little_endian = memcmp(block, "II", 2) == 0;
    if ((!reader.little_endian && memcmp(block, "MM", 2) != 0) || number(&reader, 2, 2) != 42)
        return UPRIGHT;
    unsigned long directory = number(&reader, 4, 4), orientation = UPRIGHT;
    if (directory > len || len - directory < 2)
        return UPRIGHT;
    unsigned long entries = number(&reader, directory, 2);
    size_t room = (len - directory - 2) / ENTRY_BYTES;
    for (size_t i = 0; i < entries && i < room; i++) {
        size_t entry = directory + 2 + i * ENTRY_BYTES;
        if (number(&reader, entry, 2) == TAG_ORIENTATION)
            orientation = entry_value(&reader, entry);
    }
    return orientation >= UPRIGHT && orientation <= ORIENTATION_MAX ? (unsigned)orientation
                                                                    : UPRIGHT;
}

/* An orientation is three bits: columns of the file become rows; its x runs backwards; its y runs
 * backwards. For example 6, from a camera on its side: the file's rows become columns, the first of
 * them at the right. */
struct exif_placement exif_placement(unsigned orientation, unsigned width, unsigned height)
{
    static const struct {
        bool transpose, flip_x, flip_y; /* flips of the file's x and y */
    } table[] = {
        [1] = {false, false, false}, [2] = {false, true, false}, [3] = {false, true, true},
        [4] = {false, false, true},  [5] = {true, false, false}, [6] = {true, false, true},
        [7] = {true, true, true},    [8] = {true, true, false},
    };
    ptrdiff_t columns = width, rows = height;
    struct exif_placement place = {.on_side = table[orientation].transpose};
    place.step_x = place.on_side ? rows : 1;
    place.step_y = place.on_side ? 1 : columns;
    if (table[orientation].flip_x) {
        place.origin += (columns - 1) * place.step_x;
        place.step_x = -place.step_x;
    }
    if (table[orientation].flip_y) {
        place.origin += (rows - 1) * place.step_y;
        place.step_y = -place.step_y;
    }
    return place;
}
