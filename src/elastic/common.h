/* elastic/common.h - shared by the strategies of elastic.h: parameters of each worker, the pull and
 * its range, the period, and transfers, packed or by layer.
 *
 * Symbols as in elastic.h.  A worker's memory exists only in the process that reaches it
 * (drove__transport_is_here).  All memory that others read is from drove__alloc and
 * drove__sync_vector, which processes of one machine may share.
 *
 * Thread rules: a drove_elastic_worker belongs to its worker's thread or, workers parked, to the
 * controlling thread.  drove_elastic does not change after init.
 */
#ifndef DROVE_ELASTIC_COMMON_H
#define DROVE_ELASTIC_COMMON_H

#include "elastic/elastic.h"

#include "cluster/codec.h"

enum {
    /* A transfer by layer uses CHANNELS_OF_TRANSFER channels. */
    DROVE_CHANNEL_DOWN = 0, /* from the centre */
    DROVE_CHANNEL_UP = 3,   /* to it, or among all */
    DROVE_CHANNELS_OF_TRANSFER = 3,
    DROVE_CHANNEL_SMALL = 6, /* numbers to agree on */
    DROVE_CHANNEL_TURN = 7   /* whose turn it is */
};

/* A vector under way: one message, or one for each part of theta. */
typedef struct drove_transfer {
    drove_exchange x;          /* the whole vector: in and out [n], first channel, peer ... */
    unsigned       n_channels; /* most messages under way */
    size_t         n_started, n_done;
    bool           is_open;  /* begun, not ended */
    bool           is_early; /* begun before the gradient was computed */
} drove_transfer;

typedef struct drove_elastic_worker {
    float              *w;     /* [n_vector] W^i, and the rule's state in the vector */
    float              *c;     /* [n] the centre: the worker's own, or as of its last exchange */
    float              *sum;   /* [n] */
    float              *v;     /* [n] velocity of the outer step */
    drove_codec       **codec; /* [n_parts] for sums over all; NULL: floats */
    float              *residual, *slice; /* [n], [n_slice] of the codecs */
    size_t              n_slice;
    drove_transfer      down, up;
    drove_exchange_info met;       /* of this step */
    uint64_t            hidden_ns; /* of it */
    double              distance;  /* |W - c| before this step; 0 without exchange */
    uint64_t            steps;     /* taken since the run began */
    uint64_t            since;     /* of them since the last exchange */
    uint64_t            known;     /* updates in the centre at this worker's last exchange */
    uint64_t            period;    /* steps between two exchanges, now */
    uint64_t            before;    /* reply of an RPC: updates in the centre before it */
    /* period auto: since the last decision */
    uint64_t acquired_ns, compute_ns, n_computed, exchange_ns, n_exchanged;
    float    agreed[16]; /* sums over all workers */
} DROVE_ALIGNED_CACHE_LINE drove_elastic_worker;

typedef struct drove_elastic {
    drove_transport      *transport;
    bool                  owns_transport;
    drove_elastic_worker *of;   /* [n_workers] */
    drove_span           *part; /* [n_parts] a message each; packed: the whole */
    size_t                n_parts;
    uint64_t              period; /* at first */
    bool                  period_is_auto;
    float                 rho;
    float                 fixed_alpha; /* 0: eta rho */
    double                alpha_limit; /* stable below it; 0: no pull */
    bool                  eta_varies;  /* from step to step: workers must agree on it */
    unsigned              bits;        /* of a number in a message */
    bool                  saves_c;     /* me->c is not in the vector of peek */
    uint64_t             *progress;    /* [n_workers][DROVE_ELASTIC_PROGRESS]: saved state */
} drove_elastic;

enum { DROVE_ELASTIC_PROGRESS = 5 };

/* Vectors of a worker besides w. */
enum { DROVE_ELASTIC_C = 1u << 0, DROVE_ELASTIC_SUM = 1u << 1, DROVE_ELASTIC_V = 1u << 2 };

typedef struct drove_elastic_kind {
    unsigned vectors;
    uint64_t period;               /* default; 0: always 1 */
    bool     may_auto, may_encode; /* may have period auto; fewer bits */
    double   alpha_limit;          /* 0: no pull */
} drove_elastic_kind;

/* All workers here start from *start.  After a failure call fini.
 * Errors: DROVE_E_ARG (--period, --rho, --precision), DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__elastic_init(drove_elastic *e, drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start);
void         drove__elastic_fini(drove_elastic *e, drove_sync *s);

/* ---- a worker's step ---- */

/* Begins a step: view of W^i.  Errors: DROVE_E_SYSTEM: the run stops. */
drove_status drove__elastic_view(drove_elastic *e, drove_sync *s, unsigned worker, uint64_t version,
                                 drove_view *view);
/* Does this step exchange? */
static inline bool drove__elastic_is_due(const drove_elastic_worker *me)
{
    return me->since + 1 >= me->period;
}
/* alpha of a step of this size.  Errors: DROVE_E_ARG: not stable. */
drove_status drove__elastic_alpha(const drove_elastic *e, const drove_sync *s, float eta,
                                  float *alpha);
/* Mean of all workers' eta. */
drove_status drove__elastic_agree(drove_elastic *e, drove_sync *s, unsigned worker, float *eta);
/* The step of the rule, without pull. */
void drove__elastic_step(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness);
/* Fills *info, except staleness, of a publish that began at begin_ns. */
void drove__elastic_report(const drove_elastic_worker *me, uint64_t begin_ns,
                           drove_publish_info *info);

/* The step of the rule and the pull to me->c, both from W^i as it is:
 *     W^i += step - alpha (W^i - c);   if sum is not NULL, then   c += alpha (sum - P c)
 * With codecs sum is that of all W^i - c, and c += alpha sum. */
void drove__elastic_move(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness, float alpha, const float *sum);
/* With codecs: sets me->sum = W^i - c and returns true. */
bool   drove__elastic_differs(const drove_elastic *e, const drove_sync *s, unsigned worker);
double drove__elastic_distance(const drovek_table *k, float *w, const float *c, size_t n);

/* ---- fewer bits: precision.c ---- */

/* Errors: DROVE_E_ARG: unknown format; the method cannot encode. */
drove_status drove__elastic_read_precision(drove_elastic *e, const drove_sync *s,
                                           const drove_sync_options *opt,
                                           const drove_elastic_kind *kind);
drove_status drove__elastic_make_codecs(drove_elastic *e, const drove_sync *s, unsigned worker,
                                        uint64_t seed);
void         drove__elastic_free_codecs(drove_elastic *e, unsigned worker);

/* ---- transfers: transfer.c ---- */

/* x: the whole vector.  Starts up to n_channels messages. */
drove_status drove__transfer_begin(drove_elastic *e, unsigned worker, drove_transfer *p,
                                   const drove_exchange *x, unsigned n_channels, bool is_early);
/* Finishes all messages; adds to `met` and `hidden_ns` of the worker. */
drove_status drove__transfer_end(drove_elastic *e, unsigned worker, drove_transfer *p);

/* A number below 2^48 as two floats. */
void     drove__elastic_split(uint64_t value, float *number);
uint64_t drove__elastic_join(const float *number);

/* ---- parked ---- */

/* The replicas and their progress: "elastic.w.I" [n_vector], "elastic.v.I", "elastic.residual.I"
 * and "elastic.slice.I" (codecs), "elastic.progress", "elastic.c". */
size_t drove__elastic_tensors(drove_elastic *e, drove_sync *s, drove_tensor *out, size_t most);
/* Restores the replicas here: from st if it holds those of as many workers (*found), else all from
 * vector->theta[n_vector].  Errors: DROVE_E_DATA. */
drove_status drove__elastic_restore(drove_elastic *e, drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st, bool *found);
void         drove__elastic_stop(drove_elastic *e, drove_sync *s);

#endif
