#include "engine/content/text_file.h"

#include "engine/base/gunzip.h"
#include "engine/content/charset.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum err_code text_file_decode(char **bytes, size_t *len, size_t bytes_max, struct err *err)
{
    char *text = NULL;
    if (gunzip_if_packed(bytes, len, bytes_max, err))
        goto out;
    const char *charset = charset_of_mark(*bytes, *len);
    if (charset[0] == '\0') {
        if (*len >= 3 && memcmp(*bytes, "\xEF\xBB\xBF", 3) == 0)
            memmove(*bytes, *bytes + 3, *len -= 3);
        return ERR_OK;
    }
    text = malloc(charset_bytes(*len));
    if (text == NULL)
        err_no_memory(err, charset_bytes(*len));
    else
        charset_decode(charset, *bytes, *len, text, len, err);
out:
    if (err->code != ERR_OK) {
        free(text);
        text = NULL;
    }
    free(*bytes);
    *bytes = text;
    return err->code;
}

bool text_file_ends(const char *path, const char *ending)
{
    size_t len = strlen(path), tail = strlen(ending);
    if (len > 3 && strcasecmp(path + len - 3, ".gz") == 0)
        len -= 3;
    return len > tail && strncasecmp(path + len - tail, ending, tail) == 0;
}
