/* report/importance.c - the columns of a table that a model's predictions rest on. */
#include "report/json.h"
#include "report/sections.h"

#include "base/print.h"

json_t *drove__report_importance_json(const drove_importance_facts *f)
{
    json_t *list = json_array();
    if (f->n_columns == 0) {
        json_decref(list);
        return json_null();
    }
    for (size_t i = 0; i < f->n_columns; i++)
        drove__json_add(&list, json_pack("{s:s, s:o}", "column", f->column[i].name, "loss_increase",
                                         drove__json_real(f->column[i].loss_increase)));
    return json_pack("{s:s, s:I, s:o}", "data", f->is_held_out ? "held-out" : "training",
                     "examples", (json_int_t)f->n_rows, "columns", list);
}

void drove__report_importance_print(const drove_importance_facts *f, FILE *stream)
{
    enum { MOST_SHOWN = 6, MOST_BYTES = 40 };
    size_t n = 0;
    char name[4 * MOST_BYTES + 4], cut[MOST_BYTES + 1];
    if (f->n_columns == 0) return;
    fputs("  columns     ", stream);
    for (; n < f->n_columns && n < MOST_SHOWN && f->column[n].loss_increase > 0.0; n++) {
        snprintf(cut, sizeof cut, "%s", f->column[n].name);
        fprintf(stream, "%s%s %.2g", n > 0 ? ", " : "", drove__print_plain(cut, name, sizeof name),
                f->column[n].loss_increase);
    }
    const char *data = f->is_held_out ? "held-out" : "training";
    if (n == 0) fprintf(stream, "none lowers the %s loss\n", data);
    else
        fprintf(stream, "%s: growth of the %s loss when a column's values change places\n",
                n < f->n_columns ? " ..." : "", data);
}
