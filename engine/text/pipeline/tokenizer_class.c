#include "engine/text/pipeline/tokenizer_files.h"

#include <stddef.h>
#include <string.h>

const char *const special_keys[SPECIAL_NAMES] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};

#define BERT_TOKENS                                                                                \
    {                                                                                              \
        NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"                                   \
    }
#define ROBERTA_TOKENS                                                                             \
    {                                                                                              \
        "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"                                   \
    }
#define BERT(named)                                                                                \
    {                                                                                              \
        .name = (named), .specials = BERT_TOKENS, .older = OLDER_VOCAB_TXT, .frame = FRAME_BERT,   \
        .sets_case = true, .sets_chinese = true                                                    \
    }
#define ROBERTA(named)                                                                             \
    {                                                                                              \
        .name = (named), .specials = ROBERTA_TOKENS, .older = OLDER_BPE, .frame = FRAME_ROBERTA,   \
        .mask_takes_space = true, .sets_trimming = true, .has_no_types = true                      \
    }

static const char *const camembert_additional[] = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED",
                                                   NULL};

/* The first is the plain class; "Tokenizers" is its name in transformers 5
 * ("TokenizersBackend"). */
static const struct tokenizer_class classes[] = {
    {.name = "PreTrained"},
    BERT("Bert"),
    {.name = "DistilBert",
     .specials = BERT_TOKENS,
     .older = OLDER_VOCAB_TXT,
     .frame = FRAME_BERT,
     .sets_case = true,
     .sets_chinese = true,
     .has_no_types = true},
    BERT("Electra"),
    BERT("MobileBert"),
    BERT("SqueezeBert"),
    BERT("ConvBert"),
    BERT("LayoutLM"),
    BERT("Lxmert"),
    BERT("DPRContextEncoder"),
    BERT("DPRQuestionEncoder"),
    {.name = "MPNet",
     .specials = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     .older = OLDER_VOCAB_TXT,
     .frame = FRAME_MPNET,
     .mask_takes_space = true,
     .names_have_flags = true,
     .sets_case = true,
     .has_no_types = true},
    ROBERTA("Roberta"),
    ROBERTA("Longformer"),
    {.name = "XLMRoberta",
     .specials = ROBERTA_TOKENS,
     .mask_takes_space = true,
     .has_no_types = true},
    {.name = "Camembert",
     .specials = ROBERTA_TOKENS,
     .additional = camembert_additional,
     .mask_takes_space = true,
     .has_no_types = true},
    {.name = "Albert",
     .specials = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     .mask_takes_space = true},
    {.name = "DebertaV2",
     .specials = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}},
    {.name = "CLIP",
     .specials = {"<|startoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>", NULL,
                  NULL},
     .needs_sequence = true,
     .has_no_types = true},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* Rows of transformers' TOKENIZER_MAPPING_NAMES whose types are served or have a served type's
 * layers. */
static const struct {
    const char *model_type, *class;
} models[] = {
    {"bert", "Bert"},
    {"ernie", "Bert"},
    {"megatron-bert", "Bert"},
    {"nezha", "Bert"},
    {"distilbert", "DistilBert"},
    {"electra", "Electra"},
    {"mobilebert", "MobileBert"},
    {"squeezebert", "SqueezeBert"},
    {"convbert", "ConvBert"},
    {"layoutlm", "LayoutLM"},
    {"mpnet", "MPNet"},
    {"roberta", "Roberta"},
    {"roberta-prelayernorm", "Roberta"},
    {"data2vec-text", "Roberta"},
    {"ibert", "Roberta"},
    {"longformer", "Longformer"},
    {"xlm-roberta", "XLMRoberta"},
    {"xlm-roberta-xl", "XLMRoberta"},
    {"camembert", "Camembert"},
    {"albert", "Albert"},
    {"deberta-v2", "DebertaV2"},
    {"clip", "CLIP"},
    {"modernbert", "PreTrained"},
};

const struct tokenizer_class *tokenizer_class_plain(void)
{
    return &classes[0];
}

static const struct tokenizer_class *find(const char *name, size_t len)
{
    for (size_t i = 0; i < CLASSES; i++)
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
            return &classes[i];
    return NULL;
}

/* Returns the bytes of `name` before the suffix; 0 if it does not end with it. */
static size_t stem(const char *name, const char *suffix)
{
    size_t len = strlen(name), tail = strlen(suffix);
    return len > tail && strcmp(name + len - tail, suffix) == 0 ? len - tail : 0;
}

enum err_code tokenizer_class_find(const struct tokenizer_class **out, const char *name,
                                   struct err *err)
{
    size_t len = stem(name, "TokenizerFast");
    len = len > 0 ? len : stem(name, "Tokenizer");
    *out = find(name, len);
    if (strcmp(name, "TokenizersBackend") == 0) /* transformers 5 writes it */
        *out = tokenizer_class_plain();
    if (*out != NULL && strcmp(name, "PreTrainedTokenizer") != 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.tokenizer_class: '%.60s' is not supported; those of BERT, DistilBERT, "
                   "ELECTRA, MPNet, RoBERTa, Longformer, XLM-RoBERTa, CamemBERT, ALBERT, "
                   "DeBERTa-v2 and CLIP are, and PreTrainedTokenizerFast",
                   name);
}

const struct tokenizer_class *tokenizer_class_of_model(const char *model_type)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].model_type, model_type) == 0)
            return find(models[i].class, strlen(models[i].class));
    return NULL;
}
