/* SECURITY.md repeats the table of limits; here it is held to it. */
#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_row(FILE *file, const char *name, long value, const char *unit, int status,
                      const char *what)
{
    fprintf(file, "| `%s` | %ld %s | ", name, value, unit);
    if (status != 0)
        fprintf(file, "%d", status);
    fprintf(file, " | %s |\n", what);
}

START_TEST(security_page_has_the_table_of_limits_as_the_code_has_it)
{
    char *page, *table = NULL;
    size_t len, table_len;
    struct err err = {0};
    ck_assert_msg(file_read(&page, &len, "SECURITY.md", 1 << 20, &err) == ERR_OK, "%s", err.text);
    FILE *memory = open_memstream(&table, &table_len);
    ck_assert_ptr_nonnull(memory);
    fputs("| limit | value | status | of |\n|---|---|---|---|\n", memory);
#define X(name, value, unit, status, what) print_row(memory, #name, value, unit, status, what);
    LIMITS(X)
#undef X
    fclose(memory);
    ck_assert_msg(strstr(page, table) != NULL, "SECURITY.md lacks this table:\n%s", table);
    free(page);
    free(table);
}
END_TEST

SUITE("security", security_page_has_the_table_of_limits_as_the_code_has_it)
