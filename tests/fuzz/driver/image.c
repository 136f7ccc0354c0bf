#include "tests/fuzz/driver/image.h"

#include "tests/fuzz/driver/fuzz.h"

#include <string.h>
#include <zlib.h>

enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = 12, PIXEL_BYTES_MAX = 4096 };

/* ---- memory, where a sanitizer's allocator tells ---- */

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *))
    __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *memory) __attribute__((weak));

static struct {
    bool counts;
    size_t used, peak;
} heap;

static void on_malloc(const volatile void *memory, size_t bytes)
{
    (void)memory;
    heap.used += heap.counts ? bytes : 0;
    heap.peak = heap.used > heap.peak ? heap.used : heap.peak;
}

/* Only blocks that were allocated since the counting began are freed while it goes on. */
static void on_free(const volatile void *memory)
{
    heap.used -= heap.counts && memory != NULL ? __sanitizer_get_allocated_size(memory) : 0;
}

static void begin_counting(void)
{
    static bool hooked;
    if (!hooked && __sanitizer_install_malloc_and_free_hooks != NULL)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    hooked = true;
    heap.used = heap.peak = 0;
    heap.counts = true;
}

/* ---- decoding ---- */

bool fuzz_decode(struct image *out, const char *bytes, size_t len, bool grey16_minmax,
                 struct arena *arena)
{
    const struct image_options options = {.pixels_max = FUZZ_PIXELS_MAX,
                                          .grey16_minmax = grey16_minmax};
    unsigned width = 0, height = 0;
    volatile unsigned char sum = 0;
    struct err err = {0};
    bool probed = image_probe(bytes, len, &width, &height);
    begin_counting();
    image_decode(out, bytes, len, &options, arena, &err);
    heap.counts = false;
    FUZZ_CLAIM(heap.peak <= image_decode_bytes(bytes, len));
    fuzz_check_err(&err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_UNUSABLE);
    if (err.code != ERR_OK)
        return false;
    FUZZ_CLAIM(probed && out->width == width && out->height == height);
    FUZZ_CLAIM(width >= 1 && height >= 1 && (size_t)width * height <= FUZZ_PIXELS_MAX);
    for (size_t i = 0; i < (size_t)width * height * 3; i++)
        sum = (unsigned char)(sum + out->rgb[i]);
    return true;
}

static size_t get_u32(const uint8_t *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

static void put_u32(uint8_t *at, size_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Length of the chunk's body at `at`; false if the chunk is not whole. */
static bool chunk_at(const uint8_t *data, size_t size, size_t at, size_t *len)
{
    if (at > size || size - at < CHUNK_BYTES)
        return false;
    *len = get_u32(data + at);
    return *len <= size - at - CHUNK_BYTES;
}

void fuzz_png_checksums(uint8_t *data, size_t size)
{
    size_t len;
    for (size_t at = SIGNATURE_BYTES; chunk_at(data, size, at, &len); at += CHUNK_BYTES + len)
        put_u32(data + at + 8 + len, crc32(0, data + at + 4, (uInt)(len + 4)));
}

/* Replaces the body of the chunk at `at`; the new size, or 0. */
static size_t replace_body(uint8_t *data, size_t size, size_t size_max, size_t at,
                           const uint8_t *body, size_t len)
{
    size_t old = get_u32(data + at), after = at + 8 + old;
    if (len > old && len - old > size_max - size)
        return 0;
    memmove(data + at + 8 + len, data + after, size - after);
    memcpy(data + at + 8, body, len);
    put_u32(data + at, len);
    return size - old + len;
}

size_t fuzz_png_pixels(uint8_t *data, size_t size, size_t size_max)
{
    uint8_t pixels[PIXEL_BYTES_MAX], packed[PIXEL_BYTES_MAX + 64];
    uLongf count = sizeof pixels, packed_len = sizeof packed;
    size_t len, at = SIGNATURE_BYTES;
    while (chunk_at(data, size, at, &len) && memcmp(data + at + 4, "IDAT", 4) != 0)
        at += CHUNK_BYTES + len;
    if (!chunk_at(data, size, at, &len))
        return 0;
    uncompress(pixels, &count, data + at + 8, len);
    if (count == 0 || count > sizeof pixels)
        return 0;
    count = LLVMFuzzerMutate(pixels, count, sizeof pixels);
    if (compress2(packed, &packed_len, pixels, count, 0) != Z_OK)
        return 0;
    return replace_body(data, size, size_max, at, packed, packed_len);
}
