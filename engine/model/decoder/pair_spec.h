/* pair_spec.h - config.json -> the encoder and the decoder of a checkpoint that writes texts.
 *
 *     pair_spec_read(&source, &target, dir, &err);
 *     weights_open(&encoder, &source, checkpoint, ...);
 *     weights_open_target(&decoder, &target, &encoder, checkpoint, ...);
 *
 * Families (family/family_pairs.c):
 *     Marian     Junczys-Dowmunt et al. 2018      BART     Lewis et al. 2020
 *     mBART      Liu et al. 2020                  Pegasus  Zhang et al. 2020
 *     M2M100     Fan et al. 2021, and NLLB        T5, mT5  Raffel et al. 2020, Xue et al. 2021
 *     UMT5       Chung et al. 2023
 *     TrOCR      Li et al. 2021: ViT, DeiT or BEiT with a decoder of text; config.json holds one
 *                object for each
 *
 * Threads: a spec is immutable after it is read.
 */
#ifndef ATTND_ENGINE_MODEL_DECODER_PAIR_SPEC_H
#define ATTND_ENGINE_MODEL_DECODER_PAIR_SPEC_H

#include "engine/model/spec.h"

enum { PAIR_CONFIDENCE_MAX = 1000 }; /* attnd.json's scale, which is above 0, and |shift| */

/* True if DIR/config.json is of such a checkpoint, by its model_type and its class. Others, and
 * those that cannot be read, are spec_read's. */
bool pair_spec_is(const char *dir);

/* Reads DIR/config.json. The encoder's head is HEAD_STATES, the decoder's HEAD_WORDS. Errors begin
 * with the file's name; ERR_UNSUPPORTED names the member: another model_type, an encoder of images
 * that is not known, states of another width than the encoder's. */
enum err_code pair_spec_read(struct spec *source, struct spec *target, const char *dir,
                             struct err *err);

/* Reads DIR/attnd.json, if there is one, into the encoder's spec: its version, and the policy of
 * decide/policy.h, whose only label is "text". ERR_UNSUPPORTED names the member. */
enum err_code pair_spec_read_settings(struct spec *source, const char *dir, struct arena *arena,
                                      struct err *err);
/* The same from its object. For a writer that checks its output. */
enum err_code pair_spec_read_attnd(struct spec *source, const struct json_t *object,
                                   struct arena *arena, struct err *err);

#endif
