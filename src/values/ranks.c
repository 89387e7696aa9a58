/* values/ranks.c - joining the ranks of a job, agreeing with them, leaving.  See ranks.h. */
#include "values/ranks.h"

#include "cluster/ranks_open.h"

#include "base/alive.h"
#include "base/cpu.h"
#include "base/locale.h"
#include "base/checksum.h"
#include "values/interrupt.h"
#include "values/say.h"

#include <drove/version.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The transport of this thread's last run, if the other ranks do not know that it failed;
 * drove_ranks_abandon ends them. */
static _Thread_local drove_transport *broken;

/* ---- joining and leaving ---- */

/* While the ranks begin: who knows what the others know.  One of them says it. */
static drove_status lose_some(drove_workers *workers, drove_status status)
{
    workers->ranks.is_together = workers->ranks.has_lost_some = true;
    return status;
}

drove_status drove__ranks_join(drove_workers *workers, const char *isa, double timeout_s,
                               const drove_callbacks *cb)
{
    drove_ranks *r = &workers->ranks;
    r->n = r->n_local = 1;
    if (r->library == NULL && !drove__mpi_is_launched()) {
        unsigned n;
        const char *variable = drove__mpi_unjoined(&n);
        if (variable != NULL)
            drove__run_warn(cb,
                            "%s is %u, but no MPI was started: each of these processes trains "
                            "alone (mpirun -n %u, or srun --mpi=pmix, makes ranks of them; "
                            "DROVE_MPI=none says that it is meant)",
                            variable, n, n);
        return DROVE_OK;
    }
    if (drovek_select(&workers->kernels, drove__cpu_features(), isa) != DROVE_OK)
        DROVE_TRY(
            drovek_select(&workers->kernels, drove__cpu_features(), NULL)); /* refused later */
    if (!(timeout_s > 0.0)) timeout_s = 60.0;
    drove_status status =
        r->library != NULL
            ? drove__transport_mpi_given(r->communicator, r->library, &workers->kernels, timeout_s,
                                         &workers->transport)
            : drove__transport_mpi(&workers->kernels, timeout_s, &workers->transport);
    if (status != DROVE_OK) {
        /* A call of MPI that fails is this rank's own affair; the rest rank 0 says. */
        const bool is_alike = status == DROVE_E_ARG || status == DROVE_E_UNSUPPORTED;
        if (r->library == NULL && drove__mpi_launched_rank() != 0 && is_alike)
            drove__fail(status, "%s", "");
        return status;
    }
    const drove_wire *wire = drove__transport_wire(workers->transport);
    if (workers->transport->n_processes == 1) { /* one of the program's communicators */
        workers->transport->ops->destroy(workers->transport);
        workers->transport = NULL;
        return DROVE_OK;
    }
    r->n = workers->transport->n_processes;
    r->rank = workers->transport->process;
    r->n_local = wire != NULL ? wire->n_local : 1;
    r->local_rank = wire != NULL ? wire->local_rank : 0;
    /* Another program's ranks are its own affair: they may end while its others go on. */
    if (r->library == NULL && (status = drove__ranks_witness(workers)) != DROVE_OK)
        return lose_some(workers, status);
    return DROVE_OK;
}

void drove__ranks_leave(drove_workers *workers, drove_status status)
{
    bool is_known = status == DROVE_OK || !workers->ranks.is_together;
    if (workers->transport == NULL) return;
    drove__ranks_witness_last(workers, is_known ? DROVE_OK : status);
    if (workers->ranks.n > 1 && !is_known) broken = workers->transport;
    else workers->transport->ops->destroy(workers->transport);
    workers->transport = NULL;
    drove__ranks_witness_end(workers);
}

void drove_ranks_abandon(int exit_status)
{
    drove_transport *t = broken;
    broken = NULL;
    if (t != NULL) drove__transport_abort(t, exit_status);
    drove__mpi_abandon(exit_status);
}

unsigned drove_launched_rank(void)
{
    return drove__mpi_is_launched() ? drove__mpi_launched_rank() : 0;
}

drove_status drove_train_decline(drove_status status, const char *why)
{
    DROVE_IN_C_LOCALE;
    char text[DROVE_ERROR_TEXT_SIZE];
    if (why != NULL) drove__fail(status, "%s", why);
    if (!drove__mpi_is_launched()) return status;
    drove__error_copy(text);
    drove_workers *workers = drove__alloc(1, sizeof *workers);
    if (workers == NULL) return drove__fail(status, "%s", text);
    const drove_state nothing = {.interrupt.before = drove__run_interrupts()};
    drove_status joined = drove__ranks_join(workers, NULL, 0.0, &(const drove_callbacks){0});
    if (joined == DROVE_OK) {
        drove__fail(status, "%s", text);
        status = drove__ranks_agree(workers, status);
        if (workers->ranks.has_lost_some)
            status = drove__ranks_lost(NULL, workers, &nothing, status);
    } else if (drove__mpi_launched_rank() == 0) {
        drove__fail(status, "%s", text);
    }
    drove__ranks_leave(workers, status);
    drove__free(workers);
    return status;
}

/* ---- names ---- */

const char *drove__ranks_name(const drove_workers *workers, unsigned rank, char *into, size_t size)
{
    const drove_wire *wire = drove__transport_wire(workers->transport);
    if (wire == NULL || rank >= wire->n_ranks) snprintf(into, size, "rank %u", rank);
    else snprintf(into, size, "rank %u (%.64s)", rank, wire->host[rank]);
    return into;
}

void drove__ranks_say(const drove_workers *workers, const drove_callbacks *cb)
{
    const drove_wire *wire =
        workers->ranks.n > 1 ? drove__transport_wire(workers->transport) : NULL;
    char hosts[512];
    size_t used = 0;
    unsigned n_hosts = 0;
    if (wire == NULL) return;
    hosts[0] = '\0';
    for (unsigned i = 0; i < wire->n_ranks; i++) {
        unsigned n_here = 0;
        bool is_first = true;
        for (unsigned k = 0; k < wire->n_ranks; k++) {
            if (strcmp(wire->host[i], wire->host[k]) != 0) continue;
            is_first = is_first && k >= i;
            n_here++;
        }
        if (!is_first) continue;
        n_hosts++;
        if (used + 80 > sizeof hosts) continue; /* the summary has them all */
        used += (size_t)snprintf(hosts + used, sizeof hosts - used, "%s%u on %.60s",
                                 used > 0 ? ", " : "", n_here, wire->host[i]);
    }
    const drove_plan_worker *first = &workers->plan.worker[workers->plan.first_here];
    drove__run_say(cb, "%u ranks by %s, %u host%s: %s; %u thread%s at rank 0", wire->n_ranks,
                   wire->library, n_hosts, n_hosts == 1 ? "" : "s", hosts, first->n_cores,
                   first->n_cores == 1 ? "" : "s");
}

bool drove__ranks_hold_shards(const drove_config *config, const drove_workers *workers)
{
    return workers->ranks.n > 1 && config->exchange.owns_shard;
}

drove_shard drove__ranks_shard(const drove_config *config, const drove_workers *workers)
{
    if (!drove__ranks_hold_shards(config, workers)) return (drove_shard){.n = 1};
    return (drove_shard){.n = workers->ranks.n, .index = workers->ranks.rank, .seed = config->seed};
}

drove_status drove__ranks_check_model(const drove_config *config, const drove_problem *problem,
                                      const drove_workers *workers)
{
    if (!drove__ranks_hold_shards(config, workers) || problem->model->n_statistics == 0)
        return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "--shard own: expected a model without batch normalisation, whose "
                       "statistics are those of all training examples, found %s",
                       problem->model->spec);
}

/* ---- agreeing ---- */

typedef struct verdict {
    int32_t status;
    char text[DROVE_ERROR_TEXT_SIZE];
} verdict;

drove_status drove__ranks_agree(drove_workers *workers, drove_status status)
{
    unsigned n = workers->ranks.n;
    verdict mine = {.status = (int32_t)status};
    if (n <= 1) return status;
    if (status != DROVE_OK) drove__error_copy(mine.text);
    verdict *all = calloc(n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", n * sizeof *all);
    drove_status done =
        workers->transport->ops->gather(workers->transport, &mine, sizeof mine, all);
    for (unsigned i = 0; i < n && done == DROVE_OK; i++) {
        if (all[i].status == DROVE_OK) continue;
        all[i].text[sizeof all[i].text - 1] = '\0';
        done = (drove_status)all[i].status;
        /* The same failure everywhere is one of the command; else rank 0 says whose it is. */
        char name[96];
        const verdict *v = &all[i];
        if (workers->ranks.rank != 0) drove__fail((drove_status)v->status, "%s", "");
        else if (i == 0) drove__fail((drove_status)v->status, "%s", v->text);
        else
            drove__fail((drove_status)v->status, "%s: %s",
                        drove__ranks_name(workers, i, name, sizeof name), v->text);
        free(all);
        return done;
    }
    free(all);
    return done == DROVE_OK ? DROVE_OK : lose_some(workers, done);
}

/* ---- comparing ---- */

enum { FACT_NAME = 32, FACT_VALUE = 200, MOST_FACTS = 64 };

typedef struct fact {
    char name[FACT_NAME], value[FACT_VALUE];
} fact;
typedef struct facts {
    uint32_t n;
    fact fact[MOST_FACTS];
} facts;

static void add_fact(facts *f, const char *name, const char *value)
{
    if (f->n == MOST_FACTS) return;
    fact *to = &f->fact[f->n++];
    size_t n = strlen(value);
    snprintf(to->name, sizeof to->name, "%s", name);
    if (n < sizeof to->value) {
        memcpy(to->value, value, n + 1);
        return;
    }
    snprintf(to->value, sizeof to->value, "%.160s... (%016" PRIx64 ")", value,
             drove__checksum(value, n)); /* the whole text counts */
}

static void add_number(facts *f, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add_fact(f, name, text);
}

static void add_all(facts *f, const drove_config *config, const drove_problem *problem,
                    const drove_workers *workers, const float *theta)
{
    const drove_storage *s = problem->train->storage;
    char hash[24], features[DROVE_FEATURES_TEXT_SIZE];
    uint16_t probe = 1;
    add_fact(f, "version of drove", DROVE_VERSION);
    add_fact(f, "order of bytes", *(const unsigned char *)&probe == 1 ? "little" : "big");
    add_fact(f, "kernels (--isa)", workers->kernels.isa);
    size_t n;
    char value[DROVE_TEXT_SIZE], flag[DROVE_FLAG_SIZE];
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (info[i].is_local) continue;
        add_fact(f, drove_flag_text(info[i].name, flag),
                 drove__config_text(config, info[i].name, value));
    }
    add_fact(f, "strategy", workers->plan.spec);
    add_number(f, "training examples", problem->n_train_whole);
    add_number(f, "test examples", problem->test != NULL ? problem->test->n_rows : 0);
    add_number(f, "features", s->n_features);
    add_number(f, "classes", s->n_classes);
    uint64_t sums[2] = {0}; /* of their names, in the order of the outputs */
    for (size_t i = 0; s->class_name != NULL && i < s->n_classes; i++) {
        sums[1] = drove__checksum(s->class_name[i], strlen(s->class_name[i]));
        sums[0] = drove__checksum(sums, sizeof sums);
    }
    snprintf(hash, sizeof hash, "%016" PRIx64, sums[0]);
    add_fact(f, "names of the classes (checksum)", hash);
    drove__features_print(&problem->features, features);
    add_fact(f, "feature map", features);
    add_fact(f, "model", problem->model->spec);
    add_number(f, "parameters", problem->model->n_params);
    snprintf(hash, sizeof hash, "%016" PRIx64,
             drove__checksum(theta, problem->model->n_params * sizeof *theta));
    add_fact(f, "first parameters (checksum)", hash);
    if (problem->tuned == NULL) return;
    snprintf(hash, sizeof hash, "%016" PRIx64,
             drove__checksum(problem->tuned->theta,
                             problem->tuned->whole->n_params * sizeof *theta));
    add_fact(f, "frozen parameters (checksum)", hash);
}

static drove_status differ(const drove_workers *workers, const facts *all, unsigned rank)
{
    char first[96], other[96];
    drove__ranks_name(workers, 0, first, sizeof first);
    drove__ranks_name(workers, rank, other, sizeof other);
    const facts *a = &all[0], *b = &all[rank];
    for (uint32_t i = 0; i < a->n && i < b->n && i < MOST_FACTS; i++) {
        const fact *x = &a->fact[i], *y = &b->fact[i];
        if (memcmp(x, y, sizeof *x) == 0) continue;
        return drove__fail(DROVE_E_ARG,
                           "%.*s: expected %.*s at all ranks, as at %s, found %.*s at %s",
                           FACT_NAME - 1, x->name, FACT_VALUE - 1, x->value, first, FACT_VALUE - 1,
                           y->value, other);
    }
    if (a->n == b->n) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "version of drove: expected %u options at all ranks, as at %s, "
                       "found %u at %s",
                       a->n, first, b->n, other);
}

drove_status drove__ranks_compare(const drove_config *config, const drove_problem *problem,
                                  drove_workers *workers, const float *theta)
{
    const unsigned n = workers->ranks.n;
    if (n <= 1) return DROVE_OK;
    if (problem->n_train_whole < n)
        return drove__ranks_agree(
            workers,
            drove__fail(
                DROVE_E_ARG,
                "--data %s: expected at least as many training examples as ranks, %u, found "
                "%zu",
                config->problem.data, n, problem->n_train_whole));
    facts *mine = calloc(1, sizeof *mine), *all = calloc(n, sizeof *all);
    drove_status status = DROVE_OK;
    if (mine == NULL || all == NULL) {
        status = drove__fail_nomem("messages of the ranks", (n + 1) * sizeof *all);
    } else {
        add_all(mine, config, problem, workers, theta);
        status = workers->transport->ops->gather(workers->transport, mine, sizeof *mine, all);
        if (status != DROVE_OK) status = lose_some(workers, status);
        for (unsigned i = 1; i < n && status == DROVE_OK; i++) status = differ(workers, all, i);
        if (status == DROVE_E_ARG && workers->ranks.rank != 0) drove__fail(status, "%s", "");
    }
    free(mine);
    free(all);
    return status;
}

drove_status drove__ranks_first_text(drove_workers *workers, char text[DROVE_TEXT_SIZE])
{
    const unsigned n = workers->ranks.n;
    if (n <= 1) return DROVE_OK;
    char(*all)[DROVE_TEXT_SIZE] = calloc(n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", n * sizeof *all);
    drove_status status =
        workers->transport->ops->gather(workers->transport, text, sizeof *all, all);
    if (status == DROVE_OK) snprintf(text, DROVE_TEXT_SIZE, "%s", all[0]);
    free(all);
    return status == DROVE_OK ? DROVE_OK : lose_some(workers, status);
}
