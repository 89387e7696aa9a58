/* study/page/figure.c - one figure of a page: picture, legend, and its numbers as a table. */
#include "study/page/plot.h"

#include "base/mem.h"
#include "study/page/gnuplot.h"
#include "study/page/html.h"
#include "study/page/script.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_ROWS = 24 }; /* of a line in the table */

static bool is_lines(const drove_plot *plot)
{
    return plot->kind == DROVE_PLOT_LINES || plot->kind == DROVE_PLOT_STEPS ||
           plot->kind == DROVE_PLOT_NEEDLES || plot->kind == DROVE_PLOT_POINTS;
}

static bool is_dots(const drove_plot *plot, size_t i)
{
    return plot->kind == DROVE_PLOT_POINTS && !plot->series[i].is_line;
}

/* ---- the picture ---- */

static void print_picture(const drove_plot *plot, const char *svg, FILE *stream)
{
    fprintf(stream,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t-%s d-%s\"><title "
            "id=\"t-%s\">",
            DROVE_SVG_WIDTH, DROVE_SVG_HEIGHT, plot->id, plot->id, plot->id);
    drove__html_text(plot->title, stream);
    fputs("</title>", stream);

    /* For those who do not see it: where each line begins and ends, or how many bars there are. */
    fprintf(stream, "<desc id=\"d-%s\">", plot->id);
    drove__html_text(plot->about, stream);
    fputs(" Across: ", stream);
    drove__html_text(plot->x_label, stream);
    fputs(plot->log_x ? ", logarithmic. Up: " : ". Up: ", stream);
    drove__html_text(plot->y_label, stream);
    fputs(plot->log_y ? ", logarithmic." : ".", stream);
    for (size_t i = 0; is_lines(plot) && i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        if (s->n == 0) continue;
        if (is_dots(plot, i)) {
            fputc(' ', stream);
            drove__html_text(s->name, stream);
            fprintf(stream, ": %zu dots.", s->n);
            continue;
        }
        fputc(' ', stream);
        drove__html_text(s->name, stream);
        fputs(": from ", stream);
        drove__html_number(s->y[0], stream);
        fputs(" to ", stream);
        drove__html_number(s->y[s->n - 1], stream);
        fputc('.', stream);
    }
    fputs(" The numbers are in the table below.</desc>", stream);

    drove__svg_picture(svg, plot, stream);
    fputs("</svg>", stream);
}

/* A box can be unticked: the style then hides the series, without a script. */
static void print_legend(const drove_plot *plot, bool has_picture, FILE *stream)
{
    const bool is_boxes = plot->kind == DROVE_PLOT_BOXES;
    if (is_boxes || plot->n_series < 2 || !has_picture) return;
    fprintf(stream, "<ul class=legend aria-label=\"Legend of %s\">", plot->id);
    for (size_t i = 0; i < plot->n_series; i++) {
        fprintf(stream, "<li><label><input type=checkbox id=\"c-%s-%zu\" class=c%zu checked>",
                plot->id, i, i);
        fputs("<svg viewBox=\"0 0 44 14\" width=44 height=14 aria-hidden=true>", stream);
        if (is_lines(plot)) {
            if (!is_dots(plot, i)) {
                fprintf(stream, "<path d=\"M1 7H43\" stroke-width=2 stroke=\"var(--s%zu)\"", i);
                if (plot->kind != DROVE_PLOT_NEEDLES && drove__script_dash(i)[0] != '\0')
                    fprintf(stream, " stroke-dasharray=\"%s\"", drove__script_dash(i));
                fputs("/>", stream);
            }
            if (plot->kind != DROVE_PLOT_STEPS && !plot->series[i].is_line)
                fprintf(stream,
                        "<use href=\"#gpPt%d\" transform=\"translate(22 7) scale(4)\" fill=none "
                        "color=\"var(--s%zu)\"/>",
                        (is_dots(plot, i) ? drove__script_dot(i) : drove__script_marker(i)) - 1, i);
        } else {
            fprintf(stream, "<rect x=14 y=1 width=12 height=12 fill=\"var(--s%zu)\"/>", i);
        }
        fputs("</svg> <span>", stream);
        drove__html_text(plot->series[i].name, stream);
        fputs("</span></label></li>", stream);
    }
    fputs("</ul>\n", stream);
}

/* ---- the table ---- */

static void print_lines_table(const drove_plot *plot, FILE *stream)
{
    const char *const heads[] = {"line", plot->x_label, plot->y_label, "lower quartile",
                                 "upper quartile"};
    bool has_bands = false;
    for (size_t i = 0; i < plot->n_series; i++)
        has_bands = has_bands || plot->series[i].low != NULL;
    drove__html_heads(heads, has_bands ? 5 : 3, stream);
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        const size_t n = s->n < MOST_ROWS ? s->n : MOST_ROWS;
        for (size_t r = 0; r < n; r++) {
            const size_t k = n > 1 ? r * (s->n - 1) / (n - 1) : 0;
            drove__html_row(s->name, stream);
            drove__html_cell(s->x[k], stream);
            drove__html_cell(s->y[k], stream);
            if (s->low != NULL) drove__html_cell(s->low[k], stream);
            if (s->high != NULL) drove__html_cell(s->high[k], stream);
            if (s->low == NULL && has_bands) fputs("<td></td><td></td>", stream);
            fputs("</tr>\n", stream);
        }
    }
}

static void print_boxes_table(const drove_plot *plot, FILE *stream)
{
    static const double at[] = {0.0, 0.25, 0.5, 0.75, 1.0};
    static const char *const heads[] = {"setting", "runs",           "least",  "lower quartile",
                                        "median",  "upper quartile", "largest"};
    drove__html_heads(heads, DROVE_COUNT(heads), stream);
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        char count[32];
        snprintf(count, sizeof count, "%zu", s->n);
        drove__html_row(s->name, stream);
        drove__html_text_cell(s->note[0] != '\0' ? s->note : count, stream);
        for (size_t k = 0; k < 5; k++)
            drove__html_cell(s->n > 0 ? drove__quantile(s->y, s->n, at[k]) : NAN, stream);
        fputs("</tr>\n", stream);
    }
}

static void print_bars_table(const drove_plot *plot, FILE *stream)
{
    fputs("<thead><tr>", stream);
    drove__html_head_cell(plot->x_label, "col", stream);
    for (size_t i = 0; i < plot->n_series; i++)
        drove__html_head_cell(plot->series[i].name, "col", stream);
    fputs("</tr></thead><tbody>\n", stream);
    for (size_t k = 0; k < plot->n_categories; k++) {
        drove__html_row(plot->category[k], stream);
        for (size_t i = 0; i < plot->n_series; i++)
            drove__html_cell(k < plot->series[i].n ? plot->series[i].y[k] : NAN, stream);
        fputs("</tr>\n", stream);
    }
}

void drove__figure_print(const drove_plot *plot, const char *svg, FILE *stream)
{
    char label[DROVE_PLOT_TEXT + 16];
    fprintf(stream, "<figure id=\"f-%s\"><figcaption>", plot->id);
    drove__html_text(plot->title, stream);
    fputs("</figcaption>\n", stream);
    if (svg != NULL) print_picture(plot, svg, stream);
    print_legend(plot, svg != NULL, stream);

    /* notes */
    size_t n_thinned = 0, n_bands = 0;
    for (size_t i = 0; i < plot->n_series; i++) {
        n_thinned += plot->series[i].is_thinned;
        n_bands += plot->series[i].low != NULL;
    }
    fputs("<p class=note>", stream);
    drove__html_text(plot->about, stream);
    if (n_bands > 0) fputs(" Lines are medians over the runs, bands their quartiles.", stream);
    if (n_thinned > 0)
        fprintf(stream, " Of lines with more than %d points every so manieth is drawn.",
                DROVE_PLOT_MOST_POINTS);
    if (plot->n_left_out > 0) fprintf(stream, " %zu more are not drawn.", plot->n_left_out);
    fputs("</p>\n", stream);

    /* the numbers as a table; open if there is no picture */
    fprintf(stream, "<details id=\"n-%s\"%s><summary>Numbers: %s</summary>", plot->id,
            svg == NULL ? " open" : "", plot->title);
    snprintf(label, sizeof label, "Numbers: %s", plot->title);
    drove__html_table(label, NULL, stream);
    if (is_lines(plot)) print_lines_table(plot, stream);
    else if (plot->kind == DROVE_PLOT_BOXES) print_boxes_table(plot, stream);
    else print_bars_table(plot, stream);
    fputs("</tbody></table></div></details>\n", stream);

    fputs("</figure>\n", stream);
}
