#include "engine/model/config/config_parts.h"

#include "engine/base/doc.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- members ---- */

static const char heads_member[] = "pruned_heads";

static const struct {
    const char *key, *why;
} members[] = {
    {"auto_map", "it names Python code of the checkpoint's own (trust_remote_code), which is not "
                 "run: take a checkpoint whose model is part of transformers itself"},
    {"is_decoder", "its attention looks back only, and classifiers here are encoders: take a "
                   "checkpoint of an encoder"},
    {"add_cross_attention", "it attends to another model's states, which nothing here makes: take "
                            "a checkpoint of an encoder alone"},
    {heads_member, "heads are cut out of some layers only, which this family is not served with: "
                   "take the checkpoint from before the pruning"},
    {"quantization_config", "its weights are packed numbers: take the checkpoint in float32, "
                            "float16 or bfloat16 and serve it with dtype int8"},
};

/* True if a member has a value. For unused features save_pretrained writes false, {} or null. */
static bool is_set(const struct json_t *config, const char *key)
{
    const struct json_t *value = doc_member(config, key);
    struct err not_bool = {0};
    bool is_true = true;
    if (value == NULL || strcmp(doc_type_name(value), "null") == 0)
        return false;
    if (doc_get_bool(config, "$", key, &is_true, &not_bool) == ERR_OK)
        return is_true;
    return strcmp(doc_type_name(value), "an object") != 0 || doc_object_count(value) > 0;
}

enum err_code refused_members(const struct json_t *config, bool prunes_heads, struct err *err)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (!(prunes_heads && members[i].key == heads_member) && is_set(config, members[i].key))
            return err_set(err, ERR_UNSUPPORTED, "$.%s is not supported: %s", members[i].key,
                           members[i].why);
    return ERR_OK;
}

/* ---- model types ---- */

static const char convolution[] = "a convolutional network, and has no attention to explain: "
                                  "fine-tune a vision transformer on the same images";
static const char decoder[] = "a decoder that predicts the next token: fine-tune an encoder on the "
                              "same texts";
static const char sequence[] =
    "an encoder with a decoder that writes text, where an encoder alone is needed: attnd, "
    "attnd-predict, attnd-batch and attnd-stream answer with it if its class is "
    "...ForConditionalGeneration, MarianMTModel or VisionEncoderDecoderModel";
static const char recurrent[] = "not a transformer, and has no attention to explain: fine-tune an "
                                "encoder on the same texts";
static const char sound[] = "for sound; texts and images are served";

static const struct {
    const char *model_type;
    const char *is;
} foreign[] = {
    {"convnext", convolution},
    {"convnextv2", convolution},
    {"efficientnet", convolution},
    {"mobilenet_v1", convolution},
    {"mobilenet_v2", convolution},
    {"regnet", convolution},
    {"resnet", convolution},
    {"timm_wrapper", "a wrapper around a library of its own: fine-tune a vision transformer of "
                     "transformers on the same images"},
    {"bloom", decoder},
    {"falcon", decoder},
    {"gemma", decoder},
    {"gemma2", decoder},
    {"gpt2", decoder},
    {"gpt_bigcode", decoder},
    {"gpt_neo", decoder},
    {"gpt_neox", decoder},
    {"gptj", decoder},
    {"llama", decoder},
    {"mistral", decoder},
    {"mixtral", decoder},
    {"opt", decoder},
    {"phi", decoder},
    {"phi3", decoder},
    {"qwen2", decoder},
    {"qwen3", decoder},
    {"bart", sequence},
    {"m2m_100", sequence},
    {"marian", sequence},
    {"mbart", sequence},
    {"mt5", sequence},
    {"pegasus", sequence},
    {"t5", sequence},
    {"umt5", sequence},
    {"nllb-moe", "a model whose layers have several experts: take NLLB without them "
                 "(m2m_100)"},
    {"vision-encoder-decoder", sequence},
    {"mamba", recurrent},
    {"rwkv", recurrent},
    {"hubert", sound},
    {"wav2vec2", sound},
    {"whisper", sound},
};

enum err_code refused_type(const char *model_type, const char *known, struct err *err)
{
    const char *name = model_type != NULL ? model_type : "";
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strcmp(foreign[i].model_type, name) == 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "model_type '%s' is not supported: it is %s (supported: %s)", name,
                           foreign[i].is, known);
    return err_set(err, ERR_UNSUPPORTED, "model_type '%s' is not supported (supported: %s)",
                   printable_name(name).text, known);
}
