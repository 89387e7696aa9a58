/* cluster/ranks_open.h - detects a launcher of MPI (mpirun, mpiexec, srun) and opens the transport
 * between its ranks.
 *
 * The environment tells the library.  mpirun of Open MPI sets OMPI_COMM_WORLD_SIZE; mpiexec of
 * MPICH and srun --mpi=pmi2 set PMI_SIZE and PMI_RANK; srun --mpi=pmix sets PMIX_RANK, which both
 * libraries can read (Open MPI is tried first).  DROVE_MPI=openmpi or mpich forces one;
 * DROVE_MPI=none makes every process a run of its own.  DROVE_REDUCE=library takes the all-reduce
 * of the library, whose bits are not those of the fixed tree (messages.h).
 */
#ifndef DROVE_CLUSTER_RANKS_OPEN_H
#define DROVE_CLUSTER_RANKS_OPEN_H

#include "cluster/messages.h"

/* Did a launcher start several ranks?  Reads the environment only. */
bool drove__mpi_is_launched(void);

/* The variable that says that this is the first of several processes, *n of them, which srun
 * without a plug-in for MPI, or torchrun, has started, so that no ranks are found; else NULL.
 * Reads the environment only. */
const char *drove__mpi_unjoined(unsigned *n);

/* The words before a command that start n ranks as this job was started: "mpirun -n 4",
 * "sbatch with srun --mpi=pmix -n 4".  Returns into. */
enum { DROVE_LAUNCH_WORDS_SIZE = 64 };
const char *drove__mpi_launch_words(unsigned n, char into[DROVE_LAUNCH_WORDS_SIZE]);

/* As the launcher says; without one, 1 and 0.  Read the environment only. */
unsigned drove__mpi_launched_ranks(void);
unsigned drove__mpi_launched_rank(void);

/* Opens the module, calls MPI_Init (once in a process) and makes the transport.  destroy calls
 * MPI_Finalize, except after a failure.  All ranks call it.
 * Errors: DROVE_E_UNSUPPORTED (no launcher; no module for the launcher's library; the library sees
 * another number of ranks), DROVE_E_ARG (DROVE_MPI), DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__transport_mpi(const drovek_table *kernels, double timeout_s,
                                  drove_transport **out);

/* The same over a duplicate of a communicator that the program gives, as MPI_Comm_c2f names it;
 * without MPI_Init and MPI_Finalize.  library: "openmpi" or "mpich".  All ranks of it call this.
 * Errors: DROVE_E_UNSUPPORTED (no module, the thread level, the communicator), DROVE_E_SYSTEM,
 * DROVE_E_NOMEM. */
drove_status drove__transport_mpi_given(int communicator, const char *library,
                                        const drovek_table *kernels, double timeout_s,
                                        drove_transport **out);
/* Settles which library: name, or NULL for the one that this process has loaded for all to see.
 * *out: static.  Errors: DROVE_E_ARG (unknown), DROVE_E_UNSUPPORTED (none is found). */
drove_status drove__mpi_find_library(const char *name, const char **out);

/* After one of the two has failed on this thread, and once its error was shown: ends all processes
 * of the job with this exit status if they may wait for this rank.  Where MPI_Init itself has
 * failed, MPICH's launcher does so only after a signal: this process ends by SIGTERM.  Else
 * returns. */
void drove__mpi_abandon(int status);

/* Ends all processes of the job with this exit status.  Returns only if t has no wire. */
void drove__transport_abort(drove_transport *t, int status);

/* Installed modules, as "openmpi, mpich"; "": none.  Opens nothing. */
const char *drove__mpi_modules(void);

#endif
