/* tests/unit/study/test_page.c - parts of a page and of the text chart against values by hand:
 * quantiles, escapes, thinning, scripts of gnuplot, what becomes of its SVG, dots of a curve. */
#include "study/chart.h"
#include "study/page/figures.h"
#include "study/page/html.h"
#include "study/page/plot.h"
#include "study/page/script.h"
#include "study/page/gnuplot.h"
#include "study/page/tables.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t n_text;

static FILE *open_text(void)
{
    FILE *stream = open_memstream(&text, &n_text);
    assert_non_null(stream);
    return stream;
}

/* The same text, then nothing is left of it. */
static void expect_text(FILE *stream, const char *expected)
{
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

TEST(quantiles)
{
    const double x[] = {1, 2, 4, 8, INFINITY}, low[] = {-INFINITY, 3, 5}, one[] = {7};
    assert_true(drove__quantile(x, 5, 0.0) == 1.0);
    assert_true(drove__quantile(x, 5, 0.25) == 2.0);
    assert_true(drove__quantile(x, 5, 0.5) == 4.0);
    assert_true(drove__quantile(x, 5, 0.375) == 3.0); /* half way from 2 to 4 */
    assert_true(isinf(drove__quantile(x, 5, 0.9)));
    assert_true(drove__quantile(x, 4, 0.5) == 3.0);
    assert_true(drove__quantile(low, 3, 0.25) == -INFINITY);
    assert_true(drove__quantile(low, 3, 0.75) == 4.0);
    assert_true(drove__quantile(one, 1, 0.75) == 7.0);
}

TEST(escapes)
{
    char cut[8];
    FILE *stream = open_text();
    drove__html_text("<a b=\"c\">&'\n\033", stream);
    expect_text(stream, "&lt;a b=&quot;c&quot;&gt;&amp;&#39;??");
    drove__html_copy(cut, sizeof cut, "1234567");
    assert_string_equal(cut, "1234567");
    drove__html_copy(cut, sizeof cut, "12345678");
    assert_string_equal(cut, "1234...");
    drove__html_copy(cut, sizeof cut, "123\303\244\303\266\303\274"); /* not within a character */
    assert_string_equal(cut, "123...");
    stream = open_text();
    drove__html_number(NAN, stream);
    drove__html_number(-INFINITY, stream);
    drove__html_number(1234567.0, stream);
    drove__html_number(0.000123456, stream);
    expect_text(stream, "&ndash;-&infin;12345670.0001235");
}

TEST(thinning)
{
    enum { N = 1001 };
    static double x[N], y[N];
    drove_plot plot = {.kind = DROVE_PLOT_LINES};
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = i == 500 ? NAN : 1.0 + (double)i;
    }
    drove__plot_add_points(&plot, "long", x, y, N);
    drove__plot_add_points(&plot, "short", x, y, 3);
    assert_int_equal(plot.series[0].n, DROVE_PLOT_MOST_POINTS);
    assert_true(plot.series[0].is_thinned && !plot.series[1].is_thinned);
    assert_true(plot.series[0].x[0] == 0.0);
    assert_true(plot.series[0].x[DROVE_PLOT_MOST_POINTS - 1] == N - 1.0);
    for (size_t i = 1; i < plot.series[0].n; i++)
        assert_in_range((int)(plot.series[0].x[i] - plot.series[0].x[i - 1]), 5, 6);
    assert_int_equal(plot.series[1].n, 3);
    drove__plot_choose_axes(&plot, true, true, 100.0); /* x has 0 */
    assert_true(!plot.log_x && plot.log_y);
    drove__plot_choose_axes(&plot, true, true, 2000.0);
    assert_true(!plot.log_y);
    drove__plot_fini(&plot);
}

/* A name cannot leave its quotes, nor have a line of its own. */
TEST(scripts)
{
    const double x[] = {0, 1, 2}, y[] = {3, NAN, 5};
    drove_plot plot = {.kind = DROVE_PLOT_LINES, .id = "id", .x_label = "x", .y_label = "y"};
    drove__plot_add_points(&plot, "a'.system('id').'`id`\nquit", x, y, 3);
    FILE *stream = open_text();
    drove__script_plot(&plot, 0, false, stream);
    fclose(stream);
    assert_non_null(strstr(text, " title 'a''.system(''id'').''`id`?quit'"));
    assert_non_null(
        strstr(text, "$d0_0 << EOD\n 0 3 NaN NaN\n 1 NaN NaN NaN\n 2 5 NaN NaN\nEOD\n"));
    free(text);
    stream = open_text();
    drove__script_plot(&plot, 0, true, stream);
    fclose(stream);
    assert_null(strstr(text, "system")); /* the page has names of its own */
    assert_non_null(strstr(text, "#010010"));
    free(text);
    drove__plot_fini(&plot);
}

/* A curve does not lie on the axis; shares end at 0 and 1. */
TEST(curves_have_room)
{
    const double x[] = {1, 2}, y[] = {2, 4}, share[] = {0.01, 1}, large[] = {1, 1e5};
    const struct {
        const double *y;
        bool is_share, log_y;
        const char *expected;
    } of[] = {{y, false, false, "set yrange [1.92:4.08]\n"},
              {share, true, false, "set yrange [0:1]\n"},
              {large, false, true, "set yrange [0.630957344:158489.319]\n"}};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        drove_plot plot = {.kind = DROVE_PLOT_LINES,
                           .id = "id",
                           .x_label = "x",
                           .y_label = "y",
                           .is_share = of[i].is_share,
                           .log_y = of[i].log_y};
        drove__plot_add_points(&plot, "one", x, of[i].y, 2);
        FILE *stream = open_text();
        drove__script_plot(&plot, 0, true, stream);
        fclose(stream);
        assert_non_null(strstr(text, of[i].expected));
        free(text);
        drove__plot_fini(&plot);
    }
}

/* Long numbers stand farther apart: 235 settings have at most 9 below the axis. */
TEST(ticks_have_room)
{
    const double y = 1.0;
    drove_plot plot = {.kind = DROVE_PLOT_BOXES, .id = "id", .x_label = "x", .y_label = "y"};
    for (int i = 0; i < 235; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", i + 1);
        drove__plot_add_points(&plot, "one", &y, &y, 1);
        drove__plot_add_category(&plot, number);
    }
    FILE *stream = open_text();
    drove__script_plot(&plot, 0, false, stream);
    fclose(stream);
    assert_non_null(strstr(text, "('1' 1,'28' 28,'55' 55,'82' 82,'109' 109,'136' 136,'163' 163,"
                                 "'190' 190,'217' 217)\n"));
    free(text);
    drove__plot_fini(&plot);
}

/* Five numbers, none, and one: quartiles and ends, and a dot for each run. */
TEST(boxes)
{
    const double x[] = {1, 1, 1, 1, 1}, y[] = {1, 2, 3, 4, 5}, at = 3, seven = 7;
    drove_plot plot = {.kind = DROVE_PLOT_BOXES, .id = "id", .x_label = "x", .y_label = "y"};
    drove__plot_add_points(&plot, "five", x, y, 5);
    drove__plot_add_points(&plot, "none", x, y, 0);
    drove__plot_add_points(&plot, "one", &at, &seven, 1);
    drove__plot_add_category(&plot, "2"); /* what they are called, not where they stand */
    drove__plot_add_category(&plot, "3");
    drove__plot_add_category(&plot, "9");
    plot.series[0].n_all = 6;
    plot.series[1].n_all = 2;
    plot.series[2].n_all = 1;
    FILE *stream = open_text();
    drove__script_plot(&plot, 0, false, stream);
    fclose(stream);
    assert_non_null(strstr(text, "$d0_1 << EOD\nEOD\n$d0_2 << EOD\n 3 7 NaN NaN\nEOD\n"
                                 "$b0 << EOD\n1 2 1 5 4 3\n3 7 7 7 7 7\nEOD\n"));
    assert_non_null(strstr(text, "(\"2\\n5/6\" 1,\"3\\n0/2\" 2,\"9\\n1/1\" 3)\n"
                                 "set xrange [0.4:3.6]\n"));
    const char *end = strstr(text, " lw 3 lc rgb '#0072b2' notitle");
    assert_non_null(end);
    assert_string_equal(end,
                        " lw 3 lc rgb '#0072b2' notitle"
                        ", $d0_0 using 1:2 with points pt 6 ps 0.5 lc rgb '#d55e00' notitle"
                        ", $d0_2 using 1:2 with points pt 6 ps 0.5 lc rgb '#d55e00' notitle\n");
    free(text);
    drove__plot_fini(&plot);
}

TEST(elements)
{
    drove_plot plot = {.kind = DROVE_PLOT_LINES};
    (void)drove__plot_add(&plot, "line", 1, false);
    (void)drove__plot_add(&plot, "band", 1, true);
    assert_int_equal(drove__script_element(&plot, 0), 1); /* the band, then the two lines */
    assert_int_equal(drove__script_element(&plot, 1), 0);
    assert_int_equal(drove__script_element(&plot, 2), 1);
    plot.kind = DROVE_PLOT_STACKED;
    assert_int_equal(drove__script_element(&plot, 0), 1);
    plot.kind = DROVE_PLOT_NEEDLES;
    assert_int_equal(drove__script_element(&plot, 3), 1);
    drove__plot_fini(&plot);
}

TEST(pictures)
{
    static const char *const svg =
        "<svg><title>Gnuplot</title><defs><circle id='gpDot'/>\n\t<filter id='f'/></defs>\n"
        "<g fill=\"none\" color=\"black\">\n</g>\n"
        "<path stroke='rgb(  1,   0,   2)' d='M0,0'/>\n\t<g id=\"gnuplot_plot_1\" ><title>x</title>"
        "<use xlink:href='#gpPt6' color='rgb(  1,   0,  17)'/>\t</g><path stroke='rgb(1,0,1)'/>"
        "<path stroke='rgb(200,0,1)'/></g>\n</svg>\n";
    drove_plot plot = {.kind = DROVE_PLOT_LINES};
    (void)drove__plot_add(&plot, "one", 1, false);
    FILE *stream = open_text();
    drove__svg_picture(svg, &plot, stream);
    expect_text(stream,
                "  <path stroke='var(--grid)' d='M0,0'/> <g class=\"s0\"><use href='#gpPt6' "
                "color='var(--s1)'/> </g><path stroke='var(--text)'/>"
                "<path stroke='rgb(200,0,1)'/>");
    stream = open_text();
    drove__svg_markers(svg, stream);
    expect_text(stream, "<defs><circle id='gpDot'/> </defs>");
    stream = open_text();
    drove__svg_picture("no picture", &plot, stream);
    expect_text(stream, "");
    drove__plot_fini(&plot);
}

TEST(commands)
{
    json_t *options =
        json_pack("{s:s, s:f, s:i, s:s, s:s, s:s, s:s}", "data", "it's <here>", "lr", 0.25, "seed",
                  1, "out", "x", "log", "y", "model", "mlp:8", "nonsense", "z");
    FILE *stream = open_text();
    drove__page_command(options, stream);
    expect_text(stream, "<code>drove train --data=&#39;it&#39;\\&#39;&#39;s &lt;here&gt;&#39; "
                        "--model=mlp:8 --lr=0.25</code>");
    json_decref(options);
}

TEST(charts)
{
    size_t n_lines;
    const double x[] = {0, 1, 2}, y[] = {4, 1, NAN}, lost[] = {NAN, INFINITY, NAN};
    drove_chart chart = {
        .x = x, .y = y, .n = 2, .columns = 40, .rows = 5, .is_ascii = true, .x_name = "epochs"};
    FILE *stream = open_text();
    assert_int_equal(drove__chart_print(&chart, stream, &n_lines), DROVE_OK);
    /* 30 columns, 4 rows: the row is 3 k / 29, rounded; where it changes both rows have a star */
    expect_text(stream, "       4 |******                        \n"
                        "         |     ***********              \n"
                        "       2 |               ***********    \n"
                        "       1 |                         *****\n"
                        "          0                     1 epochs\n");
    assert_int_equal(n_lines, 5);
    chart.y = lost;
    stream = open_text();
    assert_int_equal(drove__chart_print(&chart, stream, &n_lines), DROVE_OK);
    assert_int_equal(n_lines, 1);
    expect_text(stream, "  (no loss yet that is a number)\n");
    chart.y = y;
    chart.n = 1; /* one place, in the middle */
    chart.is_ascii = false;
    stream = open_text();
    assert_int_equal(drove__chart_print(&chart, stream, &n_lines), DROVE_OK);
    fclose(stream);
    /* dot 30 of 60, row 15 - 8 of 16: the lowest left dot of the second line, U+2840 */
    assert_non_null(strstr(text, "         |               \xe2\xa1\x80              \n"));
    free(text);
}

/* ---- curves of several runs ---- */

/* A run of a setting with these evaluations. */
static json_t *run_of(const char *lr, size_t n, const double *epochs, const double *loss)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, json_pack("{s:f, s:f}", "epochs", epochs[i], "loss", loss[i]));
    return json_pack("{s:s, s:{s:s}, s:o, s:{}, s:s}", "run", lr, "settings", "lr", lr,
                     "evaluations", all, "figures", "outcome", "finished");
}

static const drove_figure by_epochs = {.id = "loss",
                                       .title = "",
                                       .about = "",
                                       .x = "epochs",
                                       .y = "loss",
                                       .x_label = "",
                                       .y_label = "",
                                       .fill = drove__figure_curves};

/* Two runs, 8 - 2 x until it ends at 4 with 0, and 10 from 1 to 6: from where both have begun on
 * the median is half way between them, the quartiles a quarter from each. */
TEST(medians_of_curves)
{
    static const double x1[] = {0, 4}, y1[] = {8, 0}, x2[] = {1, 3, 6}, y2[] = {10, 10, 10};
    drove_page_settings s;
    drove_plot plot = {0};
    json_t *runs = json_array();
    json_array_append_new(runs, run_of("1", 2, x1, y1));
    json_array_append_new(runs, run_of("1", 3, x2, y2));
    assert_int_equal(drove__settings_init(&s, runs), DROVE_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(by_epochs.fill(&by_epochs, &s, &plot), DROVE_OK);
    assert_int_equal(plot.n_series, 1);
    const drove_series *found = &plot.series[0];
    assert_true(found->n > 10 && found->x[0] == 1.0 && found->x[found->n - 1] == 6.0);
    assert_false(plot.log_x);
    for (size_t i = 0; i < found->n; i++) {
        const double x = 1.0 + 5.0 * (double)i / (double)(found->n - 1);
        const double y = x < 4.0 ? 8.0 - 2.0 * x : 0.0;
        assert_true(fabs(found->x[i] - x) < 1e-12);
        assert_true(fabs(found->y[i] - (y + 10.0) / 2.0) < 1e-9);
        assert_true(fabs(found->low[i] - (y + (10.0 - y) / 4.0)) < 1e-9);
        assert_true(fabs(found->high[i] - (y + (10.0 - y) * 3.0 / 4.0)) < 1e-9);
    }
    drove__plot_fini(&plot);
    drove__settings_fini(&s);
    json_decref(runs);
}

/* Where a setting lasts 30 times as long as another, places are equal steps of the logarithm, from
 * the first evaluation after 0. */
TEST(long_curves_are_logarithmic)
{
    static const double x1[] = {0, 2, 400}, x2[] = {0, 1, 200}, x3[] = {0, 4}, y[] = {8, 4, 2};
    drove_page_settings s;
    drove_plot plot = {0};
    json_t *runs = json_array();
    json_array_append_new(runs, run_of("1", 3, x1, y));
    json_array_append_new(runs, run_of("1", 3, x2, y));
    json_array_append_new(runs, run_of("2", 2, x3, y));
    assert_int_equal(drove__settings_init(&s, runs), DROVE_OK);
    assert_int_equal(by_epochs.fill(&by_epochs, &s, &plot), DROVE_OK);
    assert_int_equal(plot.n_series, 2);
    assert_true(plot.log_x);
    const drove_series *band = &plot.series[plot.series[0].low != NULL ? 0 : 1],
                       *line = &plot.series[plot.series[0].low != NULL ? 1 : 0];
    for (size_t i = 0; i < band->n; i++)
        assert_true(fabs(band->x[i] / (2.0 * pow(200.0, (double)i / (double)(band->n - 1))) - 1.0) <
                    1e-9);
    assert_int_equal(line->n, 1); /* its other evaluation is at 0 */
    assert_true(line->x[0] == 4.0 && line->y[0] == 4.0);
    drove__plot_fini(&plot);
    drove__settings_fini(&s);
    json_decref(runs);
}

/* A sweep's settings keep its numbers, in whatever order they were run and whichever are still to
 * come; runs of several folders are numbered as they are met. */
TEST(settings_keep_their_numbers)
{
    static const double x[] = {0, 1}, y[] = {8, 4};
    static const int given[] = {5, 2, 5, 1};
    for (int n_sweeps = 1; n_sweeps <= 2; n_sweeps++) {
        drove_page_settings s;
        json_t *runs = json_array();
        for (int i = 0; i < 4; i++) {
            char lr[8];
            snprintf(lr, sizeof lr, "0.%d", given[i]);
            json_t *run = run_of(lr, 2, x, y);
            json_object_set_new(run, "sweep", json_string(i % n_sweeps == 0 ? "a" : "b"));
            json_object_set_new(run, "setting", json_integer(given[i]));
            json_array_append_new(runs, run);
        }
        assert_int_equal(drove__settings_init(&s, runs), DROVE_OK);
        char said[96] = "", *at = said, name[DROVE_PLOT_TEXT];
        for (size_t i = 0; i < s.n; i++) {
            drove__setting_label(&s, i, name, sizeof name);
            at += snprintf(at, sizeof said - (size_t)(at - said), "%s x%zu; ", name,
                           s.setting[i].n_runs);
        }
        assert_string_equal(said, n_sweeps == 1
                                      ? "1: lr=0.1 x1; 2: lr=0.2 x1; 5: lr=0.5 x2; "
                                      : "1: a: lr=0.5 x2; 2: b: lr=0.2 x1; 3: b: lr=0.1 x1; ");
        drove__settings_fini(&s);
        json_decref(runs);
    }
}

/* Bars are parts of the longest; a column that does not matter has none. */
TEST(columns_that_matter)
{
    json_t *runs = json_pack("[{s:s, s:{s:{s:s, s:i, s:[{s:s, s:f}, {s:s, s:f}, {s:s, s:f}]}}}]",
                             "run", "x", "summary", "importance", "data", "held-out", "examples",
                             50, "columns", "column", "<a>", "loss_increase", 0.5, "column", "b",
                             "loss_increase", 0.125, "column", "c", "loss_increase", -0.25);
    const drove_page_settings s = {.runs = runs};
    FILE *stream = open_text();
    drove__page_inputs(&s, stream);
    fclose(stream);
    assert_non_null(strstr(text, "among 50 held-out examples"));
    const char *row = strstr(text, "&lt;a&gt;");
    assert_true(row != NULL && strstr(row, "width:100.0%") < strstr(row, "width:25.0%"));
    assert_non_null(strstr(strstr(row, "width:25.0%"), "width:0.0%"));
    assert_null(strstr(text, "more have less"));
    free(text);
    json_decref(runs);
}

/* Updates are shown as shares of all; use is a share already. */
TEST(bars_of_workers)
{
    static const drove_figure by_updates = {
        .id = "a", .title = "", .about = "", .y = "updates", .x_label = "", .y_label = ""};
    static const drove_figure by_use = {
        .id = "b", .title = "", .about = "", .y = "busy", .x_label = "", .y_label = ""};
    json_t *runs =
        json_pack("[{s:{s:[{s:s, s:i, s:f}, {s:s, s:i, s:f}]}}]", "summary", "workers", "name",
                  "cpu", "updates", 1, "busy", 0.5, "name", "gpu", "updates", 3, "busy", 0.25);
    const drove_page_settings s = {.runs = runs};
    drove_plot shares = {0}, use = {0};
    assert_int_equal(drove__figure_workers(&by_updates, &s, &shares), DROVE_OK);
    assert_int_equal(shares.n_series, 1);
    assert_true(shares.series[0].y[0] == 0.25 && shares.series[0].y[1] == 0.75);
    assert_string_equal(shares.category[0], "1: cpu");
    assert_string_equal(shares.category[1], "2: gpu");
    assert_int_equal(drove__figure_workers(&by_use, &s, &use), DROVE_OK);
    assert_true(use.series[0].y[0] == 0.5 && use.series[0].y[1] == 0.25);
    assert_true(use.is_share && !shares.is_share);
    drove__plot_fini(&shares);
    drove__plot_fini(&use);
    json_decref(runs);
}
