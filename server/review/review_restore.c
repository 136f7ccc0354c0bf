/* review_restore.c - what was kept before the start. The numbers come from the names; each file is
 * read as far as its first line. What was being written when the process ended is removed; what is
 * not ours, or cannot be read, stays where it is and is not listed. */
#include "server/review/review_state.h"

#include "engine/base/clock.h"
#include "server/observe/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct found {
    uint64_t *numbers; /* [count] */
    size_t count, room;
    unsigned ignored;
    char first[NAME_MAX + 1], reason[512]; /* of what is ignored */
};

static void ignore(struct found *found, const char *name, const char *reason)
{
    if (found->ignored++ > 0)
        return;
    snprintf(found->first, sizeof found->first, "%s", name);
    snprintf(found->reason, sizeof found->reason, "%s", reason);
}

static bool add_number(struct found *found, uint64_t number)
{
    if (found->count == found->room) {
        size_t room = found->room > 0 ? 2 * found->room : 256;
        uint64_t *numbers = reallocarray(found->numbers, room, sizeof *numbers);
        if (numbers == NULL)
            return false;
        found->numbers = numbers;
        found->room = room;
    }
    found->numbers[found->count++] = number;
    return true;
}

static void take_name(const struct review *review, struct found *found, const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    uint64_t number = 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    switch (kept_file_kind_of(name, &number)) {
    case KEPT_FILE_WHOLE:
        if (!add_number(found, number))
            ignore(found, name, "out of memory");
        break;
    case KEPT_FILE_PARTIAL:
        snprintf(path, sizeof path, "%s/%s", review->dir, name);
        unlink(path);
        break;
    default:
        ignore(found, name, "is not of this server");
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

static uint64_t file_bytes(const struct review *review, uint64_t number)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat file;
    snprintf(path, sizeof path, "%s/kept-%016llx.input", review->dir, (unsigned long long)number);
    return stat(path, &file) == 0 ? review_on_disk(review, (uint64_t)file.st_size) : 0;
}

static void take_file(struct review *review, struct found *found, uint64_t number)
{
    struct kept_input input;
    struct arena arena;
    struct err err = {0};
    char name[NAME_MAX + 1];
    arena_init(&arena);
    if (kept_file_read(review->dir, number, KEPT_FILE_LINE, &arena, &input, &err) == ERR_OK) {
        struct kept_entry entry = {.number = number,
                                   .bytes = file_bytes(review, number),
                                   .decision = input.decision,
                                   .model = review_model(input.model)};
        review_key(review, input.id, input.index, entry.key);
        review_make_room(review, entry.bytes);
        review_add(review, &entry);
    } else {
        snprintf(name, sizeof name, "kept-%016llx.input", (unsigned long long)number);
        ignore(found, name, err.text);
    }
    arena_deinit(&arena);
}

static void find_files(const struct review *review, struct found *found)
{
    DIR *entries = opendir(review->dir);
    if (entries == NULL) {
        ignore(found, "", strerror(errno));
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        take_name(review, found, entry->d_name);
    closedir(entries);
    if (found->count > 0)
        qsort(found->numbers, found->count, sizeof *found->numbers, by_number);
}

void review_restore(struct review *review)
{
    const uint64_t begun_ns = clock_now_ns();
    struct found found = {0};
    find_files(review, &found);
    review->next = found.count > 0 ? found.numbers[found.count - 1] + 1 : 1;
    for (size_t i = 0; i < found.count && !atomic_load(&review->is_closing); i++)
        take_file(review, &found, found.numbers[i]);
    if (found.ignored > 0)
        log_event(LOG_WARN, "review_files_ignored", LOG_NUMBER("files", found.ignored),
                  LOG_TEXT("first", found.first), LOG_TEXT("reason", found.reason));
    log_event(LOG_INFO, "review_restored", LOG_NUMBER("inputs", review->list.count),
              LOG_NUMBER("bytes", review->list.bytes),
              LOG_NUMBER("ms", clock_ms_between(begun_ns, clock_now_ns())));
    free(found.numbers);
    atomic_store(&review->is_restored, true);
}
