/* The file of an index, without its checksum, which is put behind the input: so changes reach what
 * comes after it. One that is opened can be searched, and all its strings can be read. */
#include "engine/index/index.h"

#include "engine/base/sha256.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { SUM_BYTES = SHA256_HEX_BYTES - 1 };

static void search(const struct index *index, unsigned k)
{
    const struct index_info *info = index_describe(index);
    float *query = calloc(info->dimensions, sizeof *query);
    struct index_found found;
    struct arena arena;
    struct err err = {0};
    FUZZ_CLAIM(query != NULL);
    for (unsigned i = 0; i < info->dimensions; i++)
        query[i] = (float)(i % 7) - 3;
    arena_init(&arena);
    FUZZ_CLAIM(index_search(index, query, k, NULL, NULL, &arena, &found, &err) == ERR_OK);
    FUZZ_CLAIM(found.count == (k < info->rows ? k : info->rows));
    for (unsigned i = 0; i < found.count; i++) {
        const struct index_record record = index_record(index, found.hits[i].row);
        FUZZ_CLAIM(found.hits[i].row < info->rows);
        FUZZ_CLAIM(strlen(record.id) <= INDEX_ID_BYTES);
        FUZZ_CLAIM(strlen(record.label) <= INDEX_LABEL_BYTES);
        FUZZ_CLAIM(strlen(record.source) <= INDEX_SOURCE_BYTES);
    }
    FUZZ_CLAIM(arena.bytes <= index_search_bytes(index, k, 1));
    arena_deinit(&arena);
    free(query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size + SHA256_HEX_BYTES);
    struct index_info measured;
    struct index *index;
    struct err err = {0}, unread = {0};
    FUZZ_CLAIM(bytes != NULL);
    memcpy(bytes, data, size);
    sha256_hex(data, size, bytes + size);
    const char *path = fuzz_file("a.index", bytes, size + SUM_BYTES);
    if (index_open(&index, path, &err) == ERR_OK) {
        FUZZ_CLAIM(index_measure(&measured, path, &unread) == ERR_OK);
        FUZZ_CLAIM(measured.bytes == size + SUM_BYTES);
        search(index, 1 + (unsigned)(size % INDEX_NEIGHBOURS_MAX));
        index_close(index);
    }
    fuzz_check_err(&err);
    free(bytes);
    return 0;
}
