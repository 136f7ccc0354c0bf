#include "tests/support/source_tree.h"

#include "tests/support/suite.h"

#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool source_include_read(struct source_include *out, const char *line)
{
    char quote;
    if (line[strspn(line, " \t")] != '#') /* sscanf measures the whole of its text */
        return false;
    if (sscanf(line, " # include %c%199[^\">]", &quote, out->name) != 2)
        return false;
    out->is_system = quote == '<';
    return quote == '<' || quote == '"';
}

void source_folder(const char *path, char folder[SOURCE_PATH_SIZE])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, SOURCE_PATH_SIZE, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
}

static char *read_whole(const char *path)
{
    size_t len = 0;
    char *text = NULL;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    if (getdelim(&text, &len, '\0', file) < 0) {
        ck_assert_msg(feof(file), "%s", path);
        free(text);
        text = calloc(1, 1);
    }
    fclose(file);
    ck_assert_ptr_nonnull(text);
    return text;
}

static void find_includes(struct source_file *file)
{
    unsigned number = 1;
    for (const char *line = file->text; line != NULL; number++) {
        struct source_include found = {.line = number};
        const char *end = strchr(line, '\n');
        if (source_include_read(&found, line)) {
            ck_assert_uint_lt(file->include_count, SOURCE_INCLUDES_MAX);
            file->includes[file->include_count++] = found;
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

static void add_file(struct source_tree *tree, const char *path)
{
    tree->files = realloc(tree->files, (tree->count + 1) * sizeof *tree->files);
    ck_assert_ptr_nonnull(tree->files);
    struct source_file *file = &tree->files[tree->count++];
    memset(file, 0, sizeof *file);
    ck_assert_uint_lt(strlen(path), sizeof file->path);
    snprintf(file->path, sizeof file->path, "%s", path);
    file->text = read_whole(path);
    find_includes(file);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct source_file *)a)->path, ((const struct source_file *)b)->path);
}

const char *const source_tree_product[] = {"engine", "learn",    "tools",  "config",
                                           "server", "wire", "loadtest", "deploy", NULL};

static void add_folder(struct source_tree *tree, const char *folder)
{
    char *name = strdup(folder);
    ck_assert_ptr_nonnull(name);
    FTS *walk = fts_open((char *[]){name, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    ck_assert_ptr_nonnull(walk);
    for (FTSENT *entry = fts_read(walk); entry != NULL; entry = fts_read(walk))
        if (entry->fts_info == FTS_F && (fnmatch("*.[ch]", entry->fts_name, 0) == 0 ||
                                         fnmatch("*.def", entry->fts_name, 0) == 0))
            add_file(tree, entry->fts_path);
    fts_close(walk);
    free(name);
}

void source_tree_open(struct source_tree *tree, const char *const *folders)
{
    const char *root = getenv("ATTND_SOURCE_ROOT");
    *tree = (struct source_tree){0};
    ck_assert_int_eq(chdir(root != NULL ? root : "."), 0);
    for (; *folders != NULL; folders++)
        add_folder(tree, *folders);
    ck_assert_uint_gt(tree->count, 100);
    qsort(tree->files, tree->count, sizeof *tree->files, compare_paths);
}

void source_tree_close(struct source_tree *tree)
{
    for (size_t f = 0; f < tree->count; f++)
        free(tree->files[f].text);
    free(tree->files);
}

static int compare_path_with(const void *path, const void *file)
{
    return strcmp(path, ((const struct source_file *)file)->path);
}

const struct source_file *source_tree_find(const struct source_tree *tree, const char *path)
{
    return bsearch(path, tree->files, tree->count, sizeof *tree->files, compare_path_with);
}

static size_t add_included(const struct source_tree *tree, const struct source_file *file,
                           const struct source_file **seen, size_t count)
{
    for (size_t i = 0; i < file->include_count; i++) {
        const struct source_file *next = source_tree_find(tree, file->includes[i].name);
        bool is_new = next != NULL && !file->includes[i].is_system;
        for (size_t s = 0; is_new && s < count; s++)
            is_new = seen[s] != next;
        if (is_new)
            seen[count++] = next;
    }
    return count;
}

size_t source_tree_closure(const struct source_tree *tree, const struct source_file *file,
                           const struct source_file **seen)
{
    size_t count = add_included(tree, file, seen, 0);
    for (size_t done = 0; done < count; done++)
        count = add_included(tree, seen[done], seen, count);
    return count;
}
