/* The load generator's judge: a reply's body and, after a byte 0, the book of expected answers.
 * Also the strings that it sends. */
#include "loadtest/answer.h"

#include "tests/fuzz/driver/fuzz.h"
#include "tools/client/buffer.h"

#include <stdlib.h>
#include <string.h>

static void check_buffer(const char *bytes, size_t len)
{
    struct buffer buffer = {0};
    char *text = fuzz_copy((const uint8_t *)bytes, len);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(text[i] & 0x7F);
    buffer_json_string(&buffer, text, len);
    FUZZ_CLAIM(!buffer.failed && fuzz_is_json(buffer.bytes, buffer.len));
    buffer_deinit(&buffer);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct answer_book *book = NULL;
    struct answer answer;
    struct err err = {0};
    size_t len;
    char *body = fuzz_part(&input, '\0', &len);
    check_buffer(body, len);
    answer_judge(NULL, 0, 200, body, len, 1e-5, &answer);
    answer_book_open(&book, fuzz_file("book.jsonl", input.at, input.left), 1, &err);
    fuzz_check_err(&err);
    if (book != NULL) {
        enum outcome outcome = answer_judge(book, 0, 200, body, len, 1e-5, &answer);
        bool explained = outcome == OUTCOME_MISMATCH || outcome == OUTCOME_MALFORMED;
        FUZZ_CLAIM(explained == (strnlen(answer.why, sizeof answer.why) > 0));
    }
    answer_book_close(book);
    free(body);
    return 0;
}
