/* A signal that comes while a rank is in MPI_Init waits until it has come back; what a program says
 * of its communicator's library.  The module is tests/modules/mpi_openmpi.c, beside this program.
 *
 * ctest: apart: the module calls its MPI_Get_library_version */
#include "cluster/ranks_open.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/tree.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals;

static void on_signal(int signal_number)
{
    (void)signal_number;
    n_signals++;
}

FIXTURE(look_like_two_ranks)
{
    char path[PATH_MAX + 16];
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    if (n < 0) return 1;
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/modules");
    setenv("DROVE_MODULE_PATH", path, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    return 0;
}

GROUP(look_like_two_ranks, NULL);

TEST(a_signal_waits_for_mpi_init)
{
    drovek_table kernels;
    drove_transport *t = NULL;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    assert_true(signal(SIGTERM, on_signal) != SIG_ERR);
    assert_int_equal(drove__transport_mpi(&kernels, 1.0, &t), DROVE_E_SYSTEM);
    assert_null(t);
    assert_string_equal(drove_error_text(), "rank 0: SIGTERM was held back");
    assert_int_equal(n_signals, 1); /* and came when init had returned */
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(n_signals, 2); /* nothing is held back any more */
}

/* Whom the others may wait for ends them, once, and only when it is told to. */
TEST(a_rank_that_cannot_join_ends_the_others)
{
    drovek_table kernels;
    drove_transport *t = NULL;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    unsetenv("DROVE_TEST_ABORTED");
    for (int has_begun = 0; has_begun < 2; has_begun++) { /* MPI, before init failed */
        if (has_begun) setenv("DROVE_TEST_WIRE", "1", 1);
        assert_int_equal(drove__transport_mpi(&kernels, 1.0, &t), DROVE_E_SYSTEM);
        assert_null(t);
        assert_null(getenv("DROVE_TEST_ABORTED")); /* the error has not been shown */
        drove__mpi_abandon(7);
        if (!has_begun) assert_null(getenv("DROVE_TEST_ABORTED"));
        else assert_string_equal(getenv("DROVE_TEST_ABORTED"), "7");
    }
    unsetenv("DROVE_TEST_ABORTED");
    drove__mpi_abandon(7);
    assert_null(getenv("DROVE_TEST_ABORTED"));
    unsetenv("DROVE_TEST_WIRE");
}

/* The same over a program's communicator, whose number is what the module is to make of it. */
TEST(a_communicator_that_cannot_be_joined_ends_the_others)
{
    enum { TOO_MANY = (1 << DROVE_TREE_LEVELS) + 1 };
    static const struct {
        int number;
        drove_status status;
        const char *text;
        bool is_ended;
    } cases[] = {{0, DROVE_E_SYSTEM, "communicator: number 0", false},
                 {1, DROVE_E_SYSTEM, "communicator: number 1", true},
                 {2, DROVE_E_UNSUPPORTED, "communicator: number 2", false},
                 {TOO_MANY, DROVE_E_UNSUPPORTED, "expected at most 65536 ranks, found 65537", true},
                 {0, DROVE_E_SYSTEM, "communicator: number 0", false}};
    drovek_table kernels;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_transport *t = NULL;
        unsetenv("DROVE_TEST_ABORTED");
        assert_int_equal(drove__transport_mpi_given(cases[i].number, "openmpi", &kernels, 1.0, &t),
                         cases[i].status);
        assert_null(t);
        assert_string_equal(drove_error_text(), cases[i].text);
        assert_null(getenv("DROVE_TEST_ABORTED"));
        drove__mpi_abandon(9);
        assert_int_equal(getenv("DROVE_TEST_ABORTED") != NULL, cases[i].is_ended);
        if (cases[i].is_ended) assert_string_equal(getenv("DROVE_TEST_ABORTED"), "9");
    }
    unsetenv("DROVE_TEST_ABORTED");
}

typedef enum attempt { NONE, ONE_REFUSED, ONE_GIVEN } attempt;

/* The status of a child that fails to join, makes another attempt, perhaps, which does not reach
 * MPI, and gives up, started by a launcher of n ranks whose variables these are.  It ignores
 * SIGTERM, as a program may. */
static int status_of_lone_rank(const char *size, const char *rank, const char *n, attempt then)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        drovek_table kernels;
        drove_transport *t = NULL;
        unsetenv("OMPI_COMM_WORLD_SIZE");
        unsetenv("OMPI_COMM_WORLD_RANK");
        setenv(size, n, 1);
        setenv(rank, "0", 1);
        setenv("DROVE_MPI", "openmpi", 1); /* the module that stands for either library's */
        (void)signal(SIGTERM, SIG_IGN);
        if (drovek_select(&kernels, drove__cpu_features(), "ref") != DROVE_OK) _exit(3);
        if (drove__transport_mpi(&kernels, 1.0, &t) != DROVE_E_SYSTEM) _exit(4);
        if (then == ONE_REFUSED) setenv("DROVE_REDUCE", "x", 1);
        if (then == ONE_REFUSED && drove__transport_mpi(&kernels, 1.0, &t) != DROVE_E_ARG) _exit(4);
        if (then == ONE_GIVEN &&
            drove__transport_mpi_given(2, "openmpi", &kernels, 1.0, &t) != DROVE_E_UNSUPPORTED)
            _exit(4);
        drove__mpi_abandon(7);
        drove__mpi_abandon(7);
        _exit(5);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* MPICH's launcher, by mpiexec or srun, sees only a signal. */
TEST(a_rank_that_was_never_in_mpi_ends_as_its_launcher_sees)
{
    int status = status_of_lone_rank("PMI_SIZE", "PMI_RANK", "2", NONE);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    status = status_of_lone_rank("MPI_LOCALNRANKS", "MPI_LOCALRANKID", "3", NONE);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    status = status_of_lone_rank("PMI_SIZE", "PMI_RANK", "1", NONE); /* no others wait */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    status = status_of_lone_rank("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "2", NONE);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);   /* Open MPI's sees a status */
    for (attempt then = ONE_REFUSED; then <= ONE_GIVEN; then++) { /* the last attempt counts */
        status = status_of_lone_rank("PMI_SIZE", "PMI_RANK", "2", then);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
}

/* In the place of an MPI library's, if a program were linked with one. */
static const char *version;

int MPI_Get_library_version(char *text, int *n);
__attribute__((visibility("default"))) int MPI_Get_library_version(char *text, int *n)
{
    *n = (int)strlen(version);
    strcpy(text, version);
    return 0;
}

TEST(libraries_of_communicators)
{
    const char *found;
    assert_int_equal(drove__mpi_find_library("mpich", &found), DROVE_OK);
    assert_string_equal(found, "mpich");
    assert_int_equal(drove__mpi_find_library("lam", &found), DROVE_E_ARG);
}

/* By what the program's own library says of itself. */
TEST(libraries_of_programs_are_recognised)
{
    const char *found;
    version = "Open MPI v4.1.4, package: Debian OpenMPI";
    assert_int_equal(drove__mpi_find_library(NULL, &found), DROVE_OK);
    assert_string_equal(found, "openmpi");
    version = "MPICH Version: 4.0.2";
    assert_int_equal(drove__mpi_find_library(NULL, &found), DROVE_OK);
    assert_string_equal(found, "mpich");
    version = "LAM 7.1.4";
    assert_int_equal(drove__mpi_find_library(NULL, &found), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "or the library's name, found LAM 7.1.4"));
}

static void link_module(const char *folder, const char *name)
{
    char from[PATH_MAX + 64], to[64];
    snprintf(from, sizeof from, "%s/drove_mpi_openmpi.so", folder);
    snprintf(to, sizeof to, "linked/drove_mpi_%s.so", name);
    assert_int_equal(symlink(from, to), 0);
}

/* The modules that lie in the folder, in a fixed order. */
TEST(modules_that_are_there_are_named)
{
    char *folder = strdup(getenv("DROVE_MODULE_PATH"));
    assert_string_equal(drove__mpi_modules(), "openmpi");
    (void)system("rm -rf linked");
    assert_int_equal(mkdir("linked", 0777), 0);
    setenv("DROVE_MODULE_PATH", "linked", 1);
    assert_string_equal(drove__mpi_modules(), "");
    link_module(folder, "mpich");
    assert_string_equal(drove__mpi_modules(), "mpich");
    link_module(folder, "openmpi");
    assert_string_equal(drove__mpi_modules(), "openmpi, mpich");
    assert_int_equal(unlink("linked/drove_mpi_mpich.so"), 0);
    assert_string_equal(drove__mpi_modules(), "openmpi");
    setenv("DROVE_MODULE_PATH", folder, 1);
    free(folder);
}

/* What the environment says of sums and libraries is checked before anything is opened. */
TEST(words_of_the_environment_are_checked)
{
    drovek_table kernels;
    drove_transport *t = NULL;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), "ref"), DROVE_OK);
    (void)signal(SIGTERM, on_signal);
    static const char *const right[] = {"", "tree", "library"};
    for (unsigned i = 0; i < 3; i++) { /* goes on, to the module that fails */
        setenv("DROVE_REDUCE", right[i], 1);
        assert_int_equal(drove__transport_mpi(&kernels, 1.0, &t), DROVE_E_SYSTEM);
    }
    static const char *const wrong[] = {"tre", "trees", "librar", "x"};
    for (unsigned i = 0; i < 4; i++) {
        setenv("DROVE_REDUCE", wrong[i], 1);
        assert_int_equal(drove__transport_mpi(&kernels, 1.0, &t), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "DROVE_REDUCE: expected tree or library"));
    }
    unsetenv("DROVE_REDUCE");
    setenv("DROVE_MPI", "lam", 1);
    assert_int_equal(drove__transport_mpi(&kernels, 1.0, &t), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "found \"lam\""));
    unsetenv("DROVE_MPI");
}
