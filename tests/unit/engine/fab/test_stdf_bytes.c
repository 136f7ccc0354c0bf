/* A second witness for stdf.c, which test_stdf.c reads from a writer of our own: two files spelled
 * out byte by byte after the tables of the Standard Test Data Format Specification, version 4,
 * every field filled, so that one read at a wrong place shows. The field names are the
 * specification's. */
#include "tests/support/lot_map.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char little_endian[] = {
    /* FAR: REC_LEN 2, REC_TYP 0, REC_SUB 10; CPU_TYPE 2, STDF_VER 4 */
    2, 0, 0, 10, 2, 4,
    /* ATR: MOD_TIM, CMD_LINE "cat" */
    8, 0, 0, 20, 0x10, 0x32, 0x54, 0x76, 3, 'c', 'a', 't',
    /* MIR: SETUP_T, START_T, STAT_NUM 1, MODE_COD 'P', RTST_COD 'N', PROT_COD ' ', BURN_TIM
     * 65535, CMOD_COD ' ', LOT_ID "A7.01", PART_TYP "chip", NODE_NAM "n" */
    28, 0, 1, 10, 0x01, 0x02, 0x03, 0x5E, 0x05, 0x06, 0x07, 0x5E, 1, 'P', 'N', ' ', 0xFF, 0xFF, ' ',
    5, 'A', '7', '.', '0', '1', 4, 'c', 'h', 'i', 'p', 1, 'n',
    /* WIR: HEAD_NUM 3, SITE_GRP 255, START_T, WAFER_ID "W09" */
    10, 0, 2, 10, 3, 255, 0x21, 0x22, 0x23, 0x5E, 3, 'W', '0', '9',
    /* PIR: HEAD_NUM 3, SITE_NUM 2 */
    2, 0, 5, 10, 3, 2,
    /* PTR: TEST_NUM 500, HEAD_NUM 3, SITE_NUM 2, TEST_FLG 0, PARM_FLG 0xC0, RESULT 1.0 */
    12, 0, 15, 10, 0xF4, 0x01, 0, 0, 3, 2, 0, 0xC0, 0, 0, 0x80, 0x3F,
    /* PRR: HEAD_NUM 3, SITE_NUM 2, PART_FLG 8 (failed), NUM_TEST 258, HARD_BIN 260, SOFT_BIN 513,
     * X_COORD -3, Y_COORD 300, TEST_T 12, PART_ID "1", PART_TXT "", PART_FIX of 0 bytes */
    21, 0, 5, 20, 3, 2, 8, 0x02, 0x01, 0x04, 0x01, 0x01, 0x02, 0xFD, 0xFF, 0x2C, 0x01, 12, 0, 0, 0,
    1, '1', 0, 0,
    /* PRR: PART_FLG 0 (passed), NUM_TEST 1, HARD_BIN 1, SOFT_BIN 1, X_COORD -2, Y_COORD 300 */
    13, 0, 5, 20, 3, 2, 0, 1, 0, 1, 0, 1, 0, 0xFE, 0xFF, 0x2C, 0x01,
    /* PRR: the same place again with PART_FLG 2 (supersedes by coordinates) + 8, HARD_BIN 7 */
    13, 0, 5, 20, 3, 2, 10, 1, 0, 7, 0, 7, 0, 0xFE, 0xFF, 0x2C, 0x01,
    /* PRR: PART_FLG 16 (bit 3 is invalid), HARD_BIN 1, X_COORD -3, Y_COORD 301 */
    13, 0, 5, 20, 3, 2, 16, 1, 0, 1, 0, 1, 0, 0xFD, 0xFF, 0x2D, 0x01,
    /* PRR: PART_FLG 8, X_COORD and Y_COORD -32768 (no place) */
    13, 0, 5, 20, 3, 2, 8, 1, 0, 5, 0, 5, 0, 0x00, 0x80, 0x00, 0x80,
    /* WRR: HEAD_NUM 3, SITE_GRP 255, FINISH_T, PART_CNT 5, RTST_CNT 1, ABRT_CNT 0, GOOD_CNT 1,
     * FUNC_CNT 0xFFFFFFFF, WAFER_ID "W09" */
    30, 0, 2, 20, 3, 255, 0x31, 0x32, 0x33, 0x5E, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
    0xFF, 0xFF, 0xFF, 0xFF, 3, 'W', '0', '9',
    /* WCR: WAFR_SIZ 8.0, DIE_HT 0.5, DIE_WID 0.25, WF_UNITS 1, WF_FLAT 'D', CENTER_X -32768,
     * CENTER_Y -32768, POS_X 'L', POS_Y 'U' */
    20, 0, 2, 30, 0, 0, 0, 0x41, 0, 0, 0, 0x3F, 0, 0, 0x80, 0x3E, 1, 'D', 0x00, 0x80, 0x00, 0x80,
    'L', 'U',
    /* HBR: HEAD_NUM 255, SITE_NUM 0, HBIN_NUM 1, HBIN_CNT 1, HBIN_PF 'P', HBIN_NAM "ok" */
    12, 0, 1, 40, 255, 0, 1, 0, 1, 0, 0, 0, 'P', 2, 'o', 'k',
    /* MRR: FINISH_T, DISP_COD ' ' */
    5, 0, 1, 20, 0x41, 0x42, 0x43, 0x5E, ' '};

/* The bytes as a Sun writes them. The ends of records that may be left out are left out. */
static const unsigned char big_endian[] = {
    /* FAR: CPU_TYPE 1, STDF_VER 4 */
    0, 2, 0, 10, 1, 4,
    /* MIR: SETUP_T, START_T, STAT_NUM, three codes, BURN_TIM, CMOD_COD, LOT_ID "B" */
    0, 17, 1, 10, 0x5E, 3, 2, 1, 0x5E, 7, 6, 5, 1, 'P', 'N', ' ', 0xFF, 0xFF, ' ', 1, 'B',
    /* WIR of head 1 without a WAFER_ID */
    0, 6, 2, 10, 1, 255, 0x5E, 1, 2, 3,
    /* PRR: PART_FLG 4 (abnormal end), NUM_TEST 258, HARD_BIN 1, SOFT_BIN 1, X 256, Y -1 */
    0, 13, 5, 20, 1, 1, 4, 1, 2, 0, 1, 0, 1, 0x01, 0x00, 0xFF, 0xFF,
    /* PRR: passed, X 257, Y 0 */
    0, 13, 5, 20, 1, 1, 0, 1, 2, 0, 1, 0, 1, 0x01, 0x01, 0x00, 0x00,
    /* WRR: the counts, WAFER_ID "late" */
    0, 31, 2, 20, 1, 255, 0x5E, 4, 5, 6, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
    4, 'l', 'a', 't', 'e',
    /* MRR: FINISH_T */
    0, 4, 1, 20, 0x5E, 7, 8, 9};

static void expect_greys(const struct lot *stdf, const unsigned char *greys, unsigned width,
                         unsigned height)
{
    struct arena arena;
    struct lot_map map;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!lot_map_draw(stdf, 0, &arena, &map, &err), "%s", err.text);
    ck_assert_uint_eq(map.width, width);
    ck_assert_uint_eq(map.height, height);
    ck_assert_mem_eq(map.grey, greys, (size_t)width * height);
    arena_deinit(&arena);
}

static void expect_die(const struct lot_die *die, int x, int y, unsigned hard_bin, bool failed)
{
    ck_assert_int_eq(die->x, x);
    ck_assert_int_eq(die->y, y);
    ck_assert_uint_eq(die->hard_bin, hard_bin);
    ck_assert_int_eq(die->failed, failed);
    ck_assert_uint_eq(die->wafer, 0);
}

START_TEST(stdf_reads_a_little_endian_file_as_the_specification_lays_it_out)
{
    /* x points to the left and y upward: the dies at x = -3 are in the right column */
    static const unsigned char greys[] = {LOT_NO_DIE, LOT_PASS, LOT_FAIL, LOT_FAIL};
    struct lot stdf;
    struct err err = {0};
    ck_assert_msg(!lot_map_parse(&stdf, little_endian, sizeof little_endian, &err), "%s", err.text);
    ck_assert_str_eq(stdf.name, "A7.01");
    ck_assert_uint_eq(stdf.wafer_count, 1);
    ck_assert_str_eq(stdf.wafers[0].id, "W09");
    ck_assert_uint_eq(stdf.die_count, 4);
    ck_assert_uint_eq(stdf.placeless, 1);
    expect_die(&stdf.dies[0], -3, 300, 260, true);
    expect_die(&stdf.dies[1], -2, 300, 1, false);
    expect_die(&stdf.dies[2], -2, 300, 7, true);
    expect_die(&stdf.dies[3], -3, 301, 1, false);
    expect_greys(&stdf, greys, 2, 2);
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_reads_a_big_endian_file_without_its_optional_fields)
{
    static const unsigned char greys[] = {LOT_FAIL, LOT_NO_DIE, LOT_NO_DIE, LOT_PASS};
    struct lot stdf;
    struct err err = {0};
    ck_assert_msg(!lot_map_parse(&stdf, big_endian, sizeof big_endian, &err), "%s", err.text);
    ck_assert_str_eq(stdf.name, "B");
    ck_assert_uint_eq(stdf.wafer_count, 1);
    ck_assert_str_eq(stdf.wafers[0].id, "late");
    ck_assert_uint_eq(stdf.die_count, 2);
    expect_die(&stdf.dies[0], 256, -1, 1, true);
    expect_die(&stdf.dies[1], 257, 0, 1, false);
    expect_greys(&stdf, greys, 2, 2);
    lot_close(&stdf);
}
END_TEST

/* ---- limits ---- */

static unsigned char *put(unsigned char *at, const unsigned char *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

/* FAR, WIR of head 1, `dies` passing results in rows of 200, MRR; yours to free. */
static unsigned char *many_dies(unsigned dies, size_t *len)
{
    static const unsigned char far[] = {2, 0, 0, 10, 2, 4}, mrr[] = {4, 0, 1, 20, 0, 0, 0, 0};
    static const unsigned char wir[] = {8, 0, 2, 10, 1, 255, 0, 0, 0, 0, 1, 'w'};
    unsigned char *bytes = malloc(sizeof far + sizeof wir + (size_t)dies * 17 + sizeof mrr);
    ck_assert_ptr_nonnull(bytes);
    unsigned char *at = put(put(bytes, far, sizeof far), wir, sizeof wir);
    for (unsigned i = 0; i < dies; i++) {
        unsigned char x = (unsigned char)(i % 200), low = (unsigned char)(i / 200);
        unsigned char prr[] = {13, 0, 5, 20, 1, 1, 0, 1, 0, 1, 0, 1, 0, x, 0, low, 0};
        at = put(at, prr, sizeof prr);
    }
    at = put(at, mrr, sizeof mrr);
    *len = (size_t)(at - bytes);
    return bytes;
}

START_TEST(stdf_keeps_every_die_of_a_large_wafer)
{
    enum { DIES = 10000 };
    size_t len;
    struct lot stdf;
    struct err err = {0};
    unsigned char *bytes = many_dies(DIES, &len);
    ck_assert_msg(!lot_map_parse(&stdf, bytes, len, &err), "%s", err.text);
    ck_assert_uint_eq(stdf.die_count, DIES);
    for (unsigned i = 0; i < DIES; i++)
        expect_die(&stdf.dies[i], (int)(i % 200), (int)(i / 200), 1, false);
    lot_close(&stdf);
    free(bytes);
}
END_TEST

START_TEST(stdf_bounds_how_often_wafers_begin)
{
    enum { STARTS_MAX = 65536 };
    static const unsigned char far[] = {2, 0, 0, 10, 2, 4}, mrr[] = {4, 0, 1, 20, 0, 0, 0, 0};
    static const unsigned char wir[] = {8, 0, 2, 10, 1, 255, 0, 0, 0, 0, 1, 'w'};
    unsigned char *bytes = malloc((STARTS_MAX + 1) * sizeof wir + 100);
    ck_assert_ptr_nonnull(bytes);
    for (unsigned extra = 0; extra <= 1; extra++) {
        struct lot stdf;
        struct err err = {0};
        unsigned char *at = put(bytes, far, sizeof far);
        for (unsigned i = 0; i < STARTS_MAX + extra; i++)
            at = put(at, wir, sizeof wir);
        at = put(at, mrr, sizeof mrr);
        lot_map_parse(&stdf, bytes, (size_t)(at - bytes), &err);
        ck_assert_int_eq(err.code, extra == 0 ? ERR_OK : ERR_TOO_LARGE);
        ck_assert_str_eq(err.text,
                         extra == 0 ? "" : "byte 786438: wafers begin more than 65536 times");
        lot_close(&stdf);
    }
    free(bytes);
}
END_TEST

START_TEST(stdf_find_says_why_there_is_no_wafer)
{
    static const unsigned char none[] = {2, 0, 0, 10, 2, 4, 4, 0, 1, 20, 0, 0, 0, 0};
    struct lot stdf;
    struct err err = {0};
    unsigned wafer = 7;
    ck_assert_int_eq(lot_map_parse(&stdf, none, sizeof none, &err), ERR_OK);
    ck_assert_int_eq(lot_find(&stdf, NULL, &wafer, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "no wafer: the file has no WIR record, which begins a wafer; its 0 results "
                     "belong to no wafer");
    err = (struct err){0};
    ck_assert_int_eq(lot_find(&stdf, "w", &wafer, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "no wafer: the file has no WIR record, which begins a wafer; its 0 results "
                     "belong to no wafer");
    lot_close(&stdf);
}
END_TEST

SUITE("stdf_bytes", stdf_keeps_every_die_of_a_large_wafer, stdf_bounds_how_often_wafers_begin,
      stdf_find_says_why_there_is_no_wafer,
      stdf_reads_a_little_endian_file_as_the_specification_lays_it_out,
      stdf_reads_a_big_endian_file_without_its_optional_fields)
