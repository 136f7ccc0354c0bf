/** A text; a picture's bytes; or an object as in `inputs`. */
export type Input = string | ArrayBuffer | ArrayBufferView | Blob | {
    text?: string; text_pair?: string; question?: string; image?: string; id?: string | number; context?: Context;
};
export type Context = Record<string, string | number>;

/** Options of a prediction; docs/api.md describes them. */
export interface Options {
    model?: string; top_k?: number | 'all'; id?: string | number; context?: Context;
    deadline_ms?: number; explain?: boolean | string; explain_layer?: number; overlay?: boolean;
    attention_stats?: boolean; long_text?: string; prompt_name?: string;
    candidate_labels?: string[]; hypothesis_template?: string; keep?: boolean; similar?: number;
    aggregation?: string; dimensions?: number; normalize?: boolean; encoding?: string;
    chunks?: 'lines' | 'tokens';
    max_answer_len?: number; max_seq_len?: number; doc_stride?: number;
    handle_impossible_answer?: boolean; align_to_words?: boolean;
    max_new_tokens?: number; min_new_tokens?: number; num_beams?: number;
    num_return_sequences?: number; no_repeat_ngram_size?: number; length_penalty?: number;
    source_language?: string; target_language?: string;
    pattern?: string; allowed?: string[]; copy_numbers?: boolean; checksum?: 'semi-m13';
}

/** An answer, or the problem of one of several inputs: it then has `status` and `error_type`. A
 * server may add members. */
export interface Result {
    index?: number; id?: string; context?: Context;
    model?: { name: string; version: string; digest: string | null };
    label?: string; score?: number; decision?: 'auto' | 'review' | 'unknown'; reason?: string;
    predictions?: { label: string; score: number }[];
    value?: number; values?: Record<string, number>; embedding?: number[] | string;
    dimensions?: number; sparse?: object[]; neighbours?: object[];
    chunks?: { start: number | null; end: number | null; embedding: number[] | string | null }[];
    spans?: { label: string; score: number; start: number; end: number; text: string }[];
    answer?: { text: string; score: number; start: number; end: number }; answers?: object[];
    output?: string | null; confidence?: number; alternatives?: { output: string; score: number }[];
    broken_rule?: string; rejected?: { output: string; score: number };
    alignment?: { text: string; weights: number[] }[];
    explanation?: object;
    status?: number; title?: string; detail?: string; error_type?: string;
    [member: string]: unknown;
}
export interface Answer extends Result { id: string; timing_ms: Record<string, number> }
export interface Neighbour { id: string; label: string | null; score: number; source: string | null }
export interface Ranked { index: number; score: number }
export interface Model {
    name: string; version: string; kind: 'text' | 'image'; task: string; default: boolean;
    labels?: string[]; inputs_max: number; body_bytes_max: number; [member: string]: unknown;
}

/** A refusal: attnd answers with application/problem+json (RFC 9457). */
export class AttndError extends Error {
    status: number; title?: string; detail: string; errorType?: string;
    problem: Record<string, unknown>;
}

export interface ClientOptions {
    /** Sent as Authorization: Bearer. */
    key?: string;
    /** How often a busy server (429, 503) is asked in all; 5. */
    tries?: number;
    /** Seconds that are waited at most; 60. */
    waitMax?: number;
    /** Seconds until a reply begins; 30. */
    timeout?: number;
    fetch?: typeof fetch;
    sleep?: (seconds: number) => Promise<unknown>;
}

export class Client {
    constructor(url?: string, options?: ClientOptions);
    predict(given: Input, options?: Options, more?: { idempotencyKey?: string }): Promise<Answer>;
    /** In order, by requests of as many inputs as the server takes. */
    predictMany(given: Iterable<Input>, options?: Options): Promise<Result[]>;
    /** Each answer, with its index, as it comes; for lists of any length. */
    predictLines(given: Iterable<Input> | AsyncIterable<Input>, options?: Options):
        AsyncGenerator<Result & { index: number }>;
    /** One result for each wafer of an STDF file. */
    predictLot(bytes: BodyInit, options?: Options): Promise<Result[]>;
    embed(texts: string | Iterable<string>, options?: { model?: string; dimensions?: number;
        prompt_name?: string; truncate?: boolean }): Promise<number[][]>;
    /** The best first. */
    rerank(query: string, documents: Iterable<string>, options?: { model?: string; topN?: number }):
        Promise<Ranked[]>;
    /** The k (5) nearest past cases of the model's index, the nearest first. */
    similar(given: Input, options?: { k?: number; model?: string; prompt_name?: string; long_text?: string }):
        Promise<Neighbour[]>;
    /** The right label, or, with undefined in its place, the right text as `output`. */
    feedback(id: string, label: string | undefined, more?: { output?: string; index?: number;
        source?: string; new?: boolean }):
        Promise<Record<string, unknown>>;
    models(): Promise<Model[]>;
    /** Whether the server answers and its models are warm; asks once. */
    ready(): Promise<boolean>;
}
