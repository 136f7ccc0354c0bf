/* model_cut.h - a token that a model cut from a split: plain data.
 *
 *     struct model_cut cuts[len];
 *     size_t count = bpe_cut(model, &work, text, len, cuts, &err);
 *     for (size_t i = 0, at = 0; i < count; at = cuts[i++].end)
 *         ... cuts[i].id is text[at .. cuts[i].end)
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_MODEL_CUT_H
#define ATTND_ENGINE_TEXT_PIPELINE_MODEL_CUT_H

#include <stdint.h>

struct model_cut {
    int32_t id;
    uint32_t end; /* in bytes of the split; it begins where the one before ends */
};

#endif
