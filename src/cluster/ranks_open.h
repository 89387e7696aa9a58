/* cluster/ranks_open.h - is this process one of several that a launcher of MPI started (mpirun,
 * mpiexec, srun), and the transport between them.
 *
 * Which library: the launcher tells by its environment variables.  Open MPI's mpirun sets
 * OMPI_COMM_WORLD_SIZE; MPICH's, and srun --mpi=pmi2, PMI_SIZE and PMI_RANK; srun --mpi=pmix
 * PMIX_RANK, which both libraries can read (Open MPI is tried first).  DROVE_MPI=openmpi or mpich
 * forces one, DROVE_MPI=none makes every process a run of its own.  DROVE_REDUCE=library takes the
 * library's own all-reduce, whose bits are not those of the fixed tree (messages.h).
 */
#ifndef DROVE_CLUSTER_RANKS_OPEN_H
#define DROVE_CLUSTER_RANKS_OPEN_H

#include "cluster/messages.h"

/* Are we under a launcher, with more than one rank?  Reads the environment alone. */
bool drove__mpi_is_launched(void);

/* What the launcher says of ranks; 1 and 0 where it says nothing.  Reads the environment alone. */
unsigned drove__mpi_launched_ranks(void);
unsigned drove__mpi_launched_rank(void);

/* Opens the module, begins MPI (once in a process) and makes the transport; destroy ends MPI where
 * all went well.  All ranks call it.
 * Errors: DROVE_E_UNSUPPORTED (not launched; no module for the launcher's library; the library sees
 * another number of ranks than the launcher), DROVE_E_ARG (DROVE_MPI), DROVE_E_SYSTEM,
 * DROVE_E_NOMEM. */
drove_status drove__transport_mpi(const drovek_table *kernels, double timeout_s,
                                  drove_transport **out);

/* Ends all processes of the job at once with this exit status; does not return where the transport
 * has a wire. */
void drove__transport_abort(drove_transport *t, int status);

/* Modules that are installed, as "openmpi, mpich"; "" none.  Opens nothing. */
const char *drove__mpi_modules(void);

#endif
