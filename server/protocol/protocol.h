/* protocol.h - the format of prediction requests and of their replies. A route names its protocol,
 * which may leave the request to another one when it parses the body (request->protocol);
 * everything between parse and encode is the same for all.
 *
 * Threads: constant; the functions are called by the owner of the request.
 */
#ifndef ATTND_SERVER_PROTOCOL_PROTOCOL_H
#define ATTND_SERVER_PROTOCOL_PROTOCOL_H

#include "server/serve/service.h"
#include "wire/codec_reply.h"

struct codec_text; /* wire/codec_dump.h */

/* The end of a stream: the body that encode or problem made. */
struct protocol_end {
    const char *body; /* [len] */
    size_t len;
    bool is_answer;
};

struct protocol {
    const char *name;

    /* Determines the kind of body from the head alone. Returns request->err.code. */
    enum err_code (*accept)(struct request *request);
    /* Upper bound of the memory that parse takes. */
    size_t (*parse_bytes)(struct request *request);
    /* The exchange's body -> request->call. Returns request->err.code. */
    enum err_code (*parse)(struct request *request);
    /* Upper bounds, once rows have their labels: of the reply's text, and, returned, of all that it
     * takes while it is made; without explanations. */
    size_t (*reply_bytes)(const struct request *request, size_t *text);
    /* With writing_reply_bytes: upper bound of a row's part of the text; *work, of what is taken
     * while the rows are written, may grow. */
    size_t (*row_bytes)(const struct request *request, const struct row *row, size_t *work);
    /* The results of one more row -> request->reply; how many are left. Then, or at once, encode.
     */
    unsigned (*encode_row)(struct request *request);
    /* The results of the rows -> the body of a 200, in the arena; NULL if there is no memory. */
    const char *(*encode)(struct request *request, const struct codec_timing *timing, size_t *len);
    /* request->err -> the body of the problem; NULL if there is no memory. */
    const char *(*problem)(struct request *request, size_t *len);
    /* Adds to the head of a 200 that is filled in; may set request->err. NULL: adds nothing. */
    void (*head)(struct request *request, const struct codec_timing *timing);
    /* Adds the event of a stream's token (NULL: there is none) and, behind the last one, the end
     * (NULL: more tokens follow). NULL: the protocol has no streams. */
    void (*event)(struct codec_text *text, const struct engine_piece *token,
                  const struct protocol_end *end);
    const char *reply_type, *problem_type; /* their Content-Types */
};

/* attnd's own: POST /predict. */
extern const struct protocol protocol_native;
/* The same inputs, of which only near past ones are told: POST /similar. */
extern const struct protocol protocol_similar;
/* OpenAI's: POST /v1/embeddings. */
extern const struct protocol protocol_openai;
/* Rerankers as clients of Cohere and Jina ask them, POST /v1/rerank and /v2/rerank, and as those of
 * text-embeddings-inference do, POST /rerank. */
extern const struct protocol protocol_rerank, protocol_tei_rerank;
/* text-embeddings-inference's: POST /embed, POST /similarity, and POST /predict where the body is
 * theirs: its `inputs` is a text, or a list that begins with a text or a list. */
extern const struct protocol protocol_tei_embed, protocol_tei_similarity, protocol_tei_predict;
extern const struct protocol protocol_tei_all, protocol_tei_sparse;
/* Its tokenizer: POST /tokenize, POST /decode. */
extern const struct protocol protocol_tei_tokenize, protocol_tei_decode;
bool tei_is_prediction(const struct request *request);
/* The protocol's head: what computing took, in the headers of text-embeddings-inference. */
void tei_head(struct request *request, const struct codec_timing *timing);
/* text-generation-inference's: POST /generate, POST /generate_stream. */
extern const struct protocol protocol_tgi;
/* Hugging Face's clients: POST /, POST /models/{name}, also with /pipeline/{task}. */
extern const struct protocol protocol_hf;
/* The Open Inference Protocol: POST /v2/models/{model}/infer, also with /versions/{version}. */
extern const struct protocol protocol_oip;
/* TensorFlow Serving's: POST /v1/models/{model}:predict, also with /versions/{version}. */
extern const struct protocol protocol_tf;

#endif
