/* number_label.h: labels that are numbers, and those that are none. */
#include "learn/data/number_label.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(number_label_reads_decimal_numbers)
{
    static const struct {
        const char *label;
        double number;
    } rows[] = {{"0", 0}, {"-2.5", -2.5}, {"+1e3", 1000}, {"1E-3", 0.001}, {".5", 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = {0};
        double number = 7;
        ck_assert_msg(!number_label_read(rows[i].label, &number, 1, &err), "%s", err.text);
        ck_assert_double_eq(number, rows[i].number);
    }
}
END_TEST

START_TEST(number_label_reads_a_number_for_each_output)
{
    struct err err = {0};
    double numbers[3];
    ck_assert_uint_eq(number_label_count("1|-2|3e1"), 3);
    ck_assert(!number_label_read("1|-2|3e1", numbers, 3, &err));
    ck_assert(numbers[0] == 1 && numbers[1] == -2 && numbers[2] == 30);
}
END_TEST

START_TEST(number_label_refuses_what_is_no_number_by_name)
{
    static const struct {
        const char *label, *told;
        unsigned count;
    } rows[] = {{"hot", "the label 'hot' is no number", 1},
                {"", "the label '' is no number", 1},
                {" 1", "the label ' 1' is no number", 1},
                {"1 ", "the label '1 ' is no number", 1},
                {"0x10", "the label '0x10' is no number", 1},
                {"nan", "the label 'nan' is no number", 1},
                {"inf", "the label 'inf' is no number", 1},
                {"1e400", "the label '1e400' is no number", 1},
                {"-1e31", "the number '-1e31' is beyond 1e+30", 1},
                {"1|cold", "the label 'cold' is no number", 2},
                {"1|", "the label '' is no number", 2},
                {"1|2", "the label has 2 numbers, and the model answers 1", 1},
                {"1", "the label has 1 number, and the model answers 2", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = {0};
        double numbers[2];
        ck_assert_int_eq(number_label_read(rows[i].label, numbers, rows[i].count, &err),
                         ERR_UNUSABLE);
        ck_assert_str_eq(err.text, rows[i].told);
    }
}
END_TEST

SUITE("number_label", number_label_reads_decimal_numbers,
      number_label_reads_a_number_for_each_output, number_label_refuses_what_is_no_number_by_name)
