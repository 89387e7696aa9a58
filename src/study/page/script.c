/* study/page/script.c - see script.h. */
#include "study/page/script.h"

#include "study/page/html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_TICS = 14, MOST_LONG_TICS = 9 /* of three digits */, MOST_COUNTED = 12 };

/* On white; chosen to differ in lightness too, for people who do not tell all hues apart. */
static const char *const printed[DROVE_PLOT_MOST_SERIES] = {"#0072b2", "#d55e00", "#007f5f",
                                                            "#b0568c", "#2a9dd6", "#9a6b00",
                                                            "#222222", "#6a3d9a"};

/* Numbers of gnuplot's markers: disc, square, triangle, diamond, circle, box, cross, pentagon. */
static const int marker[DROVE_PLOT_MOST_SERIES] = {7, 5, 9, 13, 6, 4, 2, 15};
static const int pattern[DROVE_PLOT_MOST_SERIES] = {3, 4, 1, 5, 2, 6, 7, 0};
/* The same without filling, so that dots show what lies under them. */
static const int hollow[DROVE_PLOT_MOST_SERIES] = {6, 4, 8, 12, 6, 4, 2, 14};
static const char *const dash[DROVE_PLOT_MOST_SERIES] = {"solid",     "(9,5)",         "(3,3)",
                                                         "(9,4,3,4)", "(14,5)",        "(6,3)",
                                                         "(2,5)",     "(12,4,3,4,3,4)"};

/* ---- words of gnuplot ---- */

/* Within single quotes only the quote itself means something. */
static void quote(const char *text, FILE *stream)
{
    fputc('\'', stream);
    for (; *text != '\0'; text++) {
        if (*text == '\'') fputc('\'', stream);
        fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, stream);
    }
    fputc('\'', stream);
}

static void print_role(int role, bool is_page, FILE *stream)
{
    if (is_page) fprintf(stream, " rgb '#0100%02x'", (unsigned)role);
    else if (role >= DROVE_ROLE_SERIES)
        fprintf(stream, " rgb '%s'", printed[(role - DROVE_ROLE_SERIES) % DROVE_PLOT_MOST_SERIES]);
    else fprintf(stream, " rgb '%s'", role == DROVE_ROLE_GRID ? "#dddddd" : "#222222");
}

static void print_look(size_t series, bool is_page, FILE *stream)
{
    fputs(" lc", stream);
    print_role(DROVE_ROLE_SERIES + (int)(series % DROVE_PLOT_MOST_SERIES), is_page, stream);
}

static void print_value(double value, FILE *stream)
{
    if (isfinite(value)) fprintf(stream, " %.9g", value);
    else fputs(" NaN", stream);
}

static bool is_bars(const drove_plot *plot)
{
    return plot->kind == DROVE_PLOT_BARS || plot->kind == DROVE_PLOT_STACKED;
}

/* ---- axes ---- */

/* Boxes: how many of all runs are in it stands below each number, where there is room. */
static bool has_counts(const drove_plot *plot)
{
    return plot->kind == DROVE_PLOT_BOXES && plot->n_series <= MOST_COUNTED &&
           plot->series[0].n_all > 0;
}

static void print_tics(const drove_plot *plot, size_t n, FILE *stream)
{
    const size_t most = n < 100 ? MOST_TICS : n < 1000 ? MOST_LONG_TICS : MOST_LONG_TICS / 2;
    const size_t step = (n + most - 1) / most;
    fputs("set xtics nomirror scale 0 (", stream);
    for (size_t i = 0; i < n; i += step) {
        if (i > 0) fputc(',', stream);
        if (has_counts(plot))
            fprintf(stream, "\"%s\\n%zu/%zu\"", plot->category[i], plot->series[i].n,
                    plot->series[i].n_all);
        else quote(plot->category[i], stream);
        fprintf(stream, " %zu", i + 1);
    }
    fprintf(stream, ")\nset xrange [0.4:%zu.6]\n", n);
}

/* A range of one value alone is none for gnuplot. */
static void print_range(const drove_plot *plot, bool of_x, FILE *stream)
{
    double least, most;
    const char axis = of_x ? 'x' : 'y';
    drove__plot_range(plot, of_x, &least, &most);
    if (isnan(least)) fprintf(stream, "set %crange [0:1]\n", axis);
    else if (least == most && least == 0.0) fprintf(stream, "set %crange [0:1]\n", axis);
    else if (least == most)
        fprintf(stream, "set %crange [%.9g:%.9g]\n", axis, fmin(0.5 * least, 2.0 * least),
                fmax(0.5 * least, 2.0 * least));
    else if (of_x) fprintf(stream, "set xrange [%.9g:%.9g]\n", least, most);
}

/* Dots at the edge are seen whole. */
static void print_room(const drove_plot *plot, bool of_x, FILE *stream)
{
    double least, most;
    drove__plot_range(plot, of_x, &least, &most);
    if (isnan(least)) return;
    const double room = most > least ? 0.03 * (most - least) : fmax(fabs(most), 1.0);
    fprintf(stream, "set %crange [%.9g:%.9g]\n", of_x ? 'x' : 'y', least - room, most + room);
}

/* Room below and above curves, boxes and bands, which would else lie on the axis; none beyond 0, or
 * beyond 1 of shares. */
static void print_height(const drove_plot *plot, FILE *stream)
{
    enum { PARTS = 25 };
    double least, most;
    drove__plot_range(plot, false, &least, &most);
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        for (size_t k = 0; s->low != NULL && k < s->n; k++) {
            if (isfinite(s->low[k])) least = fmin(least, s->low[k]);
            if (isfinite(s->high[k])) most = fmax(most, s->high[k]);
        }
    }
    if (!(most > least)) {
        print_range(plot, false, stream);
        return;
    }
    double low = least - (most - least) / PARTS, high = most + (most - least) / PARTS;
    if (plot->log_y) {
        const double factor = pow(most / least, 1.0 / PARTS);
        low = least / factor;
        high = most * factor;
    } else if (least >= 0.0) low = fmax(low, 0.0);
    if (plot->is_share && most <= 1.0) high = fmin(high, 1.0);
    fprintf(stream, "set yrange [%.9g:%.9g]\n", low, high);
}

static void print_axes(const drove_plot *plot, bool is_page, FILE *stream)
{
    const char *const names[] = {"xlabel", "ylabel"};
    const char *const texts[] = {plot->x_label, plot->y_label};
    for (int i = 0; i < 2; i++) {
        fprintf(stream, "set %s ", names[i]);
        quote(texts[i], stream);
        fputs(" textcolor", stream);
        print_role(DROVE_ROLE_TEXT, is_page, stream);
        fprintf(stream, " offset 0,%d\n", i == 0 && has_counts(plot) ? -1 : 0);
    }
    fprintf(stream, "set bmargin %d\n", has_counts(plot) && is_page ? 5 : -1);
    fputs("set tics nomirror textcolor", stream);
    print_role(DROVE_ROLE_TEXT, is_page, stream);
    fputs("\nset border 3 lc", stream);
    print_role(DROVE_ROLE_TEXT, is_page, stream);
    fprintf(stream, "\nset grid %s lw 1 lt 1 dt solid lc", is_bars(plot) ? "ytics" : "xtics ytics");
    print_role(DROVE_ROLE_GRID, is_page, stream);
    fputs("\nset xtics autofreq\nset ytics autofreq\nset xrange [*:*]\nset yrange [*:*]\n"
          "unset logscale\n",
          stream);
    if (plot->log_x) fputs("set logscale x\n", stream);
    if (plot->log_y) fputs("set logscale y\n", stream);
    if (is_bars(plot)) print_tics(plot, plot->n_categories, stream);
    else if (plot->kind == DROVE_PLOT_BOXES) print_tics(plot, plot->n_series, stream);
    else if (plot->kind == DROVE_PLOT_NEEDLES) {
        /* With room for needles that are moved aside. */
        double least, most;
        drove__plot_range(plot, true, &least, &most);
        const double room = fmax(most - least, 1.0) / 30.0;
        fprintf(stream, "set xrange [%.9g:%.9g]\n", least - room, most + room);
    } else print_range(plot, true, stream);
    if (plot->kind == DROVE_PLOT_LINES || plot->kind == DROVE_PLOT_BOXES)
        print_height(plot, stream);
    if (plot->kind == DROVE_PLOT_POINTS)
        for (int k = 0; k < 2; k++) print_room(plot, k == 0, stream);
    if (is_bars(plot) || plot->kind == DROVE_PLOT_STEPS) fputs("set yrange [0:*]\n", stream);
    if (plot->kind == DROVE_PLOT_STEPS && plot->log_y) fputs("set yrange [*:*]\n", stream);
    if (plot->is_share && is_bars(plot)) fputs("set yrange [0:1]\n", stream);
}

/* ---- what is drawn ---- */

static void print_title(const drove_series *s, bool is_page, FILE *stream)
{
    if (is_page) {
        fputs(" notitle", stream);
        return;
    }
    char name[88];
    drove__html_copy(name, sizeof name, s->name);
    fputs(" title ", stream);
    quote(name, stream);
}

static void draw_lines(const drove_plot *plot, size_t number, bool is_page, FILE *stream)
{
    const char *comma = "plot ";
    for (size_t i = 0; i < plot->n_series; i++) {
        if (plot->series[i].low == NULL) continue;
        fprintf(stream, "%s$d%zu_%zu using 1:3:4 with filledcurves", comma, number, i);
        print_look(i, is_page, stream);
        fputs(" fs transparent solid 0.18 noborder notitle", stream);
        comma = ", ";
    }
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        const bool is_steps = plot->kind == DROVE_PLOT_STEPS;
        if (plot->kind == DROVE_PLOT_POINTS) {
            fprintf(stream, "%s$d%zu_%zu using 1:2 with %s", comma, number, i,
                    s->is_line ? "lines" : "points");
            print_look(i, is_page, stream);
            if (s->is_line) fprintf(stream, " dt %s lw 1.5", dash[i % DROVE_PLOT_MOST_SERIES]);
            else fprintf(stream, " pt %d ps 0.5", hollow[i % DROVE_PLOT_MOST_SERIES]);
            print_title(s, is_page, stream);
            comma = ", ";
            continue;
        }
        fprintf(stream, "%s$d%zu_%zu using 1:2 with %s", comma, number, i,
                is_steps ? "steps" : "linespoints");
        print_look(i, is_page, stream);
        fprintf(stream, " dt %s lw 2", dash[i % DROVE_PLOT_MOST_SERIES]);
        if (!is_steps)
            fprintf(stream, " pt %d ps 0.7 pi %zu", marker[i % DROVE_PLOT_MOST_SERIES],
                    s->n / 12 + 1);
        print_title(s, is_page, stream);
        comma = ", ";
    }
}

/* Needles of several series at one place are drawn side by side, a little apart. */
static void draw_needles(const drove_plot *plot, size_t number, bool is_page, FILE *stream)
{
    double least, most;
    drove__plot_range(plot, true, &least, &most);
    const double apart = (most - least) / 200.0;
    for (size_t i = 0; i < plot->n_series; i++) {
        const double shift = apart * ((double)i - (double)(plot->n_series - 1) / 2.0);
        for (int k = 0; k < 2; k++) {
            fprintf(stream, "%s$d%zu_%zu using ($1%+.9g):2 with %s",
                    i + (size_t)k == 0 ? "plot " : ", ", number, i, shift,
                    k == 0 ? "impulses" : "points");
            print_look(i, is_page, stream);
            fprintf(stream, k == 0 ? " lw 2" : " pt %d ps 0.7", marker[i % DROVE_PLOT_MOST_SERIES]);
            if (k == 0) fputs(" notitle", stream);
            else print_title(&plot->series[i], is_page, stream);
        }
    }
}

static void draw_bars(const drove_plot *plot, size_t number, bool is_page, FILE *stream)
{
    const double width = plot->kind == DROVE_PLOT_BARS ? 0.8 / (double)plot->n_series : 0.7;
    for (size_t i = 0; i < plot->n_series; i++) {
        /* Stacked: the sum so far is drawn first, and what lies lower over it. */
        const size_t column = plot->kind == DROVE_PLOT_BARS ? i : plot->n_series - 1 - i;
        fprintf(stream, "%s$b%zu using ($1%+.4f):(", i == 0 ? "plot " : ", ", number,
                plot->kind == DROVE_PLOT_BARS ? width * ((double)i + 0.5) - 0.4 : 0.0);
        for (size_t k = plot->kind == DROVE_PLOT_BARS ? column : 0; k <= column; k++)
            fprintf(stream, "%s$%zu", k > 0 && plot->kind != DROVE_PLOT_BARS ? "+" : "", k + 2);
        /* on paper also hatched, for those who print without colours */
        if (is_page) fprintf(stream, "):(%.4f) with boxes fs solid 1 noborder", width);
        else
            fprintf(stream, "):(%.4f) with boxes fs pattern %d border rgb '#222222'", width,
                    pattern[column % DROVE_PLOT_MOST_SERIES]);
        print_look(column, is_page, stream);
        print_title(&plot->series[column], is_page, stream);
    }
}

/* Boxes, medians, and each run as a dot. */
static void draw_boxes(const drove_plot *plot, size_t number, bool is_page, FILE *stream)
{
    fprintf(stream,
            "set boxwidth 0.5\nplot $b%zu using 1:2:3:4:5 with candlesticks whiskerbars 0.5 fs "
            "transparent solid 0.25 lw 1.5",
            number);
    print_look(0, is_page, stream);
    fprintf(stream, " notitle, $b%zu using 1:6:6:6:6 with candlesticks lw 3", number);
    print_look(0, is_page, stream);
    fputs(" notitle", stream);
    for (size_t i = 0; i < plot->n_series; i++) {
        if (plot->series[i].n == 0) continue;
        fprintf(stream, ", $d%zu_%zu using 1:2 with points pt 6 ps 0.5", number, i);
        print_look(1, is_page, stream);
        fputs(" notitle", stream);
    }
}

/* One column where names are long.  A name alone says nothing that a caption does not. */
unsigned drove__script_key_rows(const drove_plot *plot)
{
    enum { LONG = 30, ROWS = 4 };
    bool is_long = false;
    if (plot->n_series < 2 || plot->kind == DROVE_PLOT_BOXES) return 0;
    for (size_t i = 0; i < plot->n_series; i++)
        is_long = is_long || strlen(plot->series[i].name) > LONG;
    return !is_long && plot->n_series > ROWS ? ROWS : (unsigned)plot->n_series;
}

/* Below the axis and its label. */
static void print_key(const drove_plot *plot, FILE *stream)
{
    const unsigned n = drove__script_key_rows(plot);
    fprintf(stream, "set bmargin %u\n", has_counts(plot) ? 5 : n + 4);
    if (n == 0) fputs("unset key\n", stream);
    else
        fprintf(stream,
                "set key at screen 0.02,0.02 bottom left vertical Left reverse maxrows %u samplen "
                "3\n",
                n);
}

void drove__script_plot(const drove_plot *plot, size_t number, bool is_page, FILE *stream)
{
    /* the numbers of each series: x y low high */
    for (size_t i = 0; i < plot->n_series; i++) {
        const drove_series *s = &plot->series[i];
        fprintf(stream, "$d%zu_%zu << EOD\n", number, i);
        for (size_t k = 0; k < s->n; k++) {
            print_value(s->x[k], stream);
            print_value(s->y[k], stream);
            print_value(s->low != NULL ? s->low[k] : NAN, stream);
            print_value(s->high != NULL ? s->high[k] : NAN, stream);
            fputc('\n', stream);
        }
        fputs("EOD\n", stream);
    }

    /* boxes: place, quartile, least, most, quartile, median */
    if (plot->kind == DROVE_PLOT_BOXES) {
        fprintf(stream, "$b%zu << EOD\n", number);
        for (size_t i = 0; i < plot->n_series; i++) {
            const drove_series *s = &plot->series[i];
            static const double at[] = {0.25, 0.0, 1.0, 0.75, 0.5};
            if (s->n == 0) continue;
            fprintf(stream, "%zu", i + 1);
            for (size_t k = 0; k < 5; k++) print_value(drove__quantile(s->y, s->n, at[k]), stream);
            fputc('\n', stream);
        }
        fputs("EOD\n", stream);
    }

    /* bars: place, and a number of each series */
    if (is_bars(plot)) {
        fprintf(stream, "$b%zu << EOD\n", number);
        for (size_t k = 0; k < plot->n_categories; k++) {
            fprintf(stream, "%zu", k + 1);
            for (size_t i = 0; i < plot->n_series; i++)
                print_value(k < plot->series[i].n ? plot->series[i].y[k] : 0.0, stream);
            fputc('\n', stream);
        }
        fputs("EOD\n", stream);
    }

    print_axes(plot, is_page, stream);
    if (!is_page) print_key(plot, stream);

    if (plot->kind == DROVE_PLOT_BOXES) draw_boxes(plot, number, is_page, stream);
    else if (is_bars(plot)) draw_bars(plot, number, is_page, stream);
    else if (plot->kind == DROVE_PLOT_NEEDLES) draw_needles(plot, number, is_page, stream);
    else draw_lines(plot, number, is_page, stream);
    fputc('\n', stream);
}

int drove__script_marker(size_t series)
{
    return marker[series % DROVE_PLOT_MOST_SERIES];
}

int drove__script_dot(size_t series)
{
    return hollow[series % DROVE_PLOT_MOST_SERIES];
}

const char *drove__script_dash(size_t series)
{
    static const char *const drawn[DROVE_PLOT_MOST_SERIES] = {"",     "9 5", "3 3", "9 4 3 4",
                                                              "14 5", "6 3", "2 5", "12 4 3 4 3 4"};
    return drawn[series % DROVE_PLOT_MOST_SERIES];
}

size_t drove__script_element(const drove_plot *plot, size_t k)
{
    size_t n_bands = 0;
    if (plot->kind == DROVE_PLOT_BOXES) return 0;
    if (plot->kind == DROVE_PLOT_NEEDLES) return k / 2;
    if (plot->kind == DROVE_PLOT_STACKED) return k < plot->n_series ? plot->n_series - 1 - k : 0;
    for (size_t i = 0; i < plot->n_series; i++) {
        if (plot->series[i].low == NULL) continue;
        if (n_bands++ == k) return i;
    }
    return k - n_bands;
}
