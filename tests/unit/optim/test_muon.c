/* Muon against its equations in double: matrices that are wide, tall, square and of groups, between
 * parameters that adamw moves; velocity, decay and the size of a step; any tier. */
#include "support.h"

#include <math.h>
#include <string.h>

enum { N_STEPS = 4, N = 1600, MOST_SIDE = 40 };
static const float eta = 0.01f, mu = 0.9f, decay = 0.2f;
/* Float roundings, grown by the slope 3.4445 of the iteration at small singular values. */
static const double BOUND = 1e-6;

/* [n_groups][n_in][n_out] at offsets that begin at 16 floats; numbers between are adamw's. */
static const drove_weight_matrix matrices[] = {
    {.offset = 16, .n_groups = 1, .n_in = 5, .n_out = 33},
    {.offset = 208, .n_groups = 1, .n_in = 37, .n_out = 7},
    {.offset = 480, .n_groups = 1, .n_in = 20, .n_out = 20},
    {.offset = 880, .n_groups = 3, .n_in = 6, .n_out = 4},
    {.offset = 960, .n_groups = 4, .n_in = 9, .n_out = 1},
    {.offset = 1008, .n_groups = 1, .n_in = 1, .n_out = 3}};

typedef double matrix[MOST_SIDE]
                     [MOST_SIDE]; /* outputs are rows, as the paper and PyTorch have it */

static size_t index_of(const drove_weight_matrix *m, size_t row, size_t column)
{
    return m->offset + (row / m->n_out * m->n_in + column) * m->n_out + row % m->n_out;
}

/* zeropower_via_newtonschulz5 of Jordan et al., in double and with the plain three loops. */
static void orthogonalise(matrix x, size_t n_rows, size_t n_columns)
{
    static matrix gram, update, next;
    const bool is_turned = n_rows > n_columns;
    double square = 0.0;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++) square += x[i][j] * x[i][j];
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++) x[i][j] /= fmax(sqrt(square), 1e-7);
    if (is_turned) {
        for (size_t i = 0; i < n_rows; i++)
            for (size_t j = 0; j < n_columns; j++) next[j][i] = x[i][j];
        memcpy(x, next, sizeof(matrix));
    }
    const size_t rows = is_turned ? n_columns : n_rows, columns = is_turned ? n_rows : n_columns;
    for (int step = 0; step < 5; step++) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < rows; j++) {
                gram[i][j] = 0.0;
                for (size_t k = 0; k < columns; k++) gram[i][j] += x[i][k] * x[j][k];
            }
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < rows; j++) {
                double sum = 0.0;
                for (size_t k = 0; k < rows; k++) sum += gram[i][k] * gram[k][j];
                update[i][j] = -4.7750 * gram[i][j] + 2.0315 * sum;
            }
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) {
                double sum = 0.0;
                for (size_t k = 0; k < rows; k++) sum += update[i][k] * x[k][j];
                next[i][j] = 3.4445 * x[i][j] + sum;
            }
        memcpy(x, next, sizeof(matrix));
    }
    if (is_turned) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) next[j][i] = x[i][j];
        memcpy(x, next, sizeof(matrix));
    }
}

typedef struct precise {
    double theta[N], v[N], m1[N], m2[N];
} precise;

static void step_matrix(precise *p, const drove_weight_matrix *m, const float *g)
{
    static matrix x;
    const size_t n_rows = m->n_groups * m->n_out, n_columns = m->n_in;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++) {
            const size_t at = index_of(m, i, j);
            p->v[at] += (1.0 - (double)mu) * ((double)g[at] - p->v[at]);
            x[i][j] = (double)g[at] + (double)mu * (p->v[at] - (double)g[at]);
        }
    orthogonalise(x, n_rows, n_columns);
    const double size = 0.2 * sqrt((double)(n_rows > n_columns ? n_rows : n_columns));
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++)
            p->theta[index_of(m, i, j)] -= (double)eta * size * x[i][j];
}

static bool is_in_matrix(size_t i)
{
    for (size_t k = 0; k < DROVE_COUNT(matrices); k++) {
        const drove_weight_matrix *m = &matrices[k];
        if (i >= m->offset && i < m->offset + m->n_groups * m->n_in * m->n_out) return true;
    }
    return false;
}

static void step_rest(precise *p, const float *g, double t)
{
    for (size_t i = 0; i < N; i++) {
        if (is_in_matrix(i)) continue;
        p->m1[i] = (double)0.8f * p->m1[i] + (1.0 - (double)0.8f) * (double)g[i];
        p->m2[i] = (double)0.95f * p->m2[i] + (1.0 - (double)0.95f) * (double)g[i] * (double)g[i];
        const double mean = p->m1[i] / (1.0 - pow((double)0.8f, t));
        const double square = p->m2[i] / (1.0 - pow((double)0.95f, t));
        p->theta[i] -= (double)eta * mean / (sqrt(square) + (double)1e-6f);
    }
}

static drove_optim *muon_of(const drovek_table *kernels)
{
    drove_optim_options opt = plain_options(N);
    opt.rule = "muon:0.9?beta1=0.8&beta2=0.95&epsilon=1e-6";
    opt.weight_decay = (double)decay;
    opt.kernels = kernels;
    opt.matrix = matrices;
    opt.n_matrices = DROVE_COUNT(matrices);
    return make_optim(&opt);
}

TEST(steps_are_those_of_the_paper)
{
    static precise p;
    drovek_table kernels;
    for (unsigned tier = 0; next_tier(tier, &kernels); tier++) {
        drove_optim *optim = muon_of(&kernels);
        drove_optim_worker w;
        drove_rng rng;
        assert_int_equal(optim->state, DROVE_STATE_WORKER);
        assert_int_equal(optim->n_vector, N);
        assert_ok(drove__optim_worker_init(&w, optim));
        drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
        float *theta = random_vector(&rng, N);
        p = (precise){.theta = {0}};
        for (size_t i = 0; i < N; i++) p.theta[i] = (double)theta[i];
        for (unsigned t = 1; t <= N_STEPS; t++) {
            float *g = random_vector(&rng, N);
            for (size_t i = 0; i < N; i++) p.theta[i] *= 1.0 - (double)eta * (double)decay;
            for (size_t k = 0; k < DROVE_COUNT(matrices); k++) step_matrix(&p, &matrices[k], g);
            step_rest(&p, g, t);
            drove_step step;
            drove__optim_prepare(optim, &w, theta, g, NULL, 0, eta, &step);
            drove__optim_apply(optim, &step, 0, t, 0, N, theta, theta);
            for (size_t i = 0; i < N; i++)
                if (!(fabs((double)theta[i] - p.theta[i]) <= BOUND))
                    fail_msg("%s, step %u, number %zu: %.9g, expected %.9g", kernels.isa, t, i,
                             (double)theta[i], p.theta[i]);
            drove__free(g);
        }
        drove__free(theta);
        drove__optim_worker_fini(&w);
        drove__optim_destroy(optim);
    }
}

/* A gradient of 0, as of a network of dead units, gives no step and no NaN. */
TEST(no_gradient_is_no_step)
{
    drovek_table kernels;
    assert_true(next_tier(0, &kernels));
    drove_optim *optim = muon_of(&kernels);
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    float *theta = drove__alloc(N, sizeof *theta), *g = drove__alloc(N, sizeof *g);
    drove_step step;
    drove__optim_prepare(optim, &w, theta, g, NULL, 0, eta, &step);
    for (size_t i = 0; i < N; i++) assert_true(step.value[i] == 0.0f);
    drove__free(theta);
    drove__free(g);
    drove__optim_worker_fini(&w);
    drove__optim_destroy(optim);
}

TEST(which_rules_step_by_matrices)
{
    static const char *const others[] = {"adamw", "sgd", "muo", "muons", "", "muon,"};
    assert_true(drove__rule_by_matrix("muon") && drove__rule_by_matrix("muon:0.9") &&
                drove__rule_by_matrix("muon?beta1=0.5"));
    for (size_t i = 0; i < DROVE_COUNT(others); i++) assert_false(drove__rule_by_matrix(others[i]));
}
