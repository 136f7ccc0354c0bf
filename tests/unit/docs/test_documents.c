/* Properties of the documents that can be checked: the table of options is the code's, links lead
 * to files that are there, and the README is short. */
#include "config/option.h"
#include "engine/base/file.h"
#include "tests/support/suite.h"

#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { README_LINES_MAX = 150 };

static char *read_text(const char *path)
{
    char *text;
    size_t len;
    struct err err = {0};
    ck_assert_msg(file_read(&text, &len, path, 1 << 20, &err) == ERR_OK, "%s: %s", path, err.text);
    text = realloc(text, len + 1);
    text[len] = '\0';
    return text;
}

/* The table of docs/configuration.md. */
static void print_table(FILE *file)
{
    fputs("| key | default | limits | reload | |\n|---|---|---|---|---|\n", file);
    for (const struct cli_option *option = option_table; option < option_table + OPTION_TOTAL;
         option++) {
        const char *fallback = option_is_models(option) ? "[]" : option->fallback;
        const char *quote = fallback[0] != '\0' ? "`" : "";
        fprintf(file, "| `%s` | %s%s%s | ", option_key(option), quote, fallback, quote);
        if (option_is_models(option))
            fprintf(file, "at most %.0f", option->max);
        else if (cli_option_is_whole(option))
            fprintf(file, "%.0f to %.0f", option->min, option->max);
        else if (cli_option_is_real(option))
            fprintf(file, "%g to %g", option->min, option->max);
        for (const char *at = option->choices != NULL ? option->choices : ""; *at != '\0'; at++)
            fputs(*at == '|' ? ", " : (const char[]){*at, '\0'}, file);
        fprintf(file, " | %s | %s |\n", option->tag == OPTION_LIVE ? "live" : "restart",
                option->help);
    }
}

START_TEST(documents_have_the_table_of_options_as_the_code_has_it)
{
    char *page = read_text("docs/configuration.md"), *table = NULL;
    size_t table_len;
    FILE *memory = open_memstream(&table, &table_len);
    ck_assert_ptr_nonnull(memory);
    print_table(memory);
    fclose(memory);
    const bool has_table = strstr(page, table) != NULL;
    if (!has_table)
        printf("%s\n", table); /* a message of this length would be cut */
    fflush(stdout);
    ck_assert_msg(has_table, "docs/configuration.md lacks the table above");
    free(page);
    free(table);
}
END_TEST

/* Each is the chart's own to set, or one of values.config (tests/kubernetes judges the rest). */
START_TEST(chart_knows_each_option)
{
    static const char *const names[] = {
#define OPTION(name, ...) #name,
#include "config/options.def"
#undef OPTION
    };
    char *schema = read_text("deploy/helm/attnd/values.schema.json");
    char *helpers = read_text("deploy/helm/attnd/templates/_helpers.tpl");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char quoted[80];
        snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
        ck_assert_msg(strstr(schema, quoted) != NULL || strstr(helpers, quoted) != NULL,
                      "neither the chart nor values.schema.json has %s", quoted);
    }
    free(schema);
    free(helpers);
}
END_TEST

/* "](path)" or "](path#part)", but for addresses and parts of the same page. */
static unsigned count_broken_links(const char *path)
{
    char *text = read_text(path), folder[PATH_MAX], target[2 * PATH_MAX];
    unsigned broken = 0;
    snprintf(folder, sizeof folder, "%s", path);
    const char *dir = dirname(folder);
    for (const char *at = text; (at = strstr(at, "](")) != NULL;) {
        at += 2;
        size_t len = strcspn(at, ")#");
        if (len == 0 || strncmp(at, "http", 4) == 0)
            continue;
        snprintf(target, sizeof target, "%s/%.*s", dir, (int)len, at);
        if (access(target, F_OK) == 0)
            continue;
        printf("%s: there is no %.*s\n", path, (int)len, at);
        broken++;
    }
    free(text);
    return broken;
}

START_TEST(documents_link_to_existing_files)
{
    static const char *const patterns[] = {"*.md",          "docs/*.md",     "models/*.md",
                                           "models/*/*.md", "loadtest/*.md", "deploy/*.md"};
    unsigned broken = 0, pages = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        ck_assert_int_eq(glob(patterns[i], 0, NULL, &found), 0);
        pages += (unsigned)found.gl_pathc;
        for (size_t k = 0; k < found.gl_pathc; k++)
            broken += count_broken_links(found.gl_pathv[k]);
        globfree(&found);
    }
    ck_assert_uint_gt(pages, 10);
    ck_assert_msg(broken == 0, "%u broken links, listed above", broken);
}
END_TEST

/* The figures of a model stand in one place, beside the model: copies in other pages grew out of
 * date. */
START_TEST(limits_leave_the_figures_of_models_to_their_page)
{
    char *page = read_text("docs/limits.md");
    char *part = strstr(page, "## How far an answer carries");
    ck_assert_ptr_nonnull(part);
    char *end = strstr(part + 3, "\n## ");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    ck_assert_ptr_null(strchr(part, '%'));
    ck_assert_ptr_null(strstr(part, "AUROC"));
    ck_assert_ptr_nonnull(strstr(part, "../models/README.md#what-passes-that-should-not"));
    free(page);
}
END_TEST

START_TEST(documents_begin_with_a_short_readme)
{
    char *text = read_text("README.md");
    unsigned lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    ck_assert_msg(lines <= README_LINES_MAX, "README.md has %u lines", lines);
    free(text);
}
END_TEST

/* Names behind "- alert: " are those of the rows. */
START_TEST(operations_have_a_row_for_each_alert)
{
    char *page = read_text("deploy/OPERATIONS.md");
    char *alerts = read_text("deploy/prometheus/alerts.yml");
    static const char mark[] = "- alert: ";
    unsigned count = 0;
    for (const char *at = alerts; (at = strstr(at, mark)) != NULL; count++) {
        char row[80];
        at += strlen(mark);
        snprintf(row, sizeof row, "\n| `%.*s` |", (int)strcspn(at, "\n"), at);
        ck_assert_msg(strstr(page, row) != NULL, "deploy/OPERATIONS.md has no row%s", row);
    }
    ck_assert_uint_gt(count, 10);
    unsigned rows = 0;
    for (const char *at = page; (at = strstr(at, "\n| `Attnd")) != NULL; at++)
        rows++;
    ck_assert_uint_eq(rows, count);
    free(page);
    free(alerts);
}
END_TEST

SUITE("documents", documents_have_the_table_of_options_as_the_code_has_it, chart_knows_each_option,
      documents_link_to_existing_files, operations_have_a_row_for_each_alert,
      limits_leave_the_figures_of_models_to_their_page, documents_begin_with_a_short_readme)
