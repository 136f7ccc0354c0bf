/* DeBERTa's relative places: rows by distance as transformers 4.57 gives them, and config.json. */
#include "engine/model/config/disentangled.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned row(unsigned buckets, unsigned distance_max, long distance)
{
    const struct disentangled places = {.span = buckets > 0 ? buckets : distance_max,
                                        .buckets = buckets,
                                        .distance_max = distance_max};
    return disentangled_row(&places, distance);
}

START_TEST(near_distances_have_rows_of_their_own)
{
    for (long t = -128; t <= 128; t++)
        ck_assert_uint_eq(row(256, 512, t), (unsigned)(256 + t));
    for (long t = -8; t <= 8; t++)
        ck_assert_uint_eq(row(16, 128, t), (unsigned)(16 + t));
}
END_TEST

/* make_log_bucket_position of transformers 4.57, plus the span and within the table. */
START_TEST(far_distances_share_logarithmic_rows)
{
    static const struct {
        unsigned buckets, distance_max;
        long distance;
        unsigned row;
    } cases[] = {
        {256, 512, 129, 385}, {256, 512, 130, 386}, {256, 512, 132, 387}, {256, 512, 200, 425},
        {256, 512, -300, 49}, {256, 512, 510, 511}, {256, 512, 511, 511}, {256, 512, -511, 1},
        {256, 512, 512, 511}, {256, 512, 900, 511}, {256, 512, -5000, 0}, {16, 128, 9, 25},
        {16, 128, 10, 25},    {16, 128, 11, 25},    {16, 128, -13, 6},    {16, 128, 30, 28},
        {16, 128, -88, 1},    {16, 128, 89, 31},    {16, 128, 127, 31},   {16, 128, 128, 31},
        {16, 128, -200, 0},   {32, 512, 17, 49},    {32, 512, 18, 49},    {32, 512, -20, 15},
        {32, 512, 300, 61},   {32, 512, 511, 63},   {2, 10, 1, 3},        {2, 10, 2, 3},
        {2, 10, -3, 1},       {2, 10, 9, 3},        {2, 10, 70, 3},       {9, 77, 4, 13},
        {9, 77, 5, 14},       {9, 77, -6, 4},       {9, 77, 60, 16},      {9, 77, 76, 16},
        {9, 77, 77, 17}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(
            row(cases[i].buckets, cases[i].distance_max, cases[i].distance) == cases[i].row,
            "%u, %u: %ld: %u, not %u", cases[i].buckets, cases[i].distance_max, cases[i].distance,
            row(cases[i].buckets, cases[i].distance_max, cases[i].distance), cases[i].row);
}
END_TEST

START_TEST(disentangled_table_without_buckets_has_a_row_for_every_distance)
{
    for (long t = -100; t <= 100; t++) {
        long within = t < -40 ? -40 : t > 39 ? 39 : t;
        ck_assert_uint_eq(row(0, 40, t), (unsigned)(40 + within));
    }
}
END_TEST

/* ---- config.json ---- */

static enum err_code read(struct disentangled *out, const char *members, struct err *err)
{
    char text[1024];
    struct json_t *config;
    *err = (struct err){0};
    snprintf(text, sizeof text, "{%s%s}", members,
             strstr(members, "norm_rel_ebd") != NULL ? "" : ", \"norm_rel_ebd\": \"layer_norm\"");
    ck_assert_int_eq(doc_parse(&config, text, strlen(text), &doc_limits_file, err), ERR_OK);
    disentangled_read(out, config, 48, 4, 32, err);
    doc_free(config);
    return err->code;
}

START_TEST(terms_are_a_text_or_a_list)
{
    static const struct {
        const char *members;
        bool keys, queries;
    } cases[] = {{"\"pos_att_type\": \"p2c|c2p\"", true, true},
                 {"\"pos_att_type\": \"C2P\"", true, false},
                 {"\"pos_att_type\": \" p2c \"", false, true},
                 {"\"pos_att_type\": [\"c2p\"]", true, false},
                 {"\"pos_att_type\": [\"p2c\", \"c2p\"]", true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct disentangled places;
        struct err err;
        ck_assert_msg(!read(&places, cases[i].members, &err), "%s", err.text);
        ck_assert_int_eq(places.content_to_position, cases[i].keys);
        ck_assert_int_eq(places.position_to_content, cases[i].queries);
        ck_assert_uint_eq(disentangled_terms(&places), 1u + cases[i].keys + cases[i].queries);
        ck_assert_uint_eq(places.span, 32);
    }
    ck_assert_uint_eq(disentangled_terms(&(struct disentangled){0}), 1);
}
END_TEST

START_TEST(the_span_is_that_of_buckets_or_of_the_longest_text)
{
    struct disentangled places;
    struct err err;
    ck_assert(!read(&places, "\"pos_att_type\": \"c2p\", \"position_buckets\": 8", &err));
    ck_assert_uint_eq(places.span, 8);
    ck_assert_uint_eq(places.distance_max, 32);
    ck_assert(!read(&places, "\"pos_att_type\": \"c2p\", \"max_relative_positions\": 20", &err));
    ck_assert_uint_eq(places.span, 20);
    ck_assert(!read(&places, "\"pos_att_type\": \"c2p\", \"position_buckets\": 512", &err));
    ck_assert_uint_eq(places.span, 512); /* no text is long enough for the logarithm */
}
END_TEST

START_TEST(disentangled_attention_refuses_unsupported_settings_by_name)
{
    static const struct {
        const char *members, *named;
    } cases[] = {
        {"\"pos_att_type\": \"c2p\", \"conv_kernel_size\": 3", "DeBERTa-v3"},
        {"\"pos_att_type\": \"c2p\", \"type_vocab_size\": 2", "type_vocab_size 2"},
        {"\"pos_att_type\": \"c2p\", \"embedding_size\": 24", "embedding_size 24"},
        {"\"pos_att_type\": \"c2p\", \"pooler_hidden_size\": 64", "supported: 48"},
        {"\"pos_att_type\": \"c2p\", \"attention_head_size\": 8", "supported: 12"},
        {"\"pos_att_type\": \"c2p\", \"pooler_hidden_act\": \"tanh\"", "pooler_hidden_act 'tanh'"},
        {"\"pos_att_type\": \"c2p\", \"norm_rel_ebd\": \"none\"", "norm_rel_ebd 'none'"},
        {"\"pos_att_type\": \"c2p|p2p\"", "'p2p'"},
        {"\"pos_att_type\": \"\"", "supported: c2p, p2c"},
        {"\"pos_att_type\": []", "names no term"},
        {"\"pos_att_type\": null", "names no term"},
        {"\"pos_att_type\": 7", "names no term"},
        {"\"pos_att_type\": [7]", "not a name"},
        {"\"pos_att_type\": \"c2p\", \"position_buckets\": 1", "position_buckets 1"},
        {"\"pos_att_type\": \"c2p\", \"position_buckets\": 4000000000", "position_buckets"},
        {"\"pos_att_type\": \"c2p\", \"position_buckets\": \"a\"", "position_buckets"},
        {"\"pos_att_type\": \"c2p\", \"max_relative_positions\": -7", "max_relative_positions"},
        {"\"pos_att_type\": \"c2p\", \"position_buckets\": 20, \"max_relative_positions\": 11",
         "at least 12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct disentangled places;
        struct err err;
        ck_assert_msg(read(&places, cases[i].members, &err) != ERR_OK, "%s", cases[i].members);
        ck_assert_msg(strstr(err.text, cases[i].named) != NULL, "%s", err.text);
    }
}
END_TEST

SUITE("disentangled", near_distances_have_rows_of_their_own, far_distances_share_logarithmic_rows,
      disentangled_table_without_buckets_has_a_row_for_every_distance, terms_are_a_text_or_a_list,
      the_span_is_that_of_buckets_or_of_the_longest_text,
      disentangled_attention_refuses_unsupported_settings_by_name)
