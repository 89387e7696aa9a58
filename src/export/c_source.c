/* export/c_source.c - a linear model or an mlp as one file of C99.
 *
 * The file does what the kernels of tier ref do, operation by operation, so that it gives the same
 * bits: scaling as drovek_affine_f32_ref; products as drovek_gemm_f32_ref, which adds blocks of 64
 * terms; a layer of one unit as drovek_matvec_t_f32_ref; sparse examples as
 * drovek_spmatvec_f32_ref; then drovek_bias_act_f32_ref and the loss's predict.  drove predicts the
 * last one or two rows of a pass one by one, by fused operations: there the last bit may differ.
 *
 * drove computes with denormal numbers as zeros (base/denormals.h).  The file does the same with
 * parameters, inputs, units and outputs, but not within a product.
 */
#include "export/c_source.h"

#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/print.h"
#include "data/open/overwrite.h"
#include "model/layer.h"
#include "model/loss.h"

#include <drove/version.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 1000000, MOST_WIDTH = 1 << 16, GEMM_BLOCK = 64 };

/* ---- what can be written ---- */

static drove_status check(const drove_modelfile *f)
{
    for (size_t i = 0; i < f->model->n_layers; i++) {
        const drove_layer *l = &f->model->layer[i];
        if (l->ops != &drove__layer_dense)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: C source has dense layers alone, found %s "
                               "(ONNX has all)",
                               l->name, l->ops->name);
        if (l->n_in > MOST_WIDTH || l->n_out > MOST_WIDTH)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: C source has layers of at most %d numbers, found %zu "
                               "to %zu (ONNX has larger ones)",
                               l->name, MOST_WIDTH, l->n_in, l->n_out);
    }
    if (!f->model->is_chain)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has chains of dense layers alone, found a graph (ONNX has "
                           "graphs)");
    if (f->model->n_weights > MOST_PARAMETERS)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has at most %d parameters, found %zu (ONNX has more)",
                           MOST_PARAMETERS, f->model->n_weights);

    DROVE_TRY(drove__c_check_columns(f->schema));
    if (f->features.ops != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "C source has no feature maps, found %s (ONNX has)",
                           f->features.ops->name);
    if (drove__augment_is_on(&f->augment))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has no images of which a part is cut out (ONNX has)");
    if (f->model->factors != DROVEK_FACTORS_F32)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has products of floats, found bf16 (ONNX has both)");

    for (size_t i = 0; i < f->model->n_params; i++) {
        if (!isfinite(f->theta[i]))
            return drove__fail(DROVE_E_NONFINITE, "expected finite parameters, found %g",
                               (double)f->theta[i]);
    }
    for (size_t i = 0; f->factor != NULL && i < f->n_inputs; i++) {
        if (!isfinite(f->factor[i]) || !isfinite(f->shift[i]))
            return drove__fail(DROVE_E_NONFINITE,
                               "expected a finite scaling, found one that is not, of input %zu", i);
    }
    return DROVE_OK;
}

/* ---- the head ---- */

/* Types of the function's numbers: doubles if floats would lose digits. */
static const char *input_type(const drove_modelfile *f)
{
    const bool is_double =
        f->schema != NULL ? drove__c_has_doubles(f->schema) : f->x_origin != NULL;
    return is_double ? "double" : "float";
}

static const char *output_type(const drove_modelfile *f)
{
    return f->y_origin != NULL ? "double" : "float";
}

static const char *output_words(const drove_modelfile *f)
{
    if (f->io.n_classes == 0) return "values";
    if (f->io.is_multi_label) return "probabilities of the labels";
    if (f->model->loss->gives_probability) return "probabilities of the classes";
    return f->model->n_outputs == 1 ? "score: above 0 the second class"
                                    : "scores of the classes: the largest is the class";
}

/* One probability of two classes becomes two. */
static bool is_pair(const drove_modelfile *f)
{
    return f->io.n_classes > 0 && !f->io.is_multi_label && f->model->n_outputs == 1 &&
           f->model->loss->gives_probability;
}

static size_t n_outputs(const drove_modelfile *f)
{
    return is_pair(f) ? 2 : f->model->n_outputs;
}

static size_t n_names(const drove_modelfile *f)
{
    return f->io.n_classes > 0 ? f->io.n_classes : f->model->n_outputs;
}

static void write_head(FILE *to, const drove_modelfile *f, const char *name)
{
    fputs("/* A model of drove " DROVE_VERSION ": ", to);
    drove__c_comment(to, f->model->spec);
    fprintf(to, ", loss %s, %zu parameters.  C99; link with the mathematics library.\n *\n",
            f->model->loss->name, f->model->n_weights);
    fprintf(
        to,
        " *   void %s_predict(const %s *x, %s *y);\n *\n"
        " * Any number of threads may call it.  It gives the bits of drove predict --isa ref, but\n"
        " * in the last one or two examples of a pass, where drove adds in another order.\n *\n",
        name, input_type(f), output_type(f));
    fprintf(to, " * x[%zu]:\n", drove__c_n_inputs(f));

    const drove_augment *a = &f->augment;
    if (f->schema != NULL) {
        drove__c_describe_columns(to, f->schema);
    } else if (a->channels != 0) {
        fprintf(to, " *   images, [%zu][%zu][%zu]: channels, height, width%s\n", a->channels,
                a->height, a->width, f->x_kind == DROVE_X_U8 ? "; pixels from 0 to 255" : "");
    } else {
        fprintf(to, " *   numbers as in the data\n");
    }

    fprintf(to, " * y[%zu]: %s\n", n_outputs(f), output_words(f));
    for (size_t i = 0; f->class_name != NULL && i < n_names(f); i++) {
        fprintf(to, " *   %zu  ", i);
        drove__c_comment(to, f->class_name[i]);
        putc('\n', to);
    }
    fputs(" */\n#include <math.h>\n#include <stddef.h>\n\n", to);
    fputs("/* Products and sums stay apart, as in drove. */\n"
          "#if defined __GNUC__ && !defined __clang__\n"
          "#pragma GCC optimize(\"fp-contract=off\")\n"
          "#else\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n",
          to);
    fprintf(to, "void %s_predict(const %s *x, %s *y);\n\n", name, input_type(f), output_type(f));
    fputs("/* Denormal numbers are zeros. */\n"
          "static float normal(float v)\n"
          "{\n"
          "    return v > -0x1p-126f && v < 0x1p-126f ? 0.0f * v : v;\n"
          "}\n\n",
          to);
}

static void write_names(FILE *to, const drove_modelfile *f, const char *name)
{
    if (f->class_name == NULL) return;
    fprintf(to, "extern const char *const %s_name[%zu];\nconst char *const %s_name[%zu] = {\n",
            name, n_names(f), name, n_names(f));
    for (size_t i = 0; i < n_names(f); i++) {
        fputs("    ", to);
        putc('"', to);
        for (const unsigned char *c = (const unsigned char *)f->class_name[i]; *c != '\0'; c++) {
            if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\' || *c == '?')
                fprintf(to, "\\%03o", *c);
            else putc(*c, to);
        }
        putc('"', to);
        fputs(",\n", to);
    }
    fputs("};\n\n", to);
}

/* ---- layers ---- */

/* y[n_out] = x W, in the order of the sums that the kernel has. */
static void write_product(FILE *to, const drove_layer *l, size_t at, bool is_sparse)
{
    if (is_sparse) {
        fprintf(
            to,
            "    for (size_t j = 0; j < %zu; j++) y[j] = b%zu[j];\n"
            "    for (size_t i = 0; i < %zu; i++) {\n"
            "        if (x[i] == 0.0f) continue;\n"
            "        for (size_t j = 0; j < %zu; j++) y[j] = fmaf(x[i], w%zu[i * %zu + j], y[j]);\n"
            "    }\n",
            l->n_out, at, l->n_in, l->n_out, at, l->n_out);
    } else if (l->n_out == 1) {
        fprintf(to,
                "    y[0] = 0.0f;\n"
                "    for (size_t i = 0; i < %zu; i++) y[0] = fmaf(x[i], w%zu[i], y[0]);\n"
                "    y[0] += b%zu[0];\n",
                l->n_in, at, at);
    } else {
        fprintf(to,
                "    float sum[%zu];\n"
                "    for (size_t j = 0; j < %zu; j++) y[j] = 0.0f;\n"
                "    for (size_t first = 0; first < %zu; first += %d) {\n"
                "        const size_t end = first + %d < %zu ? first + %d : %zu;\n"
                "        for (size_t j = 0; j < %zu; j++) sum[j] = 0.0f;\n"
                "        for (size_t i = first; i < end; i++)\n"
                "            for (size_t j = 0; j < %zu; j++) sum[j] += x[i] * w%zu[i * %zu + j];\n"
                "        for (size_t j = 0; j < %zu; j++) y[j] += sum[j];\n"
                "    }\n"
                "    for (size_t j = 0; j < %zu; j++) y[j] += b%zu[j];\n",
                l->n_out, l->n_out, l->n_in, GEMM_BLOCK, GEMM_BLOCK, l->n_in, GEMM_BLOCK, l->n_in,
                l->n_out, l->n_out, at, l->n_out, l->n_out, l->n_out, at);
    }
}

static drove_status write_layer(FILE *to, const drove_modelfile *f, size_t at)
{
    const drove_layer *l = &f->model->layer[at];
    static const char *const activation[] = {[DROVEK_LINEAR] = "v",
                                             [DROVEK_RELU] = "v < 0.0f ? 0.0f : v",
                                             [DROVEK_SIGMOID] =
                                                 "(float)(1.0 / (1.0 + exp(-(double)v)))",
                                             [DROVEK_TANH] = "(float)tanh((double)v)"};
    const bool is_sparse = at == 0 && f->x_kind == DROVE_X_CSR;
    char name[32];
    float *none = drove__alloc(l->n_out, sizeof *none);
    if (none == NULL) return drove__fail_nomem("biases", l->n_out * sizeof *none);
    snprintf(name, sizeof name, "w%zu", at);
    fprintf(to, "/* ");
    drove__c_comment(to, l->name);
    fprintf(to, ": [%zu][%zu] */\n", l->n_in, l->n_out);
    drove__c_floats(to, name, f->theta + l->w_offset, l->n_w);
    snprintf(name, sizeof name, "b%zu", at);
    drove__c_floats(to, name, l->n_b > 0 ? f->theta + l->b_offset : none, l->n_out);
    drove__free(none);
    fprintf(to, "\nstatic void layer%zu(const float *x, float *y)\n{\n", at);
    write_product(to, l, at, is_sparse);
    fprintf(to,
            "    for (size_t j = 0; j < %zu; j++) {\n"
            "        const float v = normal(y[j]);\n"
            "        y[j] = normal(%s);\n"
            "    }\n}\n\n",
            l->n_out, activation[l->act]);
    return DROVE_OK;
}

/* ---- input and output ---- */

static void write_scaling(FILE *to, const drove_modelfile *f)
{
    const size_t n = f->n_inputs;
    if (f->factor != NULL && f->x_kind != DROVE_X_CSR)
        drove__c_floats(to, "input_shift", f->shift, n);
    if (f->factor != NULL) drove__c_floats(to, "input_factor", f->factor, n);
    if (f->x_origin != NULL) drove__c_doubles(to, "input_origin", f->x_origin, n);
    if (f->y_origin != NULL)
        drove__c_doubles(to, "target_origin", f->y_origin, f->model->n_outputs);
    fprintf(to, "\nstatic void scale(float *x)\n{\n    for (size_t i = 0; i < %zu; i++) ", n);
    if (f->factor == NULL) fputs("x[i] = normal(x[i]);\n", to);
    else if (f->x_kind == DROVE_X_CSR)
        fputs("x[i] = normal(normal(x[i]) * input_factor[i]);\n", to);
    else fputs("x[i] = normal(normal(normal(x[i]) - input_shift[i]) * input_factor[i]);\n", to);
    fputs("}\n\n", to);
}

static void write_predict(FILE *to, const drove_modelfile *f, const char *name)
{
    const drove_model *m = f->model;
    size_t widest = m->n_inputs;
    for (size_t l = 0; l < m->n_layers; l++)
        widest = m->layer[l].n_out > widest ? m->layer[l].n_out : widest;
    fprintf(to, "void %s_predict(const %s *x, %s *y)\n{\n    float a[%zu], b[%zu];\n", name,
            input_type(f), output_type(f), widest, widest);
    if (f->schema != NULL) fputs("    features(x, a);\n", to);
    else if (f->x_origin != NULL)
        fprintf(to,
                "    for (size_t i = 0; i < %zu; i++) a[i] = (float)(x[i] - input_origin[i]);\n",
                f->n_inputs);
    else fprintf(to, "    for (size_t i = 0; i < %zu; i++) a[i] = x[i];\n", f->n_inputs);
    fputs("    scale(a);\n", to);
    for (size_t l = 0; l < m->n_layers; l++)
        fprintf(to, "    layer%zu(%s, %s);\n", l, l % 2 == 0 ? "a" : "b", l % 2 == 0 ? "b" : "a");
    fprintf(to, "    const float *const z = %s;\n", m->n_layers % 2 == 0 ? "a" : "b");

    const drove_loss_ops *loss = m->loss;
    const size_t n = m->n_outputs;
    if (loss == &drove__loss_softmax) {
        fprintf(
            to,
            "    float largest = z[0];\n"
            "    double sum = 0.0;\n"
            "    for (size_t i = 1; i < %zu; i++) largest = z[i] > largest ? z[i] : largest;\n"
            "    for (size_t i = 0; i < %zu; i++) {\n"
            "        y[i] = normal(expf(z[i] - largest));\n"
            "        sum += (double)y[i];\n"
            "    }\n"
            "    for (size_t i = 0; i < %zu; i++) y[i] = normal((float)((double)y[i] / sum));\n",
            n, n, n);
    } else if (is_pair(f))
        fputs("    const float p = normal(1.0f / (1.0f + expf(-z[0])));\n"
              "    y[0] = 1.0f - p;\n"
              "    y[1] = p;\n",
              to);
    else if (loss->gives_probability)
        fprintf(
            to,
            "    for (size_t i = 0; i < %zu; i++) y[i] = normal(1.0f / (1.0f + expf(-z[i])));\n",
            n);
    else
        fprintf(to, "    for (size_t i = 0; i < %zu; i++) y[i] = %s;\n", n,
                f->y_origin != NULL ? "(double)z[i] + target_origin[i]" : "z[i]");
    fputs("}\n", to);
}

/* ---- the whole ---- */

static drove_status write_file(const drove_modelfile *f, const char *path, const char *name)
{
    drove_writer *w;
    drove_status status = DROVE_OK;
    DROVE_TRY(drove__writer_create(path, &w));
    FILE *to = drove__writer_stream(w);
    write_head(to, f, name);
    write_names(to, f, name);
    if (f->schema != NULL) drove__c_columns(to, f->schema);
    write_scaling(to, f);
    for (size_t l = 0; l < f->model->n_layers && status == DROVE_OK; l++)
        status = write_layer(to, f, l);
    write_predict(to, f, name);
    if (status == DROVE_OK) return drove__writer_commit(w);
    drove__writer_abort(w);
    return status;
}

size_t drove__c_n_inputs(const drove_modelfile *f)
{
    return f->schema != NULL ? drove__c_n_cells(f->schema) : f->n_inputs;
}

drove_status drove_export_c(const drove_export_options *opt)
{
    DROVE_GIVEN(opt);
    DROVE_GIVEN_AS(opt->model, "opt->model");
    DROVE_GIVEN_AS(opt->out, "opt->out");
    DROVE_IN_C_LOCALE;
    drove_modelfile f = {0};
    char name[DROVE_C_NAME_SIZE], text[256];
    DROVE_TRY(drove__overwrite_check("--c", opt->out, opt->model));
    DROVE_TRY(drove__modelfile_load(opt->model, &f));
    drove_status status = check(&f);
    /* Letters, digits and _ of the file's name without its ending. */
    const char *slash = strrchr(opt->out, '/'), *c = slash != NULL ? slash + 1 : opt->out;
    size_t n = 0;
    if (isdigit((unsigned char)*c)) name[n++] = '_';
    for (; *c != '\0' && *c != '.' && n + 1 < sizeof name; c++)
        name[n++] = isalnum((unsigned char)*c) ? *c : '_';
    name[n] = '\0';
    if (n == 0) strcpy(name, "model");
    if (status == DROVE_OK) status = write_file(&f, opt->out, name);
    if (status == DROVE_OK && opt->line != NULL) {
        snprintf(text, sizeof text, "void %s_predict(const %s x[%zu], %s y[%zu]); y: %s", name,
                 input_type(&f), drove__c_n_inputs(&f), output_type(&f), n_outputs(&f),
                 output_words(&f));
        opt->line(opt->context, text);
    }
    drove__modelfile_fini(&f);
    return status;
}
