/* Types of rows: values accepted at their limits, values refused, and the errors. A refused value
 * changes nothing. */
#include "engine/cli/cli_option.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <string.h>

struct mill {
    bool is_loud;
    const char *dust, *owner;
    unsigned teeth;
    size_t bytes;
    float speed;
    double heat;
    struct {
        int x;
    } place;
};

#define FIELD(field) CLI_FIELD(struct mill, field)

static enum err_code set_place(const struct cli_option *option, void *target, const char *value,
                               struct err *err)
{
    (void)err;
    ((struct mill *)target)->place.x = option->tag + (int)strlen(value);
    return ERR_OK;
}

enum { LOUD, DUST, OWNER, TEETH, BYTES, SPEED, HEAT, PLACE, ROWS };

static const struct cli_option rows[ROWS] = {
    {.name = "loud", FIELD(is_loud)},
    {.name = "dust", FIELD(dust), .choices = "keep|blow|burn", .fallback = "blow"},
    {.name = "owner", FIELD(owner), .fallback = ""},
    {.name = "teeth", FIELD(teeth), .min = 5, .max = 4294967295.0, .fallback = "24"},
    {.name = "bytes", FIELD(bytes), .max = 1125899906842624.0, .fallback = "1099511627776"},
    {.name = "speed", FIELD(speed), .min = 0.5, .max = 2, .fallback = "1.5"},
    {.name = "heat", FIELD(heat), .min = -1, .max = 1e6, .fallback = "1e-3"},
    {.name = "place", FIELD(place), .apply = set_place, .tag = 40, .fallback = "xy"},
};

static struct mill mill;

static void expect_set(int row, const char *value, const char *text)
{
    struct err err = {0};
    enum err_code code = cli_option_set(&rows[row], &mill, value, &err);
    ck_assert_msg(strcmp(err.text, text) == 0, "%s=%s: %s", rows[row].name, value, err.text);
    ck_assert_int_eq(code, text[0] != '\0' ? ERR_UNUSABLE : ERR_OK);
    ck_assert_int_eq(err.code, code);
}

START_TEST(a_row_has_the_type_of_its_field)
{
    static const enum cli_type types[ROWS] = {CLI_FLAG, CLI_TEXT,  CLI_TEXT,   CLI_UNSIGNED,
                                              CLI_SIZE, CLI_FLOAT, CLI_DOUBLE, CLI_OTHER};
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(rows[i].type, types[i]);
    ck_assert(cli_option_is_whole(&rows[TEETH]) && cli_option_is_whole(&rows[BYTES]));
    ck_assert(!cli_option_is_whole(&rows[SPEED]) && !cli_option_is_whole(&rows[DUST]));
}
END_TEST

START_TEST(fallbacks_fill_the_fields_that_have_one)
{
    struct err err = {0};
    mill = (struct mill){.owner = "before"};
    ck_assert_int_eq(cli_option_set_fallbacks(rows, ROWS, &mill, &err), ERR_OK);
    ck_assert(!mill.is_loud && mill.speed == 1.5f && mill.heat == 1e-3 && mill.place.x == 42);
    ck_assert_str_eq(mill.dust, "blow");
    ck_assert_str_eq(mill.owner, "before");
    ck_assert_uint_eq(mill.teeth, 24);
    ck_assert_uint_eq(mill.bytes, (size_t)1 << 40);
    ck_assert_str_eq(cli_option_text(&rows[DUST], &mill), "blow");
    ck_assert_uint_eq(cli_option_whole(&rows[TEETH], &mill), 24);
    ck_assert_uint_eq(cli_option_whole(&rows[BYTES], &mill), (size_t)1 << 40);
    const struct cli_option wrong = {
        .name = "teeth", FIELD(teeth), .min = 5, .max = 9, .fallback = "4"};
    ck_assert_int_eq(cli_option_set_fallbacks(&wrong, 1, &mill, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "default of teeth: must be a whole number from 5 to 9");
}
END_TEST

START_TEST(whole_numbers_are_digits_within_their_limits)
{
    static const char *const wrong[] = {
        "",   "4",   "4294967296",          "-5", "+5", " 5", "5 ", "5x", "0x5", "5.0",
        "9:", "1e9", "18446744073709551621"};
    expect_set(TEETH, "5", "");
    ck_assert_uint_eq(mill.teeth, 5);
    expect_set(TEETH, "4294967295", "");
    ck_assert_uint_eq(mill.teeth, UINT32_MAX);
    expect_set(TEETH, "020", "");
    ck_assert_uint_eq(mill.teeth, 20);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_set(TEETH, wrong[i], "must be a whole number from 5 to 4294967295");
    ck_assert_uint_eq(mill.teeth, 20);
    expect_set(BYTES, "1125899906842624", "");
    ck_assert_uint_eq(mill.bytes, (size_t)1 << 50);
    expect_set(BYTES, "1125899906842625", "must be a whole number from 0 to 1125899906842624");
    ck_assert_uint_eq(mill.bytes, (size_t)1 << 50);
}
END_TEST

START_TEST(a_number_that_is_no_text_has_the_same_limits)
{
    struct err err = {0};
    ck_assert_int_eq(cli_option_set_whole(&rows[TEETH], &mill, 5, &err), ERR_OK);
    ck_assert_int_eq(cli_option_set_whole(&rows[BYTES], &mill, (size_t)1 << 50, &err), ERR_OK);
    ck_assert_int_eq(cli_option_set_whole(&rows[TEETH], &mill, 4, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "must be a whole number from 5 to 4294967295");
    ck_assert_int_eq(cli_option_set_whole(&rows[TEETH], &mill, (size_t)1 << 32, &(struct err){0}),
                     ERR_UNUSABLE);
    ck_assert_int_eq(cli_option_set_whole(&rows[BYTES], &mill, SIZE_MAX, &(struct err){0}),
                     ERR_UNUSABLE);
    ck_assert_uint_eq(mill.teeth, 5);
    ck_assert_uint_eq(mill.bytes, (size_t)1 << 50);
}
END_TEST

START_TEST(real_numbers_are_taken_within_their_limits)
{
    static const char *const wrong[] = {"", "0.49", "2.01", "nan", "inf", "1x", "x", "1 "};
    expect_set(SPEED, "0.5", "");
    ck_assert(mill.speed == 0.5f);
    expect_set(SPEED, "2", "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_set(SPEED, wrong[i], "must be a number from 0.5 to 2");
    ck_assert(mill.speed == 2);
    expect_set(HEAT, "-1", "");
    expect_set(HEAT, "1e6", "");
    expect_set(HEAT, "-1.01", "must be a number from -1 to 1000000");
    ck_assert(mill.heat == 1e6);
}
END_TEST

START_TEST(texts_are_borrowed_and_words_are_whole_choices)
{
    static const char *const wrong[] = {"", "kee", "keeps", "|", "keep|blow", "Blow", "low"};
    static const char owner[] = "o";
    expect_set(OWNER, owner, "");
    ck_assert_ptr_eq(mill.owner, owner);
    expect_set(OWNER, "", "must not be empty");
    ck_assert_ptr_eq(mill.owner, owner);
    expect_set(DUST, "keep", "");
    expect_set(DUST, "blow", "");
    expect_set(DUST, "burn", "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_set(DUST, wrong[i], "must be one of keep|blow|burn");
    ck_assert_str_eq(mill.dust, "burn");
    mill.is_loud = false;
    expect_set(LOUD, NULL, "");
    ck_assert(mill.is_loud);
}
END_TEST

SUITE("cli_option", a_row_has_the_type_of_its_field, fallbacks_fill_the_fields_that_have_one,
      whole_numbers_are_digits_within_their_limits, a_number_that_is_no_text_has_the_same_limits,
      real_numbers_are_taken_within_their_limits, texts_are_borrowed_and_words_are_whole_choices)
