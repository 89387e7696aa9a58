/* The strategy of docs/adding-a-strategy.md: it compiles, is what the page prints, and keeps its
 * promises. */
#include "../../../docs/example_strategy.c"

#include "base/rng.h"
#include "support/strategies.h"

#include <stdlib.h>

enum { T = 4, N = 256, STEPS = 2000 };

/* ---- the page ---- */

/* Whole file under the source folder; free(). */
static char *load(const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", DROVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    (void)fclose(file);
    return text;
}

static void is_what_the_page_prints(void **state)
{
    (void)state;
    char *page = load("docs/adding-a-strategy.md"), *code = load("docs/example_strategy.c");
    char *begin = strstr(page, "```c\n");
    assert_non_null(begin);
    begin += strlen("```c\n");
    char *end = strstr(begin, "```\n");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(begin, code);
    free(page);
    free(code);
}

/* ---- its promises ---- */

static void one_worker_equals_sequential(void **state)
{
    (void)state;
    rig a, b;
    float theta0[N], g[N];
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    for (int i = 0; i < N; i++) theta0[i] = (float)drove__rng_normal(&rng);
    rig_options o = {.variant = "sequential", .rule = "adam", .n = N, .theta0 = theta0};
    rig_init(&a, o);
    o.variant = "spin";
    o.ops = &drove__sync_spin;
    rig_init(&b, o);
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < N; i++) g[i] = (float)drove__rng_normal(&rng);
        assert_int_equal(take_step(&a, 0, g, 0.01f, NULL, NULL), DROVE_OK);
        assert_int_equal(take_step(&b, 0, g, 0.01f, NULL, NULL), DROVE_OK);
    }
    assert_memory_equal(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                        a.sync->n_vector * sizeof(float));
    rig_fini(&a);
    rig_fini(&b);
}

typedef struct tally {
    unsigned n_torn[T], n_wrong[T];
    _Atomic unsigned n_at[T * STEPS + 1]; /* steps that went into the update of this number */
} tally;

/* Steps of 1 in every element: after t updates each element is -t. */
static void add_ones(rig *r, unsigned worker, void *arg)
{
    tally *c = arg;
    float ones[N];
    for (int i = 0; i < N; i++) ones[i] = 1.0f;
    for (unsigned i = 0; i < STEPS / STEPS_DIVISOR; i++) {
        drove_view view;
        drove_publish_info info;
        if (take_step(r, worker, ones, 1.0f, &view, &info) != DROVE_OK) c->n_wrong[worker]++;
        for (int j = 0; j < N; j++) c->n_torn[worker] += view.vector[j] != -(float)view.version;
        uint64_t number = view.version + info.staleness + 1;
        if (number <= T * STEPS) atomic_fetch_add(&c->n_at[number], 1);
    }
}

static void many_workers_lose_nothing(void **state)
{
    (void)state;
    rig r;
    static tally c;
    unsigned n_steps = T * (STEPS / STEPS_DIVISOR);
    rig_init(&r,
             (rig_options){.variant = "spin", .ops = &drove__sync_spin, .n = N, .n_workers = T});
    run_workers(&r, add_ones, &c);
    for (int i = 0; i < N; i++) assert_true(r.sync->ops->peek(r.sync).theta[i] == -(float)n_steps);
    for (unsigned w = 0; w < T; w++) assert_int_equal(c.n_torn[w] + c.n_wrong[w], 0);
    for (unsigned i = 1; i <= n_steps; i++) assert_int_equal(atomic_load(&c.n_at[i]), 1);
    rig_fini(&r);
}

static void refuses_what_it_has_not(void **state)
{
    (void)state;
    rig r;
    rig_options o = {.variant = "spin:3", .ops = &drove__sync_spin};
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    rig_fini(&r);
    o.variant = "spin";
    o.backoff = "linear";
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_the_page_prints),
        cmocka_unit_test(one_worker_equals_sequential),
        cmocka_unit_test(many_workers_lose_nothing),
        cmocka_unit_test(refuses_what_it_has_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
