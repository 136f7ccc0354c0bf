/* The README repeats the table of options; here it is held to it. */
#include "config/config_print.h"
#include "engine/base/file.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(readme_has_the_table_of_options_as_the_code_has_it)
{
    char *readme, *table = NULL;
    size_t len, table_len;
    struct err err = {0};
    ck_assert_msg(file_read(&readme, &len, "README.md", 1 << 20, &err) == ERR_OK, "%s", err.text);
    FILE *memory = open_memstream(&table, &table_len);
    ck_assert_ptr_nonnull(memory);
    config_markdown(memory);
    fclose(memory);
    ck_assert_msg(strstr(readme, table) != NULL, "README.md lacks this table:\n%s", table);
    free(readme);
    free(table);
}
END_TEST

SUITE("readme", readme_has_the_table_of_options_as_the_code_has_it)
