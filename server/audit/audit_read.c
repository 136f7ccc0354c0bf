#include "server/audit/audit_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct audit_reading *reading;
    struct audit_chain chain;
    char *line, *before; /* the line, and the one before it; getline's */
    size_t size, before_size;
    size_t before_len;
    uint64_t line_number; /* in the file */
    bool is_enough;
};

/* A file's first line says how it and the lines behind it are made. It must not be trusted to say
 * less than the file before: then any log would verify that ends in a file of who has no key. */
static enum err_code begin_file(struct reader *reader, struct err *err)
{
    struct audit_reading *reading = reader->reading;
    enum audit_way way;
    if (audit_chain_read_begin(reader->line, &way, err))
        return err->code;
    if (way != AUDIT_PLAIN && reading->key.bytes == NULL)
        return err_set(err, ERR_UNUSABLE, "this log was written with a key, which is needed");
    if (way < reading->way)
        return err_set(
            err, ERR_MALFORMED,
            "the log goes on %s: somebody without the key can have written this in place "
            "of other lines; the last line that can be trusted is %llu",
            way == AUDIT_PLAIN ? "without a key" : "in the format of an older attnd",
            (unsigned long long)reader->chain.seq - (reading->way == AUDIT_KEYED));
    const struct audit_key key = way != AUDIT_PLAIN ? reading->key : (struct audit_key){0};
    reading->way = way;
    if (reader->before_len > 0)
        return audit_chain_turn(&reader->chain, way, key, reader->before, reader->before_len, err);
    reader->chain.way = way;
    reader->chain.key = key;
    return ERR_OK;
}

/* The oldest line that is kept is believed, unless it is the first of all. */
static enum err_code follow(struct reader *reader, size_t len, struct err *err)
{
    if (reader->line_number == 1 && begin_file(reader, err))
        return err->code;
    if (reader->reading->lines > 0 || strncmp(reader->line, "{\"seq\":1,", 9) == 0)
        return audit_chain_follow(&reader->chain, reader->line, len, err);
    return audit_chain_believe(&reader->chain, reader->line, len, err);
}

static void take(struct reader *reader, size_t len)
{
    struct audit_reading *reading = reader->reading;
    reading->first = reading->lines == 0 ? reader->chain.seq : reading->first;
    reading->last = reader->chain.seq;
    reading->lines++;
    if (reading->way != AUDIT_PLAIN && reading->keyed_from == 0)
        reading->keyed_from = reader->chain.seq;
    memcpy(reading->head, reader->chain.head, sizeof reading->head);
    if (reading->visit != NULL)
        reader->is_enough = !reading->visit(reading->context, reader->line, len);
    char *line = reader->before;
    size_t size = reader->before_size;
    reader->before = reader->line;
    reader->before_size = reader->size;
    reader->before_len = len;
    reader->line = line;
    reader->size = size;
}

static enum err_code read_file(struct reader *reader, const char *path, bool is_newest,
                               struct err *err)
{
    ssize_t got = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    reader->line_number = 0;
    while (!reader->is_enough && err->code == ERR_OK &&
           (got = getline(&reader->line, &reader->size, file)) > 0) {
        reader->line_number++;
        size_t len = (size_t)got - 1;
        if (reader->line[len] != '\n' && is_newest) {
            reader->reading->unfinished = (size_t)got;
            break;
        }
        if (reader->line[len] != '\n')
            err_set(err, ERR_MALFORMED, "the line has no end, and a newer file follows");
        reader->line[len] = '\0';
        if (err->code != ERR_OK || follow(reader, len, err))
            err_prefix(err, "%s:%llu: ", path, (unsigned long long)reader->line_number);
        else
            take(reader, len);
    }
    if (got < 0 && !feof(file))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    return err->code;
}

enum err_code audit_read(struct audit_reading *reading, char *const *paths, size_t count,
                         struct err *err)
{
    struct reader reader = {.reading = reading};
    audit_chain_init(&reader.chain, reading->key);
    memcpy(reading->head, reader.chain.head, sizeof reading->head);
    reading->way = AUDIT_PLAIN;
    for (size_t i = 0; i < count && !reader.is_enough && err->code == ERR_OK; i++)
        read_file(&reader, paths[i], i + 1 == count, err);
    if (err->code == ERR_OK && !reader.is_enough && reading->lines > 0 &&
        reading->key.bytes != NULL && reading->keyed_from == 0)
        err_set(err, ERR_MALFORMED,
                "%s: no line was written with a key, so the key given proves nothing; read the "
                "log without a key",
                paths[count - 1]);
    free(reader.line);
    free(reader.before);
    return err->code;
}
