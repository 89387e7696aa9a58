/* elastic/common.h - what the strategies of elastic.h share: parameters for each worker, the pull
 * and its range, the period, and vectors on their way, packed or by layer.
 *
 * Symbols as in elastic.h.  Memory of a worker exists in the process that reaches it alone
 * (drove__transport_is_here); all of it, and all that others read, is from drove__alloc and
 * drove__sync_vector, which processes of one machine may share.
 *
 * Thread rules: a drove_elastic_worker belongs to its worker's thread, or, workers parked, to the
 * controlling one; drove_elastic does not change after init.
 */
#ifndef DROVE_ELASTIC_COMMON_H
#define DROVE_ELASTIC_COMMON_H

#include "elastic/elastic.h"

#include "cluster/codec.h"

enum {
    /* Lanes: a transfer of several messages uses CHANNELS_OF_TRANSFER of them. */
    DROVE_CHANNEL_DOWN = 0, /* from the centre */
    DROVE_CHANNEL_UP = 3,   /* to it, or between all */
    DROVE_CHANNELS_OF_TRANSFER = 3,
    DROVE_CHANNEL_SMALL = 6, /* numbers that all agree on */
    DROVE_CHANNEL_TURN = 7   /* whose turn it is */
};

/* One vector on its way: one message, or one for each part of theta. */
typedef struct drove_transfer {
    drove_exchange x;          /* of the whole vector: in and out [n], first channel, peer ... */
    unsigned       n_channels; /* messages under way at once */
    size_t         n_started, n_done;
    bool           is_open;  /* begun, not ended */
    bool           is_early; /* begun before the gradient was computed */
} drove_transfer;

typedef struct drove_elastic_worker {
    float         *w;     /* [n_vector] W^i, and what state of the rule is in the vector */
    float         *c;     /* [n] the centre: this worker's own, or as it was at its last exchange */
    float         *sum;   /* [n] */
    float         *v;     /* [n] velocity of the outer step */
    drove_codec  **codec; /* [n_parts] of what is added over all; NULL: floats travel */
    float         *residual, *slice; /* [n], [n_slice]: what the codecs have rounded away */
    size_t         n_slice;
    drove_transfer down, up;
    drove_exchange_info met;       /* of the step in hand */
    uint64_t            hidden_ns; /* of it */
    double   distance; /* |W - c| of the step in hand before it moved; 0 without exchange */
    uint64_t steps;    /* taken since the run began */
    uint64_t since;    /* of them, after the last exchange */
    uint64_t known;    /* updates in the centre when this worker last met it */
    uint64_t period;   /* steps between two exchanges, now */
    uint64_t before;   /* an RPC's answer: updates in the centre before it */
    /* period auto: of the steps since the last decision */
    uint64_t acquired_ns, compute_ns, n_computed, exchange_ns, n_exchanged;
    float    agreed[16]; /* numbers of all workers, added */
} DROVE_ALIGNED_CACHE_LINE drove_elastic_worker;

typedef struct drove_elastic {
    drove_transport      *transport;
    bool                  owns_transport;
    drove_elastic_worker *of;   /* [n_workers] */
    drove_span           *part; /* [n_parts] one message each; packed: the whole */
    size_t                n_parts;
    uint64_t              period; /* at first */
    bool                  period_is_auto;
    float                 rho;
    float                 fixed_alpha; /* 0: eta rho */
    double                alpha_limit; /* stable below it; 0: there is no pull */
    bool                  eta_varies;  /* from step to step: workers must agree on it */
    unsigned              bits;        /* of a number that travels */
    bool                  saves_c;     /* me->c is no part of the vector that peek gives */
    uint64_t             *progress;    /* [n_workers][DROVE_ELASTIC_PROGRESS] for saving */
} drove_elastic;

enum { DROVE_ELASTIC_PROGRESS = 5 };

/* Vectors that a worker has beside w. */
enum { DROVE_ELASTIC_C = 1u << 0, DROVE_ELASTIC_SUM = 1u << 1, DROVE_ELASTIC_V = 1u << 2 };

typedef struct drove_elastic_kind {
    unsigned vectors;
    uint64_t period; /* default; 0: exchanges at every step, and no other period can be asked for */
    bool     may_auto, may_encode; /* period auto; fewer bits */
    double   alpha_limit;          /* 0: no pull */
} drove_elastic_kind;

/* Every worker here starts from *start.  On failure fini takes care of what is there.
 * Errors: DROVE_E_ARG (--period, --rho, --precision), DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__elastic_init(drove_elastic *e, drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start);
void         drove__elastic_fini(drove_elastic *e, drove_sync *s);

/* ---- a worker's step ---- */

/* Begins a step: view of W^i.  Errors: DROVE_E_SYSTEM: the run is being stopped. */
drove_status drove__elastic_view(drove_elastic *e, drove_sync *s, unsigned worker, uint64_t version,
                                 drove_view *view);
void         drove__elastic_release(drove_sync *s, unsigned worker); /* nothing is lent */
/* Is the step in hand one that exchanges? */
static inline bool drove__elastic_is_due(const drove_elastic_worker *me)
{
    return me->since + 1 >= me->period;
}
/* alpha of a step of this size.  Errors: DROVE_E_ARG: outside the stable range. */
drove_status drove__elastic_alpha(const drove_elastic *e, const drove_sync *s, float eta,
                                  float *alpha);
/* Mean of all workers' eta. */
drove_status drove__elastic_agree(drove_elastic *e, drove_sync *s, unsigned worker, float *eta);
/* W^i by the rule alone. */
void drove__elastic_step(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness);
/* *info of a publish that began at begin_ns, but for staleness. */
void drove__elastic_report(const drove_elastic_worker *me, uint64_t begin_ns,
                           drove_publish_info *info);

/* The step, by the rule, and the pull to me->c, both from W^i as it is:
 *     W^i += step - alpha (W^i - c);   where sum is there, then   c += alpha (sum - P c)
 * or, where what travelled is W^i - c and sum the sum of that, c += alpha sum. */
void drove__elastic_move(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness, float alpha, const float *sum);
/* Is what travels W^i - c?  Then me->sum becomes that. */
bool   drove__elastic_differs(const drove_elastic *e, const drove_sync *s, unsigned worker);
double drove__elastic_distance(const drovek_table *k, float *w, const float *c, size_t n);

/* ---- fewer bits: precision.c ---- */

/* Errors: DROVE_E_ARG: no such format, or a method that cannot have it. */
drove_status drove__elastic_read_precision(drove_elastic *e, const drove_sync *s,
                                           const drove_sync_options *opt,
                                           const drove_elastic_kind *kind);
drove_status drove__elastic_make_codecs(drove_elastic *e, const drove_sync *s, unsigned worker,
                                        uint64_t seed);
void         drove__elastic_free_codecs(drove_elastic *e, unsigned worker);

/* ---- transfers: transfer.c ---- */

/* x: of the whole vector.  Starts as many messages as there are channels. */
drove_status drove__transfer_begin(drove_elastic *e, unsigned worker, drove_transfer *p,
                                   const drove_exchange *x, unsigned n_channels, bool is_early);
/* All messages have arrived; adds to the worker's `met` and `hidden_ns`. */
drove_status drove__transfer_end(drove_elastic *e, unsigned worker, drove_transfer *p);

/* A number below 2^48 as two floats. */
void     drove__elastic_split(uint64_t value, float *number);
uint64_t drove__elastic_join(const float *number);

/* ---- parked ---- */

/* The replicas and how far each is: "elastic.w.I" [n_vector], "elastic.v.I", "elastic.residual.I",
 * "elastic.slice.I" (of a codec), "elastic.progress", "elastic.c". */
size_t drove__elastic_tensors(drove_elastic *e, drove_sync *s, drove_tensor *out, size_t most);
/* The replicas here, from st where it has those of as many workers, else all from theta[n_vector].
 * *found: from st.  Errors: DROVE_E_DATA. */
drove_status drove__elastic_restore(drove_elastic *e, drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st, bool *found);
void         drove__elastic_stop(drove_elastic *e, drove_sync *s);

#endif
