/* An input that is kept. A file of that name is refused, or all its fields are there. */
#include "server/review/kept_file.h"

#include "tests/fuzz/driver/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kept_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file("kept-0000000000000001.input", data, size);
    if (kept_file_read(fuzz_dir(), 1, KEPT_FILE_BYTES, &arena, &input, &err) == ERR_OK) {
        FUZZ_CLAIM(input.number == 1 && input.decision < DECISION_COUNT);
        FUZZ_CLAIM(input.id != NULL && input.digest != NULL);
        FUZZ_CLAIM(input.media_type != NULL && input.len < size && input.bytes[input.len] == '\0');
        FUZZ_CLAIM(input.context == NULL || input.context[0] == '{');
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
