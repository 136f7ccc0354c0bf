/* family_tensors.h against the golden checkpoints, and for a family that does not exist. */
#include "engine/model/family_tensors.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static unsigned walk(const struct spec *spec, enum family_head head, struct tensor_row *rows)
{
    struct tensor_walk walk = {.spec = spec, .head = head};
    unsigned count = 0;
    while (family_tensors_next(&walk, &rows[count]))
        count++;
    return count;
}

static const struct tensor_row *find(const struct tensor_row *rows, unsigned count,
                                     const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* RoBERTa without token types. */
static const struct family made_up = {
    .name = "made-up",
    .kind = ENGINE_TEXT,
    .block = {NORM_AFTER, .always_biased = true},
    .tensors[TENSOR_WORD] = "made.words.weight",
    .tensors[TENSOR_POSITION] = "made.positions.weight",
    .tensors[TENSOR_EMBEDDING_NORM] = "made.norm",
    .tensors[TENSOR_QUERY] = "made.%u.q",
    .tensors[TENSOR_KEY] = "made.%u.k",
    .tensors[TENSOR_VALUE] = "made.%u.v",
    .tensors[TENSOR_ATTENTION_OUT] = "made.%u.o",
    .tensors[TENSOR_ATTENTION_NORM] = "made.%u.n1",
    .tensors[TENSOR_MLP_IN] = "made.%u.in",
    .tensors[TENSOR_MLP_OUT] = "made.%u.out",
    .tensors[TENSOR_MLP_NORM] = "made.%u.n2",
    .tensors[TENSOR_POOLER] = "classifier.dense",
    .tensors[TENSOR_CLASSIFIER] = "classifier.out_proj",
};

static const struct spec made_up_spec = {.family = &made_up,
                                         .layers = 2,
                                         .heads = 2,
                                         .hidden = 4,
                                         .intermediate = 6,
                                         .qkv_bias = true,
                                         .vocab_size = 10,
                                         .positions = 8,
                                         .label_count = 3};

/* Names and classes of transformers' *ForTokenClassification and *ForQuestionAnswering. */
START_TEST(families_of_texts_have_heads_that_answer_each_token)
{
    static const struct {
        const char *model_type, *class, *answers; /* answers: the last layer; NULL: not served */
        bool is_dense;                            /* ModernBertPredictionHead is in between */
    } families[] = {{"bert", "Bert", "qa_outputs", false},
                    {"distilbert", "DistilBert", "qa_outputs", false},
                    {"roberta", "Roberta", "qa_outputs", false},
                    {"xlm-roberta", "XLMRoberta", "qa_outputs", false},
                    {"camembert", "Camembert", "qa_outputs", false},
                    {"data2vec-text", "Data2VecText", "qa_outputs", false},
                    {"ernie", "Ernie", "qa_outputs", false},
                    {"longformer", "Longformer", NULL, false},
                    {"electra", "Electra", "qa_outputs", false},
                    {"albert", "Albert", "qa_outputs", false},
                    {"mpnet", "MPNet", "qa_outputs", false},
                    {"deberta-v2", "DebertaV2", "qa_outputs", false},
                    {"modernbert", "ModernBert", "classifier", true}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char class[64], weight[64];
        struct tensor_row rows[96];
        const struct family *family = family_find(families[i].model_type, NULL);
        struct spec spec = made_up_spec;
        spec.family = family;
        spec.head = HEAD_TAGS;
        snprintf(class, sizeof class, "%sForTokenClassification", families[i].class);
        ck_assert_str_eq(family->architectures[HEAD_TAGS], class);
        unsigned count = walk(&spec, HEAD_TAGS, rows);
        ck_assert_ptr_nonnull(find(rows, count, "classifier.weight"));
        ck_assert_ptr_nonnull(find(rows, count, "classifier.bias"));
        ck_assert_int_eq(find(rows, count, "head.dense.weight") != NULL, families[i].is_dense);
        ck_assert_int_eq(find(rows, count, "head.norm.weight") != NULL, families[i].is_dense);
        ck_assert_ptr_null(find(rows, count, "classifier.dense.weight"));
        ck_assert_ptr_null(
            find(rows, count, "longformer.encoder.layer.0.attention.self.query_global.weight"));
        if (families[i].answers == NULL) {
            ck_assert_ptr_null(family->architectures[HEAD_ANSWERS]);
            continue;
        }
        snprintf(class, sizeof class, "%sForQuestionAnswering", families[i].class);
        ck_assert_str_eq(family->architectures[HEAD_ANSWERS], class);
        spec.head = HEAD_ANSWERS;
        count = walk(&spec, HEAD_ANSWERS, rows);
        snprintf(weight, sizeof weight, "%s.weight", families[i].answers);
        const struct tensor_row *row = find(rows, count, weight);
        ck_assert_ptr_nonnull(row);
        ck_assert(row->rank == 2 && row->shape[0] == 2 && row->shape[1] == spec.hidden);
    }
}
END_TEST

START_TEST(a_family_without_token_types_has_no_such_tensor)
{
    struct tensor_row rows[64];
    unsigned count = walk(&made_up_spec, HEAD_CLASSIFIER, rows);
    ck_assert_uint_eq(count, 4 + 2 * 16 + 4);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_ne(rows[i].field, TENSOR_TOKEN_TYPE);
    const struct tensor_row *in = find(rows, count, "made.1.in.weight");
    ck_assert_ptr_nonnull(in);
    ck_assert(in->rank == 2 && in->shape[0] == 6 && in->shape[1] == 4 && in->count == 24);
    ck_assert(in->layer == 1 && in->depth == 2 && !in->is_of_head);
    ck_assert(find(rows, count, "classifier.out_proj.bias")->is_of_head);
    ck_assert_uint_eq(find(rows, count, "classifier.out_proj.bias")->depth, 3);
    ck_assert_str_eq(rows[0].name, "made.words.weight");
}
END_TEST

/* Weights of query, key and value one after another, then their biases. */
START_TEST(query_key_and_value_lie_side_by_side)
{
    static const char *const names[] = {"made.0.q.weight", "made.0.k.weight", "made.0.v.weight",
                                        "made.0.q.bias",   "made.0.k.bias",   "made.0.v.bias"};
    struct tensor_row rows[64];
    struct spec spec = made_up_spec;
    walk(&spec, HEAD_CLASSIFIER, rows);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_str_eq(rows[4 + i].name, names[i]);
    spec.qkv_bias = false;
    ck_assert_uint_eq(walk(&spec, HEAD_CLASSIFIER, rows), 4 + 2 * 13 + 4);
    ck_assert_str_eq(rows[7].name, "made.0.o.weight");
}
END_TEST

/* Every tensor of the golden checkpoints that the model uses, and no other. */
START_TEST(a_golden_checkpoint_has_every_tensor_of_its_family)
{
    static const char *const dirs[] = {"bert-3", "bert-4", "distilbert-0", "vit-0",
                                       "vit-1",  "deit-0", "deit-1"};
    for (size_t d = 0; d < sizeof dirs / sizeof *dirs; d++) {
        char dir[128];
        struct arena arena;
        struct spec spec;
        struct err err = {0};
        struct checkpoint *checkpoint;
        snprintf(dir, sizeof dir, "tests/data/golden/%s", dirs[d]);
        arena_init(&arena);
        ck_assert_msg(!spec_read(&spec, dir, &arena, &err), "%s", err.text);
        ck_assert(!checkpoint_open(&checkpoint, dir, &err));
        struct tensor_walk walk = {.spec = &spec};
        for (struct tensor_row row; family_tensors_next(&walk, &row);) {
            const struct tensor_info *info = family_tensors_find(&row, checkpoint, NULL);
            ck_assert_msg(info != NULL && family_tensors_fits(&row, info), "%s %s", dir, row.name);
        }
        checkpoint_close(checkpoint);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(a_misfit_tells_both_shapes)
{
    const struct tensor_row row = {.rank = 2, .shape = {3, 4}};
    const struct tensor_info info = {.name = "w", .rank = 3, .shape = {3, 4, 1}};
    struct err err = {0};
    ck_assert(!family_tensors_fits(&row, &info));
    ck_assert_int_eq(family_tensors_misfit(&row, &info, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "tensor 'w' has shape [3, 4, 1]; config.json asks for [3, 4]");
}
END_TEST

SUITE("family_tensors", families_of_texts_have_heads_that_answer_each_token,
      a_family_without_token_types_has_no_such_tensor, query_key_and_value_lie_side_by_side,
      a_golden_checkpoint_has_every_tensor_of_its_family, a_misfit_tells_both_shapes)
