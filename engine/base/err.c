#include "engine/base/err.h"

#include "engine/base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[ERR_CODE_COUNT] = {
#define X(code, name) [code] = name,
    ERR_CODES(X)
#undef X
};

/* Removes a UTF-8 sequence that is incomplete at the buffer's end. */
static void trim_partial_character(char *text)
{
    size_t len = strlen(text);
    size_t start = len;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (len - (start - 1) < need)
        text[start - 1] = '\0';
}

/* Makes a text UTF-8: '?' for every byte that is not. A path may hold any bytes, and a precision
 * ("%.80s") cuts a name wherever it falls. */
static void mend(char *text)
{
    trim_partial_character(text);
    size_t len = strlen(text);
    for (size_t at = 0, bytes; at < len; at += bytes) {
        bytes = utf8_character_bytes(text + at, len - at);
        if (bytes == 0) {
            text[at] = '?';
            bytes = 1;
        }
    }
}

enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
{
    if (err->code != ERR_OK)
        return err->code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    mend(err->text);
    err->code = code;
    return code;
}

enum err_code err_prefix(struct err *err, const char *format, ...)
{
    struct err whole = {.code = err->code};
    va_list args;
    va_start(args, format);
    int used = vsnprintf(whole.text, sizeof whole.text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof whole.text)
        snprintf(whole.text + used, sizeof whole.text - (size_t)used, "%s", err->text);
    mend(whole.text);
    *err = whole;
    return err->code;
}

enum err_code err_no_memory(struct err *err, size_t bytes)
{
    return err_set(err, ERR_NO_MEMORY, "out of memory (%zu bytes were needed)", bytes);
}

enum err_code err_check_utf8(struct err *err, const char *text, size_t len, const char *what)
{
    size_t offset;
    if (utf8_valid(text, len, &offset))
        return ERR_OK;
    return err_set(
        err, ERR_UNUSABLE,
        "invalid UTF-8 at byte %zu of %s (iconv -f windows-1252 -t UTF-8 converts a file)", offset,
        what);
}

enum err_code err_no_thread(struct err *err, int failure)
{
    return err_set(err, err_code_of_errno(failure), "cannot start a thread: %s", strerror(failure));
}

enum err_code err_code_of_errno(int error)
{
    return error == ENOMEM || error == EAGAIN ? ERR_NO_MEMORY : ERR_IO;
}

bool err_is_of_system(enum err_code code)
{
    return code == ERR_NO_MEMORY || code == ERR_IO;
}

const char *err_name(enum err_code code)
{
    return names[code];
}
