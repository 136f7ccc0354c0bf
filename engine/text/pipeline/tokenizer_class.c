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
#define ROBERTA(named, masked)                                                                     \
    {                                                                                              \
        .name = (named), .mask_is_normalized = (masked), .specials = ROBERTA_TOKENS,               \
        .older = OLDER_BPE, .frame = FRAME_ROBERTA, .mask_takes_space = true,                      \
        .sets_trimming = true, .has_no_types = true                                                \
    }

#define MBART50_TOKENS                                                                             \
    {                                                                                              \
        NULL, "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"                                    \
    }

static const char *const camembert_additional[] = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED",
                                                   NULL};

/* Codes in the order of their ids: fairseq's lists, as transformers 4.57 has them. Those of mBART
 * are the first 25 of mBART-50. */
static const char *const m2m100_languages[] = {
    "af", "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br",  "bs", "ca", "ceb", "cs", "cy",
    "da", "de", "el", "en",  "es", "et", "fa", "ff", "fi", "fr",  "fy", "ga", "gd",  "gl", "gu",
    "ha", "he", "hi", "hr",  "ht", "hu", "hy", "id", "ig", "ilo", "is", "it", "ja",  "jv", "ka",
    "kk", "km", "kn", "ko",  "lb", "lg", "ln", "lo", "lt", "lv",  "mg", "mk", "ml",  "mn", "mr",
    "ms", "my", "ne", "nl",  "no", "ns", "oc", "or", "pa", "pl",  "ps", "pt", "ro",  "ru", "sd",
    "si", "sk", "sl", "so",  "sq", "sr", "ss", "su", "sv", "sw",  "ta", "th", "tl",  "tn", "tr",
    "uk", "ur", "uz", "vi",  "wo", "xh", "yi", "yo", "zh", "zu",  NULL};
static const char *const nllb_languages[] = {
    "ace_Arab", "ace_Latn", "acm_Arab", "acq_Arab", "aeb_Arab", "afr_Latn", "ajp_Arab", "aka_Latn",
    "amh_Ethi", "apc_Arab", "arb_Arab", "ars_Arab", "ary_Arab", "arz_Arab", "asm_Beng", "ast_Latn",
    "awa_Deva", "ayr_Latn", "azb_Arab", "azj_Latn", "bak_Cyrl", "bam_Latn", "ban_Latn", "bel_Cyrl",
    "bem_Latn", "ben_Beng", "bho_Deva", "bjn_Arab", "bjn_Latn", "bod_Tibt", "bos_Latn", "bug_Latn",
    "bul_Cyrl", "cat_Latn", "ceb_Latn", "ces_Latn", "cjk_Latn", "ckb_Arab", "crh_Latn", "cym_Latn",
    "dan_Latn", "deu_Latn", "dik_Latn", "dyu_Latn", "dzo_Tibt", "ell_Grek", "eng_Latn", "epo_Latn",
    "est_Latn", "eus_Latn", "ewe_Latn", "fao_Latn", "pes_Arab", "fij_Latn", "fin_Latn", "fon_Latn",
    "fra_Latn", "fur_Latn", "fuv_Latn", "gla_Latn", "gle_Latn", "glg_Latn", "grn_Latn", "guj_Gujr",
    "hat_Latn", "hau_Latn", "heb_Hebr", "hin_Deva", "hne_Deva", "hrv_Latn", "hun_Latn", "hye_Armn",
    "ibo_Latn", "ilo_Latn", "ind_Latn", "isl_Latn", "ita_Latn", "jav_Latn", "jpn_Jpan", "kab_Latn",
    "kac_Latn", "kam_Latn", "kan_Knda", "kas_Arab", "kas_Deva", "kat_Geor", "knc_Arab", "knc_Latn",
    "kaz_Cyrl", "kbp_Latn", "kea_Latn", "khm_Khmr", "kik_Latn", "kin_Latn", "kir_Cyrl", "kmb_Latn",
    "kon_Latn", "kor_Hang", "kmr_Latn", "lao_Laoo", "lvs_Latn", "lij_Latn", "lim_Latn", "lin_Latn",
    "lit_Latn", "lmo_Latn", "ltg_Latn", "ltz_Latn", "lua_Latn", "lug_Latn", "luo_Latn", "lus_Latn",
    "mag_Deva", "mai_Deva", "mal_Mlym", "mar_Deva", "min_Latn", "mkd_Cyrl", "plt_Latn", "mlt_Latn",
    "mni_Beng", "khk_Cyrl", "mos_Latn", "mri_Latn", "zsm_Latn", "mya_Mymr", "nld_Latn", "nno_Latn",
    "nob_Latn", "npi_Deva", "nso_Latn", "nus_Latn", "nya_Latn", "oci_Latn", "gaz_Latn", "ory_Orya",
    "pag_Latn", "pan_Guru", "pap_Latn", "pol_Latn", "por_Latn", "prs_Arab", "pbt_Arab", "quy_Latn",
    "ron_Latn", "run_Latn", "rus_Cyrl", "sag_Latn", "san_Deva", "sat_Beng", "scn_Latn", "shn_Mymr",
    "sin_Sinh", "slk_Latn", "slv_Latn", "smo_Latn", "sna_Latn", "snd_Arab", "som_Latn", "sot_Latn",
    "spa_Latn", "als_Latn", "srd_Latn", "srp_Cyrl", "ssw_Latn", "sun_Latn", "swe_Latn", "swh_Latn",
    "szl_Latn", "tam_Taml", "tat_Cyrl", "tel_Telu", "tgk_Cyrl", "tgl_Latn", "tha_Thai", "tir_Ethi",
    "taq_Latn", "taq_Tfng", "tpi_Latn", "tsn_Latn", "tso_Latn", "tuk_Latn", "tum_Latn", "tur_Latn",
    "twi_Latn", "tzm_Tfng", "uig_Arab", "ukr_Cyrl", "umb_Latn", "urd_Arab", "uzn_Latn", "vec_Latn",
    "vie_Latn", "war_Latn", "wol_Latn", "xho_Latn", "ydd_Hebr", "yor_Latn", "yue_Hant", "zho_Hans",
    "zho_Hant", "zul_Latn", NULL};
static const char *const mbart50_languages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
    "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
    "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
    "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI", NULL};
static const char *const mbart_languages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", NULL};

#define TEN(prefix)                                                                                \
    "<extra_id_" prefix "0>", "<extra_id_" prefix "1>", "<extra_id_" prefix "2>",                  \
        "<extra_id_" prefix "3>", "<extra_id_" prefix "4>", "<extra_id_" prefix "5>",              \
        "<extra_id_" prefix "6>", "<extra_id_" prefix "7>", "<extra_id_" prefix "8>",              \
        "<extra_id_" prefix "9>"
static const char *const t5_additional[] = {TEN(""),  TEN("1"), TEN("2"), TEN("3"),
                                            TEN("4"), TEN("5"), TEN("6"), TEN("7"),
                                            TEN("8"), TEN("9"), NULL};

#define FAIRSEQ(named, tokens, numbered, codes, framed, usual)                                     \
    {                                                                                              \
        .name = (named), .specials = tokens, .additional = (codes),                                \
        .adds_additional = (numbered) != PIECES_NLLB, .older = OLDER_PIECES, .pieces = (numbered), \
        .frame = (framed), .languages = (codes), .language = (usual), .mask_takes_space = true,    \
        .mask_is_normalized = (numbered) == PIECES_NLLB, .has_no_types = true                      \
    }

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
    ROBERTA("Roberta", false),
    ROBERTA("Longformer", false),
    ROBERTA("Bart", true),
    {.name = "T5",
     .specials = {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, NULL},
     .additional = t5_additional,
     .older = OLDER_PIECES,
     .pieces = PIECES_T5,
     .frame = FRAME_END,
     .has_no_types = true},
    {.name = "Pegasus",
     .specials = {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, "<mask_2>"},
     .older = OLDER_PIECES,
     .pieces = PIECES_PEGASUS,
     .frame = FRAME_END,
     .has_no_types = true},
    {.name = "Marian",
     .specials = {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, NULL},
     .older = OLDER_PIECES,
     .pieces = PIECES_MARIAN,
     .frame = FRAME_LANGUAGE_FIRST,
     .has_no_types = true},
    {.name = "M2M100",
     .specials = {"<s>", "</s>", "<unk>", "</s>", "<pad>", NULL, NULL},
     .older = OLDER_PIECES,
     .pieces = PIECES_M2M100,
     .frame = FRAME_LANGUAGE_FIRST,
     .languages = m2m100_languages,
     .language = "en",
     .has_no_types = true},
    FAIRSEQ("Nllb", ROBERTA_TOKENS, PIECES_NLLB, nllb_languages, FRAME_LANGUAGE_FIRST, "eng_Latn"),
    FAIRSEQ("MBart50", MBART50_TOKENS, PIECES_MBART50, mbart50_languages, FRAME_LANGUAGE_FIRST,
            "en_XX"),
    FAIRSEQ("MBart", ROBERTA_TOKENS, PIECES_MBART, mbart_languages, FRAME_LANGUAGE_LAST, "en_XX"),
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
     .ends_words = true,
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
    {"bart", "Bart"},
    {"mbart", "MBart"},
    {"t5", "T5"},
    {"mt5", "T5"},
    {"umt5", "T5"},
    {"pegasus", "Pegasus"},
    {"marian", "Marian"},
    {"m2m_100", "M2M100"},
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
    if (strcmp(name, "MT5Tokenizer") == 0 || strcmp(name, "MT5TokenizerFast") == 0)
        *out = find("T5", 2);                   /* another name of the same class */
    if (strcmp(name, "TokenizersBackend") == 0) /* transformers 5 writes it */
        *out = tokenizer_class_plain();
    if (*out != NULL && strcmp(name, "PreTrainedTokenizer") != 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.tokenizer_class: '%.60s' is not supported; those of BERT, DistilBERT, "
                   "ELECTRA, MPNet, RoBERTa, Longformer, XLM-RoBERTa, CamemBERT, ALBERT, "
                   "DeBERTa-v2, CLIP, BART, mBART, mBART-50, T5, Pegasus, Marian, M2M100 and NLLB "
                   "are, and PreTrainedTokenizerFast",
                   name);
}

const struct tokenizer_class *tokenizer_class_of_model(const char *model_type)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].model_type, model_type) == 0)
            return find(models[i].class, strlen(models[i].class));
    return NULL;
}
