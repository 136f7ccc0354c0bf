/* versions.c - see versions.h.
 *
 * A program asks only libraries that it is linked with: the functions below are weak, so in a
 * program without GnuTLS its function is NULL, and the linker needs no library for them. Their
 * headers would make this file depend on all libraries, so the prototypes come from the manuals. */
#include "engine/base/versions.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WEAK __attribute__((weak))
extern const char *gnutls_check_version(const char *required) WEAK;
extern const char *jansson_version_str(void) WEAK;
extern uint32_t png_access_version_number(void) WEAK;
extern const char *rd_kafka_version_str(void) WEAK;
extern const char *zlibVersion(void) WEAK;
extern int nettle_version_major(void) WEAK;
extern int nettle_version_minor(void) WEAK;

enum { VERSION_BYTES = 24 };

static const char *ask_gnutls(char text[VERSION_BYTES])
{
    (void)text;
    return gnutls_check_version != NULL ? gnutls_check_version(NULL) : NULL;
}

static const char *ask_jansson(char text[VERSION_BYTES])
{
    (void)text;
    return jansson_version_str != NULL ? jansson_version_str() : NULL;
}

/* 10639 is 1.6.39. */
static const char *ask_libpng(char text[VERSION_BYTES])
{
    if (png_access_version_number == NULL)
        return NULL;
    unsigned number = png_access_version_number();
    snprintf(text, VERSION_BYTES, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
    return text;
}

static const char *ask_nettle(char text[VERSION_BYTES])
{
    if (nettle_version_major == NULL || nettle_version_minor == NULL)
        return NULL;
    snprintf(text, VERSION_BYTES, "%d.%d", nettle_version_major(), nettle_version_minor());
    return text;
}

static const char *ask_rdkafka(char text[VERSION_BYTES])
{
    (void)text;
    return rd_kafka_version_str != NULL ? rd_kafka_version_str() : NULL;
}

static const char *ask_zlib(char text[VERSION_BYTES])
{
    (void)text;
    return zlibVersion != NULL ? zlibVersion() : NULL;
}

static const struct {
    const char *name;
    unsigned major, oldest, newest;               /* minor versions */
    const char *(*ask)(char text[VERSION_BYTES]); /* NULL: opened at run time, not linked */
} libraries[] = {
    {"GnuTLS", 3, 7, 8, ask_gnutls},      {"OpenBLAS", 0, 3, 3, NULL},
    {"jansson", 2, 14, 14, ask_jansson},  {"libpng", 1, 6, 6, ask_libpng},
    {"librdkafka", 2, 0, 8, ask_rdkafka}, {"nettle", 3, 8, 10, ask_nettle},
    {"zlib", 1, 2, 3, ask_zlib},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

enum err_code versions_judge(const char *name, const char *version, struct err *err)
{
    unsigned major, minor;
    size_t i = 0;
    while (i < LIBRARIES && strcmp(libraries[i].name, name) != 0)
        i++;
    if (i == LIBRARIES)
        return err_set(err, ERR_INTERNAL, "no versions of %s are known", name);
    if (version != NULL && sscanf(version, "%9u.%9u", &major, &minor) == 2 &&
        major == libraries[i].major && minor >= libraries[i].oldest && minor <= libraries[i].newest)
        return ERR_OK;
    char range[48];
    if (libraries[i].oldest == libraries[i].newest)
        snprintf(range, sizeof range, "%u.%u.x", libraries[i].major, libraries[i].oldest);
    else
        snprintf(range, sizeof range, "%u.%u to %u.%u.x", libraries[i].major, libraries[i].oldest,
                 libraries[i].major, libraries[i].newest);
    return err_set(err, ERR_UNSUPPORTED,
                   "%s %.20s is not supported (supported: %s); install that of Debian 12 or 13",
                   name, version != NULL ? version : "of unknown version", range);
}

enum err_code versions_check(struct err *err)
{
    for (size_t i = 0; i < LIBRARIES; i++) {
        char text[VERSION_BYTES];
        const char *version = libraries[i].ask != NULL ? libraries[i].ask(text) : NULL;
        if (version != NULL && versions_judge(libraries[i].name, version, err)) {
            err->code = ERR_UNUSABLE;
            return err->code;
        }
    }
    return ERR_OK;
}
