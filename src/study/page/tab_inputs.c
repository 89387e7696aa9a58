/* study/page/tab_inputs.c - the columns of a table that a single run's model rests on: those whose
 * values, when they change places, make the loss grow most, from its summary; of a run whose
 * summary does not have them, those with the largest weights in the first layer.
 */
#include "study/page/tables.h"

#include "base/mem.h"
#include "model/layer.h"
#include "use/modelfile.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 15 };

typedef struct input {
    const char *name; /* of the schema */
    double weight;    /* root of the sum of squares over its features and all outputs */
} input;

static int compare(const void *a, const void *b)
{
    const double x = ((const input *)a)->weight, y = ((const input *)b)->weight;
    return (x < y) - (x > y);
}

/* The used columns into list[n_columns], the largest first; how many. */
static size_t measure(const drove_modelfile *file, input *list)
{
    size_t n = 0;
    const drove_layer *first = &file->model->layer[0];
    const size_t n_outputs = first->n_w / file->n_inputs;
    const float *w = file->theta + first->w_offset;
    for (size_t c = 0; c < file->schema->n_columns; c++) {
        const drove_column *column = &file->schema->column[c];
        double sum = 0.0;
        if (!drove__column_is_used(column)) continue;
        for (size_t i = 0; i < column->n_features * n_outputs; i++) {
            const double value = w[column->first_feature * n_outputs + i];
            sum += value * value;
        }
        list[n++] = (input){.name = column->name, .weight = sqrt(sum)};
    }
    qsort(list, n, sizeof *list, compare);
    return n;
}

/* second NULL: a number alone. */
static void begin(const char *title, const char *caption, const char *number, const char *second,
                  FILE *stream)
{
    const char *const one[] = {"column", number, ""}, *const two[] = {"column", number, second, ""};
    fprintf(stream, "<figure><figcaption>%s</figcaption>", title);
    drove__html_table("Inputs", caption, stream);
    drove__html_heads(second != NULL ? two : one, second != NULL ? 4 : 3, stream);
}

/* A row; part: of the longest bar. */
static void print_bar(double part, FILE *stream)
{
    fprintf(
        stream,
        "<td style=\"min-width:4rem;width:8rem\"><div style=\"width:%.1f%%;height:.8em;background:"
        "var(--s0)\"></div></td></tr>\n",
        isfinite(part) && part > 0.0 ? 100.0 * part : 0.0);
}

static void end(size_t n, FILE *stream)
{
    fputs("</tbody></table></div>", stream);
    if (n > MOST_COLUMNS)
        fprintf(stream, "<p class=note>%zu more have less.</p>", n - MOST_COLUMNS);
    fputs("</figure>\n", stream);
}

/* The summary's, which are sorted; false: it has none. */
static bool print_importance(const json_t *summary, FILE *stream)
{
    const json_t *importance = json_object_get(summary, "importance");
    const json_t *columns = json_object_get(importance, "columns");
    const size_t n = json_array_size(columns);
    if (n == 0) return false;
    const double rmse = drove__html_get(importance, "rmse");
    const bool are_values = !isnan(rmse);
    const double most = drove__html_get(json_array_get(columns, 0), "loss_increase");
    char caption[640], of_rmse[64] = "";
    if (are_values) snprintf(of_rmse, sizeof of_rmse, "the RMSE, which is %.4g,", rmse);
    snprintf(caption, sizeof caption,
             "Growth of %s when the values of a column change places among %.0f %s examples; bars "
             "are of the loss. Where two columns say the same, neither gets the credit: shuffling "
             "one leaves the other.",
             are_values ? of_rmse : "the mean loss, and loss of accuracy,",
             drove__html_get(importance, "examples"),
             strcmp(drove__html_word(importance, "data"), "held-out") == 0 ? "held-out"
                                                                           : "training");
    begin("Columns that matter most", caption, are_values ? "RMSE" : "loss",
          are_values ? "RMSE (%)" : "accuracy (points)", stream);
    for (size_t i = 0; i < n && i < MOST_COLUMNS; i++) {
        const json_t *column = json_array_get(columns, i);
        const double loss = drove__html_get(column, "loss_increase");
        const double of_value = drove__html_get(column, "rmse_increase");
        drove__html_row(drove__html_word(column, "column"), stream);
        drove__html_cell(are_values ? of_value : loss, stream);
        drove__html_cell(are_values ? (rmse > 0.0 ? 100.0 * of_value / rmse : NAN)
                                    : 100.0 * drove__html_get(column, "accuracy_decrease"),
                         stream);
        print_bar(most > 0.0 ? loss / most : 0.0, stream);
    }
    end(n, stream);
    return true;
}

/* A model that cannot be read, or is being written, has no such table. */
void drove__page_inputs(const drove_page_settings *s, FILE *stream)
{
    drove_modelfile file;
    const json_t *run = json_array_get(s->runs, 0);
    const char *folder = drove__html_word(run, "run");
    if (print_importance(json_object_get(run, "summary"), stream)) return;
    if (json_is_string(json_object_get(run, "sweep")) || !drove__modelpath_is_run(folder)) return;
    if (drove__modelfile_load(folder, &file) != DROVE_OK) return;
    /* The first layer must take the features of the table as they are: [features][outputs]. */
    const drove_layer *first = &file.model->layer[0];
    if (file.schema != NULL && file.n_inputs == file.io.n_features &&
        file.schema->n_features == file.n_inputs && strcmp(first->ops->name, "dense") == 0 &&
        first->n_w > 0 && first->n_w % file.n_inputs == 0) {
        input *list = drove__alloc(file.schema->n_columns, sizeof *list);
        const size_t n = list != NULL ? measure(&file, list) : 0;
        if (n > 0) {
            char caption[256];
            const bool is_network = file.model->n_layers > 1;
            snprintf(caption, sizeof caption,
                     "Root of the sum of squares of the weights of a column&#39;s scaled features "
                     "in the first layer; the largest is 1.%s",
                     is_network ? " Of a network with more layers it is a hint, not a measure."
                                : "");
            begin("Inputs with the largest weights", caption, "weight", NULL, stream);
            for (size_t i = 0; i < n && i < MOST_COLUMNS; i++) {
                const double part = list[0].weight > 0.0 ? list[i].weight / list[0].weight : 0.0;
                drove__html_row(list[i].name, stream);
                drove__html_cell(part, stream);
                print_bar(part, stream);
            }
            end(n, stream);
        }
        drove__free(list);
    }
    drove__modelfile_fini(&file);
}
