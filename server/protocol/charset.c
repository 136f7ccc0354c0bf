#include "server/protocol/charset.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *iconv;
} charsets[] = {
    {"utf-8", ""},
    {"utf8", ""},
    {"us-ascii", ""},
    {"iso-8859-1", "ISO-8859-1"},
    {"latin1", "ISO-8859-1"},
    {"iso-8859-15", "ISO-8859-15"},
    {"windows-1252", "WINDOWS-1252"},
    {"utf-16", "UTF-16"},
    {"utf-16le", "UTF-16LE"},
    {"utf-16be", "UTF-16BE"},
    {"shift_jis", "SHIFT_JIS"},
    {"gb18030", "GB18030"},
    {"big5", "BIG5"},
    {"euc-kr", "EUC-KR"},
};

const char *charset_names(void)
{
    return "utf-8, utf-16, iso-8859-1, iso-8859-15, windows-1252, shift_jis, gb18030, big5 or "
           "euc-kr";
}

const char *charset_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof charsets / sizeof charsets[0]; i++)
        if (strlen(charsets[i].name) == len && strncasecmp(charsets[i].name, name, len) == 0)
            return charsets[i].iconv;
    return NULL;
}

const char *charset_of_mark(const char *bytes, size_t len)
{
    if (len >= 2 && memcmp(bytes, "\xFF\xFE", 2) == 0)
        return "UTF-16LE";
    if (len >= 2 && memcmp(bytes, "\xFE\xFF", 2) == 0)
        return "UTF-16BE";
    return "";
}

/* No character of these charsets takes more than three bytes for each of its own. */
size_t charset_bytes(size_t len)
{
    return 3 * len + 1;
}

static const char mark[] = "\xEF\xBB\xBF"; /* U+FEFF */

enum err_code charset_decode(const char *charset, const char *bytes, size_t len, char *out,
                             size_t *out_len, struct err *err)
{
    union {
        const char *from;
        char *to;
    } in = {.from = bytes}; /* iconv only reads it */
    char *next = in.to, *end = out;
    size_t left = len, room = charset_bytes(len) - 1;
    iconv_t converter = iconv_open("UTF-8", charset);
    if (converter == (iconv_t)-1)
        return errno == ENOMEM
                   ? err_no_memory(err, len)
                   : err_set(err, ERR_UNUSABLE, "this machine cannot decode %s", charset);
    size_t failed = iconv(converter, &next, &left, &end, &room);
    iconv_close(converter);
    if (failed == (size_t)-1)
        return err_set(err, ERR_UNUSABLE, "not %s at byte %zu", charset, len - left);
    *out_len = (size_t)(end - out);
    if (*out_len >= 3 && memcmp(out, mark, 3) == 0) {
        *out_len -= 3;
        memmove(out, out + 3, *out_len);
    }
    out[*out_len] = '\0';
    return ERR_OK;
}
