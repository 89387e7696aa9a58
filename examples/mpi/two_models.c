/* Two models in one MPI job, each trained by half of the ranks: drove inside another MPI program.
 *
 *     mpicc two_models.c -ldrove -o two_models
 *     mpirun -n 4 ./two_models
 *
 * Ranks 0 and 2 train a network with 24 units, ranks 1 and 3 one with 12; each pair has a
 * communicator of its own.  Folders network-24 and network-12 get the models.
 */
#include <drove/drove.h>

#include <mpi.h>
#include <stdio.h>

static drove_status set_all(drove_options *options, int units)
{
    char model[32], out[32];
    snprintf(model, sizeof model, "mlp:%d", units);
    snprintf(out, sizeof out, "network-%d", units);
    const char *const rows[][2] = {
        {"data", "synth:digits?n=1200"}, {"test", "none"}, {"model", model},
        {"strategy", "easgd-sync3"},     {"lr", "0.05"},   {"batch", "16"},
        {"until", "epochs=2"},           {"out", out}};
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == DROVE_OK; i++)
        status = drove_options_set(options, rows[i][0], rows[i][1]);
    return status;
}

/* All ranks of the communicator call it; each has the loss. */
static drove_status train(MPI_Comm comm, int units, double *loss)
{
    drove_options *options = NULL;
    drove_run *run = NULL;
    drove_result *result = NULL;
    drove_progress final;
    drove_status status = drove_options_create(&options);
    if (status == DROVE_OK) status = set_all(options, units);
    if (status == DROVE_OK) status = drove_run_create(options, &run);
    if (status == DROVE_OK) status = drove_run_set_communicator(run, MPI_Comm_c2f(comm), NULL);
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

int main(int argc, char **argv)
{
    int level, rank, rank_of_half, worst;
    double loss = 0.0, sum = 0.0;
    MPI_Comm half;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &rank_of_half);

    const int units = rank % 2 == 0 ? 24 : 12;
    const int status = (int)train(half, units, &loss);
    if (status != (int)DROVE_OK && drove_error_text()[0] != '\0')
        fprintf(stderr, "rank %d: %s\n", rank, drove_error_text());

    /* The communicators are the program's as before. */
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    if (worst == (int)DROVE_OK && rank_of_half == 0) {
        int n;
        MPI_Comm_size(half, &n);
        printf("%d units, %d ranks: loss %.4f, their mean %.4f\n", units, n, loss, sum / n);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    return worst == (int)DROVE_OK ? 0 : 1;
}
