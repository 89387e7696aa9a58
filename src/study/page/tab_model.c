/* study/page/tab_model.c - the summary of a single run: facts, metrics, confusion. */
#include "study/page/tables.h"

#include "base/mem.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLASSES = 40 };

/* ---- metrics ---- */

static void print_metrics(const json_t *held_out, const json_t *training, FILE *stream)
{
    static const struct {
        const char *key, *name;
    } rows[] = {{"accuracy", "accuracy"},
                {"balanced_accuracy", "balanced accuracy"},
                {"log_loss", "log loss"},
                {"auc", "AUC"},
                {"average_precision", "average precision"},
                {"f1_macro", "F1, mean of the classes"},
                {"f1_micro", "F1 of all labels"},
                {"rmse", "RMSE"},
                {"mae", "MAE"},
                {"r2", "R\302\262"}};
    static const char *const heads[] = {"metric", "held-out data", "training data",
                                        "constant guess"};
    const json_t *any = json_is_object(held_out) ? held_out : training;
    const json_t *guess = json_object_get(any, "constant");
    drove__html_table("Metrics", "A constant guess gives every example the same prediction.",
                      stream);
    drove__html_heads(heads, DROVE_COUNT(heads), stream);
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        if (isnan(drove__html_get(any, rows[i].key))) continue;
        drove__html_row(rows[i].name, stream);
        drove__html_cell(drove__html_get(held_out, rows[i].key), stream);
        drove__html_cell(drove__html_get(training, rows[i].key), stream);
        drove__html_cell(drove__html_get(guess, rows[i].key), stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n", stream);
}

/* ---- classes ---- */

static const char *class_of(const json_t *metrics, size_t i)
{
    return drove__html_word(json_array_get(json_object_get(metrics, "per_class"), i), "class");
}

static void print_classes(const json_t *metrics, const char *of, FILE *stream)
{
    static const char *const heads[] = {"class", "precision", "recall", "F1", "examples"};
    static const char *const keys[] = {"precision", "recall", "f1", "support"};
    const json_t *all = json_object_get(metrics, "per_class");
    const size_t n = json_array_size(all);
    if (n == 0) return;
    fprintf(stream, "<figure><figcaption>Classes, %s</figcaption>", of);
    drove__html_table("Classes",
                      "Precision: the share of the examples predicted as the class that have it; "
                      "recall: the share of those that have it that are predicted as it.",
                      stream);
    drove__html_heads(heads, DROVE_COUNT(heads), stream);
    for (size_t i = 0; i < n && i < MOST_CLASSES; i++) {
        drove__html_row(class_of(metrics, i), stream);
        for (size_t k = 0; k < DROVE_COUNT(keys); k++)
            drove__html_cell(drove__html_get(json_array_get(all, i), keys[k]), stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>", stream);
    if (n > MOST_CLASSES)
        fprintf(stream, "<p class=note>%zu more: drove eval --json has them.</p>",
                n - MOST_CLASSES);
    fputs("</figure>\n", stream);
}

/* ---- confusion ---- */

static double cell_of(const json_t *row, size_t i)
{
    const json_t *value = json_array_get(row, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_confusion(const json_t *metrics, const char *of, FILE *stream)
{
    const json_t *all = json_object_get(metrics, "confusion");
    const size_t n = json_array_size(all);
    if (n == 0) return;
    fprintf(stream, "<figure><figcaption>Confusion, %s</figcaption>", of);
    if (n > MOST_CLASSES) {
        fprintf(stream,
                "<p class=note>%zu classes are too many for a table; drove eval --json has "
                "the matrix.</p></figure>\n",
                n);
        return;
    }
    drove__html_table(
        "Confusion", "Rows are true classes, columns predicted ones; shades are shares of the row.",
        stream);
    fputs("<thead><tr>", stream);
    drove__html_head_cell("true \\ predicted", "col", stream);
    for (size_t i = 0; i < n; i++) drove__html_head_cell(class_of(metrics, i), "col", stream);
    fputs("</tr></thead><tbody>\n", stream);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(all, i);
        double sum = 0.0;
        for (size_t k = 0; k < json_array_size(row); k++)
            sum += isfinite(cell_of(row, k)) ? cell_of(row, k) : 0.0;
        drove__html_row(class_of(metrics, i), stream);
        for (size_t k = 0; k < json_array_size(row); k++) {
            const double value = cell_of(row, k), share = sum > 0.0 ? value / sum : 0.0;
            const char *hue = i == k ? "0 120 200" : "213 94 0";
            fprintf(stream, "<td class=h style=\"background:rgb(%s/%.0f%%)\">", hue,
                    share > 0.0 ? 5.0 + 45.0 * fmin(share, 1.0) : 0.0);
            drove__html_number(value, stream);
            fputs("</td>", stream);
        }
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div></figure>\n", stream);
}

/* ---- the run ---- */

bool drove__page_has_model(const drove_page_settings *s)
{
    return json_array_size(s->runs) == 1 &&
           json_is_object(json_object_get(json_array_get(s->runs, 0), "summary"));
}

void drove__page_model(const drove_page_settings *s, FILE *stream)
{
    static const char *const words[] = {"data", "model", "strategy", "rule", "outcome", "isa"};
    static const struct {
        const char *key, *name;
    } numbers[] = {{"lr", "step size"},
                   {"batch", "batch (examples)"},
                   {"epochs", "epochs"},
                   {"updates", "updates"},
                   {"train_s", "training (s)"},
                   {"examples_per_s", "examples/s"},
                   {"gnps", "GNPS (10\342\201\271 numbers/s)"}};
    if (!drove__page_has_model(s)) return;
    const json_t *summary = json_object_get(json_array_get(s->runs, 0), "summary");
    const json_t *held_out = json_object_get(summary, "test_metrics");
    const json_t *training = json_object_get(summary, "metrics");
    fputs("<h2 id=model>The run and its model</h2><div class=grid><figure><figcaption>The "
          "run</figcaption>",
          stream);
    drove__html_table("The run", NULL, stream);
    fputs("<tbody>\n", stream);
    for (size_t i = 0; i < DROVE_COUNT(words); i++) {
        if (drove__html_word(summary, words[i])[0] == '\0') continue;
        drove__html_row(words[i], stream);
        drove__html_text_cell(drove__html_word(summary, words[i]), stream);
        fputs("</tr>\n", stream);
    }
    for (size_t i = 0; i < DROVE_COUNT(numbers); i++) {
        if (isnan(drove__html_get(summary, numbers[i].key))) continue;
        drove__html_row(numbers[i].name, stream);
        drove__html_cell(drove__html_get(summary, numbers[i].key), stream);
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div>\n</figure>\n", stream);
    if (json_is_object(held_out) || json_is_object(training)) {
        fputs("<figure><figcaption>Metrics</figcaption>", stream);
        print_metrics(held_out, training, stream);
        fputs("</figure>\n", stream);
    }
    const json_t *shown = json_is_object(held_out) ? held_out : training;
    const char *of = json_is_object(held_out) ? "held-out data" : "training data";
    print_classes(shown, of, stream);
    print_confusion(shown, of, stream);
    drove__page_inputs(s, stream);
    drove__page_throughput(s, stream);
    fputs("</div>\n", stream);
}
