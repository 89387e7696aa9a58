/* values/ranks_witness.c - the line about a rank that has died.  See ranks.h.
 *
 * MPI cannot go on without a rank, and its launchers either end the others at once (mpirun,
 * mpiexec) or may do nothing (srun).  So the line is written at once, on the thread of the witness,
 * and then exchanges fail at all ranks: drove_train returns, and the job is ended as after any
 * failure.
 */
#include "values/ranks.h"

#include "cluster/lifeline.h"
#include "cluster/messages.h"
#include "cluster/ranks_open.h"
#include "cluster/witness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct drove_ranks_witness {
    drove_witness *own;
    drove_lifeline *lifeline;
    unsigned n;                         /* ranks */
    char (*host)[DROVE_WIRE_NAME_SIZE]; /* [n], as the wire has them, which may be gone by then */
    unsigned next;                      /* the first rank of the next machine */
    int next_process;
    bool next_is_alone; /* no rank beside it */
    atomic_bool has_told;
    pthread_mutex_t lock;       /* protects all below */
    drove_transport *transport; /* NULL: it is ending */
    bool is_there;              /* a state was saved */
    char out[DROVE_TEXT_SIZE];  /* "": there is no --out */
    char what[DROVE_WIRE_NAME_SIZE + 64];
    void (*tell)(const char *line);
} drove_ranks_witness;

static _Atomic(void (*)(const char *line)) tell_by;

void drove_ranks_on_death(void (*tell)(const char *line))
{
    atomic_store(&tell_by, tell);
}

void drove__ranks_how_to_go_on(char into[DROVE_ERROR_TEXT_SIZE], const char *what, unsigned n,
                               const char *out, bool is_there)
{
    char words[DROVE_LAUNCH_WORDS_SIZE];
    if (is_there && out != NULL)
        snprintf(into, DROVE_ERROR_TEXT_SIZE,
                 "%.500s; the last state is in %.200s: %s drove train --resume %.200s goes on",
                 what, out, drove__mpi_launch_words(n, words), out);
    else
        snprintf(into, DROVE_ERROR_TEXT_SIZE, "%.700s; nothing is saved%s", what,
                 out == NULL ? " without --out" : " yet");
}

static bool is_stopped(drove_ranks_witness *r, bool *by_other)
{
    *by_other = false;
    pthread_mutex_lock(&r->lock);
    const bool is = r->transport != NULL && drove__messages_are_stopped(r->transport, by_other);
    pthread_mutex_unlock(&r->lock);
    return is;
}

static bool is_ending(void *context)
{
    drove_ranks_witness *r = context;
    bool by_other;
    return is_stopped(r, &by_other) && (by_other || atomic_load(&r->has_told));
}

static void died(void *context, unsigned rank, int process)
{
    drove_ranks_witness *r = context;
    char line[DROVE_ERROR_TEXT_SIZE];
    pthread_mutex_lock(&r->lock);
    r->tell = atomic_load(&tell_by);
    snprintf(r->what, sizeof r->what, "rank %u on host %s has died (process %d)", rank,
             r->host[rank], process);
    drove__ranks_how_to_go_on(line, r->what, r->n, r->out[0] != '\0' ? r->out : NULL, r->is_there);
    if (r->tell != NULL) r->tell(line);
    pthread_mutex_unlock(&r->lock);
}

/* Without somebody to tell, drove_train's text tells: drove__ranks_lost says how to go on. */
static void told(void *context)
{
    drove_ranks_witness *r = context;
    atomic_store(&r->has_told, true);
    pthread_mutex_lock(&r->lock);
    if (r->transport != NULL) drove__messages_end(r->transport, r->tell != NULL ? "" : r->what);
    pthread_mutex_unlock(&r->lock);
}

/* ---- the first rank of another machine ---- */

typedef struct card { /* of a rank */
    drove_witness_card witness;
    drove_lifeline_card lifeline;
} card;

/* Ranks of one machine tell of each other. */
static bool is_first(const card *all, unsigned rank)
{
    const drove_witness_card *w = &all[rank].witness;
    for (unsigned i = 0; i < rank && w->token != 0; i++)
        if (all[i].witness.token != 0 && all[i].witness.machine == w->machine) return false;
    return true;
}

/* The first rank of the next machine, in the ring of machines. */
static unsigned next_first(const card *all, unsigned n, unsigned rank)
{
    unsigned i = (rank + 1) % n;
    while (!is_first(all, i)) i = (i + 1) % n;
    return i;
}

/* The first rank of the next machine has ended.  Ranks beside it tell, if they live; and where a
 * launcher kills all, word of what came before them is on its way. */
static void far_died(void *context)
{
    drove_ranks_witness *r = context;
    const struct timespec moment = {.tv_nsec = 10000000};
    bool by_other, is_told = false;
    for (unsigned i = 0; i < (r->next_is_alone ? 1 : 100) && !is_told; i++) {
        nanosleep(&moment, NULL);
        is_told = is_stopped(r, &by_other) || drove__witness_is_told(r->own);
    }
    if (is_told) return;
    died(r, r->next, r->next_process);
    told(r);
}

static void begin_lifeline(drove_ranks_witness *r, const card *all, unsigned rank)
{
    r->next = next_first(all, r->n, rank);
    if (!is_first(all, rank) || r->next == rank) { /* another's part; there is one machine */
        drove__lifeline_destroy(r->lifeline);
        r->lifeline = NULL;
        return;
    }
    const drove_witness_card *w = &all[r->next].witness;
    unsigned n_there = 0;
    for (unsigned i = 0; i < r->n; i++)
        n_there += all[i].witness.token != 0 && all[i].witness.machine == w->machine;
    r->next_is_alone = w->token == 0 || n_there == 1;
    r->next_process = all[r->next].witness.process;
    drove__lifeline_begin(r->lifeline, &all[r->next].lifeline, far_died, r);
}

drove_status drove__ranks_witness(drove_workers *workers)
{
    drove_transport *t = workers->transport;
    const unsigned n = workers->ranks.n, rank = workers->ranks.rank;
    const drove_wire *wire = drove__transport_wire(t);
    if (wire == NULL) return DROVE_OK; /* no processes */
    drove_ranks_witness *r = calloc(1, sizeof *r);
    card mine, *all = calloc(n, sizeof *all);
    drove_witness_card *near = calloc(n, sizeof *near);
    char(*host)[DROVE_WIRE_NAME_SIZE] = calloc(n, sizeof *host);
    if (r == NULL || all == NULL || near == NULL || host == NULL) {
        free(r);
        free(all);
        free(near);
        free(host);
        return drove__fail_nomem("messages of the ranks", n * (sizeof *all + sizeof *host));
    }
    memcpy(host, wire->host, n * sizeof *host);
    *r = (drove_ranks_witness){.n = n, .host = host, .transport = t};
    pthread_mutex_init(&r->lock, NULL);
    memset(&mine, 0, sizeof mine);
    drove__witness_create(&r->own, &mine.witness);
    drove__lifeline_create(&r->lifeline, &mine.lifeline);
    workers->ranks.witness = r;
    const drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    const drove_witness_listener listener = {
        .context = r, .is_ending = is_ending, .died = died, .told = told};
    for (unsigned i = 0; i < n; i++) near[i] = all[i].witness;
    if (status == DROVE_OK) {
        (void)drove__witness_begin(r->own, near, n, rank, &listener);
        begin_lifeline(r, all, rank);
    }
    free(near);
    free(all);
    return status;
}

void drove__ranks_saving(const drove_workers *workers, const char *out, bool is_there)
{
    drove_ranks_witness *r = workers->ranks.witness;
    if (r == NULL) return;
    pthread_mutex_lock(&r->lock);
    snprintf(r->out, sizeof r->out, "%s", out != NULL ? out : "");
    r->is_there = is_there;
    pthread_mutex_unlock(&r->lock);
}

void drove__ranks_saved(const drove_workers *workers, bool is_there)
{
    drove_ranks_witness *r = workers->ranks.witness;
    if (r == NULL) return;
    pthread_mutex_lock(&r->lock);
    r->is_there = is_there;
    pthread_mutex_unlock(&r->lock);
}

bool drove__ranks_witness_told(const drove_workers *workers)
{
    const drove_ranks_witness *r = workers->ranks.witness;
    return r != NULL && atomic_load(&tell_by) != NULL && drove__witness_is_told(r->own);
}

void drove__ranks_witness_last(drove_workers *workers, drove_status status)
{
    drove_ranks_witness *r = workers->ranks.witness;
    if (r == NULL) return;
    if (status != DROVE_OK) {
        drove__witness_fail(r->own);
        drove__lifeline_say_end();
    }
    pthread_mutex_lock(&r->lock);
    r->transport = NULL;
    pthread_mutex_unlock(&r->lock);
}

void drove__ranks_witness_end(drove_workers *workers)
{
    drove_ranks_witness *r = workers->ranks.witness;
    if (r == NULL) return;
    drove__lifeline_destroy(r->lifeline);
    drove__witness_destroy(r->own);
    pthread_mutex_destroy(&r->lock);
    free(r->host);
    free(r);
    workers->ranks.witness = NULL;
}
