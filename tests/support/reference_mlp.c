/* tests/support/reference_mlp.c - see reference_mlp.h. */
#include "support/reference_mlp.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t reference_n_params(const reference_mlp *m)
{
    size_t n = 0;
    for (size_t l = 0; l < m->n_layers; l++) n += (m->size[l] + 1) * m->size[l + 1];
    return n;
}

static double activate(reference_act act, double a)
{
    switch (act) {
    case REFERENCE_RELU: return a > 0 ? a : 0;
    case REFERENCE_LOGISTIC_CURVE: return 1 / (1 + exp(-a));
    case REFERENCE_TANH: return tanh(a);
    case REFERENCE_IDENTITY: break;
    }
    return a;
}

/* Derivative at the input a, not through the output: another way than the program's. */
static double slope(reference_act act, double a)
{
    switch (act) {
    case REFERENCE_RELU: return a > 0;
    case REFERENCE_LOGISTIC_CURVE: return 1 / (2 + exp(a) + exp(-a));
    case REFERENCE_TANH: return 1 / (cosh(a) * cosh(a));
    case REFERENCE_IDENTITY: break;
    }
    return 1;
}

/* One example's loss; dz[n] its derivative. */
static double loss_of(reference_loss loss, const double *z, const double *t, size_t n, double *dz)
{
    double sum = 0, largest = z[0], total = 0;
    for (size_t o = 1; o < n; o++) largest = fmax(largest, z[o]);
    for (size_t o = 0; o < n; o++) total += exp(z[o] - largest);
    for (size_t o = 0; o < n; o++) {
        switch (loss) {
        case REFERENCE_SOFTMAX:
            sum += t[o] * (largest + log(total) - z[o]);
            dz[o] = exp(z[o] - largest) / total - t[o];
            break;
        case REFERENCE_SIGMOID:
            sum += fmax(z[o], 0) + log1p(exp(-fabs(z[o]))) - t[o] * z[o];
            dz[o] = 1 / (1 + exp(-z[o])) - t[o];
            break;
        case REFERENCE_HINGE:
            sum += fmax(0, 1 - t[o] * z[o]);
            dz[o] = 1 - t[o] * z[o] > 0 ? -t[o] : 0;
            break;
        case REFERENCE_SQUARED:
            sum += (z[o] - t[o]) * (z[o] - t[o]) / 2;
            dz[o] = z[o] - t[o];
            break;
        }
    }
    return sum;
}

/* What a product sees of a number. */
static double factor(const reference_mlp *m, double v)
{
    int exponent;
    if (!m->bf16) return v;
    double significand = frexp(v, &exponent);
    return ldexp(nearbyint(ldexp(significand, 8)), exponent - 8);
}

/* a[l], y[l]: sums and outputs of layer l; y[0] is the input. */
typedef struct trail {
    double *a[REFERENCE_MAX_LAYERS + 1], *y[REFERENCE_MAX_LAYERS + 1], *d[REFERENCE_MAX_LAYERS + 1];
} trail;

static void trail_init(trail *s, const reference_mlp *m)
{
    assert(m->n_layers <= REFERENCE_MAX_LAYERS);
    for (size_t l = 0; l <= m->n_layers; l++) {
        s->a[l] = calloc(m->size[l], sizeof(double));
        s->y[l] = calloc(m->size[l], sizeof(double));
        s->d[l] = calloc(m->size[l], sizeof(double));
        assert(s->a[l] != NULL && s->y[l] != NULL && s->d[l] != NULL);
    }
}

static void trail_fini(trail *s, const reference_mlp *m)
{
    for (size_t l = 0; l <= m->n_layers; l++) {
        free(s->a[l]);
        free(s->y[l]);
        free(s->d[l]);
    }
}

static reference_act act_of(const reference_mlp *m, size_t layer)
{
    return layer == m->n_layers ? REFERENCE_IDENTITY : m->act;
}

static void walk_up(const reference_mlp *m, const double *theta, const double *x, trail *s)
{
    memcpy(s->y[0], x, m->size[0] * sizeof *x);
    for (size_t l = 1; l <= m->n_layers; l++) {
        size_t n_in = m->size[l - 1], n_out = m->size[l];
        const double *b = theta + n_in * n_out;
        for (size_t o = 0; o < n_out; o++) {
            double sum = b[o];
            for (size_t j = 0; j < n_in; j++)
                sum += factor(m, s->y[l - 1][j]) * factor(m, theta[j * n_out + o]);
            s->a[l][o] = sum;
            s->y[l][o] = activate(act_of(m, l), sum);
        }
        theta = b + n_out;
    }
}

/* Adds one example's gradient to grad; s->d[last] holds the derivative at the outputs. */
static void walk_down(const reference_mlp *m, const double *theta, trail *s, double *grad)
{
    size_t at = reference_n_params(m);
    for (size_t l = m->n_layers; l > 0; l--) {
        size_t n_in = m->size[l - 1], n_out = m->size[l];
        at -= (n_in + 1) * n_out;
        for (size_t j = 0; j < n_in; j++) s->d[l - 1][j] = 0;
        for (size_t o = 0; o < n_out; o++) {
            double d = s->d[l][o] * slope(act_of(m, l), s->a[l][o]);
            grad[at + n_in * n_out + o] += d;
            for (size_t j = 0; j < n_in; j++) {
                grad[at + j * n_out + o] += factor(m, d) * factor(m, s->y[l - 1][j]);
                s->d[l - 1][j] += factor(m, d) * factor(m, theta[at + j * n_out + o]);
            }
        }
    }
}

void reference_outputs(const reference_mlp *m, const double *theta, const double *x, size_t n_rows,
                       double *z)
{
    trail s;
    size_t n_out = m->size[m->n_layers];
    trail_init(&s, m);
    for (size_t i = 0; i < n_rows; i++) {
        walk_up(m, theta, x + i * m->size[0], &s);
        memcpy(z + i * n_out, s.y[m->n_layers], n_out * sizeof *z);
    }
    trail_fini(&s, m);
}

double reference_gradient(const reference_mlp *m, const double *theta, const double *x,
                          const double *t, size_t n_rows, double *grad)
{
    trail s;
    size_t n = reference_n_params(m), n_out = m->size[m->n_layers];
    double loss = 0;
    trail_init(&s, m);
    if (grad != NULL) memset(grad, 0, n * sizeof *grad);
    for (size_t i = 0; i < n_rows; i++) {
        walk_up(m, theta, x + i * m->size[0], &s);
        loss += loss_of(m->loss, s.y[m->n_layers], t + i * n_out, n_out, s.d[m->n_layers]);
        for (size_t o = 0; o < n_out; o++) s.d[m->n_layers][o] /= (double)n_rows;
        if (grad != NULL) walk_down(m, theta, &s, grad);
    }
    trail_fini(&s, m);
    return loss / (double)n_rows;
}

double reference_difference(const reference_mlp *m, double *theta, size_t i, double h,
                            const double *x, const double *t, size_t n_rows)
{
    double before = theta[i];
    theta[i] = before + h;
    double above = reference_gradient(m, theta, x, t, n_rows, NULL);
    theta[i] = before - h;
    double below = reference_gradient(m, theta, x, t, n_rows, NULL);
    theta[i] = before;
    return (above - below) / (2 * h);
}

void reference_optim_init(reference_optim *o, reference_rule rule, size_t n_params)
{
    *o = (reference_optim){.rule = rule,
                           .eta = 0.01,
                           .mu = 0.9,
                           .beta1 = 0.9,
                           .beta2 = rule == REFERENCE_RMSPROP ? 0.9 : 0.999,
                           .epsilon = 1e-8};
    o->s1 = calloc(n_params, sizeof *o->s1);
    o->s2 = calloc(n_params, sizeof *o->s2);
    assert(o->s1 != NULL && o->s2 != NULL);
}

void reference_optim_fini(reference_optim *o)
{
    free(o->s1);
    free(o->s2);
    o->s1 = o->s2 = NULL;
}

/* New theta[i] for gradient g. */
static double step_one(reference_optim *o, double theta, size_t i, double g)
{
    double *v = &o->s1[i], *a = &o->s2[i], t = (double)o->t;
    switch (o->rule) {
    case REFERENCE_SGD: return theta - o->eta * g;
    case REFERENCE_MOMENTUM:
    case REFERENCE_NESTEROV: *v = o->mu * *v - o->eta * g; return theta + *v;
    case REFERENCE_ADAGRAD: *a += g * g; return theta - o->eta * g / (sqrt(*a) + o->epsilon);
    case REFERENCE_RMSPROP:
        *a = o->beta2 * *a + (1 - o->beta2) * g * g;
        return theta - o->eta * g / (sqrt(*a) + o->epsilon);
    case REFERENCE_ADAM:
        *v = o->beta1 * *v + (1 - o->beta1) * g;
        *a = o->beta2 * *a + (1 - o->beta2) * g * g;
        return theta - o->eta * (*v / (1 - pow(o->beta1, t))) /
                           (sqrt(*a / (1 - pow(o->beta2, t))) + o->epsilon);
    }
    return theta;
}

double reference_step(const reference_mlp *m, reference_optim *o, double *theta, const double *x,
                      const double *t, size_t n_rows)
{
    size_t n = reference_n_params(m);
    double *grad = calloc(n, sizeof *grad), *at = calloc(n, sizeof *at);
    assert(grad != NULL && at != NULL);
    for (size_t i = 0; i < n; i++) {
        at[i] = theta[i] + (o->rule == REFERENCE_NESTEROV ? o->mu * o->s1[i] : 0);
    }
    double loss = reference_gradient(m, at, x, t, n_rows, grad);
    o->t++;
    for (size_t i = 0; i < n; i++) theta[i] = step_one(o, theta[i], i, grad[i]);
    free(grad);
    free(at);
    return loss;
}
