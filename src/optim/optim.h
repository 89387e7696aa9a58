/* optim/optim.h - how a gradient becomes a step: rules, schedules, weight decay, clipping.
 *
 * Source: thesis Table 2.3 with the readings of docs/methods/readings.md.  Symbols: theta
 * parameters, g gradient, eta step size, mu momentum, v velocity, tau staleness, t the update's
 * number, from 1.
 *
 * The shared vector of a strategy is [theta | state 1 | state 2 ...], each part n floats (n a
 * multiple of 16).  So whatever a strategy does to keep theta consistent (a lock, a
 * compare-and-swap on a whole vector) covers the rule's state as well.  With the state kept per
 * worker the shared vector is only theta: the worker turns its gradient into a finished step once,
 * with its own state, and the strategy adds it.
 *
 * Where the parameters are words of an engine's own, the vector is [words | state 1 | state 2 ...]:
 * n words, then states of n_theta floats, in the order of theta.  The engine asks for the step of
 * some parameters at a time (drove__optim_step) and writes it itself.
 *
 * A drove_optim is immutable and shared, but for its back-off, which changes only while all workers
 * are parked; a drove_optim_worker belongs to one worker.
 */
#ifndef DROVE_OPTIM_OPTIM_H
#define DROVE_OPTIM_OPTIM_H

#include "base/spec_keys.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/span.h"
#include "optim/schedules.h"

enum { DROVE_RULE_MAX_STATE = DROVEK_MOST_STATES, DROVE_MAX_SCHEDULES = 4 };

typedef struct drove_rule drove_rule;

/* One row of optim/rules.c; `drove list rules` walks it. */
typedef struct drove_rule_ops {
    const char *name, *help, *source;
    unsigned    n_state;        /* vectors of n floats: velocity, second moment ...            */
    bool        zero_is_noop;   /* g of 0 changes neither theta nor state: spans allowed       */
    bool        lookahead;      /* the gradient is taken at theta + mu v (Nesterov)            */
    bool        is_decoupled;   /* weight decay shrinks theta beside the step                  */
    bool        by_matrix;      /* steps of whole matrices (drove__muon_step), `apply` the rest;
                                   the state is each worker's                                  */
    const drove_spec_key *keys; /* of a drove_rule; NULL: none */
    /* Update t, by a step of size eta; u->out may be u->g as well. */
    void (*apply)(const drove_rule *rule, const drovek_table *k, const drovek_update *u, float eta,
                  uint64_t t);
} drove_rule_ops;

struct drove_rule {
    const drove_rule_ops *ops;
    float                 mu, beta1, beta2, epsilon; /* cocob: alpha is mu */
};
extern const drove_rule_ops *const drove__rules[]; /* NULL-terminated */
extern const drove_rule_ops        drove__rule_cocob;

typedef enum drove_state_place { DROVE_STATE_SHARED, DROVE_STATE_WORKER } drove_state_place;

typedef struct drove_optim_options {
    const char       *rule;     /* "sgd", "momentum:0.9" ...                           */
    const char       *schedule; /* "constant", "step:0.1,10+staleness": factors multiply */
    double            lr, weight_decay;
    double            clip; /* largest Euclidean norm of a batch's gradient; 0 = none  */
    drove_state_place state;
    size_t            n_params;
    size_t            n_theta; /* where the parameters are n_params words; 0: they are floats */
    const drove_weight_matrix
                       *matrix; /* [n_matrices] of theta, ascending, for a rule by matrix; copied */
    size_t              n_matrices;
    unsigned            n_workers;
    const drovek_table *kernels; /* borrowed */
} drove_optim_options;

typedef struct drove_optim {
    drove_rule           rule;
    drove_schedule       schedule[DROVE_MAX_SCHEDULES];
    unsigned             n_schedules;
    float                lr, clip;
    float                weight_decay; /* joins the gradient                                 */
    float                shrink;       /* decoupled: theta loses eta times it with each step */
    double               back_off;     /* factor of every step size; 1 until a run steps back    */
    drove_state_place    state;        /* always shared for a rule without state             */
    size_t               n;            /* floats in theta, or words of it                     */
    size_t               n_theta;      /* floats in theta; each state vector is as long       */
    size_t               n_vector;     /* words in the shared vector: n + shared states n_theta */
    bool                 spans_ok;     /* the gradient may omit untouched parts               */
    bool                 fusable;      /* plain SGD: needs no gradient vector                 */
    bool                 by_staleness;
    const drovek_table  *kernels;
    drove_weight_matrix *matrix; /* [n_matrices] own */
    size_t               n_matrices;
} drove_optim;

/* Whether --rule `rule` steps by matrices; false for what is no rule. */
bool drove__rule_by_matrix(const char *rule);

/* Errors: DROVE_E_ARG (unknown names, with the nearest; ranges), DROVE_E_NOMEM. */
drove_status drove__optim_create(const drove_optim_options *opt, drove_optim **out);
void         drove__optim_destroy(drove_optim *optim);

/* One worker's part: its own rule state (state per worker) and scratch (lookahead). */
typedef struct drove_optim_worker {
    float   *state[DROVE_RULE_MAX_STATE]; /* [n_theta] each; NULL when shared            */
    float   *lookahead;                   /* [n]; NULL unless the rule looks ahead       */
    float   *scratch; /* of a rule by matrix: drove__muon_scratch floats for the largest; or NULL */
    uint64_t t;       /* steps taken with the own state              */
} drove_optim_worker;
drove_status drove__optim_worker_init(drove_optim_worker *w, const drove_optim *optim);
void         drove__optim_worker_fini(drove_optim_worker *w);

/* Step size of a batch claimed at this epoch: lr times the back-off and all factors that do not
 * depend on staleness. */
float drove__optim_eta(const drove_optim *optim, double epoch);

typedef struct drove_plateau { /* the schedule "plateau" */
    double   factor;           /* of the step size at each cut, below 1 */
    uint64_t patience;         /* evaluations without a better loss before a cut */
    uint64_t most_cuts;
} drove_plateau;
/* False: the schedules have none. */
bool drove__optim_plateau(const drove_optim *optim, drove_plateau *out);

/* The point at which to take the gradient: view itself (a shared vector, or theta with state per
 * worker), or theta + mu v, written to w->lookahead.  [racy: view] */
const float *drove__optim_theta(const drove_optim *optim, drove_optim_worker *w, const float *view);

/* A step on its way from a worker to the shared parameters. */
typedef struct drove_step {
    const float      *value; /* [n] gradient, or (state per worker) the finished step to be added */
    const drove_span *span;  /* ascending parts of value that count; NULL: all of it              */
    size_t            n_spans;
    float             eta; /* without the factor that depends on staleness; a finished step has
                              it inside already, and apply ignores it                             */
} drove_step;

/* Prepares a batch's mean gradient g[n] (the worker's, overwritten): adds weight decay at `view`
 * (weight_decay * theta), clips the norm, and with state per worker applies the rule, decoupled
 * decay at `view` included.  span may be
 * NULL; otherwise optim->spans_ok is required, and *out borrows it.  [racy: view] */
void drove__optim_prepare(const drove_optim *optim, drove_optim_worker *w, const float *view,
                          float *g, const drove_span *span, size_t n_spans, float eta,
                          drove_step *out);

/* What prepare does first, for a slice of a gradient that it will not get: g[offset ...] += weight
 * decay theta.  [racy: view] */
void drove__optim_decay(const drove_optim *optim, const float *view, size_t offset, size_t length,
                        float *g);

/* Applies elements [offset, offset + length) of a step: out = rule(in), for theta and the shared
 * state alike; out and in are shared vectors and may be the same.  t: number of this update, from
 * 1.  offset and length are multiples of 16, or length reaches n.  If out is another vector,
 * elements outside the step's spans are copied.  [racy: out, in] */
void drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                        uint64_t t, size_t offset, size_t length, const float *in, float *out);
/* The step of update t of parameters [offset, offset + length) of a theta that is held as words: g,
 * their gradient, becomes the step, to be added.  With theta[length], parameters that are floats,
 * these move by it instead, and g is used up.  state: the shared one, [n_theta] each, or NULL: it
 * is the worker's.  [racy: state, theta] */
void drove__optim_step(const drove_optim *optim, const drove_optim_worker *w, float *state,
                       uint64_t t, size_t offset, size_t length, float *theta, float *g, float eta);
/* Scales the gradient g[n_theta] of such a theta, decay included, down to the norm optim->clip if
 * it is longer. */
void drove__optim_clip(const drove_optim *optim, float *g);
/* theta[length] += mu v of these parameters, of a rule that looks ahead.  [racy: state] */
void drove__optim_look_ahead(const drove_optim *optim, const drove_optim_worker *w,
                             const float *state, size_t offset, size_t length, float *theta);
/* muon.c: the gradient g of a matrix becomes its step, to be added; velocity: its state.  g and
 * velocity are those of all parameters. */
void   drove__muon_step(const drove_rule *rule, const drovek_table *k, const drove_weight_matrix *m,
                        float *velocity, float *scratch, float *g, float eta);
size_t drove__muon_scratch(const drove_weight_matrix *m);
/* Multiply-adds of a step. */
double drove__muon_work(const drove_weight_matrix *m);
/* On a virtual clock: ns for which the caller waits for vector[offset, offset + length), or the
 * parts of it in span [n_spans], if that is not NULL; see drove__virtual_take. */
double drove__optim_take(const float *vector, size_t offset, size_t length, const drove_span *span,
                         size_t n_spans, bool writes);
/* drove__optim_apply in no virtual time (base/virtual.h): the caller spends what it costs. */
void drove__optim_apply_at_once(const drove_optim *optim, const drove_step *step,
                                uint64_t staleness, uint64_t t, size_t offset, size_t length,
                                const float *in, float *out);

#endif
