/* tests/kernel/conv_support.h - what the tests of convolutions share: shapes and images in every
 * format. */
#ifndef DROVE_TESTS_KERNEL_CONV_SUPPORT_H
#define DROVE_TESTS_KERNEL_CONV_SUPPORT_H

#include "kernel/conv/conv.h"
#include "support.h"

/* c, h, w, o, groups, window; the output's size follows. */
drovek_conv_shape conv_shape(size_t c, size_t h, size_t w, size_t o, size_t groups,
                             drovek_window window);

/* A square window: size, step, padding, distance. */
drovek_window square(size_t k, size_t step, size_t padding, size_t distance);

/* Many of them; ends with one whose c is 0. */
extern const drovek_conv_shape *conv_shapes(void);

size_t conv_n_in(const drovek_conv_shape *s);
size_t conv_n_out(const drovek_conv_shape *s);
size_t conv_n_weights(const drovek_conv_shape *s);

/* "3x32x32 -> 16x15x15, 5x5 /2 +1 groups 1": static text, of the calling thread. */
const char *conv_name(const drovek_conv_shape *s);

/* All results of one convolution in guarded memory, images in [h][w][c] where not said otherwise,
 * computed by `way` (NULL: the fastest) in the formats in and out.  False: the way does not do
 * that. */
typedef struct conv_results {
    float *y, *dx, *dw;
} conv_results;

typedef struct conv_case {
    const drovek_conv_shape *shape;
    drovek_act               act;
    size_t                   rows, n_rows;
    bool                     adds;
    const drovek_table      *tier;
    const char              *way;
    drovek_format            in, out;
    bool                     rounds; /* x, w and dy are rounded to bf16 first */
} conv_case;

bool conv_compute(const conv_case *c, conv_results *out);

/* Numbers of a case, the same for every way: images as [h][w][c]; dx before, if added to. */
typedef struct conv_inputs {
    float *x, *w, *b, *dy, *dx;
} conv_inputs;

conv_inputs conv_inputs_of(const conv_case *c);

/* Fails where two differ by more than CONV_BOUND times the sums' magnitude. */
void conv_compare(const conv_case *c, const conv_results *got, const conv_results *wanted);

/* Computes the case, and compares it with the plain loops; way: its name in a failure.  Gives
 * guarded memory back. */
void conv_check_plain(const conv_case *c, const char *way);

/* The functions of `own`, counted. */
typedef struct conv_calls {
    size_t n_lines, n_places;
} conv_calls;

/* For one table at a time; sets the counts to 0, which *calls keeps from then on. */
drovek_strips_ops conv_counting(const drovek_strips_ops *own, conv_calls *calls);

#endif
