/* A step in place on a vector that others are changing (strategy/shared.h): where each worker
 * begins, and on a virtual clock which pieces are loaded and stored, what they cost, and what of
 * the others' stores is lost.  Expected values come from plain loops of this file.
 * The linker puts functions of this file in the place of the virtual clock's
 *: they note their calls, and store for the others.
 *
 * ctest: wraps=drove__optim_apply,drove__virtual_own_scratch,drove__virtual_take
 * ctest: wraps=drove__virtual_loaded,drove__virtual_stored,drove__virtual_copy */
#include "strategy/shared.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/virtual.h"

#include <string.h>

enum { PIECE = 4096, STRIDE = 1024, N = 3 * PIECE + 48, N_VECTOR = 2 * N, MOST_NOTES = 64 };
static const float ETA = 2.0f, MU = 0.5f, OTHERS = 1000.0f;

typedef enum what { APPLY, LOADED, STORED, COPIED } what;
typedef struct note {
    what what;
    size_t offset, length;   /* APPLY */
    double number, taken_ns; /* LOADED, COPIED: bytes; STORED: what was left */
} note;

static note notes[MOST_NOTES];
static unsigned n_notes;
static float scratch[N_VECTOR], *stored_by_others; /* NULL: nothing is */
static bool has_scratch;

static note *add_note(what which)
{
    assert_true(n_notes < MOST_NOTES);
    notes[n_notes] = (note){.what = which};
    return &notes[n_notes++];
}

void __real_drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                               uint64_t t, size_t offset, size_t length, const float *in,
                               float *out);
void __wrap_drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                               uint64_t t, size_t offset, size_t length, const float *in,
                               float *out);
float *__wrap_drove__virtual_own_scratch(void);
double __wrap_drove__virtual_take(const float *at, size_t n, bool writes);
double __wrap_drove__virtual_loaded(double bytes, double taken_ns);
void __wrap_drove__virtual_stored(double left_ns);
void __wrap_drove__virtual_copy(double bytes, double taken_ns);

void __wrap_drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                               uint64_t t, size_t offset, size_t length, const float *in,
                               float *out)
{
    note *made = add_note(APPLY);
    made->offset = offset;
    made->length = length;
    __real_drove__optim_apply(optim, step, staleness, t, offset, length, in, out);
}

float *__wrap_drove__virtual_own_scratch(void)
{
    return has_scratch ? scratch : NULL;
}

/* A float that is taken costs 2 ns to read and 3 ns to write. */
double __wrap_drove__virtual_take(const float *at, size_t n, bool writes)
{
    (void)at;
    return (writes ? 3.0 : 2.0) * (double)n;
}

double __wrap_drove__virtual_loaded(double bytes, double taken_ns)
{
    note *made = add_note(LOADED);
    made->number = bytes;
    made->taken_ns = taken_ns;
    for (size_t i = 0; i < N_VECTOR && stored_by_others != NULL; i++) stored_by_others[i] += OTHERS;
    return bytes + 0.5;
}

void __wrap_drove__virtual_stored(double left_ns)
{
    add_note(STORED)->number = left_ns;
}

void __wrap_drove__virtual_copy(double bytes, double taken_ns)
{
    note *made = add_note(COPIED);
    made->number = bytes;
    made->taken_ns = taken_ns;
}

/* ---- the step, plainly ---- */

static float value[N], vector[N_VECTOR], expected[N_VECTOR];

typedef struct part {
    size_t offset, length;
} part;

static bool is_covered(const drove_step *step, size_t i)
{
    bool is_in = step->span == NULL;
    for (size_t j = 0; j < step->n_spans; j++)
        is_in |= i >= step->span[j].offset && i < step->span[j].offset + step->span[j].length;
    return is_in;
}

/* v = mu v - eta g; theta = theta + v; for a rule without state mu = 0. */
static void expect_element(const drove_sync *s, const float *from, size_t i)
{
    float v = -ETA * value[i];
    if (s->n_vector == N_VECTOR) v = expected[N + i] = MU * from[N + i] + v;
    expected[i] = from[i] + v;
}

/* Each piece is computed from what lay there before the others stored. */
static void expect_pieces(const drove_sync *s, const drove_step *step, const part *piece)
{
    static float before[N_VECTOR];
    for (; piece->length > 0; piece++) {
        bool is_touched = false;
        memcpy(before, expected, sizeof before);
        for (size_t i = piece->offset; i < piece->offset + piece->length; i++)
            is_touched |= is_covered(step, i);
        for (size_t i = 0; is_touched && i < N_VECTOR; i++) expected[i] += OTHERS;
        for (size_t i = piece->offset; i < piece->offset + piece->length; i++) {
            if (is_covered(step, i)) expect_element(s, before, i);
        }
    }
}

static void begin(drove_sync *s, drovek_table *kernels, const char *rule, drove_optim **optim)
{
    assert_int_equal(drovek_select(kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options opt = {.rule = rule,
                                     .schedule = "constant",
                                     .lr = 1.0,
                                     .n_params = N,
                                     .n_workers = 1,
                                     .kernels = kernels};
    assert_int_equal(drove__optim_create(&opt, optim), DROVE_OK);
    assert_int_equal((*optim)->n, N);
    *s = (drove_sync){.optim = *optim, .n_vector = (*optim)->n_vector};
    for (size_t i = 0; i < N; i++) value[i] = (float)(i % 11) - 5.0f;
    for (size_t i = 0; i < N_VECTOR; i++) vector[i] = expected[i] = (float)(i % 13);
    n_notes = 0;
}

static void compare(void)
{
    for (size_t i = 0; i < N_VECTOR; i++) {
        if (vector[i] != expected[i])
            fail_msg("element %zu: %g, expected %g", i, (double)vector[i], (double)expected[i]);
    }
}

/* ---- the real clock ---- */

static void check_forwards(size_t first)
{
    assert_int_equal(n_notes, first > 0 ? 2 : 1);
    assert_int_equal(notes[0].offset, first);
    assert_int_equal(notes[0].length, N - first);
    if (n_notes == 2) {
        assert_int_equal(notes[1].offset, 0);
        assert_int_equal(notes[1].length, first);
    }
}

/* Strides that end where the last one began, from `first` to 0 and from N to `first`. */
static void check_backwards(size_t first)
{
    for (unsigned i = 0; i < n_notes; i++) {
        size_t end = i == 0 ? first : notes[i - 1].offset > 0 ? notes[i - 1].offset : N;
        assert_int_equal(notes[i].offset + notes[i].length, end);
        assert_in_range(notes[i].length, 1, STRIDE);
        assert_true(notes[i].offset % STRIDE == 0 || notes[i].offset == first);
    }
    assert_int_equal(notes[n_notes - 1].offset, first < N ? first : 0);
}

/* The parts of 771 cache lines of a float vector: the worker begins at its own and goes round, or
 * at its end and goes backwards. */
TEST(a_dense_step_begins_at_the_workers_part)
{
    static const struct {
        unsigned part, n_parts;
        size_t first;
    } cases[] = {{0, 1, 0},        {0, 3, 0}, {1, 2, N},        {1, 3, 514 * 16},
                 {2, 3, 514 * 16}, {3, 4, N}, {1, 4, 385 * 16}, {2, 4, 385 * 16}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_sync s;
        drovek_table kernels;
        drove_optim *optim;
        begin(&s, &kernels, "momentum:0.5", &optim);
        const drove_step step = {.value = value, .eta = ETA};
        for (size_t i = 0; i < N; i++) expect_element(&s, vector, i);
        drove__sync_apply_from(&s, &step, cases[c].part, cases[c].n_parts, 0, 1, vector);
        compare();
        if (cases[c].part % 2 == 1) check_backwards(cases[c].first);
        else check_forwards(cases[c].first);
        drove__optim_destroy(optim);
    }
}

static const drove_span spans[] = {{16, 32}, {4090, 20}, {8200, 16}, {N - 16, 16}};

TEST(a_sparse_step_is_made_whole)
{
    drove_sync s;
    drovek_table kernels;
    drove_optim *optim;
    begin(&s, &kernels, "sgd", &optim);
    const drove_step step = {
        .value = value, .eta = ETA, .span = spans, .n_spans = DROVE_COUNT(spans)};
    for (size_t i = 0; i < N; i++) {
        if (is_covered(&step, i)) expect_element(&s, vector, i);
    }
    drove__sync_apply_from(&s, &step, 2, 3, 0, 1, vector);
    compare();
    assert_int_equal(n_notes, 1);
    assert_int_equal(notes[0].offset, 0);
    assert_int_equal(notes[0].length, N);
    drove__optim_destroy(optim);
}

/* ---- a virtual clock ---- */

static char actor; /* only its address is used */

static void step_virtually(const drove_sync *s, const drove_step *step, unsigned which,
                           const part *piece)
{
    expect_pieces(s, step, piece);
    has_scratch = true;
    stored_by_others = vector;
    drove__actor = (drove_actor *)&actor;
    drove__sync_apply_from(s, step, which, 3, 0, 1, vector);
    drove__actor = NULL;
    stored_by_others = NULL;
    has_scratch = false;
    compare();
}

/* Pieces end at the same places for all workers. */
TEST(a_dense_step_is_made_piece_by_piece)
{
    static const part pieces[2][6] = {
        {{0, PIECE}, {PIECE, PIECE}, {2 * PIECE, PIECE}, {3 * PIECE, 48}, {0, 0}},
        {{4112, 4080}, {2 * PIECE, PIECE}, {3 * PIECE, 48}, {0, PIECE}, {PIECE, 16}, {0, 0}}};
    for (unsigned which = 0; which < 2; which++) {
        drove_sync s;
        drovek_table kernels;
        drove_optim *optim;
        begin(&s, &kernels, "momentum:0.5", &optim);
        const drove_step step = {.value = value, .eta = ETA};
        step_virtually(&s, &step, which, pieces[which]);
        unsigned n = 0;
        for (const part *p = pieces[which]; p->length > 0; p++, n += 2) {
            double bytes = 2.0 * 4.0 * (double)p->length; /* theta and velocity, of floats */
            assert_int_equal(notes[n].what, LOADED);
            assert_true(notes[n].number == bytes);
            assert_true(notes[n].taken_ns == 3.0 * 2.0 * (double)p->length);
            assert_int_equal(notes[n + 1].what, STORED);
            assert_true(notes[n + 1].number == bytes + 0.5);
        }
        assert_int_equal(n_notes, n);
        drove__optim_destroy(optim);
    }
}

/* Only what spans cover is taken, paid for and stored; pieces without any cost nothing. */
TEST(a_sparse_step_touches_what_it_covers)
{
    static const part pieces[] = {
        {0, PIECE}, {PIECE, PIECE}, {2 * PIECE, PIECE}, {3 * PIECE, 48}, {0, 0}};
    /* {16, 32} and 6 of {4090, 20}; its 14 others; {8200, 16}; {N - 16, 16} */
    static const double covered[] = {38, 14, 16, 16};
    drove_sync s;
    drovek_table kernels;
    drove_optim *optim;
    begin(&s, &kernels, "sgd", &optim);
    drove_step step = {.value = value, .eta = ETA, .span = spans, .n_spans = DROVE_COUNT(spans)};
    step_virtually(&s, &step, 2, pieces);
    assert_int_equal(n_notes, 8);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(notes[2 * i].number == 4.0 * covered[i]);
        assert_true(notes[2 * i].taken_ns == 3.0 * covered[i]);
    }
    drove__optim_destroy(optim);

    begin(&s, &kernels, "sgd", &optim);
    step.span = &spans[2];
    step.n_spans = 1;
    step_virtually(&s, &step, 1, pieces);
    assert_int_equal(n_notes, 2);
    assert_true(notes[0].number == 64.0 && notes[0].taken_ns == 48.0);
    drove__optim_destroy(optim);

    static const drove_span two = {PIECE - 1, 2}; /* one number of a piece, and of the next */
    begin(&s, &kernels, "sgd", &optim);
    step.span = &two;
    step_virtually(&s, &step, 0, pieces);
    assert_int_equal(n_notes, 4);
    assert_true(notes[0].number == 4.0 && notes[2].number == 4.0);
    drove__optim_destroy(optim);
}

/* The state lies behind the parameters, and is covered by the same spans: there alone what the
 * others stored is lost. */
TEST(state_is_stored_with_its_parameters)
{
    drove_sync s;
    drovek_table kernels;
    drove_optim *optim;
    begin(&s, &kernels, "adagrad", &optim);
    const drove_step step = {.value = value, .eta = ETA, .span = &spans[2], .n_spans = 1};
    has_scratch = true;
    stored_by_others = vector;
    drove__actor = (drove_actor *)&actor;
    drove__sync_apply_from(&s, &step, 0, 1, 0, 1, vector);
    drove__actor = NULL;
    stored_by_others = NULL;
    has_scratch = false;
    for (size_t i = 0; i < N_VECTOR; i++)
        assert_int_equal(vector[i] < OTHERS / 2, is_covered(&step, i % N));
    assert_int_equal(n_notes, 2);
    assert_true(notes[0].number == 128.0 && notes[0].taken_ns == 96.0);
    drove__optim_destroy(optim);
}

/* Actors whose vectors have a lock get no scratch: the step is the rule's own. */
TEST(without_scratch_a_step_is_whole)
{
    drove_sync s;
    drovek_table kernels;
    drove_optim *optim;
    begin(&s, &kernels, "sgd", &optim);
    const drove_step step = {.value = value, .eta = ETA};
    has_scratch = true; /* for no actor */
    drove__sync_apply_from(&s, &step, 0, 1, 0, 1, vector);
    has_scratch = false;
    assert_int_equal(n_notes, 1);
    assert_int_equal(notes[0].what, APPLY);
    drove__optim_destroy(optim);
}

/* ---- copies ---- */

TEST(a_copy_has_the_whole_vector)
{
    static float from[N_VECTOR + 16], to[N_VECTOR + 16];
    static const size_t lengths[] = {PIECE, PIECE, PIECE, PIECE, PIECE, PIECE, 96};
    drove_sync s;
    drovek_table kernels;
    drove_optim *optim;
    begin(&s, &kernels, "momentum:0.5", &optim);
    for (unsigned is_virtual = 0; is_virtual <= 1; is_virtual++) {
        for (size_t i = 0; i < N_VECTOR + 16; i++) {
            from[i] = (float)i;
            to[i] = -1.0f;
        }
        drove__actor = is_virtual ? (drove_actor *)&actor : NULL;
        drove__sync_copy_from(&s, from, to);
        drove__actor = NULL;
        for (size_t i = 0; i < N_VECTOR + 16; i++)
            assert_true(to[i] == (i < N_VECTOR ? (float)i : -1.0f));
    }
    assert_int_equal(n_notes, DROVE_COUNT(lengths)); /* of the virtual one */
    for (unsigned i = 0; i < n_notes; i++) {
        assert_int_equal(notes[i].what, COPIED);
        assert_true(notes[i].number == 4.0 * (double)lengths[i]);
        assert_true(notes[i].taken_ns == 2.0 * (double)lengths[i]);
    }
    drove__optim_destroy(optim);
}

/* ---- a step that copies what it has made ---- */

/* Forwards and backwards, theta and velocity; a sparse step copies nothing, nor does a step on a
 * virtual clock. */
TEST(a_step_copies_what_it_has_made)
{
    static float copy[N_VECTOR];
    for (unsigned which = 0; which < 4; which++) {
        drove_sync s;
        drovek_table kernels;
        drove_optim *optim;
        begin(&s, &kernels, which < 2 ? "momentum:0.5" : "sgd", &optim);
        drove_step step = {.value = value, .eta = ETA};
        if (which == 2) step.span = spans;
        if (which == 2) step.n_spans = DROVE_COUNT(spans);
        for (size_t i = 0; i < N; i++)
            if (is_covered(&step, i)) expect_element(&s, vector, i);
        memset(copy, 0, sizeof copy);
        has_scratch = which == 3;
        if (which == 3) drove__actor = (drove_actor *)&actor;
        const bool copies = drove__sync_apply_and_copy(&s, &step, which % 2, 2, 0, 1, vector, copy);
        drove__actor = NULL;
        has_scratch = false;
        compare();
        assert_int_equal(copies, which < 2);
        for (size_t i = 0; i < s.n_vector; i++)
            assert_true(copy[i] == (which < 2 ? expected[i] : 0.0f));
        drove__optim_destroy(optim);
    }
}
