/* Texts in other charsets. The first byte chooses the charset. The output is UTF-8 within the room
 * that is promised. */
#include "engine/content/charset.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"CP1252",   "ISO-8859-15", "UTF-16",   "UTF-16LE",
                                        "UTF-16BE", "UTF-32LE",    "UTF-32BE", "CP932",
                                        "GB18030",  "BIG5-HKSCS",  "UHC"};
    struct fuzz_input input = {data, size};
    const char *name = names[fuzz_byte(&input) % (sizeof names / sizeof *names)];
    size_t room = charset_bytes(input.left), len = 0;
    char *out = malloc(room);
    struct err err = {0};
    FUZZ_CLAIM(out != NULL);
    if (charset_decode(name, (const char *)input.at, input.left, out, &len, &err) == ERR_OK) {
        FUZZ_CLAIM(len < room && out[len] == '\0');
        FUZZ_CLAIM(utf8_is_valid(out, len));
    }
    fuzz_check_err(&err);
    charset_of_mark((const char *)input.at, input.left);
    charset_of_json((const char *)input.at, input.left);
    charset_find((const char *)input.at, input.left);
    free(out);
    return 0;
}
