#include "engine/model/config/served_head.h"

#include "engine/format/checkpoint.h"

#include <string.h>

static bool ends_in(const char *text, const char *tail)
{
    size_t len = strlen(text), tail_len = strlen(tail);
    return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

static bool ends_in_any(const char *text, const char *const *tails, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ends_in(text, tails[i]))
            return true;
    return false;
}

/* True for an encoder without a classifier, which training can add. If the checkpoint has the
 * classifier's tensors, it is read, as in transformers. */
static bool is_bare(const char *architecture)
{
    static const char *const tails[] = {"Model", "ForMaskedLM", "ForPreTraining",
                                        "ForMaskedImageModeling"};
    return ends_in_any(architecture, tails, sizeof tails / sizeof tails[0]);
}

static bool is_classifier(const struct served_head *head)
{
    static const char *const texts[] = {"SequenceClassification"},
                             *const images[] = {"ImageClassification",
                                                "ImageClassificationWithTeacher"};
    if (head->is_zero_shot)
        return ends_in(head->architecture, head->served);
    return head->is_text ? ends_in_any(head->architecture, texts, 1)
                         : ends_in_any(head->architecture, images, 2);
}

/* True for O, B-X and I-X (Ramshaw and Marcus 1995), and E-X, S-X, L-X, U-X of schemes that mark
 * ends. */
static bool is_of_token(const char *label)
{
    return strcmp(label, "O") == 0 ||
           (label[0] != '\0' && strchr("BIESLU", label[0]) != NULL && label[1] == '-');
}

static bool labels_tokens(const struct served_head *head)
{
    bool begins = false;
    for (unsigned i = 0; head->is_text && i < head->label_count; i++) {
        if (!is_of_token(head->labels[i]))
            return false;
        begins = begins || strncmp(head->labels[i], "B-", 2) == 0 ||
                 strncmp(head->labels[i], "I-", 2) == 0;
    }
    return begins;
}

enum err_code served_head_check(const struct served_head *head, struct err *err)
{
    if (is_classifier(head))
        return ERR_OK;
    if (head->architecture[0] != '\0' && !is_bare(head->architecture))
        return err_set(
            err, ERR_UNSUPPORTED,
            "config.json says %s, which is not served (served: %s): take a checkpoint of that "
            "class, or train one from this checkpoint with attnd-train",
            head->architecture, head->served);
    if (labels_tokens(head))
        return err_set(err, ERR_UNSUPPORTED,
                       "config.json's labels are those of tokens (O, B-..., I-...): name the "
                       "model's class in its architectures, that of tokens or %s",
                       head->served);
    return ERR_OK;
}

/* Returns the head that the checkpoint's tensors belong to. NULL: unknown. */
static const char *head_of(const struct checkpoint *checkpoint)
{
    static const struct {
        const char *tensors, *head;
    } heads[] = {
        {"qa_outputs.", "question answering"},
        {"cls.seq_relationship.", "next sentence prediction"},
        {"sequence_summary.", "multiple choice"},
        {"class_labels_classifier.", "object detection"},
        {"decode_head.", "segmentation"},
    };
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++)
        for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
            if (strncmp(checkpoint_at(checkpoint, i)->name, heads[h].tensors,
                        strlen(heads[h].tensors)) == 0)
                return heads[h].head;
    return NULL;
}

enum err_code served_head_missing(const struct served_head *head,
                                  const struct checkpoint *checkpoint, const char *name,
                                  bool is_of_classifier, struct err *err)
{
    const char *found = head->architecture, *other = head_of(checkpoint);
    const bool bare = is_bare(found) && !is_classifier(head);
    if (found[0] == '\0' && other != NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "tensor '%s' is missing: the checkpoint has a head for %s, which is not "
                       "served (served: %s)",
                       name, other, head->served);
    if (bare || is_of_classifier)
        return err_set(err, ERR_UNSUPPORTED,
                       "tensor '%s' is missing: %s has no classifier head: fine-tune it with "
                       "attnd-train, or write \"pooling\" into attnd.json for vectors",
                       name, bare ? found : "the checkpoint");
    return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", name);
}
