/* faults/mpi.c - libdrove_faults_mpi_NAME.so: calls of MPI, which libdrove_faults.so makes fail.
 *
 * Compiled once for each MPI library, and preloaded behind libdrove_faults.so.  The group is "mpi";
 * MPI_Test, which is called again and again until a message has come, is of the group "polls".  A
 * call that fails returns MPI_ERR_OTHER, as under MPI_ERRORS_RETURN.  It is not made, but for
 * MPI_Finalize and MPI_Abort, after which nobody could go on.
 */
#include "faults.h"

#include <mpi.h>

#define FAILS(name) drove_fault("mpi", name, __builtin_return_address(0))

/* ---- beginning and end ---- */

int MPI_Initialized(int *flag)
{
    return FAILS("MPI_Initialized") ? MPI_ERR_OTHER : PMPI_Initialized(flag);
}

int MPI_Finalized(int *flag)
{
    return FAILS("MPI_Finalized") ? MPI_ERR_OTHER : PMPI_Finalized(flag);
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *granted)
{
    return FAILS("MPI_Init_thread") ? MPI_ERR_OTHER : PMPI_Init_thread(argc, argv, wanted, granted);
}

int MPI_Query_thread(int *granted)
{
    return FAILS("MPI_Query_thread") ? MPI_ERR_OTHER : PMPI_Query_thread(granted);
}

int MPI_Finalize(void)
{
    const int failed = FAILS("MPI_Finalize"), code = PMPI_Finalize();
    return failed ? MPI_ERR_OTHER : code;
}

int MPI_Abort(MPI_Comm comm, int status)
{
    (void)FAILS("MPI_Abort");
    return PMPI_Abort(comm, status);
}

/* ---- what there is ---- */

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return FAILS("MPI_Comm_rank") ? MPI_ERR_OTHER : PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *n)
{
    return FAILS("MPI_Comm_size") ? MPI_ERR_OTHER : PMPI_Comm_size(comm, n);
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    return FAILS("MPI_Comm_test_inter") ? MPI_ERR_OTHER : PMPI_Comm_test_inter(comm, flag);
}

int MPI_Get_processor_name(char *name, int *n)
{
    return FAILS("MPI_Get_processor_name") ? MPI_ERR_OTHER : PMPI_Get_processor_name(name, n);
}

int MPI_Get_library_version(char *text, int *n)
{
    return FAILS("MPI_Get_library_version") ? MPI_ERR_OTHER : PMPI_Get_library_version(text, n);
}

int MPI_Error_string(int code, char *text, int *n)
{
    return FAILS("MPI_Error_string") ? MPI_ERR_OTHER : PMPI_Error_string(code, text, n);
}

/* ---- communicators ---- */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    return FAILS("MPI_Comm_dup") ? MPI_ERR_OTHER : PMPI_Comm_dup(comm, out);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    return FAILS("MPI_Comm_split_type") ? MPI_ERR_OTHER
                                        : PMPI_Comm_split_type(comm, type, key, info, out);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    return FAILS("MPI_Comm_set_errhandler") ? MPI_ERR_OTHER
                                            : PMPI_Comm_set_errhandler(comm, handler);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return FAILS("MPI_Comm_free") ? MPI_ERR_OTHER : PMPI_Comm_free(comm);
}

/* ---- messages ---- */

int MPI_Isend(const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return FAILS("MPI_Isend") ? MPI_ERR_OTHER : PMPI_Isend(bytes, n, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return FAILS("MPI_Irecv") ? MPI_ERR_OTHER
                              : PMPI_Irecv(bytes, n, type, from, tag, comm, request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const bool failed = drove_fault("polls", "MPI_Test", __builtin_return_address(0));
    return failed ? MPI_ERR_OTHER : PMPI_Test(request, flag, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return FAILS("MPI_Wait") ? MPI_ERR_OTHER : PMPI_Wait(request, status);
}

int MPI_Cancel(MPI_Request *request)
{
    return FAILS("MPI_Cancel") ? MPI_ERR_OTHER : PMPI_Cancel(request);
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *n)
{
    return FAILS("MPI_Get_count") ? MPI_ERR_OTHER : PMPI_Get_count(status, type, n);
}

int MPI_Allgather(const void *in, int n_in, MPI_Datatype in_type, void *out, int n_out,
                  MPI_Datatype out_type, MPI_Comm comm)
{
    return FAILS("MPI_Allgather") ? MPI_ERR_OTHER
                                  : PMPI_Allgather(in, n_in, in_type, out, n_out, out_type, comm);
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return FAILS("MPI_Allreduce") ? MPI_ERR_OTHER : PMPI_Allreduce(in, out, n, type, op, comm);
}
