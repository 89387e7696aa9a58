/* tests/unit/study/test_page.c - parts of a page and of the text chart against values by hand:
 * quantiles, escapes, thinning, scripts of gnuplot, what becomes of its SVG, dots of a curve. */
#include "study/chart.h"
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

/* Long numbers stand farther apart: 235 settings have at most 9 below the axis. */
TEST(ticks_have_room)
{
    const double y = 1.0;
    drove_plot plot = {.kind = DROVE_PLOT_BOXES, .id = "id", .x_label = "x", .y_label = "y"};
    for (int i = 0; i < 235; i++) drove__plot_add_points(&plot, "one", &y, &y, 1);
    FILE *stream = open_text();
    drove__script_plot(&plot, 0, false, stream);
    fclose(stream);
    assert_non_null(strstr(text, "('1' 1,'28' 28,'55' 55,'82' 82,'109' 109,'136' 136,'163' 163,"
                                 "'190' 190,'217' 217)\n"));
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
