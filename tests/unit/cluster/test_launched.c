/* How many ranks a launcher has started, and which of them this is, by the variables that Open MPI,
 * MPICH and Slurm set. */
#include "cluster/ranks_open.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static const char *const variables[][2] = {/* size, rank */
                                           {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
                                           {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}};
enum { N_LAUNCHERS = sizeof variables / sizeof variables[0] };

static void forget(void)
{
    for (unsigned i = 0; i < N_LAUNCHERS; i++) {
        assert_int_equal(unsetenv(variables[i][0]), 0);
        assert_int_equal(unsetenv(variables[i][1]), 0);
    }
    assert_int_equal(unsetenv("DROVE_MPI"), 0);
}

static void launch(unsigned launcher, const char *size, const char *rank)
{
    if (size != NULL) assert_int_equal(setenv(variables[launcher][0], size, 1), 0);
    if (rank != NULL) assert_int_equal(setenv(variables[launcher][1], rank, 1), 0);
}

static void check(unsigned n_ranks, unsigned rank)
{
    assert_int_equal(drove__mpi_launched_ranks(), n_ranks);
    assert_int_equal(drove__mpi_launched_rank(), rank);
    assert_int_equal(drove__mpi_is_launched(), n_ranks > 1);
}

TEST(every_launcher_is_known)
{
    forget();
    check(1, 0); /* none */
    for (unsigned i = 0; i < N_LAUNCHERS; i++) {
        forget();
        launch(i, "4", "0");
        check(4, 0);
        launch(i, "4", "3");
        check(4, 3);
        launch(i, "1", "0");
        check(1, 0);
        launch(i, "16777216", "16777215"); /* the most */
        check(16777216, 16777215);
    }
    forget();
}

/* A half, or no number, is no launcher. */
TEST(what_no_launcher_sets_is_ignored)
{
    static const char *const wrong[][2] = {{"4", NULL},       {NULL, "1"}, {"4", ""},  {"", "1"},
                                           {"4x", "1"},       {"4", "1x"}, {"0", "0"}, {"-4", "1"},
                                           {"16777217", "1"}, {"4", "-1"}};
    for (unsigned i = 0; i < N_LAUNCHERS; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            forget();
            launch(i, wrong[k][0], wrong[k][1]);
            check(1, 0);
        }
    }
    forget();
}

/* mpirun of Open MPI also sets variables of others. */
TEST(the_first_that_is_whole_counts)
{
    forget();
    for (unsigned i = N_LAUNCHERS; i-- > 0;) {
        static const char *const sizes[] = {"5", "6", "7", "8"};
        launch(i, sizes[i], "2");
        check(5 + i, 2);
    }
    assert_int_equal(unsetenv("OMPI_COMM_WORLD_RANK"), 0);
    check(6, 2);
    assert_int_equal(setenv("DROVE_MPI", "none", 1), 0);
    check(1, 0);
    assert_int_equal(setenv("DROVE_MPI", "mpich", 1), 0);
    check(6, 2);
    forget();
}

TEST(a_program_without_mpi_has_no_library)
{
    const char *found;
    assert_int_equal(drove__mpi_find_library(NULL, &found), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "found neither"));
}
