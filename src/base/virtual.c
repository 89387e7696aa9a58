/* base/virtual.c - see virtual.h.
 *
 * Every field of a drove_virtual is the running actor's, or under `lock` that of a thread which
 * waits to run; the lock passes all that one actor wrote on to the next, shared parameters and all.
 */
#include "base/virtual.h"

#include "base/holders.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* Real time after which the controlling thread gets to look whether it is interrupted. */
static const uint64_t GLANCE_NS = 100000000;
/* The clock stops here, after 146 years: ns stay within 64 bits, also when some are added. */
static const double MOST_NS = 0x1p62;
enum { SWITCHES_PER_LOOK = 64, MOST_LINES = 256 };

typedef enum actor_state {
    ACTOR_OUT,
    ACTOR_READY,   /* goes on at at_ns */
    ACTOR_RUNNING, /* one at most */
    ACTOR_WAITING  /* for a wake at `word`, until at_ns */
} actor_state;

struct drove_actor {
    drove_virtual *of;
    unsigned index;
    drove_costs costs;
    drove_rng rng; /* of jitter */
    actor_state state;
    double at_ns;  /* INFINITY: never */
    uint64_t turn; /* decides between actors of one time */
    const void *word;
    bool is_woken, is_racing;
    float *scratch;
    uint64_t n_overwritten;
    pthread_cond_t go;
};

typedef struct line { /* a word that several write, and whose core has it */
    const void *word;
    unsigned owner;
    double free_ns; /* when the last core that asked for it has it; of vectors */
} line;

struct drove_virtual {
    pthread_mutex_t lock;
    unsigned n;
    drove_actor *actor; /* [n]; the last is the controlling thread's */
    drove_actor *running;
    double now_ns;
    _Atomic uint64_t shown_ns; /* the same, for threads that are no actors */
    uint64_t n_turns, n_switches, looked_ns;
    bool (*sees)(const void *context); /* the controlling thread's; NULL: it watches nothing */
    const void *seen_in;
    unsigned n_moving[DROVE_MOST_SOCKETS]; /* actors that move bytes there */
    unsigned n_racing[DROVE_MOST_SOCKETS]; /* and that take some of an unprotected vector */
    drove_holders *holders;                /* NULL: taking lines costs nothing */
    line line[MOST_LINES];
    unsigned n_lines;
    drove_clock clock;
};

_Thread_local drove_actor *drove__actor;

uint64_t drove__actor_now(const drove_actor *a)
{
    return (uint64_t)a->of->now_ns;
}

/* ---- the clock ---- */

static uint64_t clock_now(void *context)
{
    const drove_virtual *v = context;
    if (drove__actor == NULL) return atomic_load(&v->shown_ns);
    return drove__actor_now(drove__actor);
}

static void clock_sleep(void *context, uint64_t until_ns)
{
    drove_virtual *v = context;
    if (drove__actor != NULL) {
        drove__virtual_spend((double)until_ns - v->now_ns);
        return;
    }
    uint64_t now_ns = clock_now(v), real_ns = drove__real_ns();
    drove__real_sleep_until(until_ns > now_ns ? real_ns + (until_ns - now_ns) : real_ns);
}

static bool clock_cond_wait(void *context, pthread_cond_t *cond, pthread_mutex_t *lock,
                            uint64_t until_ns)
{
    (void)context;
    if (drove__actor == NULL) return pthread_cond_wait(cond, lock) == 0;
    pthread_mutex_unlock(lock); /* nobody else runs before this actor waits */
    bool is_woken = drove__virtual_wait(cond, until_ns);
    pthread_mutex_lock(lock);
    return is_woken;
}

static void clock_word_wait(void *context, _Atomic uint32_t *word, uint32_t expected,
                            uint64_t until_ns)
{
    (void)context;
    if (drove__actor == NULL) drove__real_word_wait(word, expected, UINT64_MAX);
    /* nobody changes the word between the look and the sleep */
    else if (atomic_load_explicit(word, memory_order_relaxed) == expected)
        (void)drove__virtual_wait(word, until_ns);
}

const drove_clock *drove__virtual_clock(const drove_virtual *v)
{
    return &v->clock;
}

/* ---- who is next ---- */

static drove_actor *first_of(drove_virtual *v)
{
    drove_actor *first = NULL;
    for (unsigned i = 0; i < v->n; i++) {
        drove_actor *a = &v->actor[i];
        if (a->state != ACTOR_READY && a->state != ACTOR_WAITING) continue;
        if (!(a->at_ns < INFINITY)) continue;
        if (first == NULL || a->at_ns < first->at_ns ||
            (a->at_ns == first->at_ns && a->turn < first->turn))
            first = a;
    }
    return first;
}

/* The controlling thread, when it sees what it watches, and now and then, whatever its deadline,
 * and without any virtual time. */
static drove_actor *glance(drove_virtual *v)
{
    drove_actor *control = &v->actor[v->n - 1];
    v->n_switches++;
    if (control->state != ACTOR_WAITING) return NULL;
    if (v->sees != NULL && v->sees(v->seen_in)) return control;
    if (v->n_switches % SWITCHES_PER_LOOK != 0) return NULL;
    uint64_t real_ns = drove__real_ns();
    if (real_ns - v->looked_ns < GLANCE_NS) return NULL;
    v->looked_ns = real_ns;
    return control;
}

/* Caller holds the lock. */
static void pass_on(drove_virtual *v, const drove_actor *me)
{
    drove_actor *next = glance(v);
    bool is_due = next == NULL;
    if (is_due) next = first_of(v);
    v->running = next;
    if (next == NULL) return;
    if (is_due && next->at_ns > v->now_ns) {
        v->now_ns = next->at_ns;
        atomic_store(&v->shown_ns, (uint64_t)v->now_ns);
    }
    if (next->state == ACTOR_WAITING) next->is_woken = false;
    next->state = ACTOR_RUNNING;
    next->word = NULL;
    if (next != me) pthread_cond_signal(&next->go);
}

/* Caller holds the lock. */
static void wait_to_run(drove_virtual *v, drove_actor *me)
{
    while (v->running != me) pthread_cond_wait(&me->go, &v->lock);
}

/* The controlling thread comes first among equals, so that when its looks are made, which depends
 * on real time, changes nothing for the others.  Once the clock has stopped all take turns. */
static void queue_up(drove_virtual *v, drove_actor *a, actor_state state, double at_ns)
{
    a->state = state;
    a->at_ns = at_ns > MOST_NS && at_ns < INFINITY ? MOST_NS : at_ns;
    a->turn = a == &v->actor[v->n - 1] && a->at_ns < MOST_NS ? 0 : ++v->n_turns;
}

/* ---- making it ---- */

drove_status drove__virtual_create(unsigned n_actors, uint64_t seed, drove_virtual **out)
{
    *out = NULL;
    drove_virtual *v = drove__alloc(1, sizeof *v);
    if (v == NULL) return drove__fail_nomem("a virtual clock", sizeof *v);
    v->actor = drove__alloc(n_actors, sizeof *v->actor);
    if (v->actor == NULL) {
        drove__free(v);
        return drove__fail_nomem("a virtual clock", n_actors * sizeof *v->actor);
    }
    (void)pthread_mutex_init(&v->lock, NULL); /* neither can fail with these arguments */
    v->n = n_actors;
    for (unsigned i = 0; i < n_actors; i++) {
        drove_actor *a = &v->actor[i];
        a->of = v;
        a->index = i;
        drove__rng_seed(&a->rng, seed, DROVE_RNG_VIRTUAL, i);
        (void)pthread_cond_init(&a->go, NULL);
    }
    v->clock = (drove_clock){.name = "virtual",
                             .now_ns = clock_now,
                             .sleep_until = clock_sleep,
                             .cond_wait = clock_cond_wait,
                             .word_wait = clock_word_wait,
                             .context = v};
    *out = v;
    return DROVE_OK;
}

void drove__virtual_destroy(drove_virtual *v)
{
    if (v == NULL) return;
    for (unsigned i = 0; i < v->n; i++) {
        drove__free(v->actor[i].scratch);
        (void)pthread_cond_destroy(&v->actor[i].go);
    }
    (void)pthread_mutex_destroy(&v->lock);
    drove__holders_destroy(v->holders);
    drove__free(v->actor);
    drove__free(v);
}

void drove__virtual_set_costs(drove_virtual *v, unsigned actor, const drove_costs *costs)
{
    v->actor[actor].costs = *costs;
}

drove_status drove__virtual_scratch(drove_virtual *v, size_t n)
{
    for (unsigned i = 0; i < v->n; i++) {
        if (v->actor[i].scratch != NULL) continue;
        v->actor[i].scratch = drove__alloc(n, sizeof(float));
        if (v->actor[i].scratch == NULL)
            return drove__fail_nomem("parameters on their way", n * sizeof(float));
    }
    return DROVE_OK;
}

drove_status drove__virtual_hold(drove_virtual *v, size_t n_vectors, size_t size_bytes)
{
    unsigned *socket = drove__alloc(v->n, sizeof *socket);
    if (socket == NULL) return drove__fail_nomem("sockets", v->n * sizeof *socket);
    for (unsigned i = 0; i < v->n; i++) socket[i] = v->actor[i].costs.socket;
    drove__holders_destroy(v->holders);
    drove_status status = drove__holders_create(v->n, socket, n_vectors, size_bytes, &v->holders);
    drove__free(socket);
    return status;
}

/* ---- coming and going ---- */

void drove__virtual_begin(drove_virtual *v)
{
    drove_actor *me = &v->actor[v->n - 1];
    pthread_mutex_lock(&v->lock);
    v->looked_ns = drove__real_ns();
    me->state = ACTOR_RUNNING;
    v->running = me;
    pthread_mutex_unlock(&v->lock);
    drove__actor = me;
}

void drove__virtual_admit(drove_virtual *v, unsigned actor)
{
    pthread_mutex_lock(&v->lock);
    queue_up(v, &v->actor[actor], ACTOR_READY, v->now_ns);
    pthread_mutex_unlock(&v->lock);
}

void drove__virtual_watch(drove_virtual *v, bool (*sees)(const void *context), const void *context)
{
    pthread_mutex_lock(&v->lock);
    v->sees = sees;
    v->seen_in = context;
    pthread_mutex_unlock(&v->lock);
}

void drove__virtual_end(drove_virtual *v)
{
    drove__actor = NULL;
    pthread_mutex_lock(&v->lock);
    v->actor[v->n - 1].state = ACTOR_OUT;
    v->running = NULL;
    pthread_mutex_unlock(&v->lock);
}

void drove__virtual_enter(drove_virtual *v, unsigned actor)
{
    drove_actor *me = &v->actor[actor];
    pthread_mutex_lock(&v->lock);
    wait_to_run(v, me);
    pthread_mutex_unlock(&v->lock);
    drove__actor = me;
}

void drove__virtual_leave(void)
{
    drove_actor *me = drove__actor;
    drove_virtual *v = me->of;
    drove__actor = NULL;
    pthread_mutex_lock(&v->lock);
    me->state = ACTOR_OUT;
    pass_on(v, me);
    pthread_mutex_unlock(&v->lock);
}

/* ---- spending time ---- */

void drove__virtual_spend(double ns)
{
    drove_actor *me = drove__actor;
    drove_virtual *v = me->of;
    if (!(ns > 0.0)) return;
    pthread_mutex_lock(&v->lock);
    queue_up(v, me, ACTOR_READY, v->now_ns + ns);
    pass_on(v, me);
    wait_to_run(v, me);
    pthread_mutex_unlock(&v->lock);
}

static double jittered(double ns)
{
    drove_actor *me = drove__actor;
    if (me->costs.jitter <= 0.0) return ns;
    return ns * (1.0 + me->costs.jitter * (2.0 * drove__rng_uniform(&me->rng) - 1.0));
}

/* ---- what other cores have ---- */

double drove__virtual_take(const float *at, size_t n, bool writes)
{
    const drove_actor *me = drove__actor;
    if (me->of->holders == NULL || n == 0) return 0.0;
    drove_taken t = drove__holders_take(me->of->holders, me->index, at, n * sizeof *at, writes);
    return t.near * me->costs.take_ns + t.far * me->costs.far_take_ns;
}

/* The ns of what this actor takes, or longer where vectors have no protection (their actors have
 * scratch): several want a line at once there, and wait for each other.  Who takes anything counts
 * from the beginning to the end of the work that needs it, since lines come while it goes on. */
static double begin_take(double taken_ns)
{
    drove_actor *me = drove__actor;
    const drove_costs *c = &me->costs;
    if (!(taken_ns > 0.0) || me->scratch == NULL) return taken_ns;
    me->is_racing = true;
    unsigned n_racing = ++me->of->n_racing[c->socket];
    return taken_ns * fmax(1.0, c->race_ns * n_racing / c->take_ns);
}

static void end_take(void)
{
    drove_actor *me = drove__actor;
    me->of->n_racing[me->costs.socket] -= me->is_racing;
    me->is_racing = false;
}

void drove__virtual_work(double ns, double taken_ns)
{
    drove__virtual_spend(jittered(ns) + begin_take(taken_ns));
    end_take();
}

/* The bytes' time: the core's own, or the share of its socket's memory if that is less.  Who moves
 * bytes when this begins decides; later comers wait for nobody and hold up nobody. */
static double begin_move(double bytes, double each_ns, double taken_ns)
{
    const drove_actor *me = drove__actor;
    const drove_costs *c = &me->costs;
    unsigned n_moving = ++me->of->n_moving[c->socket];
    return fmax(jittered(bytes * each_ns), bytes * c->memory_ns * n_moving) + begin_take(taken_ns);
}

static void end_move(void)
{
    const drove_actor *me = drove__actor;
    end_take();
    me->of->n_moving[me->costs.socket]--;
}

static void move(double bytes, double each_ns, double taken_ns)
{
    drove__virtual_spend(begin_move(bytes, each_ns, taken_ns));
    end_move();
}

void drove__virtual_copy(double bytes, double taken_ns)
{
    move(bytes, drove__actor->costs.copy_ns, taken_ns);
}

void drove__virtual_update(double bytes, double taken_ns)
{
    move(bytes, drove__actor->costs.update_ns, taken_ns);
}

double drove__virtual_loaded(double bytes, double taken_ns)
{
    const drove_costs *c = &drove__actor->costs;
    double all_ns = begin_move(bytes, c->update_ns, taken_ns);
    double window_ns = fmin(c->window_ns, all_ns);
    drove__virtual_spend(window_ns);
    return all_ns - window_ns;
}

void drove__virtual_stored(double left_ns)
{
    drove__virtual_spend(left_ns);
    end_move();
}

/* The entry of a word; more words than there are entries share the last. */
static line *line_of(drove_virtual *v, const void *word)
{
    unsigned i = 0;
    while (i < v->n_lines && v->line[i].word != word) i++;
    if (i == MOST_LINES) return &v->line[MOST_LINES - 1];
    if (i == v->n_lines) v->line[v->n_lines++] = (line){.word = word, .owner = drove__actor->index};
    return &v->line[i];
}

/* Makes the line the running actor's; the ns for which it comes from its last owner's core. */
static double own_line(line *l)
{
    const drove_actor *me = drove__actor;
    unsigned owner = l->owner;
    l->owner = me->index;
    if (owner == me->index) return 0.0;
    bool is_near = me->of->actor[owner].costs.socket == me->costs.socket;
    return is_near ? me->costs.line_ns : me->costs.far_line_ns;
}

void drove__virtual_line(const void *word)
{
    drove__virtual_spend(own_line(line_of(drove__actor->of, word)));
}

void drove__virtual_pass(const void *vector)
{
    drove_virtual *v = drove__actor->of;
    line *l = line_of(v, vector);
    double line_ns = own_line(l);
    if (!(line_ns > 0.0)) return;
    l->free_ns = fmax(l->free_ns, v->now_ns) + line_ns;
    drove__virtual_spend(l->free_ns - v->now_ns);
}

/* ---- waiting for others ---- */

bool drove__virtual_wait(const void *word, uint64_t until_ns)
{
    drove_actor *me = drove__actor;
    drove_virtual *v = me->of;
    pthread_mutex_lock(&v->lock);
    queue_up(v, me, ACTOR_WAITING,
             until_ns == UINT64_MAX ? INFINITY : fmax((double)until_ns, v->now_ns));
    me->word = word;
    pass_on(v, me);
    wait_to_run(v, me);
    pthread_mutex_unlock(&v->lock);
    return me->is_woken;
}

void drove__virtual_wake(const void *word, unsigned most)
{
    drove_virtual *v = drove__actor->of;
    pthread_mutex_lock(&v->lock);
    for (; most > 0; most--) {
        drove_actor *first = NULL; /* of those that sleep on the word */
        for (unsigned i = 0; i < v->n; i++) {
            drove_actor *a = &v->actor[i];
            if (a->state != ACTOR_WAITING || a->word != word) continue;
            if (first == NULL || a->turn < first->turn) first = a;
        }
        if (first == NULL) break;
        first->is_woken = true;
        queue_up(v, first, ACTOR_READY, v->now_ns + first->costs.hand_over_ns);
    }
    pthread_mutex_unlock(&v->lock);
}

unsigned drove__virtual_sleepers(const void *word)
{
    const drove_virtual *v = drove__actor->of;
    unsigned n = 0;
    for (unsigned i = 0; i < v->n; i++)
        n += v->actor[i].state == ACTOR_WAITING && v->actor[i].word == word;
    return n;
}

void drove__virtual_overwrite(uint64_t n)
{
    drove__actor->n_overwritten += n;
}

uint64_t drove__virtual_overwritten(void)
{
    const uint64_t n = drove__actor->n_overwritten;
    drove__actor->n_overwritten = 0;
    return n;
}

float *drove__virtual_own_scratch(void)
{
    return drove__actor->scratch;
}
