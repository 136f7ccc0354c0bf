/* test_house.c - what keeps the sources readable, as a test: folders that can be taken in at a
 * glance, functions that fit on a screen, comments that name what is there.
 */
#include "tests/support/source_tree.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER_MODULES_MAX = 24, FUNCTION_LINES_MAX = 60, COLUMNS_MAX = 100 };

static struct source_tree tree;

/* The product's sources. */
static void setup(void)
{
    source_tree_open(&tree, source_tree_product);
}

static void teardown(void)
{
    source_tree_close(&tree);
}

/* A module is a .c file with its header, or either alone. */
static void module_of(const char *path, char module[SOURCE_PATH_SIZE])
{
    snprintf(module, SOURCE_PATH_SIZE, "%.*s", (int)(strrchr(path, '.') - path), path);
}

START_TEST(house_folders_hold_at_most_24_modules)
{
    char folder[SOURCE_PATH_SIZE], module[SOURCE_PATH_SIZE], last[SOURCE_PATH_SIZE] = "";
    setup();
    for (size_t f = 0; f < tree.count; f++) {
        int modules = 0;
        source_folder(tree.files[f].path, folder);
        for (size_t g = 0; g < tree.count; g++) {
            char other[SOURCE_PATH_SIZE];
            source_folder(tree.files[g].path, other);
            if (strcmp(folder, other) != 0)
                continue;
            module_of(tree.files[g].path, module);
            modules += strcmp(module, last) != 0;
            strcpy(last, module);
        }
        ck_assert_msg(modules <= FOLDER_MODULES_MAX, "%s holds %d modules", folder, modules);
    }
    teardown();
}
END_TEST

/* A function's body is what stands between a "{" and a "}" at the start of their lines. */
static int longest_function(const char *text)
{
    int lines = 0, longest = 0;
    bool is_inside = false;
    for (const char *line = text; line != NULL && *line != '\0'; lines++) {
        if (strncmp(line, "{\n", 2) == 0) {
            is_inside = true;
            lines = -1;
        } else if (*line == '}' && is_inside) {
            is_inside = false;
            longest = lines > longest ? lines : longest;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return longest;
}

START_TEST(house_functions_have_at_most_60_lines)
{
    int longest = 0;
    setup();
    for (size_t f = 0; f < tree.count; f++) {
        int lines = longest_function(tree.files[f].text);
        longest = lines > longest ? lines : longest;
        ck_assert_msg(lines <= FUNCTION_LINES_MAX, "%s: a function of %d lines", tree.files[f].path,
                      lines);
    }
    ck_assert_int_gt(longest, 20);
    teardown();
}
END_TEST

START_TEST(house_lines_have_at_most_100_columns)
{
    setup();
    for (size_t f = 0; f < tree.count; f++) {
        int number = 1;
        if (fnmatch("*.def", tree.files[f].path, 0) == 0)
            continue; /* a table's rows */
        for (const char *line = tree.files[f].text; line != NULL; number++) {
            size_t columns = strcspn(line, "\n");
            ck_assert_msg(columns <= COLUMNS_MAX, "%s:%d: %zu columns", tree.files[f].path, number,
                          columns);
            line = line[columns] != '\0' ? line + columns + 1 : NULL;
        }
    }
    teardown();
}
END_TEST

/* ---- files are opened in one way ---- */

/* engine/base/file.h: a path that somebody else may have made must not be waited for. */
START_TEST(house_files_are_opened_by_file_open)
{
    static const char *const own[] = {
        "engine/base/file.c",           /* the one way */
        "engine/base/cgroup.c",         /* of the kernel: /proc and /sys */
        "server/bounds/memory.c",       /* the same */
        "server/placement/placement.c", /* the same */
        "server/observe/metrics_process.c",
        "server/audit/audit_read.c", /* named on a command line */
    };
    setup();
    for (size_t f = 0; f < tree.count; f++) {
        const char *path = tree.files[f].path;
        bool is_own = false;
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
            is_own = is_own || strcmp(path, own[i]) == 0;
        if (strncmp(path, "tools/", 6) == 0 || strncmp(path, "tests/", 6) == 0 || is_own)
            continue;
        ck_assert_msg(strstr(tree.files[f].text, " fopen(") == NULL, "%s: fopen", path);
        ck_assert_msg(strstr(tree.files[f].text, " open(path, O_RDONLY") == NULL, "%s: open", path);
    }
    teardown();
}
END_TEST

/* engine/base/file.h: a program's output must not land in the first file that it opens. cli_main
 * opens the descriptors for the programs that it runs. */
START_TEST(house_each_main_opens_the_standard_descriptors)
{
    static const char begin[] = "{\n    file_open_standard();\n";
    unsigned count = 0;
    setup();
    for (size_t f = 0; f < tree.count; f++) {
        const char *main = strstr(tree.files[f].text, "\nint main(int argc, char **argv)\n{\n");
        if (main == NULL || strncmp(tree.files[f].path, "tests/", 6) == 0)
            continue;
        count++;
        ck_assert_msg(strncmp(strchr(main, '{'), begin, sizeof begin - 1) == 0 ||
                          strstr(main, "    return cli_main(") != NULL,
                      "%s: main", tree.files[f].path);
    }
    ck_assert_uint_ge(count, 12);
    teardown();
}
END_TEST

/* ---- modules form no circle ---- */

/* A part, as dataset_csv is of dataset, sees what it belongs to. */
static bool is_part_of(const char *module, const char *whole)
{
    size_t len = strlen(whole);
    return strncmp(module, whole, len) == 0 && module[len] == '_';
}

/* True if a way of includes leads from `at` to `goal`; seen: [tree.count] files that were left. */
static bool leads_to(const char *at, const char *goal, bool *seen)
{
    static const char *const endings[] = {".c", ".h", ".def"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        char path[SOURCE_PATH_SIZE + sizeof ".def"], next[SOURCE_PATH_SIZE];
        snprintf(path, sizeof path, "%s%s", at, endings[e]);
        const struct source_file *file = source_tree_find(&tree, path);
        if (file == NULL || seen[file - tree.files])
            continue;
        seen[file - tree.files] = true;
        for (size_t i = 0; i < file->include_count; i++) {
            if (file->includes[i].is_system)
                continue;
            module_of(file->includes[i].name, next);
            if (strcmp(next, at) == 0 || is_part_of(at, next))
                continue;
            if (strcmp(next, goal) == 0 || leads_to(next, goal, seen))
                return true;
        }
    }
    return false;
}

static int count_circles(void)
{
    int circles = 0;
    bool *seen = calloc(tree.count, sizeof *seen);
    ck_assert_ptr_nonnull(seen);
    for (size_t f = 0; f < tree.count; f++) {
        char module[SOURCE_PATH_SIZE];
        module_of(tree.files[f].path, module);
        memset(seen, 0, tree.count * sizeof *seen);
        if (leads_to(module, module, seen)) {
            fprintf(stderr, "%s includes what includes it\n", module);
            circles++;
        }
    }
    free(seen);
    return circles;
}

START_TEST(house_modules_form_no_circle)
{
    setup();
    int circles = count_circles();
    teardown();
    ck_assert_msg(circles == 0, "%d modules in circles, listed above", circles);
}
END_TEST

/* ---- comments name files that are there ---- */

/* Sources of others, which a comment may cite. */
static const char *const cited[] = {
    "driver/others/dynamic.c", "load.c",          "Geometry.c", "libImaging/Resample.c",
    "modeling_*.py",           "tokenization.py", "linux/tcp.h"};

static char **known; /* [known_count] paths of all files, each after a '/' */
static size_t known_count;

static void remember(const char *path)
{
    known = realloc(known, (known_count + 1) * sizeof *known);
    ck_assert_ptr_nonnull(known);
    ck_assert_int_ge(asprintf(&known[known_count++], "/%s", path), 0);
}

static void remember_all_files(void)
{
    static char here[] = ".";
    FTS *walk = fts_open((char *[]){here, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    ck_assert_ptr_nonnull(walk);
    for (FTSENT *entry = fts_read(walk); entry != NULL; entry = fts_read(walk)) {
        if (entry->fts_info == FTS_D &&
            (strcmp(entry->fts_name, ".git") == 0 || strcmp(entry->fts_name, "node_modules") == 0 ||
             fnmatch("build*", entry->fts_name, 0) == 0))
            fts_set(walk, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F && entry->fts_path[0] == '.')
            remember(entry->fts_path + 2);
    }
    fts_close(walk);
}

static void forget_all_files(void)
{
    while (known_count > 0)
        free(known[--known_count]);
    free(known);
    known = NULL;
}

/* True if a path ends in the name, which may leave out leading folders. */
static bool is_there(const char *name)
{
    size_t len = strlen(name);
    for (size_t c = 0; c < sizeof cited / sizeof *cited; c++)
        if (fnmatch(cited[c], name, 0) == 0)
            return true;
    for (size_t k = 0; k < known_count; k++) {
        size_t whole = strlen(known[k]);
        if (whole > len && known[k][whole - len - 1] == '/' &&
            strcmp(known[k] + whole - len, name) == 0)
            return true;
    }
    return false;
}

/* The next word of a comment that looks like a file of ours; NULL: there is none. */
static const char *next_name(const char *at, const char *end, char name[SOURCE_PATH_SIZE])
{
    static const char *const kinds[] = {".c", ".h", ".def", ".py", ".sh", ".md"};
    while (at < end) {
        size_t len = 0;
        bool is_one = false;
        while (at + len < end &&
               (isalnum((unsigned char)at[len]) || strchr("_/.-", at[len]) != NULL))
            len++;
        while (len > 0 && strchr(".-/", at[len - 1]) != NULL)
            len--;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            is_one |= len > strlen(kinds[k]) && len < SOURCE_PATH_SIZE &&
                      strncmp(at + len - strlen(kinds[k]), kinds[k], strlen(kinds[k])) == 0;
        /* "*_body.h" and "NAME.c" stand for many, "<check.h>" is a library's. */
        if (is_one && strchr("<*_", at[-1]) == NULL && !isupper((unsigned char)at[0])) {
            snprintf(name, SOURCE_PATH_SIZE, "%.*s", (int)len, at);
            return at + len;
        }
        at += len > 0 ? len : 1;
    }
    return NULL;
}

static int count_missing(const struct source_file *file)
{
    int missing = 0;
    for (const char *start = strstr(file->text, "/*"); start != NULL; start = strstr(start, "/*")) {
        char name[SOURCE_PATH_SIZE];
        const char *end = strstr(start, "*/");
        ck_assert_ptr_nonnull(end);
        for (const char *at = next_name(start + 2, end, name); at != NULL;
             at = next_name(at, end, name))
            if (!is_there(name)) {
                fprintf(stderr, "%s: a comment names %s\n", file->path, name);
                missing++;
            }
        start = end;
    }
    return missing;
}

/* A comment says its subject first. One that begins with these words leaves the reader to guess it.
 */
static int count_without_subject(const struct source_file *file)
{
    static const char *const words[] = {"Of ", "What ",  "Whether ", "Where ",
                                        "As ", "Those ", "But "};
    int count = 0;
    for (const char *at = strstr(file->text, "/* "); at != NULL; at = strstr(at + 1, "/* "))
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(at + 3, words[i], strlen(words[i])) == 0) {
                fprintf(stderr, "%s: a comment begins with: %.40s\n", file->path, at + 3);
                count++;
            }
    return count;
}

START_TEST(house_comments_begin_with_their_subject)
{
    int count = 0;
    setup();
    for (size_t f = 0; f < tree.count; f++)
        count += count_without_subject(&tree.files[f]);
    teardown();
    ck_assert_msg(count == 0, "%d comments without a subject, listed above", count);
}
END_TEST

START_TEST(house_comments_name_existing_files)
{
    int missing = 0;
    setup();
    remember_all_files();
    for (size_t f = 0; f < tree.count; f++)
        missing += count_missing(&tree.files[f]);
    forget_all_files();
    teardown();
    ck_assert_msg(missing == 0, "%d files that are not there, listed above", missing);
}
END_TEST

/* ---- mutants that were named as equivalent ---- */

/* "FILE | FUNCTION | LINE | ...", where " #2" behind the line is the second of its kind. */
static bool names_a_line(char *row)
{
    char *field[3];
    for (int i = 0; i < 3; i++) {
        field[i] = row;
        row = strstr(row, " | ");
        ck_assert_ptr_nonnull(row);
        *row = '\0';
        row += 3;
    }
    char *number = strrchr(field[2], '#');
    if (number != NULL && number > field[2] && number[-1] == ' ' &&
        isdigit((unsigned char)number[1]))
        number[-1] = '\0';
    const struct source_file *file = source_tree_find(&tree, field[0]);
    return file != NULL && strstr(file->text, field[2]) != NULL;
}

START_TEST(house_equivalent_mutants_name_existing_lines)
{
    char row[1024];
    int stale = 0, rows = 0;
    setup();
    FILE *list = fopen("tests/mutate/equivalent.txt", "r");
    ck_assert_ptr_nonnull(list);
    while (fgets(row, sizeof row, list) != NULL) {
        if (row[0] == '#' || row[0] == '\n')
            continue;
        rows++;
        if (!names_a_line(row)) {
            fprintf(stderr, "equivalent.txt: %s has no such line\n", row);
            stale++;
        }
    }
    fclose(list);
    teardown();
    ck_assert_int_gt(rows, 100);
    ck_assert_msg(stale == 0, "%d stale rows, listed above", stale);
}
END_TEST

START_TEST(house_test_sees_a_circle)
{
    struct source_file files[] = {
        {.path = "a/x.c", .include_count = 1, .includes = {{.name = "a/x_part.h"}}},
        {.path = "a/x_part.h", .include_count = 1, .includes = {{.name = "a/x.h"}}},
        {.path = "a/y.c", .include_count = 1, .includes = {{.name = "a/z.h"}}},
        {.path = "a/z.h", .include_count = 1, .includes = {{.name = "a/y.h"}}},
    };
    tree = (struct source_tree){.files = files, .count = 2};
    ck_assert_int_eq(count_circles(), 0); /* a part and its whole */
    tree.count = 4;
    ck_assert_int_eq(count_circles(), 2); /* y and z */
}
END_TEST

START_TEST(house_test_sees_what_it_looks_for)
{
    struct source_file file = {.path = "engine/base/new.c"};
    static char gone[] = "/* As gone.h says. */",
                here[] = "/* See base/err.h, err.c and *_body.h. */";
    setup();
    remember_all_files();
    file.text = gone;
    ck_assert_int_eq(count_missing(&file), 1);
    ck_assert_int_eq(count_without_subject(&file), 1);
    file.text = here;
    ck_assert_int_eq(count_missing(&file), 0);
    ck_assert_int_eq(count_without_subject(&file), 0);
    ck_assert_int_eq(longest_function("int f(void)\n{\n    a();\n    b();\n}\n"), 2);
    forget_all_files();
    teardown();
}
END_TEST

SUITE("house", house_folders_hold_at_most_24_modules, house_functions_have_at_most_60_lines,
      house_lines_have_at_most_100_columns, house_files_are_opened_by_file_open,
      house_each_main_opens_the_standard_descriptors, house_modules_form_no_circle,
      house_comments_begin_with_their_subject, house_comments_name_existing_files,
      house_equivalent_mutants_name_existing_lines, house_test_sees_a_circle,
      house_test_sees_what_it_looks_for)
