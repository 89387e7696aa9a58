/* pack/pack.h - a pack: many small models trained on divisions of the same examples, of which the
 * best together become one network.
 *
 * Units of work, a member on a division, run on any thread of any process and exchange nothing:
 * members, losses and the ensemble are the same for any number of them.  Members race (Maron,
 * Moore, NIPS 1994): all are trained on the first division, the better half also on the second, the
 * best few on all.  What the finishers predict for the examples held back from them chooses the
 * ensemble (pack/ensemble.h), in which each member stands with its networks of all divisions.
 */
#ifndef DROVE_PACK_PACK_H
#define DROVE_PACK_PACK_H

#include "kernel/kernel.h"
#include "model/model.h"
#include "pack/exchange.h"
#include "pack/record.h"
#include "data/data.h"

typedef struct drove_pack_told { /* while it trains */
    unsigned n_done, n_units;    /* networks trained, and planned now; 0: not known yet */
    double   seconds;
} drove_pack_told;

typedef struct drove_pack_options {
    const drove_data     *data; /* targets as they are to be learnt */
    const drove_model_io *io;
    const char           *loss; /* "" : by the target */
    const drovek_table   *kernels;
    uint64_t              seed;
    unsigned              n_threads;    /* of each process */
    unsigned              n_procs;      /* that are forked, with the caller; 0 or 1: none */
    drove_pack_exchange   exchange;     /* instead of n_procs */
    unsigned              most_members; /* 0: by the data */
    double                epochs;       /* of each member; 0: by the data */
    double                seconds;      /* budget; 0: none */
    double                most_bytes;   /* of embeddings; 0: a quarter of the memory available */
    bool (*is_over)(void *context);     /* true: it ends, with what there is; on any thread */
    /* At its beginning, then about ten times a second; on the caller's thread.  May be NULL. */
    void (*tell)(void *context, const drove_pack_told *told);
    void *context;
} drove_pack_options;

/* *model with its parameters *theta (drove__alloc): the caller's.  Errors: DROVE_E_UNSUPPORTED (a
 * loss that no pack learns with), DROVE_E_SHAPE (one row), DROVE_E_NOMEM, DROVE_E_ARG (it was over
 * before a member had learnt anything), DROVE_E_SYSTEM (a process has died), those of an engine and
 * of the exchange. */
drove_status drove__pack_train(const drove_pack_options *options, drove_model **model,
                               float **theta, drove_pack_record *record);

#endif
