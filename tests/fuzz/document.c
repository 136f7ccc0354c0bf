/* A text that may be a request, a file of a fab or base64. The description of it is one line of
 * UTF-8 that fits, and no byte behind its end is read. */
#include "engine/content/document.h"

#include "engine/content/file_kind.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    char described[DOCUMENT_TEXT_BYTES] = "";
    bool is_document = document_describe(text, size, described);
    const struct file_kind *kind = file_kind_of(text, size);
    const struct file_kind *in_text = file_kind_of_text(text, size);
    FUZZ_CLAIM(is_document == (described[0] != '\0'));
    FUZZ_CLAIM(!is_document || strncmp(described, "this is ", 8) == 0);
    FUZZ_CLAIM(strlen(described) < DOCUMENT_TEXT_BYTES - 1);
    FUZZ_CLAIM(in_text == NULL || (in_text == kind && is_document));
    free(text);
    return 0;
}
