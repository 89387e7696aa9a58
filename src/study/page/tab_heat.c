/* study/page/tab_heat.c - step size against batch size as a table whose cells are shaded. */
#include "study/page/tables.h"

#include "base/mem.h"
#include "study/expand.h"
#include "study/page/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 32, TEXT_SIZE = 256 };

typedef struct heat {      /* one map */
    char other[TEXT_SIZE]; /* the options that all of its cells share */
    double lr[MOST_VALUES], batch[MOST_VALUES];
    size_t n_lr, n_batch;
    size_t cell[MOST_VALUES][MOST_VALUES]; /* [lr][batch] setting + 1; 0: none */
} heat;

static double number_of(const json_t *settings, const char *name)
{
    const char *text = json_string_value(json_object_get(settings, name));
    char *end;
    if (text == NULL) return NAN;
    const double value = strtod(text, &end);
    return *end == '\0' && end != text && isfinite(value) ? value : NAN;
}

/* The place of a value in a sorted list, into which it is put; MOST_VALUES: it has no room. */
static size_t place(double *list, size_t *n, double value)
{
    size_t at = 0;
    while (at < *n && list[at] < value) at++;
    if (at < *n && list[at] == value) return at;
    if (*n == MOST_VALUES) return MOST_VALUES;
    memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
    list[at] = value;
    (*n)++;
    return at;
}

/* The other options of a setting, beside step and batch size; false: it lacks one of these. */
static bool describe(const drove_page_settings *s, size_t setting, double *lr, double *batch,
                     char other[TEXT_SIZE])
{
    const json_t *all = json_object_get(drove__settings_run(s, setting, 0), "settings");
    *lr = number_of(all, "lr");
    *batch = number_of(all, "batch");
    json_t *rest = json_is_object(all) ? json_copy((json_t *)(uintptr_t)all) : NULL;
    if (rest == NULL || isnan(*lr) || isnan(*batch)) {
        json_decref(rest);
        return false;
    }
    (void)json_object_del(rest, "lr");
    (void)json_object_del(rest, "batch");
    char text[4 * TEXT_SIZE];
    drove__sweep_text(rest, text, sizeof text);
    drove__html_copy(other, TEXT_SIZE, text);
    json_decref(rest);
    return true;
}

static double value_of(const drove_page_settings *s, size_t cell)
{
    if (cell == 0) return NAN;
    return s->has_target ? s->setting[cell - 1].target_s : s->setting[cell - 1].loss;
}

/* 1: the best of the map; 0: the worst. */
static double shade_of(const drove_page_settings *s, const heat *h, double value)
{
    double least = NAN, most = NAN;
    for (size_t x = 0; x < h->n_lr; x++) {
        for (size_t y = 0; y < h->n_batch; y++) {
            const double v = value_of(s, h->cell[x][y]);
            if (!isfinite(v) || !(v > 0.0)) continue;
            least = fmin(least, v);
            most = fmax(most, v);
        }
    }
    if (!(value > 0.0) || !isfinite(value) || !(most > least)) return isfinite(value) ? 1.0 : 0.0;
    return 1.0 - log(value / least) / log(most / least);
}

static void print(const drove_page_settings *s, const heat *h, FILE *stream)
{
    char text[32];
    fputs("<figure><figcaption>Step size and batch", stream);
    if (h->other[0] != '\0') fputs(": ", stream);
    drove__html_text(h->other, stream);
    fputs("</figcaption>", stream);
    drove__html_table("Step size and batch",
                      s->has_target ? "Median time to the target (s); the darker, the less."
                                    : "Median loss at the end; the darker, the less.",
                      stream);
    fputs("<thead><tr>", stream);
    drove__html_head_cell("step size \\ batch (examples)", "col", stream);
    for (size_t y = 0; y < h->n_batch; y++) {
        snprintf(text, sizeof text, "%.6g", h->batch[y]);
        drove__html_head_cell(text, "col", stream);
    }
    fputs("</tr></thead><tbody>\n", stream);
    for (size_t x = 0; x < h->n_lr; x++) {
        fputs("<tr>", stream);
        snprintf(text, sizeof text, "%.6g", h->lr[x]);
        drove__html_head_cell(text, "row", stream);
        for (size_t y = 0; y < h->n_batch; y++) {
            if (h->cell[x][y] == 0) {
                fputs("<td class=h></td>", stream);
                continue;
            }
            const drove_page_setting *of = &s->setting[h->cell[x][y] - 1];
            const double value = value_of(s, h->cell[x][y]);
            if (isfinite(value)) {
                fprintf(stream, "<td class=h style=\"background:rgb(0 120 200/%.0f%%)\">",
                        8.0 + 42.0 * shade_of(s, h, value));
                drove__html_number(value, stream);
            } else fputs("<td class=h>none", stream);
            if (of->n_crashed > 0)
                fprintf(stream, "<br><span class=dim>%zu of %zu crashed</span>", of->n_crashed,
                        of->n_runs);
            fputs("</td>", stream);
        }
        fputs("</tr>\n", stream);
    }
    fputs("</tbody></table></div></figure>\n", stream);
}

void drove__page_heat(const drove_page_settings *s, FILE *stream)
{
    double lr, batch;
    char other[TEXT_SIZE], earlier[TEXT_SIZE];
    size_t n_maps = 0;
    heat *h = drove__alloc(1, sizeof *h);
    for (size_t i = 0; h != NULL && i < s->n; i++) {
        if (!describe(s, i, &lr, &batch, other)) continue;
        bool has_map = false; /* an earlier setting has the same other options */
        for (size_t k = 0; k < i && !has_map; k++)
            has_map = describe(s, k, &lr, &batch, earlier) && strcmp(earlier, other) == 0;
        if (has_map) continue;
        memset(h, 0, sizeof *h);
        strcpy(h->other, other);
        for (int fills_cells = 0; fills_cells < 2; fills_cells++) { /* the axes, then the cells */
            for (size_t k = 0; k < s->n; k++) {
                if (!describe(s, k, &lr, &batch, other) || strcmp(other, h->other) != 0) continue;
                const size_t x = place(h->lr, &h->n_lr, lr);
                const size_t y = place(h->batch, &h->n_batch, batch);
                if (fills_cells && x < MOST_VALUES && y < MOST_VALUES) h->cell[x][y] = k + 1;
            }
        }
        if (h->n_lr < 2 || h->n_batch < 2) continue;
        if (n_maps++ == 0) fputs("<h2 id=heat>Step size and batch</h2><div class=grid>\n", stream);
        print(s, h, stream);
    }
    if (n_maps > 0) fputs("</div>\n", stream);
    drove__free(h);
}
