/* export/c_source.c - a model as one file of C99.
 *
 * Of a linear model or a chain of dense layers the file does what the kernels of tier ref do,
 * operation by operation, so that it gives the same bits: scaling as drovek_affine_f32_ref;
 * products as drovek_gemm_f32_ref, which adds blocks of 64 terms; a layer of one unit as
 * drovek_matvec_t_f32_ref; sparse examples as drovek_spmatvec_f32_ref; then
 * drovek_bias_act_f32_ref and the loss's predict.  drove predicts the last one or two rows of a
 * pass one by one, by fused operations: there the last bit may differ.
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

enum { MOST_PARAMETERS = 8000000, MOST_WIDTH = 1 << 16 };

/* ---- what can be written ---- */

/* Without those of layers that only training has. */
static size_t n_parameters(const drove_modelfile *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->model->n_layers; i++)
        if (!f->model->layer[i].training.is_only) n += f->model->layer[i].n_params;
    return n;
}

static drove_status check(const drove_modelfile *f)
{
    /* The arrays of a chain are on the stack. */
    for (size_t i = 0; i < f->model->n_layers && f->model->is_chain; i++) {
        const drove_layer *l = &f->model->layer[i];
        if (l->n_in > MOST_WIDTH || l->n_out > MOST_WIDTH)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: C source has dense layers of at most %d numbers, found "
                               "%zu to %zu (ONNX has larger ones)",
                               l->name, MOST_WIDTH, l->n_in, l->n_out);
    }
    if (n_parameters(f) > MOST_PARAMETERS)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has at most %d parameters, found %zu (ONNX has more)",
                           MOST_PARAMETERS, n_parameters(f));

    DROVE_TRY(drove__c_check_columns(f->schema));
    if (f->features.ops != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "C source has no feature maps, found %s (ONNX has)",
                           f->features.ops->name);
    if (f->model->factors != DROVEK_FACTORS_F32)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "C source has products of floats, found bf16 (ONNX has both)");
    return DROVE_OK;
}

/* ---- the head ---- */

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

/* A network of more than dense layers may need more memory than a stack has. */
static bool has_scratch(const drove_c_plan *p)
{
    return !p->file->model->is_chain;
}

static size_t n_names(const drove_modelfile *f)
{
    return f->io.n_classes > 0 ? f->io.n_classes : f->model->n_outputs;
}

/* Its arguments, as the file's comment and code have them. */
static void put_function(FILE *to, const drove_c_plan *p, const char *name)
{
    fprintf(to, "void %s_predict(const %s *x, %s *y%s)", name, drove__c_input_type(p->file),
            output_type(p->file), has_scratch(p) ? ", float *scratch" : "");
}

static void write_head(FILE *to, const drove_c_plan *p, const char *name)
{
    const drove_modelfile *f = p->file;
    fputs("/* A model of drove " DROVE_VERSION ": ", to);
    drove__c_comment(to, f->model->spec);
    fprintf(to, ", loss %s, %zu parameters.  C99; link with the mathematics library.\n *\n *   ",
            f->model->loss->name, n_parameters(f));
    put_function(to, p, name);
    fputs(";\n *\n * Any number of threads may call it", to);
    if (has_scratch(p))
        fprintf(to,
                ", each with scratch memory of its own: %zu floats,\n"
                " * whatever is in them.  It predicts what drove predict does, within 1e-5 of the\n"
                " * largest.  Layers have images as [height][width][channels].\n *\n",
                p->n_scratch);
    else
        fputs(".  It gives the bits of drove predict --isa ref, but\n"
              " * for the last one or two rows of a pass, where drove adds in another order.\n *\n",
              to);
    fprintf(to, " * x[%zu]:\n", drove__c_n_inputs(f));

    const drove_augment *a = &f->augment;
    if (f->schema != NULL) {
        drove__c_describe_columns(to, f->schema);
    } else if (a->channels != 0) {
        fprintf(to, " *   an image, [%zu][%zu][%zu]: channels, height, width%s\n", a->channels,
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
    if (!has_scratch(p))
        fputs("/* Products and sums stay apart, as in drove. */\n"
              "#if defined __GNUC__ && !defined __clang__\n"
              "#pragma GCC optimize(\"fp-contract=off\")\n"
              "#else\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n",
              to);
    put_function(to, p, name);
    fputs(";\n\n", to);
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

/* ---- the function ---- */

static void write_predict(FILE *to, const drove_c_plan *p, const char *name)
{
    const drove_modelfile *f = p->file;
    const drove_model *m = f->model;
    put_function(to, p, name);
    fputs("\n{\n", to);
    if (!has_scratch(p)) fprintf(to, "    float scratch[%zu];\n", p->n_scratch);
    drove__c_input_call(to, p);
    for (size_t l = 0; l < p->n_layers; l++)
        if (!m->layer[l].training.is_only) drove__c_layer_call(to, p, l);
    fprintf(to, "\n    const float *const z = scratch + %zu;\n", p->place[p->n_layers]);

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

static drove_status write_file(const drove_c_plan *p, const char *path, const char *name)
{
    const drove_modelfile *f = p->file;
    const char *const parts[] = {"normal", p->has_plain && p->has_image ? "turn" : NULL, NULL};
    drove_writer *w;
    DROVE_TRY(drove__writer_create(path, &w));
    FILE *to = drove__writer_stream(w);
    write_head(to, p, name);
    write_names(to, f, name);
    drove__c_layer_parts(to, p, parts);
    drove_status status = drove__c_input(to, p);
    if (f->y_origin != NULL)
        drove__c_doubles(to, "target_origin", f->y_origin, f->model->n_outputs);
    for (size_t l = 0; l < p->n_layers && status == DROVE_OK; l++)
        if (!f->model->layer[l].training.is_only) status = drove__c_layer_constants(to, p, l);
    write_predict(to, p, name);
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
    drove_c_plan plan = {0};
    char name[DROVE_C_NAME_SIZE], text[256];
    DROVE_TRY(drove__overwrite_check("--c", opt->out, opt->model));
    DROVE_TRY(drove__modelfile_load(opt->model, &f));
    drove_status status = check(&f);
    if (status == DROVE_OK) status = drove__c_plan_make(&f, &plan);
    /* Letters, digits and _ of the file's name without its ending. */
    const char *slash = strrchr(opt->out, '/'), *c = slash != NULL ? slash + 1 : opt->out;
    size_t n = 0;
    if (isdigit((unsigned char)*c)) name[n++] = '_';
    for (; *c != '\0' && *c != '.' && n + 1 < sizeof name; c++)
        name[n++] = isalnum((unsigned char)*c) ? *c : '_';
    name[n] = '\0';
    if (n == 0) strcpy(name, "model");
    if (status == DROVE_OK) status = write_file(&plan, opt->out, name);
    if (status == DROVE_OK && opt->line != NULL) {
        char scratch[48] = "";
        if (has_scratch(&plan))
            snprintf(scratch, sizeof scratch, ", float scratch[%zu]", plan.n_scratch);
        snprintf(text, sizeof text, "void %s_predict(const %s x[%zu], %s y[%zu]%s); y: %s", name,
                 drove__c_input_type(&f), drove__c_n_inputs(&f), output_type(&f), n_outputs(&f),
                 scratch, output_words(&f));
        opt->line(opt->context, text);
    }
    drove__c_plan_fini(&plan);
    drove__modelfile_fini(&f);
    return status;
}
