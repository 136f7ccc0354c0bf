#include "server/http/http_request.h"

#include <stddef.h>
#include <stdio.h>

/* The options' numbers are a part of the binary interface; headers of 0.9.75 lack the second. */
enum { STRICT_FOR_CLIENT = 29, CLIENT_DISCIPLINE_LVL = 38 };

/* The first version that was tested, and the next minor one after the last: a range takes security
 * updates in. At -1 0.9.x also refuses space before a colon, which it does not at 1; in 1.0.x -1 is
 * the permissive end, and 3 the strictest level of the newer option. */
static const struct {
    unsigned from, below;
    struct library library;
} ranges[] = {
    {975, 978, {STRICT_FOR_CLIENT, -1, .is_lax = true}},
    {10000, 10100, {CLIENT_DISCIPLINE_LVL, 3, .is_lax = false}},
};

/* "0.9.75" is 975, "1.0.1" is 10001. 0: no version. */
static unsigned parse(const char *version)
{
    unsigned major, minor, patch;
    int len = 0;
    if (version == NULL || sscanf(version, "%2u.%1u.%2u%n", &major, &minor, &patch, &len) != 3 ||
        (version[len] >= '0' && version[len] <= '9'))
        return 0;
    return major * 10000 + minor * 100 + patch;
}

enum err_code library_identify(struct library *out, const char *version, struct err *err)
{
    unsigned number = parse(version);
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (number >= ranges[i].from && number < ranges[i].below) {
            *out = ranges[i].library;
            return ERR_OK;
        }
    return err_set(
        err, ERR_UNUSABLE,
        "libmicrohttpd %.20s is not supported (supported: 0.9.75 to 0.9.77 and 1.0.x); install "
        "that of Debian 12 or 13",
        version != NULL ? version : "of unknown version");
}
