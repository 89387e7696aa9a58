/* communicator.c - one rank of an MPI program that hands drove its communicators, for
 * tests/scripts/test_communicator.sh: each argument is a case, in which all ranks take part.
 *
 *   single        MPI_Init alone: refused
 *   serialized    MPI_THREAD_SERIALIZED: trains
 *   cases         a null, an inter- and a communicator of one rank, a program's own messages that
 *                 are under way meanwhile, two runs one after the other, a failure
 *
 * Exit status: 0 right, 1 wrong.
 */
#include <drove/drove.h>

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, n_ranks, n_wrong;

static void expect(int is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "rank %d: wrong: %s: %s\n", rank, what, drove_error_text());
    n_wrong++;
}

static drove_status train(MPI_Comm comm, const char *library, const char *data, double *loss)
{
    const char *const rows[][2] = {{"data", data},        {"test", "none"},
                                   {"model", "mlp:8"},    {"strategy", "allreduce"},
                                   {"batch", "16"},       {"lr", "0.05"},
                                   {"until", "epochs=1"}, {"threads", "1"}};
    drove_options *options = NULL;
    drove_run *run = NULL;
    drove_result *result = NULL;
    drove_progress final;
    drove_status status = drove_options_create(&options);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == DROVE_OK; i++)
        status = drove_options_set(options, rows[i][0], rows[i][1]);
    if (status == DROVE_OK) status = drove_run_create(options, &run);
    if (status == DROVE_OK) status = drove_run_set_communicator(run, MPI_Comm_c2f(comm), library);
    if (status == DROVE_OK) status = drove_run_train(run, &result);
    if (status == DROVE_OK) {
        drove_result_final(result, &final);
        *loss = final.loss;
    }
    drove_result_destroy(result);
    drove_run_destroy(run);
    drove_options_destroy(options);
    return status;
}

static void expect_refused(MPI_Comm comm, const char *library, drove_status status,
                           const char *words)
{
    double loss;
    expect(train(comm, library, "synth:digits?n=200", &loss) == status, words);
    expect(strstr(drove_error_text(), words) != NULL, words);
}

static void odd_communicators(void)
{
    MPI_Comm half, both;
    const int is_second = rank >= n_ranks / 2;
    expect_refused(MPI_COMM_NULL, NULL, DROVE_E_UNSUPPORTED, "found MPI_COMM_NULL");
    expect_refused(MPI_COMM_WORLD, "lam", DROVE_E_ARG, "openmpi or mpich, found \"lam\"");
    MPI_Comm_split(MPI_COMM_WORLD, is_second, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_second ? 0 : n_ranks / 2, 5, &both);
    expect_refused(both, NULL, DROVE_E_UNSUPPORTED, "found an intercommunicator");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A message of the program's with any tag, sent before and received after a run, is its own. */
static void with_messages_under_way(double *loss)
{
    const int next = (rank + 1) % n_ranks, given = 1000 + rank;
    int taken = -1;
    MPI_Request request;
    MPI_Status from;
    MPI_Isend(&given, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &request);
    expect(train(MPI_COMM_WORLD, NULL, "synth:digits?n=200", loss) == DROVE_OK, "training");
    MPI_Recv(&taken, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &from);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(taken == 1000 + (rank + n_ranks - 1) % n_ranks, "a message of the program's own");
}

static void cases(void)
{
    double first = -1.0, second = -2.0, alone = -3.0, least, most;
    odd_communicators();
    with_messages_under_way(&first);
    with_messages_under_way(&second);
    expect(first == second && first > 0.0, "two runs one after the other");
    MPI_Allreduce(&first, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&first, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    expect(least == most, "one loss at all ranks");
    /* Each by itself, at another time than the others; also one part of the ranks alone. */
    if (rank != 1)
        expect(train(MPI_COMM_SELF, NULL, "synth:digits?n=200", &alone) == DROVE_OK, "alone");
    expect(rank == 1 || (alone > 0.0 && alone != first), "a run of its own");
    /* A failure that all learn of: rank 0 has the text. */
    expect(train(MPI_COMM_WORLD, NULL, rank == 1 ? "npy:none.npy,none.npy" : "synth:digits?n=200",
                 &alone) != DROVE_OK,
           "a failure of one is one of all");
    expect((drove_error_text()[0] != '\0') == (rank == 0), "the text is rank 0's");
    if (rank == 0) expect(strstr(drove_error_text(), "rank 1") != NULL, "rank 1 is named");
    with_messages_under_way(&second);
    expect(first == second, "a run after a failure");
}

int main(int argc, char **argv)
{
    int level;
    double loss;
    const char *what = argc > 1 ? argv[1] : "";
    const int is_single = strcmp(what, "single") == 0, is_serial = strcmp(what, "serialized") == 0;
    MPI_Init_thread(&argc, &argv,
                    is_single   ? MPI_THREAD_SINGLE
                    : is_serial ? MPI_THREAD_SERIALIZED
                                : MPI_THREAD_MULTIPLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (is_single)
        expect_refused(MPI_COMM_WORLD, NULL, DROVE_E_UNSUPPORTED,
                       "MPI_THREAD_MULTIPLE of MPI_Init_thread, found MPI_THREAD_SINGLE");
    else if (is_serial)
        expect(train(MPI_COMM_WORLD, NULL, "synth:digits?n=200", &loss) == DROVE_OK, "training");
    else cases();
    MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int is_over = 0;
    MPI_Finalized(&is_over);
    expect(!is_over, "MPI_Finalize is the program's");
    MPI_Finalize();
    return n_wrong == 0 ? 0 : 1;
}
