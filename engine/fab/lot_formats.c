#include "engine/fab/lot_formats.h"

#include "engine/fab/stdf.h"

/* STDF begins with the record FAR: its length, 2, in either byte order, its type 0 and 10. */
const struct lot_format lot_formats[] = {
    {
        .name = "STDF",
        .media_types = {"application/x-stdf", "application/stdf"},
        .endings = {".stdf", ".std"},
        .signatures = {{FILE_BEGINS("\2\0\0\x0a")}, {FILE_BEGINS("\0\2\0\x0a")}},
        .kind = {FILE_IS_LOT, "an STDF file", "send its bytes as application/x-stdf"},
        .read = stdf_read,
        .read_bytes = stdf_read_bytes,
    },
    {.name = NULL},
};

const struct lot_format *lot_format_of_bytes(const void *bytes, size_t len)
{
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        for (const struct file_signature *of = format->signatures; of->len > 0; of++)
            if (file_signature_fits(of, bytes, len))
                return format;
    return NULL;
}

const struct lot_format *lot_format_of_media_type(const char *type, size_t len)
{
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        for (const char *const *known = format->media_types; *known != NULL; known++)
            if (strlen(*known) == len && strncasecmp(type, *known, len) == 0)
                return format;
    return NULL;
}

const struct lot_format *lot_format_of_name(const char *name, size_t len)
{
    static const char packed[] = ".gz";
    const size_t tail = strlen(packed);
    if (file_signature_ends(packed, name, len))
        len -= tail;
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        for (const char *const *ending = format->endings; *ending != NULL; ending++)
            if (len > strlen(*ending) && file_signature_ends(*ending, name, len))
                return format;
    return NULL;
}

size_t lot_formats_read_bytes(size_t len, unsigned wafers_max)
{
    size_t most = 0;
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++) {
        const size_t bytes = format->read_bytes(len, wafers_max);
        most = bytes > most ? bytes : most;
    }
    return most;
}
