/* values/ranks_state.c - the state of all ranks in one file, and back.  See ranks.h.
 *
 * Saving: rank 0 takes from one rank after the other the tensors that it has not itself.  Resuming:
 * rank 0 reads the file, and gives it to all as it is in memory.  Both in a channel in which no
 * strategy has anything under way while its workers are parked: the last one may hold a turn.
 */
#include "values/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNEL = DROVE_CHANNELS - 2, MOST_FLOATS = 1 << 24 };

/* n_bytes, in pieces, from or to `peer`; the worker here is parked, so this thread may speak for
 * it. */
static drove_status carry(const drove_workers *workers, drove_exchange_kind kind, unsigned peer,
                          void *bytes, size_t n_bytes)
{
    char *at = bytes;
    float rest = 0.0f;
    bool takes = kind == DROVE_RECEIVE || (kind == DROVE_BROADCAST && workers->ranks.rank != peer);
    for (size_t left = n_bytes; left > 0;) {
        bool is_rest = left < sizeof(float);
        size_t n = left / sizeof(float) < MOST_FLOATS ? left / sizeof(float) : MOST_FLOATS;
        float *value = is_rest ? &rest : (float *)(void *)at;
        if (is_rest && !takes) memcpy(&rest, at, left);
        drove_exchange x = {.kind = kind,
                            .channel = CHANNEL,
                            .peer = peer,
                            .in = value,
                            .out = kind == DROVE_SEND ? NULL : value,
                            .n = is_rest ? 1 : n};
        DROVE_TRY(drove__exchange(workers->transport, workers->transport->first_worker, &x, NULL));
        if (is_rest && takes) memcpy(at, &rest, left);
        size_t done = is_rest ? left : n * sizeof(float);
        at += done;
        left -= done;
    }
    return DROVE_OK;
}

/* ---- saving ---- */

/* A description that came from another rank. */
static bool is_sound(drove_tensor *t)
{
    size_t n = 8;
    if (t->rank > DROVE_TENSOR_MAX_RANK || (unsigned)t->type > DROVE_T_BF16) return false;
    t->name[sizeof t->name - 1] = '\0';
    for (unsigned i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(n, t->shape[i], &n)) return false;
    }
    return true;
}

static bool has_name(const drove_tensor *t, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0) return true;
    }
    return false;
}

/* At another rank: says what there is, and sends what is asked for. */
static drove_status give(const drove_workers *workers, const drove_tensor *t, size_t n)
{
    uint64_t count = n;
    unsigned char *is_wanted = calloc(n, 1);
    if (is_wanted == NULL) return drove__fail_nomem("a state in parts", n);
    drove_status status = carry(workers, DROVE_SEND, 0, &count, sizeof count);
    if (status == DROVE_OK)
        status = carry(workers, DROVE_SEND, 0, (void *)(uintptr_t)t, n * sizeof *t);
    if (status == DROVE_OK) status = carry(workers, DROVE_RECEIVE, 0, is_wanted, n);
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        if (!is_wanted[i]) continue;
        status = carry(workers, DROVE_SEND, 0, (void *)(uintptr_t)t[i].bytes,
                       drove__tensor_bytes(&t[i]));
    }
    free(is_wanted);
    return status;
}

drove_status drove__ranks_rows(const drove_workers *workers, const drove_tensor *tensor, size_t n)
{
    drove_transport *t = workers->transport;
    const unsigned n_ranks = workers->ranks.n;
    for (size_t i = 0; i < n && n_ranks > 1; i++) {
        if (tensor[i].rank != 2 || tensor[i].shape[0] != n_ranks) continue;
        size_t each = drove__tensor_bytes(&tensor[i]) / n_ranks;
        char *rows = (char *)(uintptr_t)tensor[i].bytes, *mine = malloc(each);
        if (mine == NULL) return drove__fail_nomem("a state in parts", each);
        memcpy(mine, rows + workers->ranks.rank * each, each);
        drove_status status = t->ops->gather(t, mine, each, rows);
        free(mine);
        DROVE_TRY(status);
    }
    return DROVE_OK;
}

typedef struct parts {        /* what rank 0 gets from one rank, and where it goes */
    drove_tensor *offered;    /* [n_offered], and behind them */
    unsigned char *is_wanted; /* [n_offered] */
    size_t n_offered, n_bytes;
    char *bytes;
} parts;

static drove_status take(const drove_workers *workers, unsigned rank, drove_tensor *tensor,
                         size_t *n, size_t most, parts *p)
{
    char name[96];
    size_t room = most - *n;
    uint64_t count;
    DROVE_TRY(carry(workers, DROVE_RECEIVE, rank, &count, sizeof count));
    p->offered = count <= most ? calloc((size_t)count, sizeof *p->offered + 1) : NULL;
    if (p->offered == NULL)
        return drove__fail_nomem("a state in parts", (size_t)count * sizeof *p->offered);
    p->n_offered = (size_t)count;
    p->is_wanted = (unsigned char *)(p->offered + count);
    DROVE_TRY(carry(workers, DROVE_RECEIVE, rank, p->offered, p->n_offered * sizeof *p->offered));
    for (size_t i = 0; i < p->n_offered; i++) {
        if (!is_sound(&p->offered[i]))
            return drove__fail(DROVE_E_SYSTEM, "%s: its state is described by what is no tensor",
                               drove__ranks_name(workers, rank, name, sizeof name));
        if (room == 0 || has_name(tensor, *n, p->offered[i].name)) continue;
        p->is_wanted[i] = 1;
        room--;
        p->n_bytes += (drove__tensor_bytes(&p->offered[i]) + 63) / 64 * 64;
    }
    p->bytes = drove__grow(NULL, p->n_bytes + 64, 1);
    if (p->bytes == NULL) return drove__fail_nomem("the state of a rank", p->n_bytes);
    DROVE_TRY(carry(workers, DROVE_SEND, rank, p->is_wanted, p->n_offered));
    char *at = p->bytes;
    for (size_t i = 0; i < p->n_offered; i++) {
        size_t size = drove__tensor_bytes(&p->offered[i]);
        if (!p->is_wanted[i]) continue;
        DROVE_TRY(carry(workers, DROVE_RECEIVE, rank, at, size));
        tensor[*n] = p->offered[i];
        tensor[(*n)++].bytes = at;
        at += (size + 63) / 64 * 64;
    }
    return DROVE_OK;
}

drove_status drove__ranks_gather(const drove_workers *workers, drove_tensor *tensor, size_t *n,
                                 size_t most, void ***memory)
{
    *memory = NULL;
    if (workers->ranks.rank != 0) return give(workers, tensor, *n);
    void **list = calloc(workers->ranks.n, sizeof *list);
    if (list == NULL) return drove__fail_nomem("a state in parts", workers->ranks.n * sizeof *list);
    drove_status status = DROVE_OK;
    for (unsigned rank = 1; rank < workers->ranks.n && status == DROVE_OK; rank++) {
        parts p = {0};
        status = take(workers, rank, tensor, n, most, &p);
        list[rank - 1] = p.bytes; /* the last one stays NULL */
        free(p.offered);
    }
    *memory = list;
    return status;
}

/* ---- a record ---- */

typedef struct part { /* of one rank's, since they were parked last */
    uint64_t size, n_steps;
    int64_t status;
} part;

drove_status drove__ranks_record(const drove_workers *workers)
{
    char *bytes = NULL, name[96];
    size_t size = 0;
    part mine = {0}, *all = calloc(workers->ranks.n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("a record", workers->ranks.n * sizeof *all);
    if (workers->ranks.rank != 0)
        mine.status =
            drove__recording_take(workers->loop->trace.recording, &bytes, &size, &mine.n_steps);
    mine.size = size;
    drove_status status =
        workers->transport->ops->gather(workers->transport, &mine, sizeof mine, all);
    for (unsigned i = 0; i < workers->ranks.n && status == DROVE_OK; i++)
        if (all[i].status != DROVE_OK)
            status = drove__fail(DROVE_E_NOMEM, "--record: %s: not enough memory for its steps",
                                 drove__ranks_name(workers, i, name, sizeof name));
    const bool is_first = workers->ranks.rank == 0;
    if (status == DROVE_OK && !is_first) status = carry(workers, DROVE_SEND, 0, bytes, size);
    /* Rank 0 writes the steps of the others; a file that cannot be written does not stop them. */
    for (unsigned i = 1; is_first && i < workers->ranks.n && status == DROVE_OK; i++) {
        const size_t n = (size_t)all[i].size;
        char *theirs = malloc(n + 1);
        status = theirs != NULL ? carry(workers, DROVE_RECEIVE, i, theirs, n)
                                : drove__fail_nomem("a record", n);
        if (status == DROVE_OK &&
            workers->loop->trace.recording != NULL) /* the next mark fails if this does */
            (void)drove__recording_add(workers->loop->trace.recording, theirs, n, all[i].n_steps);
        free(theirs);
    }
    free(bytes);
    free(all);
    return status;
}

/* ---- resuming ---- */

typedef struct outline {
    uint64_t n_tensors, size_bytes, n_meta, meta_bytes, is_checked;
} outline;

static drove_status send_all(const drove_workers *workers, const drove_safetensors *st)
{
    outline o = {.n_tensors = st->n_tensors,
                 .size_bytes = st->size_bytes,
                 .n_meta = st->n_meta,
                 .is_checked = st->is_checked};
    /* Keys and values, each with its NUL. */
    size_t n = 0;
    for (size_t i = 0; i < st->n_meta; i++)
        n += strlen(st->meta_key[i]) + strlen(st->meta_value[i]) + 2;
    char *meta = malloc(n + 1), *at = meta;
    for (size_t i = 0; i < st->n_meta && meta != NULL; i++) {
        at = stpcpy(at, st->meta_key[i]) + 1;
        at = stpcpy(at, st->meta_value[i]) + 1;
    }
    o.meta_bytes = n;
    drove_tensor *t = calloc(st->n_tensors, sizeof *t);
    drove_status status = meta == NULL || t == NULL
                              ? drove__fail_nomem("a state", st->n_tensors * sizeof *t)
                              : DROVE_OK;
    for (size_t i = 0; i < st->n_tensors && t != NULL; i++) {
        t[i] = st->tensor[i];
        t[i].bytes = (const void *)(uintptr_t)((const char *)t[i].bytes - st->data);
    }
    if (status != DROVE_OK) goto fail;
    if ((status = carry(workers, DROVE_BROADCAST, 0, &o, sizeof o)) != DROVE_OK) goto fail;
    if ((status = carry(workers, DROVE_BROADCAST, 0, t, st->n_tensors * sizeof *t)) != DROVE_OK)
        goto fail;
    if ((status = carry(workers, DROVE_BROADCAST, 0, meta, (size_t)o.meta_bytes)) != DROVE_OK)
        goto fail;
    status = carry(workers, DROVE_BROADCAST, 0, st->data, st->size_bytes);
fail:
    free(meta);
    free(t);
    return status;
}

static drove_status receive_all(const drove_workers *workers, drove_safetensors *st)
{
    outline o;
    char *meta = NULL;
    *st = (drove_safetensors){0};
    DROVE_TRY(carry(workers, DROVE_BROADCAST, 0, &o, sizeof o));
    drove_status status;
    /* The memory of what will be received. */
    *st = (drove_safetensors){.size_bytes = (size_t)o.size_bytes, .is_checked = o.is_checked != 0};
    st->data = drove__alloc((size_t)o.size_bytes, 1);
    st->tensor = calloc((size_t)o.n_tensors, sizeof *st->tensor);
    meta = calloc((size_t)o.meta_bytes + 1, 1);
    if (st->data == NULL || st->tensor == NULL || meta == NULL) {
        status = drove__fail_nomem("a state", (size_t)o.size_bytes);
        goto fail;
    }
    st->n_tensors = (size_t)o.n_tensors;

    if ((status = carry(workers, DROVE_BROADCAST, 0, st->tensor,
                        st->n_tensors * sizeof *st->tensor)) != DROVE_OK)
        goto fail;
    if ((status = carry(workers, DROVE_BROADCAST, 0, meta, (size_t)o.meta_bytes)) != DROVE_OK)
        goto fail;
    if ((status = carry(workers, DROVE_BROADCAST, 0, st->data, st->size_bytes)) != DROVE_OK)
        goto fail;
    /* The bytes of a tensor are offsets on the way. */
    for (size_t i = 0; i < st->n_tensors; i++) {
        drove_tensor *t = &st->tensor[i];
        size_t offset = (size_t)(uintptr_t)t->bytes;
        if (!is_sound(t) || offset > st->size_bytes ||
            drove__tensor_bytes(t) > st->size_bytes - offset) {
            status = drove__fail(DROVE_E_SYSTEM, "a state from rank 0: cut short");
            goto fail;
        }
        t->bytes = st->data + offset;
    }

    const char *at = meta, *end = meta + o.meta_bytes;
    st->meta_key = calloc((size_t)o.n_meta, sizeof *st->meta_key);
    st->meta_value = calloc((size_t)o.n_meta, sizeof *st->meta_value);
    if (st->meta_key == NULL || st->meta_value == NULL) {
        status = drove__fail_nomem("a state", (size_t)o.n_meta * sizeof *st->meta_key);
        goto fail;
    }
    for (size_t i = 0; i < 2 * o.n_meta; i++) {
        char **to = i % 2 == 0 ? &st->meta_key[i / 2] : &st->meta_value[i / 2];
        size_t n = strnlen(at, (size_t)(end - at));
        *to = at + n < end ? strdup(at) : NULL;
        if (*to == NULL) {
            status = drove__fail(DROVE_E_SYSTEM, "a state from rank 0: cut short");
            goto fail;
        }
        at += n + 1;
        st->n_meta = i / 2 + 1;
    }
fail:
    free(meta);
    if (status != DROVE_OK) {
        drove__safetensors_fini(st);
        *st = (drove_safetensors){0};
    }
    return status;
}

drove_status drove__ranks_share(drove_workers *workers, drove_status status, drove_safetensors *st)
{
    if (workers->ranks.n <= 1) return status;
    DROVE_TRY(drove__ranks_agree(workers, status));
    return workers->ranks.rank == 0 ? send_all(workers, st) : receive_all(workers, st);
}
