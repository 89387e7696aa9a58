/* values/ranks.h - a run over the ranks of an MPI job: every rank runs drove_train whole, with one
 * worker each, and all take the same decisions.
 *
 * Source: You, Buluc, Demmel, SC17, sections 5 and 6.  P ranks; worker index = rank.
 *
 *   ranks.c        joining, agreeing before anything is exchanged, leaving
 *   ranks_witness.c  the line about a rank that has died
 *   ranks_source.c what a source may know of the workers of other ranks
 *   ranks_park.c   what ranks tell each other when their workers are parked; evaluations in parts
 *   ranks_state.c  the state of all ranks in one file, and back
 *
 * workers->loop->worker[] has the workers of all ranks.  Only those here have a thread and an
 * engine; the traces of the others are from the last parking.  Rank 0 alone writes files and
 * messages. With one process workers->ranks.n is 1, and nothing here does anything.
 *
 * Errors: what a rank finds wrong before anything was exchanged is known to all ranks
 * (drove__ranks_agree), which end with the same status, and rank 0 has the text; the others' is
 * empty.  Whoever fails later has a text of its own, and all others are ended
 * (drove_ranks_abandon).
 *
 * Threads: the caller's thread of drove_train; a thread of cluster/witness.h calls what is given to
 * drove_ranks_on_death.
 */
#ifndef DROVE_VALUES_RANKS_H
#define DROVE_VALUES_RANKS_H

#include "base/safetensors.h"
#include "values/values.h"

/* ---- ranks.c ---- */

/* Before all else: begins MPI where a launcher started several ranks.  isa: the highest tier, NULL:
 * the best.  timeout_s: of --timeout, 0: as usual.  Errors: those of drove__transport_mpi. */
drove_status drove__ranks_join(drove_workers *workers, const char *isa, double timeout_s,
                               const drove_callbacks *cb);
/* The training examples that are read here: with --shard own those of this rank, else all. */
drove_shard drove__ranks_shard(const drove_config *config, const drove_workers *workers);
/* Does each rank have a part of its own? */
bool drove__ranks_hold_shards(const drove_config *config, const drove_workers *workers);
/* Errors: DROVE_E_UNSUPPORTED (--shard own and a model that needs all examples). */
drove_status drove__ranks_check_model(const drove_config *config, const drove_problem *problem,
                                      const drove_workers *workers);
/* The first failure of any rank, at all of them.  One process: `status`. */
drove_status drove__ranks_agree(drove_workers *workers, drove_status status);
/* Have all the same version, options, data, model and kernels?  theta: [n_params] at the
 * beginning.  Errors: DROVE_E_ARG: what, which values, at which ranks. */
drove_status drove__ranks_compare(const drove_config *config, const drove_problem *problem,
                                  drove_workers *workers, const float *theta);
/* text becomes that of rank 0.  Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_first_text(drove_workers *workers, char text[DROVE_TEXT_SIZE]);
/* Says which ranks are on which hosts. */
void drove__ranks_say(const drove_workers *workers, const drove_callbacks *cb);
/* "rank 3 (node17)". */
const char *drove__ranks_name(const drove_workers *workers, unsigned rank, char *into, size_t size);
/* The end.  After a failure that the others do not know MPI goes on, for drove_ranks_abandon. */
void drove__ranks_leave(drove_workers *workers, drove_status status);

/* ---- ranks_witness.c ---- */

/* All ranks exchange who they are; from now on a death among those of one machine is told at once
 * by one of them (cluster/witness.h).  Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_witness(drove_workers *workers);
/* For the line: --out, NULL: none; was a state saved there? */
void drove__ranks_saving(const drove_workers *workers, const char *out, bool is_there);
void drove__ranks_saved(const drove_workers *workers, bool is_there);
/* Has a rank of this machine told of a death, so that the rest can be silent? */
bool drove__ranks_witness_told(const drove_workers *workers);
/* The transport is about to end; a death is still told. */
void drove__ranks_witness_last(drove_workers *workers, drove_status status);
void drove__ranks_witness_end(drove_workers *workers);
/* "WHAT; the last state is in OUT: mpirun -n 4 drove train --resume OUT goes on". */
void drove__ranks_how_to_go_on(char into[DROVE_ERROR_TEXT_SIZE], const char *what, unsigned n,
                               const char *out, bool is_there);

/* ---- ranks_source.c; by all ranks ---- */

enum { DROVE_RANKS_NAME_SIZE = 64 };
/* worker[n_workers], of which those here are described: now all are, at all ranks.  name[n_workers]
 * backs their names, "rank:1" or "rank:1 opencl:0".  Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_describe(const drove_config *config, const drove_workers *workers,
                                   drove_source_worker *worker,
                                   char (*name)[DROVE_RANKS_NAME_SIZE]);

/* ---- ranks_park.c; by all ranks ---- */

/* All ranks have come here: none trains while another, whose centre it would change, still saves.
 * Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_ready(const drove_workers *workers, const drove_state *state);
/* The workers were parked: traces, clock, next batch, signals and crashes are those of all.
 * Errors: DROVE_E_SYSTEM. */
drove_status drove__ranks_parked(drove_workers *workers, drove_state *state);
/* Without workers: the first signal that a rank has got is that of all.  Errors: DROVE_E_SYSTEM,
 * DROVE_E_NOMEM. */
drove_status drove__ranks_signal(drove_workers *workers, const drove_interrupt *interrupt);
/* The traces are those of all, as saved or as heard: what comes from now on is ahead of them. */
void drove__ranks_standing(drove_workers *workers);
/* While the workers train: examples that those of other ranks are likely to have done since they
 * were parked: as many each as the one here. */
uint64_t drove__ranks_ahead(const drove_workers *workers);
/* Chunk i of workers->loop->scoring was scored by rank i mod P: now all have all.  Errors: as
 * above. */
drove_status drove__ranks_scored(const drove_workers *workers);
/* The sum of this score of every rank, in their order.  Errors: as above. */
drove_status drove__ranks_add(const drove_workers *workers, drove_score *score);
/* Training examples of an evaluation that this rank scores or has scored for it; 0: all it has. */
size_t drove__ranks_part(const drove_config *config, const drove_workers *workers);
/* A run has failed with this status: its text, with where the last state is and how to go on.  out:
 * --out; NULL: none. */
drove_status drove__ranks_lost(const char *out, const drove_workers *workers,
                               const drove_state *state, drove_status status);

/* ---- ranks_state.c; by all ranks ---- */

/* Rows of tensors of rank 2 with as many rows as workers: row I is of worker I, at all ranks. */
drove_status drove__ranks_rows(const drove_workers *workers, const drove_tensor *tensor, size_t n);

/* Tensors that other ranks have and this one, rank 0, has not: appended to tensor[*n], which has
 * room for `most`.  *memory: NULL, or blocks up to a NULL, to be freed with free(), and the list
 * itself, when the tensors are not needed any more.  At other ranks: tensor[*n] are sent.  Errors:
 * DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_gather(const drove_workers *workers, drove_tensor *tensor, size_t *n,
                                 size_t most, void ***memory);
/* The steps of all since they were parked last, into the recording of rank 0, where it has one.
 * Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__ranks_record(const drove_workers *workers);
/* Rank 0 has *st (status says how loading it went): now all have it. */
drove_status drove__ranks_share(drove_workers *workers, drove_status status, drove_safetensors *st);

#endif
