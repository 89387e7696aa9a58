/* report/importance.c - the columns of a table that a model's predictions rest on. */
#include "report/json.h"
#include "report/sections.h"

#include "base/print.h"

#include <math.h>

json_t *drove__report_importance_json(const drove_importance_facts *f)
{
    json_t *list = json_array();
    if (f->n_columns == 0) {
        json_decref(list);
        return json_null();
    }
    for (size_t i = 0; i < f->n_columns; i++)
        drove__json_add(
            &list, json_pack("{s:s, s:o, s:o, s:o}", "column", f->column[i].name, "loss_increase",
                             drove__json_real(f->column[i].loss_increase), "rmse_increase",
                             drove__json_real(f->column[i].rmse_increase), "accuracy_decrease",
                             drove__json_real(f->column[i].accuracy_decrease)));
    return json_pack("{s:s, s:I, s:o, s:o, s:o}", "data", f->is_held_out ? "held-out" : "training",
                     "examples", (json_int_t)f->n_rows, "rmse", drove__json_real(f->rmse),
                     "accuracy", drove__json_real(f->accuracy), "columns", list);
}

/* By the loss, which they are ordered by; in per cent of the RMSE where there is one. */
void drove__report_importance_print(const drove_importance_facts *f, FILE *stream)
{
    enum { MOST_SHOWN = 6, MOST_BYTES = 40 };
    size_t n = 0;
    char name[4 * MOST_BYTES + 4], cut[MOST_BYTES + 1];
    if (f->n_columns == 0) return;
    const bool of_rmse = f->rmse > 0.0;
    fputs("  columns     ", stream);
    for (; n < f->n_columns && n < MOST_SHOWN && f->column[n].loss_increase > 0.0; n++) {
        const drove_importance_column *c = &f->column[n];
        snprintf(cut, sizeof cut, "%s", c->name);
        fprintf(stream, "%s%s ", n > 0 ? ", " : "", drove__print_plain(cut, name, sizeof name));
        const double value = of_rmse ? 100.0 * c->rmse_increase / f->rmse : c->loss_increase;
        const bool is_long = of_rmse && fabs(value) >= 10.0;
        fprintf(stream, is_long ? "%.0f%s" : "%.2g%s", value, of_rmse ? " %" : "");
    }
    const char *data = f->is_held_out ? "held-out" : "training";
    const char *more = n < f->n_columns ? " ..." : "";
    if (n == 0) fprintf(stream, "none lowers the %s loss\n", data);
    else if (of_rmse)
        fprintf(stream, "%s: growth of the %s RMSE, %.4g, when a column's values change places\n",
                more, data, f->rmse);
    else
        fprintf(stream, "%s: growth of the %s loss when a column's values change places\n", more,
                data);
}
