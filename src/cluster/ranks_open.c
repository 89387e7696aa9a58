/* cluster/ranks_open.c - reads the launcher's environment, opens the module of its library. */
#include "cluster/ranks_open.h"

#include "base/mem.h"
#include "base/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const libraries[] = {"openmpi", "mpich"};

/* ---- what the launcher says ---- */

/* The whole number in an environment variable; -1: none. */
static long number_in(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || text[0] == '\0') return -1;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= 1 << 24 ? value : -1;
}

typedef struct launcher {
    const char *size, *rank; /* variables */
    const char *library;     /* NULL: either */
} launcher;

/* mpirun of Open MPI is also a PMIx server, so it comes first. */
static const launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi"},
    {"PMI_SIZE", "PMI_RANK", "mpich"},
    {"MPI_LOCALNRANKS", "MPI_LOCALRANKID", "mpich"},
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", NULL}, /* srun --mpi=pmix */
};

static bool is_off(void)
{
    const char *forced = getenv("DROVE_MPI");
    return forced != NULL && strcmp(forced, "none") == 0;
}

static const launcher *find_launcher(void)
{
    for (size_t i = 0; i < DROVE_COUNT(launchers) && !is_off(); i++) {
        if (number_in(launchers[i].size) >= 1 && number_in(launchers[i].rank) >= 0) {
            return &launchers[i];
        }
    }
    return NULL;
}

unsigned drove__mpi_launched_ranks(void)
{
    const launcher *l = find_launcher();
    return l == NULL ? 1 : (unsigned)number_in(l->size);
}

unsigned drove__mpi_launched_rank(void)
{
    const launcher *l = find_launcher();
    return l == NULL ? 0 : (unsigned)number_in(l->rank);
}

bool drove__mpi_is_launched(void)
{
    return drove__mpi_launched_ranks() > 1;
}

const char *drove__mpi_unjoined(unsigned *n)
{
    static const struct {
        const char *size, *rank;
    } starters[] = {{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}, {"WORLD_SIZE", "RANK"}};
    for (size_t i = 0; i < DROVE_COUNT(starters) && !is_off() && find_launcher() == NULL; i++) {
        const long size = number_in(starters[i].size);
        if (size <= 1 || number_in(starters[i].rank) != 0 || getenv("SLURM_PTY_PORT") != NULL)
            continue; /* an interactive shell of several tasks is one process */
        *n = (unsigned)size;
        return starters[i].size;
    }
    return NULL;
}

const char *drove__mpi_launch_words(unsigned n, char into[DROVE_LAUNCH_WORDS_SIZE])
{
    const char *word = "mpirun", *batch = getenv("ENVIRONMENT");
    const bool is_openmpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    const bool is_hydra = getenv("MPI_LOCALNRANKS") != NULL;
    const bool is_batch =
        getenv("SLURM_JOB_ID") != NULL && batch != NULL && strcmp(batch, "BATCH") == 0;
    if (!is_openmpi && is_hydra) word = "mpiexec";
    else if (!is_openmpi && getenv("SLURM_PROCID") != NULL)
        word = getenv("PMIX_RANK") != NULL ? "srun --mpi=pmix" : "srun --mpi=pmi2";
    snprintf(into, DROVE_LAUNCH_WORDS_SIZE, "%s%s -n %u", is_batch ? "sbatch with " : "", word, n);
    return into;
}

/* ---- the module ---- */

/* The wire of this thread's last attempt to open a transport, if the others may wait for this
 * rank. */
static _Thread_local drove_wire *stranded;
/* MPI itself could not begin, so there is nothing to abort. */
static _Thread_local bool is_outside;

static void forget_attempt(void)
{
    stranded = NULL;
    is_outside = false;
}

static void name_module(char into[64], const char *library)
{
    snprintf(into, 64, "mpi_%s", library);
}

const char *drove__mpi_modules(void)
{
    char name[2][64];
    for (size_t i = 0; i < 2; i++) name_module(name[i], libraries[i]);
    bool has_openmpi = drove__module_is_there(name[0]), has_mpich = drove__module_is_there(name[1]);
    if (has_openmpi) return has_mpich ? "openmpi, mpich" : "openmpi";
    return has_mpich ? "mpich" : "";
}

static drove_status open_library(const char *library, const drove_wire_ops **out)
{
    char name[64];
    drove_module found;
    name_module(name, library);
    DROVE_TRY(drove__module_load(name, DROVE_WIRE_ENTRY, &found));
    const drove_wire_ops *ops = ((drove_wire_entry_fn *)found.entry)();
    if (ops == NULL || ops->version != DROVE_WIRE_VERSION) {
        return drove__fail(DROVE_E_UNSUPPORTED, "%s: expected a module of version %d, found %u",
                           found.path, DROVE_WIRE_VERSION, ops == NULL ? 0 : ops->version);
    }
    *out = ops;
    return DROVE_OK;
}

static bool is_library(const char *name)
{
    for (size_t i = 0; i < DROVE_COUNT(libraries); i++) {
        if (strcmp(libraries[i], name) == 0) return true;
    }
    return false;
}

static drove_status open_launched(const drove_wire_ops **out)
{
    const launcher *l = find_launcher();
    const char *forced = getenv("DROVE_MPI");
    if (forced != NULL && forced[0] != '\0') {
        if (is_library(forced)) return open_library(forced, out);
        return drove__fail(DROVE_E_ARG, "DROVE_MPI: expected openmpi, mpich or none, found \"%s\"",
                           forced);
    }
    if (l == NULL) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "expected a process that mpirun, mpiexec or srun started, found none of "
                           "their environment variables");
    }
    if (l->library != NULL) {
        if (open_library(l->library, out) == DROVE_OK) return DROVE_OK;
        return drove__fail_in(DROVE_E_UNSUPPORTED, "started by %s's launcher (%s is set)",
                              l->library[0] == 'o' ? "Open MPI" : "MPICH", l->size);
    }
    for (size_t i = 0; i < DROVE_COUNT(libraries); i++) {
        if (open_library(libraries[i], out) == DROVE_OK) return DROVE_OK;
    }
    return drove__fail_in(DROVE_E_UNSUPPORTED, "started by srun (%s is set)", l->rank);
}

static drove_status choose_reduce(bool *by_library)
{
    const char *word = getenv("DROVE_REDUCE");
    bool is_tree = word == NULL || word[0] == '\0' || strcmp(word, "tree") == 0;
    *by_library = !is_tree && strcmp(word, "library") == 0;
    if (is_tree || *by_library) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "DROVE_REDUCE: expected tree or library, found \"%s\"", word);
}

/* A rank that a signal ends before all ranks have left MPI_Init leaves the others in it, and the
 * launcher may not notice.  SIGINT and SIGTERM wait until all have met behind it. */
static int init_undisturbed(const drove_wire_ops *ops, drove_wire **w, char *error)
{
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    const bool is_masked = pthread_sigmask(SIG_BLOCK, &both, &before) == 0;
    const int failed = ops->init(w, error);
    if (is_masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static drove_status make_transport(drove_wire *w, const drovek_table *kernels, double timeout_s,
                                   drove_transport **out)
{
    const drove_messages_options opt = {.timeout_s = timeout_s,
                                        .has_progress_thread = w->takes_threads,
                                        .ends_wire = true};
    return drove__transport_messages(w, kernels, &opt, out);
}

drove_status drove__mpi_find_library(const char *name, const char **out)
{
    char text[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of either is less */
    int n;
    if (name != NULL) {
        for (size_t i = 0; i < DROVE_COUNT(libraries); i++) {
            *out = libraries[i];
            if (strcmp(libraries[i], name) == 0) return DROVE_OK;
        }
        return drove__fail(DROVE_E_ARG,
                           "communicator: expected the library openmpi or mpich, found \"%.40s\"",
                           name);
    }
    void *found = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    int (*version)(char *, int *) = NULL;
    memcpy(&version, &found, sizeof version); /* POSIX: a symbol may be a function */
    if (version != NULL) (void)version(text, &n);
    *out = strstr(text, "Open MPI") != NULL ? libraries[0]
           : strstr(text, "MPICH") != NULL  ? libraries[1]
                                            : NULL;
    if (*out != NULL) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "communicator: expected a program that is linked with Open MPI or MPICH, or "
                       "the library's name, found %s%.60s",
                       version == NULL ? "neither" : "", text);
}

drove_status drove__transport_mpi_given(int communicator, const char *library,
                                        const drovek_table *kernels, double timeout_s,
                                        drove_transport **out)
{
    const drove_wire_ops *ops = NULL;
    drove_wire *w = NULL;
    char error[DROVE_WIRE_NAME_SIZE] = "";
    forget_attempt();
    DROVE_TRY(open_library(library, &ops));
    const int failed = ops->init_given(communicator, &w, error);
    if (failed != 0) {
        stranded = w;
        return drove__fail(failed == 2 ? DROVE_E_UNSUPPORTED : DROVE_E_SYSTEM, "communicator: %s",
                           error);
    }
    drove_status status = make_transport(w, kernels, timeout_s, out);
    if (status != DROVE_OK && *out != NULL) { /* at every rank: none waits for this one */
        (*out)->ops->destroy(*out);
        *out = NULL;
    } else if (status != DROVE_OK) {
        stranded = w;
    }
    return status;
}

drove_status drove__transport_mpi(const drovek_table *kernels, double timeout_s,
                                  drove_transport **out)
{
    const drove_wire_ops *ops = NULL;
    drove_wire *w = NULL;
    char error[DROVE_WIRE_NAME_SIZE] = "";
    forget_attempt();
    unsigned launched = drove__mpi_launched_ranks();
    bool by_library;
    DROVE_TRY(choose_reduce(&by_library));
    DROVE_TRY(open_launched(&ops));
    const int failed = init_undisturbed(ops, &w, error);
    if (failed != 0) {
        stranded = w;
        is_outside = failed != 2 && w == NULL;
        return failed == 2
                   ? drove__fail(DROVE_E_UNSUPPORTED, "%s", error)
                   : drove__fail(DROVE_E_SYSTEM, "rank %u: %s", drove__mpi_launched_rank(), error);
    }
    if (w->n_ranks != launched && find_launcher() != NULL) {
        drove__fail(DROVE_E_UNSUPPORTED,
                    "expected the %u ranks that the launcher started, found that %s sees %u: is it "
                    "the launcher of another library?  (DROVE_MPI=openmpi or mpich chooses)",
                    launched, w->library, w->n_ranks);
        ops->fini(w);
        return DROVE_E_UNSUPPORTED;
    }
    drove_status status = make_transport(w, kernels, timeout_s, out);
    if (status == DROVE_OK && by_library) status = drove__messages_library_reduce(*out, true);
    if (status != DROVE_OK) stranded = w;
    return status;
}

/* MPICH's launcher takes a process that exits without having been in MPI_Init for an ordinary one.
 * It waits for the others, which wait in MPI_Init for ever.  When a signal has ended a process, it
 * kills all.  It looks for that only when something else happens: here the last copy of this rank's
 * output is closed, by a child that outlives this process by a moment. */
static void end_by_signal(void)
{
    const struct timespec moment = {.tv_nsec = 200000000};
    sigset_t one;
    if (fork() == 0) {
        (void)nanosleep(&moment, NULL);
        _exit(0);
    }
    sigemptyset(&one);
    sigaddset(&one, SIGTERM);
    (void)signal(SIGTERM, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(SIGTERM);
}

void drove__mpi_abandon(int status)
{
    const launcher *l = find_launcher();
    drove_wire *w = stranded;
    const bool is_ignored = is_outside && l != NULL && l->library != NULL &&
                            strcmp(l->library, "mpich") == 0 && drove__mpi_is_launched();
    forget_attempt();
    if (w != NULL) w->ops->abort(w, status);
    else if (is_ignored) end_by_signal();
}

void drove__transport_abort(drove_transport *t, int status)
{
    drove_wire *w = (drove_wire *)(uintptr_t)drove__transport_wire(t);
    if (w != NULL) w->ops->abort(w, status);
}
