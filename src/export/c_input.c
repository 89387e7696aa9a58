/* export/c_input.c - the input of a network as C: the features of a table, scaling, the part of an
 * image that the model sees.
 *
 * An image comes as the data have it, [c][h][w].  Where dense layers read it, it stays so; all
 * other layers read [h][w][c].
 */
#include "export/c_source.h"

#include "base/mem.h"
#include "model/layer.h"
#include "model/pytorch.h"

#include <math.h>
#include <string.h>

enum { CHANNELS_MAX = 1024 }; /* with more, a channel's number is written for each input */

/* Shifts or factors: one for all numbers, one a channel, or one each. */
typedef struct numbers {
    const char *name;
    const float *value; /* NULL: none */
    size_t n;
} numbers;

static numbers numbers_of(const drove_modelfile *f, const char *name, const float *value)
{
    const drove_augment *a = &f->augment;
    const size_t n = f->n_inputs, channels = f->schema == NULL && a->channels > 0 ? a->channels : 1;
    const size_t places = n / channels;
    bool is_one = true, is_channel = channels > 1 && channels <= CHANNELS_MAX;
    for (size_t i = 0; value != NULL && i < n; i++) {
        is_one = is_one && value[i] == value[0];
        is_channel = is_channel && value[i] == value[i / places * places];
    }
    return (numbers){name, value, is_one ? 1 : is_channel ? channels : n};
}

/* Without what changes nothing. */
static numbers without(numbers v, float nothing)
{
    if (v.value != NULL && v.n == 1 && v.value[0] == nothing) v.value = NULL;
    return v;
}

static drove_status write_numbers(FILE *to, const drove_modelfile *f, const numbers *v)
{
    float channel[CHANNELS_MAX];
    for (size_t i = 0; v->value != NULL && i < f->n_inputs; i++) {
        if (!isfinite(v->value[i]))
            return drove__fail(DROVE_E_NONFINITE,
                               "expected a finite scaling, found one that is not, of input %zu", i);
    }
    if (v->value == NULL || v->n == 1) return DROVE_OK;
    if (v->n == f->n_inputs) {
        drove__c_floats(to, v->name, v->value, f->n_inputs);
        return DROVE_OK;
    }
    for (size_t i = 0; i < v->n; i++) channel[i] = v->value[i * (f->n_inputs / v->n)];
    drove__c_floats(to, v->name, channel, v->n);
    return DROVE_OK;
}

/* Of input `at`, whose channel is k. */
static void put_number(FILE *to, const drove_modelfile *f, const numbers *v, const char *at)
{
    if (v->n == 1) drove__c_float(to, v->value[0]);
    else fprintf(to, "%s[%s]", v->name, v->n == f->n_inputs ? at : "k");
}

/* The scaled number `at` of the data. */
static void put_scaled(FILE *to, const drove_modelfile *f, const numbers *shift,
                       const numbers *factor, const char *at)
{
    if (factor->value != NULL) fputs("normal(", to);
    if (shift->value != NULL) fputs("normal(", to);
    fputs("normal(", to);
    if (f->schema != NULL) fprintf(to, "to[%s]", at);
    else if (f->x_origin != NULL) fprintf(to, "(float)(x[%s] - input_origin[%s])", at, at);
    else fprintf(to, "x[%s]", at);
    putc(')', to);
    if (shift->value != NULL) {
        fputs(" - ", to);
        put_number(to, f, shift, at);
        putc(')', to);
    }
    if (factor->value == NULL) return;
    fputs(" * ", to);
    put_number(to, f, factor, at);
    putc(')', to);
}

/* The middle of the image with zeros around it, in either order. */
static void write_image(FILE *to, const drove_c_plan *p, const numbers *shift,
                        const numbers *factor)
{
    const drove_modelfile *f = p->file;
    const drove_augment *a = &f->augment;
    drove_shape s = {a->channels, a->height, a->width};
    size_t top = 0, left = 0, pad = 0;
    if (drove__augment_is_on(a)) {
        const drove_window w = drove__augment_centre(a);
        s.h = a->crop_height;
        s.w = a->crop_width;
        top = w.top;
        left = w.left;
        pad = a->pad;
    }
    /* To a chain of dense layers the input is a vector. */
    const bool is_plain = p->has_plain || drove__pytorch_has_one_order(f->model->input);
    fprintf(to,
            "    for (size_t k = 0; k < %zu; k++)\n"
            "        for (size_t r = 0; r < %zu; r++)\n"
            "            for (size_t c = 0; c < %zu; c++) {\n",
            s.c, s.h, s.w);
    if (pad > 0)
        fprintf(to,
                "                /* in the image, or above and left of it a very large number */\n"
                "                const size_t row = r + %zu - %zu, column = c + %zu - %zu;\n"
                "                const int inside = row < %zu && column < %zu;\n"
                "                const size_t at = inside ? (k * %zu + row) * %zu + column : 0;\n",
                top, pad, left, pad, a->height, a->width, a->height, a->width);
    else if (drove__augment_is_on(a))
        fprintf(to, "                const size_t at = (k * %zu + r + %zu) * %zu + c + %zu;\n",
                a->height, top, a->width, left);
    else
        fprintf(to, "                const size_t at = (k * %zu + r) * %zu + c;\n", a->height,
                a->width);
    if (is_plain) fprintf(to, "                to[(k * %zu + r) * %zu + c] = ", s.h, s.w);
    else fprintf(to, "                to[(r * %zu + c) * %zu + k] = ", s.w, s.c);
    if (pad > 0) fputs("!inside ? 0.0f : ", to);
    put_scaled(to, f, shift, factor, "at");
    fputs(";\n            }\n", to);
}

drove_status drove__c_input(FILE *to, const drove_c_plan *p)
{
    const drove_modelfile *f = p->file;
    const bool is_sparse = f->x_kind == DROVE_X_CSR;
    const numbers shift = without(numbers_of(f, "input_shift", is_sparse ? NULL : f->shift), 0.0f),
                  factor = without(numbers_of(f, "input_factor", f->factor), 1.0f);
    if (f->schema != NULL) drove__c_columns(to, f->schema);
    DROVE_TRY(write_numbers(to, f, &shift));
    DROVE_TRY(write_numbers(to, f, &factor));
    if (f->x_origin != NULL) drove__c_doubles(to, "input_origin", f->x_origin, f->n_inputs);

    fprintf(to, "static void input(const %s *x, float *to)\n{\n", drove__c_input_type(f));
    if (f->schema != NULL) fputs("    features(x, to);\n", to);
    if (f->schema == NULL && f->augment.channels > 0) {
        write_image(to, p, &shift, &factor);
    } else {
        fprintf(to, "    for (size_t i = 0; i < %zu; i++) to[i] = ", f->n_inputs);
        put_scaled(to, f, &shift, &factor, "i");
        fputs(";\n", to);
    }
    fputs("}\n\n", to);
    return DROVE_OK;
}

void drove__c_input_call(FILE *to, const drove_c_plan *p)
{
    const drove_shape s = p->file->model->input;
    const size_t image = p->place[0], plain = p->place[p->n_layers + 1];
    fprintf(to, "    input(x, scratch + %zu);\n", p->has_plain ? plain : image);
    if (p->has_plain && p->has_image)
        fprintf(to, "    turn(scratch + %zu, %zu, %zu, scratch + %zu);\n", plain, s.c, s.h * s.w,
                image);
}

const char *drove__c_input_type(const drove_modelfile *f)
{
    const bool is_double =
        f->schema != NULL ? drove__c_has_doubles(f->schema) : f->x_origin != NULL;
    return is_double ? "double" : "float";
}
