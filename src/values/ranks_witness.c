/* values/ranks_witness.c - the line about a rank that has died.  See ranks.h.
 *
 * MPI cannot go on without a rank, and its launchers either end the others at once (mpirun,
 * mpiexec) or may do nothing (srun).  So the line is written at once, on the thread of the witness,
 * and then exchanges fail at all ranks: drove_train returns, and the job is ended as after any
 * failure.
 */
#include "values/ranks.h"

#include "cluster/messages.h"
#include "cluster/ranks_open.h"
#include "cluster/witness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct drove_ranks_witness {
    drove_witness *own;
    unsigned n;                         /* ranks */
    char (*host)[DROVE_WIRE_NAME_SIZE]; /* [n], as the wire has them, which may be gone by then */
    pthread_mutex_t lock;               /* protects all below */
    drove_transport *transport;         /* NULL: it is ending */
    bool is_there;                      /* a state was saved */
    char out[DROVE_TEXT_SIZE];          /* "": there is no --out */
    /* Of the witness's thread: */
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

static bool is_ending(void *context)
{
    drove_ranks_witness *r = context;
    pthread_mutex_lock(&r->lock);
    const bool is_ended = r->transport != NULL && drove__messages_are_ended(r->transport);
    pthread_mutex_unlock(&r->lock);
    return is_ended;
}

static void died(void *context, unsigned rank, int process)
{
    drove_ranks_witness *r = context;
    char line[DROVE_ERROR_TEXT_SIZE];
    r->tell = atomic_load(&tell_by);
    pthread_mutex_lock(&r->lock);
    snprintf(r->what, sizeof r->what, "rank %u on host %s has died (process %d)", rank,
             r->host[rank], process);
    drove__ranks_how_to_go_on(line, r->what, r->n, r->out[0] != '\0' ? r->out : NULL, r->is_there);
    pthread_mutex_unlock(&r->lock);
    if (r->tell != NULL) r->tell(line);
}

/* Without somebody to tell, drove_train's text tells: drove__ranks_lost says how to go on. */
static void told(void *context)
{
    drove_ranks_witness *r = context;
    pthread_mutex_lock(&r->lock);
    if (r->transport != NULL) drove__messages_end(r->transport, r->tell != NULL ? "" : r->what);
    pthread_mutex_unlock(&r->lock);
}

drove_status drove__ranks_witness(drove_workers *workers)
{
    drove_transport *t = workers->transport;
    const unsigned n = workers->ranks.n;
    const drove_wire *wire = drove__transport_wire(t);
    if (wire == NULL) return DROVE_OK; /* no processes */
    drove_ranks_witness *r = calloc(1, sizeof *r);
    drove_witness_card mine, *all = calloc(n, sizeof *all);
    char(*host)[DROVE_WIRE_NAME_SIZE] = calloc(n, sizeof *host);
    if (r == NULL || all == NULL || host == NULL) {
        free(r);
        free(all);
        free(host);
        return drove__fail_nomem("messages of the ranks", n * (sizeof *all + sizeof *host));
    }
    memcpy(host, wire->host, n * sizeof *host);
    *r = (drove_ranks_witness){.n = n, .host = host, .transport = t};
    pthread_mutex_init(&r->lock, NULL);
    drove__witness_create(&r->own, &mine);
    workers->ranks.witness = r;
    const drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    const drove_witness_listener listener = {
        .context = r, .is_ending = is_ending, .died = died, .told = told};
    if (status == DROVE_OK)
        (void)drove__witness_begin(r->own, all, n, workers->ranks.rank, &listener);
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
    if (status != DROVE_OK) drove__witness_fail(r->own);
    pthread_mutex_lock(&r->lock);
    r->transport = NULL;
    pthread_mutex_unlock(&r->lock);
}

void drove__ranks_witness_end(drove_workers *workers)
{
    drove_ranks_witness *r = workers->ranks.witness;
    if (r == NULL) return;
    drove__witness_destroy(r->own);
    pthread_mutex_destroy(&r->lock);
    free(r->host);
    free(r);
    workers->ranks.witness = NULL;
}
