/* printable.h - makes a name from a file fit for error texts: cut, and with '?' for all but
 * printable ASCII, so that a hostile file cannot write to an operator's terminal.
 *
 *     err_set(err, ERR_UNSUPPORTED, "tensor '%s' ...", printable_name(name).text);
 */
#ifndef ATTND_ENGINE_FORMAT_PRINTABLE_H
#define ATTND_ENGINE_FORMAT_PRINTABLE_H

#include <stddef.h>

struct printable {
    char text[100]; /* NUL-terminated */
};

static inline struct printable printable_name(const char *name)
{
    struct printable shown = {0};
    for (size_t i = 0; i < sizeof shown.text - 1 && name[i] != '\0'; i++) {
        unsigned char c = (unsigned char)name[i];
        shown.text[i] = c < 0x20 || c >= 0x7F ? '?' : (char)c;
    }
    return shown;
}

#endif
