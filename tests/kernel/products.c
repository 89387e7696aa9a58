#include "products.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PAD: unused elements between two rows */
enum { MAX_DIM = 1100, PAD = 3, N_SHAPES = 30, N_FACTORS = DROVEK_FACTORS_I8_I16 + 1 };

/* k products and sums, alpha and beta: each rounding is at most half a unit of the sum of sizes. */
static double product_bound(double sum_of_sizes, size_t k)
{
    return sum_of_sizes * (double)(k + 4) * 0x1p-24;
}

typedef struct product {
    size_t shape; /* its place in check_products */
    size_t m, n, k;
    bool trans_a, trans_b;
    float alpha, beta;
    size_t lda, ldb, ldc;
} product;

static float *numbers(uint64_t seed)
{
    size_t n = (size_t)MAX_DIM * (MAX_DIM + PAD);
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    fill_normal(x, n, 1.0, seed);
    return x;
}

/* The nearest integers of so many bits and a sign, times 2^-(bits - 3): those beyond are cut. */
static float *integers(uint64_t seed, int bits)
{
    const size_t n = (size_t)MAX_DIM * (MAX_DIM + PAD);
    const float most = ldexpf(1.0f, bits) - 1.0f;
    float *x = numbers(seed);
    for (size_t i = 0; i < n; i++) {
        float q = nearbyintf(ldexpf(x[i], bits - 3));
        if (i % 97 == 0) q = x[i] < 0.0f ? -most - 1.0f : most; /* both ends of the range */
        x[i] = ldexpf(fmaxf(-most - 1.0f, fminf(most, q)), 3 - bits);
    }
    return x;
}

factors products_factors(const drovek_table *tier)
{
    static factors all[N_FACTORS];
    factors *f = &all[tier->factors];
    if (f->a != NULL) return *f;
    if (tier->factors == DROVEK_FACTORS_I8)
        *f = (factors){integers(1, 7), integers(2, 7), numbers(3)};
    else if (tier->factors == DROVEK_FACTORS_I16)
        *f = (factors){integers(1, 15), integers(2, 15), numbers(3)};
    else *f = (factors){numbers(1), numbers(2), numbers(3)};
    return *f;
}

/* Elements between the first and the last of a matrix, inclusive. */
static size_t extent(size_t rows, size_t cols, size_t stride)
{
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * stride + cols;
}

static float at(const float *x, bool transposed, size_t stride, size_t row, size_t col)
{
    return transposed ? x[col * stride + row] : x[row * stride + col];
}

/* Of large products a sample of the elements of each row, another one in the next. */
static size_t step_of(const product *p)
{
    return p->m * p->n * p->k > 100000 ? 13 : 1;
}

/* One element of A B in double arithmetic, and the sum of its products' sizes. */
typedef struct element {
    double sum, size;
} element;

static element element_of(const drovek_table *t, const product *p, size_t i, size_t j)
{
    const factors f = products_factors(t);
    element e = {0.0, 0.0};
    for (size_t l = 0; l < p->k; l++) {
        double term = factor_value(t, at(f.a, p->trans_a, p->lda, i, l)) *
                      factor_value(t, at(f.b, p->trans_b, p->ldb, l, j));
        e.sum += term;
        e.size += fabs(term);
    }
    return e;
}

/* The elements that check_product looks at, in its order.  Tiers with the same kind of factors, and
 * all alpha and beta, have them in common, so each is computed once. */
static const element *elements_of(const drovek_table *t, const product *p)
{
    static element *all[N_FACTORS][N_SHAPES][4];
    element **of = &all[t->factors][p->shape][2 * p->trans_a + p->trans_b];
    if (*of != NULL) return *of;
    element *e = *of = malloc(p->m * p->n * sizeof *e);
    assert_non_null(e);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = i % step_of(p); j < p->n; j += step_of(p)) *e++ = element_of(t, p, i, j);
    return *of;
}

static void check_element(const drovek_table *t, const float *got, const product *p, element e,
                          size_t i, size_t j)
{
    const float c = products_factors(t).c[i * p->ldc + j];
    const double before = p->beta == 0.0f ? 0.0 : (double)p->beta * (double)c;
    const double found = got[i * p->ldc + j], exact = (double)p->alpha * e.sum + before;
    double bound = product_bound(fabs((double)p->alpha) * e.size + fabs(before), p->k);
    if (t->factors == DROVEK_FACTORS_I8 && p->alpha == 1.0f && p->beta == 0.0f &&
        e.size * 0x1p8 <= 0x1p24) /* in units of 2^-4 each */
        bound = 0.0;
    if (fabs(found - exact) <= bound) return;
    print_error("%s (%s) %zu x %zu x %zu %c%c: [%zu][%zu] is %g, not %g\n", t->isa, t->gemm_source,
                p->m, p->n, p->k, p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n', i, j, found,
                exact);
    fail();
}

static void check_product(const drovek_table *t, product p)
{
    factors f = products_factors(t);
    p.lda = (p.trans_a ? p.m : p.k) + PAD;
    p.ldb = (p.trans_b ? p.k : p.n) + PAD;
    p.ldc = p.n + PAD;
    size_t n_a = p.trans_a ? extent(p.k, p.m, p.lda) : extent(p.m, p.k, p.lda);
    size_t n_b = p.trans_b ? extent(p.n, p.k, p.ldb) : extent(p.k, p.n, p.ldb);
    float *got = guarded_floats(f.c, extent(p.m, p.n, p.ldc), PLACE_TURN);
    for (size_t i = 0; i < p.m && p.beta == 0.0f; i++) { /* not to be read */
        for (size_t j = 0; j < p.n; j++) got[i * p.ldc + j] = NAN;
    }
    t->gemm_f32(p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, guarded_floats(f.a, n_a, PLACE_TURN),
                p.lda, guarded_floats(f.b, n_b, PLACE_TURN), p.ldb, p.beta, got, p.ldc);
    const element *e = elements_of(t, &p);
    for (size_t i = 0; i < p.m; i++)
        for (size_t j = i % step_of(&p); j < p.n; j += step_of(&p))
            check_element(t, got, &p, *e++, i, j);
    for (size_t i = 0; i + 1 < p.m; i++) {
        assert_memory_equal(got + i * p.ldc + p.n, f.c + i * p.ldc + p.n, PAD * sizeof *got);
    }
    guarded_free_all();
}

void check_products(const drovek_table *tier)
{
    static const struct {
        size_t m, n, k;
    } shapes[N_SHAPES] = {
        {1, 1, 1},      {1, 128, 784},  {2, 3, 4},      {5, 17, 33},     {16, 10, 128},
        {16, 128, 128}, {16, 128, 784}, {31, 64, 65},   {64, 128, 784},  {128, 128, 64},
        {784, 128, 16}, {128, 10, 16},  {16, 128, 10},  {65, 130, 70},   {784, 128, 64},
        {33, 200, 129}, {3, 128, 1},    {64, 10, 128},  {8, 128, 128},   {13, 144, 40},
        {7, 16, 300},   {8, 100, 70},   {4, 33, 200},   {130, 600, 140}, {20, 700, 20},
        {17, 24, 1030}, {9, 40, 1100},  {19, 10, 1024}, {12, 48, 50},    {6, 31, 15},
    };
    static const float scales[][2] = {{1.0f, 0.0f}, {1.0f, 1.0f}, {-0.05f, 1.0f}, {0.5f, 0.25f}};
    drovek_thread_init();
    for (size_t i = 0; i < N_SHAPES; i++) {
        for (size_t variant = 0; variant < 16; variant++) {
            const float *scale = scales[variant / 4];
            product p = {.shape = i,
                         .m = shapes[i].m,
                         .n = shapes[i].n,
                         .k = shapes[i].k,
                         .trans_a = variant % 2 != 0,
                         .trans_b = variant / 2 % 2 != 0,
                         .alpha = scale[0],
                         .beta = scale[1]};
            check_product(tier, p);
        }
    }
}
