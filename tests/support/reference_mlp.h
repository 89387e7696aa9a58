/* tests/support/reference_mlp.h - an independent float64 multi-layer perceptron, to compare with.
 *
 * Plain loops over one example at a time, nothing shared with src/: own layout, own losses, own
 * update rules.  Slow on purpose.
 *
 * theta: layer after layer, W[n_in][n_out] row-major, then b[n_out], without gaps.
 * Targets are a matrix t[n_rows][n_outputs]: softmax and squared on classes: 1 for the own class,
 * else 0; sigmoid and logistic: 0 or 1; hinge: +1 or -1; squared on values: the value.
 *
 * With bf16 factors both numbers of a product are rounded to eight significant bits, to nearest,
 * ties to even; sums stay as they are, and the mean is taken before the products are.
 *
 * Update rules: Ek's thesis, Table 2.3, with epsilon outside the root, the moments of Adam kept raw
 * and t from 1, Nesterov's gradient taken at theta + mu v.
 */
#ifndef DROVE_TESTS_REFERENCE_MLP_H
#define DROVE_TESTS_REFERENCE_MLP_H

#include <stdbool.h>
#include <stddef.h>

enum { REFERENCE_MAX_LAYERS = 8 };

typedef enum reference_act {
    REFERENCE_IDENTITY,
    REFERENCE_RELU,
    REFERENCE_LOGISTIC_CURVE,
    REFERENCE_TANH
} reference_act;

typedef enum reference_loss {
    REFERENCE_SOFTMAX,
    REFERENCE_SIGMOID, /* also logistic: one output */
    REFERENCE_HINGE,
    REFERENCE_SQUARED
} reference_loss;

typedef struct reference_mlp {
    size_t         n_layers;
    size_t         size[REFERENCE_MAX_LAYERS + 1]; /* size[0] inputs ... size[n_layers] outputs */
    reference_act  act;                            /* of all layers but the last */
    reference_loss loss;
    bool           bf16; /* factors */
} reference_mlp;

size_t reference_n_params(const reference_mlp *m);

/* z[n_rows][n_outputs] for x[n_rows][n_inputs] */
void reference_outputs(const reference_mlp *m, const double *theta, const double *x, size_t n_rows,
                       double *z);
/* Mean loss over the rows; grad[n_params], if not NULL, receives its gradient by back-propagation.
 * */
double reference_gradient(const reference_mlp *m, const double *theta, const double *x,
                          const double *t, size_t n_rows, double *grad);
/* d(mean loss) / d theta[i] by a central difference of step h. */
double reference_difference(const reference_mlp *m, double *theta, size_t i, double h,
                            const double *x, const double *t, size_t n_rows);

typedef enum reference_rule {
    REFERENCE_SGD,
    REFERENCE_MOMENTUM,
    REFERENCE_NESTEROV,
    REFERENCE_ADAGRAD,
    REFERENCE_RMSPROP,
    REFERENCE_ADAM
} reference_rule;

typedef struct reference_optim {
    reference_rule rule;
    double         eta, mu, beta1, beta2, epsilon; /* rmsprop's beta is beta2 */
    unsigned long  t;                              /* steps done */
    double        *s1, *s2; /* [n_params] each: velocity or first moment; second moment */
} reference_optim;

/* State at zero; free with reference_optim_fini. */
void reference_optim_init(reference_optim *o, reference_rule rule, size_t n_params);
void reference_optim_fini(reference_optim *o);

/* One step of the rule on theta[n]; returns the mean loss where the gradient was taken. */
double reference_step(const reference_mlp *m, reference_optim *o, double *theta, const double *x,
                      const double *t, size_t n_rows);

#endif
