/* Are elements of shared vectors written and read whole?  The races R1 to R8 of
 * docs/inside/memory-model.md rest on it.
 *
 * One thread changes all elements of a vector between two values, none of whose bytes are equal,
 * with the kernels that train; another reads them with the kernels that train, and as single words.
 * Each element that is read must be one of the two values: anything else is half of each.  Vectors
 * begin at several places of a cache line and lie across lines and pages.
 *
 * That the test would see a torn element is tested as well: by a writer that stores halves, and by
 * elements that lie across two cache lines, which processors write in two parts.
 * DROVE_TEST_TEARING_MS: time for each pair of a writer and a reader. */
#include "base/cpu.h"
#include "base/mem.h"
#include "base/racy.h"
#include "kernel/kernel.h"
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1200, MARGIN_BYTES = 64, N_VALUES = 2, PAGE_BYTES = 4096 };

/* ---- what is written ---- */

typedef struct shared { /* one vector, and what writer and reader need */
    const drovek_table *k;
    drove_number number;
    size_t n, bytes;          /* elements, bytes of one */
    void *w, *memory;         /* [n] shared; around it */
    void *with[N_VALUES];     /* [n] private: all elements of one value */
    void *step;               /* [n] private: from value 0 to value 1 */
    uint32_t *order;          /* [n] private: a permutation */
    uint32_t value[N_VALUES]; /* bits */
    uint64_t n_samples, n_torn, n_mixed;
    atomic_int is_over;
} shared;

/* Within a factor of two, so that sums and differences are exact; no byte is equal. */
static const uint32_t float_bits[N_VALUES] = {0x3fa1b2c3, 0x400d5e6f};
/* Their difference fits into a 16-bit example. */
static const uint32_t word_bits[N_VALUES] = {0x1234, 0x6b5a};

typedef void write_fn(shared *s, unsigned to);           /* all elements to value `to` */
typedef size_t read_fn(shared *s, void *out, size_t at); /* elements read into out[] */

static float difference(const shared *s)
{
    float a, b;
    memcpy(&a, &s->value[0], sizeof a);
    memcpy(&b, &s->value[1], sizeof b);
    return b - a;
}

static void write_copy(shared *s, unsigned to)
{
    s->k->copy_f32(s->w, s->with[to], s->n);
}

static void write_streamed(shared *s, unsigned to)
{
    static const float zero[MOST];
    s->k->add_f32(s->w, s->with[to], zero, s->n, 1.0f, true);
}

static void write_sgd(shared *s, unsigned to)
{
    s->k->sgd_f32(s->w, s->w, s->step, s->n, to == 1 ? -1.0f : 1.0f);
}

static void write_axpy(shared *s, unsigned to)
{
    s->k->axpy_f32(s->w, s->step, s->n, to == 1 ? 1.0f : -1.0f);
}

static void write_linear(shared *s, unsigned to)
{
    const drovek_factor factor = {.a = to == 1 ? 1 : -1, .f = to == 1 ? 1.0f : -1.0f};
    static _Alignas(64) const uint8_t block[64];
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = block};
    const void *x = s->step;
    (void)s->k->linear.axpy[s->number][s->number](s->w, &x, &factor, 1, s->n, &bits);
}

static void write_sparse(shared *s, unsigned to)
{
    const drovek_factor factor = {.a = to == 1 ? 1 : -1, .f = to == 1 ? 1.0f : -1.0f};
    static _Alignas(64) const uint8_t block[64];
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = block};
    const drovek_pairs x = {.index = s->order, .value = s->step, .n_stored = s->n};
    (void)s->k->linear.spaxpy[s->number][2][s->number](s->w, &x, &factor, &bits);
}

/* Planted: each element in two halves. */
static void write_halves(shared *s, unsigned to)
{
    const unsigned char *from = s->with[to];
    unsigned char *w = s->w;
    for (size_t i = 0; i < s->n * s->bytes; i += s->bytes / 2)
        for (size_t b = 0; b < s->bytes / 2; b++)
            __atomic_store_n(&w[i + b], from[i + b], __ATOMIC_RELAXED);
}

/* ---- what is read ---- */

static size_t read_copy(shared *s, void *out, size_t at)
{
    (void)at;
    s->k->copy_f32(out, s->w, s->n);
    return s->n;
}

/* Element by element, as single words. */
static size_t read_words(shared *s, void *out, size_t at)
{
    (void)at;
    for (size_t i = 0; i < s->n; i++) {
        if (s->bytes == 2) {
            int16_t v = drove__racy_load_i16((const int16_t *)s->w + i);
            memcpy((char *)out + 2 * i, &v, sizeof v);
        } else {
            float v = drove__racy_load((const float *)s->w + i);
            memcpy((char *)out + 4 * i, &v, sizeof v);
        }
    }
    return s->n;
}

/* One element: the sum of products with a vector that is 1 there and 0 elsewhere is the element. */
static size_t read_dot(shared *s, void *out, size_t at)
{
    static _Thread_local float x[MOST];
    x[at] = 1.0f;
    double sum = s->k->linear.dot[DROVE_F32][s->number](x, s->w, s->n);
    x[at] = 0.0f;
    float f = (float)sum;
    int16_t i = (int16_t)sum;
    memcpy(out, s->bytes == 2 ? (void *)&i : (void *)&f, s->bytes);
    return 1;
}

/* The same through gathers: pair `at` has the value 1. */
static size_t read_sparse(shared *s, void *out, size_t at)
{
    static _Thread_local float x[MOST];
    const drovek_pairs pairs = {.index = s->order, .value = x, .n_stored = s->n};
    x[at] = 1.0f;
    double sum = s->k->linear.spdot[DROVE_F32][2][s->number](&pairs, s->w);
    x[at] = 0.0f;
    float f = (float)sum;
    int16_t i = (int16_t)sum;
    memcpy(out, s->bytes == 2 ? (void *)&i : (void *)&f, s->bytes);
    return 1;
}

/* ---- a writer and a reader ---- */

static void *write_all(void *argument)
{
    struct {
        shared *s;
        write_fn *write;
    } *job = argument;
    drovek_thread_init();
    for (unsigned i = 1; !atomic_load_explicit(&job->s->is_over, memory_order_relaxed); i++)
        job->write(job->s, i % N_VALUES);
    return NULL;
}

static void count(shared *s, const void *out, size_t n)
{
    size_t n_of[N_VALUES] = {0};
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0;
        memcpy(&bits, (const char *)out + i * s->bytes, s->bytes);
        if (bits == s->value[0]) n_of[0]++;
        else if (bits == s->value[1]) n_of[1]++;
        else s->n_torn++;
    }
    s->n_samples += n;
    s->n_mixed += n_of[0] > 0 && n_of[1] > 0;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double limit_s(void)
{
    const char *text = getenv("DROVE_TEST_TEARING_MS");
    return (text != NULL ? strtod(text, NULL) : 6.0) * 1e-3;
}

static void run_pair(shared *s, write_fn *write, read_fn *read)
{
    struct {
        shared *s;
        write_fn *write;
    } job = {s, write};
    static _Alignas(64) char out[MOST * sizeof(float) + MARGIN_BYTES];
    pthread_t writer;
    double end_s = now_s() + limit_s();
    memcpy(s->w, s->with[0], s->n * s->bytes);
    atomic_store(&s->is_over, 0);
    assert_int_equal(pthread_create(&writer, NULL, write_all, &job), 0);
    for (size_t i = 0; now_s() < end_s; i = (i + 7) % s->n) {
        for (unsigned k = 0; k < 8; k++) count(s, out, read(s, out, (i + 31 * k) % s->n));
    }
    atomic_store(&s->is_over, 1);
    pthread_join(writer, NULL);
}

/* ---- vectors ---- */

/* n elements, `shift` bytes behind the beginning of the last cache line of a page. */
static void open_vector(shared *s, const drovek_table *k, drove_number number, size_t n,
                        size_t shift)
{
    *s = (shared){.k = k, .number = number, .n = n, .bytes = drove__number_size(number)};
    size_t room = MOST * sizeof(float) + 3 * PAGE_BYTES;
    char *memory = drove__alloc(1, room);
    assert_non_null(memory);
    char *page = memory + PAGE_BYTES - (uintptr_t)memory % PAGE_BYTES;
    s->memory = memory;
    s->w = page + PAGE_BYTES - DROVE_CACHE_LINE + shift;
    s->order = calloc(n, sizeof *s->order);
    for (size_t i = 0; i < n; i++) s->order[i] = (uint32_t)(i * 7 % n);
    for (unsigned v = 0; v < N_VALUES; v++)
        s->value[v] = number == DROVE_F32 ? float_bits[v] : word_bits[v];
    float gap = difference(s);
    int16_t words = (int16_t)(word_bits[1] - word_bits[0]);
    for (unsigned v = 0; v < N_VALUES; v++) {
        s->with[v] = drove__alloc(1, MOST * sizeof(float) + MARGIN_BYTES);
        for (size_t i = 0; i < n; i++)
            memcpy((char *)s->with[v] + i * s->bytes, &s->value[v], s->bytes);
    }
    s->step = drove__alloc(1, MOST * sizeof(float) + MARGIN_BYTES);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)s->step + i * s->bytes, number == DROVE_F32 ? (void *)&gap : (void *)&words,
               s->bytes);
}

static void close_vector(shared *s)
{
    for (unsigned v = 0; v < N_VALUES; v++) drove__free(s->with[v]);
    drove__free(s->step);
    drove__free(s->memory);
    free(s->order);
}

/* ---- tests ---- */

typedef struct writer {
    const char *name;
    write_fn *write;
    bool of_floats, of_words;
} writer;
static const writer writers[] = {
    {"copy", write_copy, true, false},
    {"sgd in place", write_sgd, true, false},
    {"axpy in place", write_axpy, true, false},
    {"add past the caches", write_streamed, true, false},
    {"linear axpy", write_linear, true, true},
    {"linear spaxpy", write_sparse, true, true},
};

typedef struct reader {
    const char *name;
    read_fn *read;
    bool of_floats, of_words;
} reader;
static const reader readers[] = {
    {"copy", read_copy, true, false},
    {"words", read_words, true, true},
    {"linear dot", read_dot, true, true},
    {"linear spdot", read_sparse, true, true},
};

typedef struct totals {
    uint64_t n_samples, n_torn, n_mixed;
} totals;

static void add(totals *t, const shared *s)
{
    t->n_samples += s->n_samples;
    t->n_torn += s->n_torn;
    t->n_mixed += s->n_mixed;
}

static void run_all(const drovek_table *k, drove_number number, totals *sum)
{
    static const size_t shifts[] = {0, 4, 12, 36, 60}; /* bytes behind a cache line's beginning */
    static const size_t lengths[] = {61, 1000};
    unsigned turn = 0;
    for (size_t a = 0; a < sizeof writers / sizeof *writers; a++) {
        for (size_t b = 0; b < sizeof readers / sizeof *readers; b++) {
            const writer *w = &writers[a];
            const reader *r = &readers[b];
            bool fits =
                number == DROVE_F32 ? w->of_floats && r->of_floats : w->of_words && r->of_words;
            if (!fits) continue;
            for (size_t i = 0; i < 2; i++, turn++) {
                shared s;
                size_t shift = shifts[turn % 5] + (number == DROVE_I16 && turn % 2 ? 2 : 0);
                open_vector(&s, k, number, lengths[i], shift);
                run_pair(&s, w->write, r->read);
                if (s.n_torn > 0)
                    print_message("%s: %s and %s, %zu elements at +%zu: %llu torn of %llu\n",
                                  k->isa, w->name, r->name, lengths[i], shift,
                                  (unsigned long long)s.n_torn, (unsigned long long)s.n_samples);
                add(sum, &s);
                close_vector(&s);
            }
        }
    }
}

static void test_tier(const drovek_table *k)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        totals sum = {0};
        drove_number number = pass == 0 ? DROVE_F32 : DROVE_I16;
        run_all(k, number, &sum);
        print_message("%s, %s: %llu elements read, %llu vectors of both values, %llu torn\n",
                      k->isa, pass == 0 ? "floats" : "16-bit words",
                      (unsigned long long)sum.n_samples, (unsigned long long)sum.n_mixed,
                      (unsigned long long)sum.n_torn);
        assert_int_equal(sum.n_torn, 0);
        assert_true(sum.n_samples > 10000);
    }
}

FIXTURE(need_wide_accesses)
{
    if (DROVE_TSAN) {
        printf("skip: ThreadSanitizer's build has single words only\n");
        exit(77);
    }
    return 0;
}

GROUP(need_wide_accesses, NULL);

TEST(no_element_is_torn)
{
    for (const char *const *name = drovek_tiers(); *name != NULL; name++) {
        drovek_table tier;
        drove_status status = drovek_select(&tier, drove__cpu_features(), *name);
        if (status == DROVE_E_UNSUPPORTED) {
            print_message("skipped: this processor cannot run the tier %s\n", *name);
            continue;
        }
        assert_int_equal(status, DROVE_OK);
        test_tier(&tier);
    }
}

/* Until the mistake is seen, for at most a thousand times as long: on a busy machine the two
 * threads seldom run at once. */
static bool is_seen(drove_number number, size_t shift, write_fn *write, read_fn *read)
{
    drovek_table k;
    bool seen = false;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    for (unsigned i = 0; i < 1000 && !seen; i++) {
        shared s;
        open_vector(&s, &k, number, 1000, shift);
        run_pair(&s, write, read);
        seen = s.n_torn > 0;
        if (seen)
            print_message("planted, %s: %llu torn of %llu\n",
                          shift % 4 == 0 ? "halves" : "unaligned", (unsigned long long)s.n_torn,
                          (unsigned long long)s.n_samples);
        close_vector(&s);
    }
    return seen;
}

TEST(halves_are_seen)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) skip(); /* nobody reads while another writes */
    assert_true(is_seen(DROVE_F32, 0, write_halves, read_copy));
    assert_true(is_seen(DROVE_F32, 0, write_halves, read_words));
    assert_true(is_seen(DROVE_F32, 0, write_halves, read_dot));
    assert_true(is_seen(DROVE_I16, 0, write_halves, read_words));
    assert_true(is_seen(DROVE_I16, 0, write_halves, read_dot));
}

/* Floats at odd places: the one across two lines.  No processor has to tear it. */
TEST(elements_across_lines_are_torn)
{
    if (!is_seen(DROVE_F32, 2, write_copy, read_copy))
        print_message("elements across two cache lines are not torn here\n");
}
