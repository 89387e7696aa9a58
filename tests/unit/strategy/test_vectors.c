/* Where the vectors of a strategy lie: a worker's own on its NUMA node, the shared one on all.
 * The linker puts the functions below in the place of the topology's, so no
 * machine with several nodes is needed.
 *
 * ctest: wraps=drove__topo_alloc,drove__topo_free */
#include "strategy/strategy.h"
#include "support/test.h"

#include <stdlib.h>

enum { N_WORKERS = 5, N = 40, NOT_ASKED = -7 };

static int asked_node = NOT_ASKED;
static size_t asked_bytes, freed_bytes;

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node);
void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes);

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node)
{
    (void)topo;
    asked_node = node;
    asked_bytes = size_bytes;
    return calloc(1, size_bytes);
}

void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes)
{
    (void)topo;
    freed_bytes = size_bytes;
    free(memory);
}

static const drove_place place[N_WORKERS] = {{0, 0, 0}, {4, 4, 1}, {1, 1, 0}, {8, 8, 2}, {5, 5, 1}};

static int node_of(const drove_sync *s, unsigned worker)
{
    asked_node = NOT_ASKED;
    float *vector = drove__sync_vector(s, worker);
    assert_non_null(vector);
    assert_int_equal(asked_bytes, N * sizeof(float));
    drove__sync_vector_free(s, vector);
    assert_int_equal(freed_bytes, N * sizeof(float));
    return asked_node;
}

TEST(a_workers_vector_lies_on_its_node)
{
    char topo; /* only its address is used */
    drove_sync s = {
        .topo = (const drove_topo *)&topo, .place = place, .n_vector = N, .n_workers = N_WORKERS};
    for (unsigned w = 0; w < N_WORKERS; w++) assert_int_equal(node_of(&s, w), place[w].node);
    assert_int_equal(node_of(&s, DROVE_SYNC_SHARED), -1);
    s.place = NULL; /* workers that are not bound */
    for (unsigned w = 0; w < N_WORKERS; w++) assert_int_equal(node_of(&s, w), -1);
}

TEST(first_parameters_lie_there_too)
{
    char topo;
    float theta[N];
    const drove_optim optim = {.n = N};
    const drove_sync s = {.topo = (const drove_topo *)&topo,
                          .place = place,
                          .optim = &optim,
                          .n_vector = N,
                          .n_workers = N_WORKERS};
    for (unsigned i = 0; i < N; i++) theta[i] = (float)i;
    for (unsigned w = 0; w < N_WORKERS; w++) {
        drove_params p = drove__sync_first_params(&s, w, &(drove_params){.theta = theta});
        assert_int_equal(asked_node, place[w].node);
        assert_memory_equal(p.theta, theta, sizeof theta);
        freed_bytes = 0;
        drove__sync_params_free(&s, &p);
        assert_null(p.theta);
        assert_int_equal(freed_bytes, N * sizeof(float));
    }
}

/* Behind the parameters the state of the rule lies, which starts at 0; words are copied as they
 * are. */
TEST(first_vectors_begin_with_the_parameters)
{
    enum { N_VECTOR = 2 * N };
    char topo;
    float theta[N_VECTOR];
    uint32_t words[N_VECTOR];
    const drove_optim optim = {.n = N};
    const drove_sync s = {.topo = (const drove_topo *)&topo,
                          .place = place,
                          .optim = &optim,
                          .n_vector = N_VECTOR,
                          .n_workers = N_WORKERS};
    for (unsigned i = 0; i < N_VECTOR; i++) {
        theta[i] = (float)i + 1.0f;
        words[i] = 3 * i + 1;
    }
    for (unsigned w = 0; w < N_WORKERS; w++) {
        float *first = drove__sync_first_vector(&s, w, theta);
        drove_params floats = drove__sync_first_params(&s, w, &(drove_params){.theta = theta}),
                     typed = drove__sync_first_params(&s, w, &(drove_params){.words = words});
        assert_int_equal(asked_node, place[w].node);
        assert_true(floats.words == NULL && typed.theta == NULL);
        for (unsigned i = 0; i < N_VECTOR; i++) {
            assert_true(first[i] == (i < N ? theta[i] : 0.0f));
            assert_true(floats.theta[i] == (i < N ? theta[i] : 0.0f));
            assert_int_equal(typed.words[i], i < N ? words[i] : 0);
        }
        drove__sync_vector_free(&s, first);
        drove__sync_params_free(&s, &floats);
        drove__sync_params_free(&s, &typed);
    }
}

TEST(without_a_topology_nothing_is_placed)
{
    const drove_sync s = {.place = place, .n_vector = N, .n_workers = N_WORKERS};
    asked_node = NOT_ASKED;
    float *vector = drove__sync_vector(&s, 1);
    assert_non_null(vector);
    for (unsigned i = 0; i < N; i++) assert_true(vector[i] == 0.0f);
    drove__sync_vector_free(&s, vector);
    assert_int_equal(asked_node, NOT_ASKED);
}
