/* cli/progress.c - a bar on a terminal, plain lines elsewhere; always on stderr.
 *
 * Everything runs on the thread that called drove_train, except cli_progress_clear_by_signal.
 */
#include "progress.h"

#include <langinfo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    FIELD_SIZE = CLI_FIELD_SIZE,
    MOST_FIELDS = CLI_MOST_FIELDS,
    LEAST_BAR = 8,
    MOST_BAR = 32,
    LINE_SIZE = 1024,
    PERCENT_COLUMNS = 6,
    MOST_COLUMNS = 400
};

static const char clear_line[] = "\r\033[K";
static const uint64_t redraw_ns = 100000000;     /* at most ten times a second */
static const uint64_t line_ns = 1000000000;      /* between two lines without a terminal */
static const uint64_t networks_ns = 3000000000u; /* and of a pack's networks */
static volatile sig_atomic_t is_drawn;           /* for the signal handler       */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_all(const char *text, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t n = write(STDERR_FILENO, text, size_bytes);
        if (n <= 0) return; /* a display that cannot be seen is no reason to end the run */
        text += n;
        size_bytes -= (size_t)n;
    }
}

/* ---- numbers as a person reads them ---- */

void cli_progress_duration(double seconds, char into[CLI_FIELD_SIZE])
{
    unsigned long s = (unsigned long)(seconds + 0.5);
    if (seconds > 1e7) snprintf(into, FIELD_SIZE, "%.0f days", seconds / 86400.0);
    else if (s >= 3600)
        snprintf(into, FIELD_SIZE, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    else if (s >= 60) snprintf(into, FIELD_SIZE, "%lu:%02lu", s / 60, s % 60);
    else snprintf(into, FIELD_SIZE, "%lu s", s);
}

/* ---- the bar ---- */

/* The fields, most important first; returns how many. */
static size_t make_fields(const drove_progress *p, char field[MOST_FIELDS][FIELD_SIZE])
{
    size_t n = 0;
    char text[FIELD_SIZE];
    if (isnan(p->epochs)) {
        snprintf(field[n++], FIELD_SIZE, "%llu of %.0f networks", (unsigned long long)p->updates,
                 p->epochs_total);
    } else if (isfinite(p->epochs_total)) {
        snprintf(field[n++], FIELD_SIZE, "epoch %.2f/%.6g", p->epochs, p->epochs_total);
    } else {
        snprintf(field[n++], FIELD_SIZE, "epoch %.2f", p->epochs);
    }
    if (!isnan(p->loss)) {
        snprintf(field[n++], FIELD_SIZE, p->loss < 100.0 ? "loss %.4f" : "loss %.4g", p->loss);
    }
    if (isfinite(p->eta_s)) {
        cli_progress_duration(p->eta_s, text);
        snprintf(field[n++], FIELD_SIZE, "%.30s left", text);
    }
    const double rate = p->examples_per_s;
    if (rate >= 1e6) snprintf(field[n++], FIELD_SIZE, "%.2fM ex/s", rate / 1e6);
    else if (rate >= 1e3) snprintf(field[n++], FIELD_SIZE, "%.1fk ex/s", rate / 1e3);
    else if (rate > 0.0) snprintf(field[n++], FIELD_SIZE, "%.0f ex/s", rate);
    snprintf(field[n++], FIELD_SIZE, "%u worker%s", p->n_workers, p->n_workers == 1 ? "" : "s");
    double accuracy = isnan(p->test_accuracy) ? p->accuracy : p->test_accuracy;
    if (!isnan(accuracy)) snprintf(field[n++], FIELD_SIZE, "accuracy %.2f %%", 100.0 * accuracy);
    return n;
}

/* A bar of n_columns columns, of which fraction is full; returns its end. */
static char *draw_bar(char *to, double fraction, int n_columns, bool is_utf8)
{
    static const char *const eighth[] = {" ",      "\u258f", "\u258e", "\u258d", "\u258c",
                                         "\u258b", "\u258a", "\u2589", "\u2588"};
    int inside = n_columns - 2, full = (int)(fraction * inside * 8 + 0.5);
    to = stpcpy(to, is_utf8 ? "\u2595" : "[");
    for (int i = 0; i < inside; i++) {
        int part = full - 8 * i;
        if (part < 0) part = 0;
        if (part > 8) part = 8;
        to = stpcpy(to, is_utf8 ? eighth[part] : part >= 4 ? "#" : "-");
    }
    return stpcpy(to, is_utf8 ? "\u258f" : "]");
}

/* The bar, where the fraction is known, and as many fields as fit. */
static void lay_out(bool is_utf8, double fraction, char (*field)[FIELD_SIZE], size_t n_fields,
                    int n_columns, char line[LINE_SIZE])
{
    char *to = line;
    size_t n_shown = 0;
    if (n_columns > MOST_COLUMNS) n_columns = MOST_COLUMNS;
    int bar = n_columns / 7;
    if (bar < LEAST_BAR) bar = LEAST_BAR;
    if (bar > MOST_BAR) bar = MOST_BAR;
    bool has_bar = isfinite(fraction) && PERCENT_COLUMNS + bar <= n_columns;
    int used = has_bar ? PERCENT_COLUMNS + bar : 0;
    for (; n_shown < n_fields; n_shown++) { /* as many as fit */
        int wide = (int)strlen(field[n_shown]) + (used > 0 ? 2 : 0);
        if (used + wide > n_columns) break;
        used += wide;
    }
    if (has_bar) {
        fraction = fraction < 0.0 ? 0.0 : fraction > 1.0 ? 1.0 : fraction;
        to += sprintf(to, "%3.0f %% ", floor(100.0 * fraction));
        to = draw_bar(to, fraction, bar, is_utf8);
        if (n_shown > 0) to = stpcpy(to, "  ");
    }
    for (size_t i = 0; i < n_shown; i++) {
        if (i > 0) to = stpcpy(to, "  ");
        to = stpcpy(to, field[i]);
    }
    *to = '\0';
}

void cli_progress_line(const cli_progress *progress, const drove_progress *p, int n_columns,
                       char *into, size_t size)
{
    char field[MOST_FIELDS][FIELD_SIZE], line[LINE_SIZE];
    size_t n_fields = make_fields(p, field);
    lay_out(progress->is_utf8, p->fraction, field, n_fields, n_columns, line);
    snprintf(into, size, "%s", line);
}

static int terminal_columns(void)
{
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        return window.ws_col - 1;
    return 79;
}

static void put(cli_progress *progress, const char *line)
{
    char out[LINE_SIZE + 8];
    int n = snprintf(out, sizeof out, "\r%s\033[K", line);
    is_drawn = 1;
    write_all(out, (size_t)n);
    progress->drawn_ns = now_ns();
}

void cli_progress_draw(cli_progress *progress, double fraction, char (*field)[CLI_FIELD_SIZE],
                       size_t n_fields)
{
    char line[LINE_SIZE];
    if (progress->is_quiet || !progress->is_terminal) return;
    lay_out(progress->is_utf8, fraction, field, n_fields, terminal_columns(), line);
    put(progress, line);
}

void cli_progress_clear(cli_progress *progress)
{
    if (progress->drawn_ns == 0) return;
    write_all(clear_line, sizeof clear_line - 1);
    progress->drawn_ns = 0;
    is_drawn = 0;
}

void cli_progress_clear_by_signal(void)
{
    if (is_drawn) write_all(clear_line, sizeof clear_line - 1);
}

/* ---- plain lines ---- */

/* The rate is that since the line before, whatever evaluations were left out between. */
static void print_evaluation(cli_progress *progress, const drove_progress *p)
{
    const double examples = (double)p->examples - (double)progress->printed_examples;
    const double train_s = p->train_s - progress->printed_train_s;
    char line[LINE_SIZE];
    size_t n = (size_t)snprintf(line, sizeof line, "epoch %.2f", p->epochs);
    if (!isnan(p->loss)) n += (size_t)snprintf(line + n, sizeof line - n, "  loss %.5g", p->loss);
    if (!isnan(p->accuracy)) {
        n += (size_t)snprintf(line + n, sizeof line - n, "  accuracy %.2f %%", 100.0 * p->accuracy);
    }
    if (!isnan(p->test_loss)) {
        n += (size_t)snprintf(line + n, sizeof line - n, "  test loss %.5g", p->test_loss);
    }
    if (!isnan(p->test_accuracy)) {
        n += (size_t)snprintf(line + n, sizeof line - n, "  test accuracy %.2f %%",
                              100.0 * p->test_accuracy);
    }
    if (examples > 0.0 && train_s > 0.0)
        n += (size_t)snprintf(line + n, sizeof line - n, "  %.0f examples/s", examples / train_s);
    snprintf(line + n, sizeof line - n, "  %.2f s", p->train_s);
    fprintf(stderr, "%s\n", line);
    progress->printed_examples = p->examples;
    progress->printed_train_s = p->train_s;
}

void cli_progress_end(cli_progress *progress)
{
    cli_progress_clear(progress);
    if (progress->holds_last) print_evaluation(progress, &progress->last);
    progress->holds_last = false;
}

static void print_networks(cli_progress *progress, const drove_progress *p)
{
    const uint64_t now = now_ns();
    if (progress->printed_ns == 0) progress->printed_ns = now;
    if (now - progress->printed_ns < networks_ns) return;
    fprintf(stderr, "drove: model: %llu of %.0f networks trained in %.0f s",
            (unsigned long long)p->updates, p->epochs_total, p->train_s);
    if (isfinite(p->eta_s)) fprintf(stderr, ", about %.0f s left", p->eta_s);
    fputc('\n', stderr);
    progress->printed_ns = now;
}

/* ---- callbacks ---- */

static void begin(cli_progress *progress)
{
    if (!progress->is_begun && progress->on_begin != NULL) progress->on_begin();
    progress->is_begun = true;
}

static void on_progress(void *context, const drove_progress *p)
{
    cli_progress *progress = context;
    const bool is_pack = isnan(p->epochs);
    if (is_pack) begin(progress);
    if (progress->is_quiet || (is_pack && !(p->epochs_total > 0.0))) return;
    if (is_pack && !progress->is_terminal) print_networks(progress, p);
    if (!progress->is_terminal) return;
    if (progress->drawn_ns != 0 && now_ns() - progress->drawn_ns < redraw_ns) return;
    char line[LINE_SIZE];
    cli_progress_line(progress, p, terminal_columns(), line, sizeof line);
    put(progress, line);
}

static void on_evaluated(void *context, const drove_progress *p)
{
    cli_progress *progress = context;
    begin(progress);
    /* Trained before its first step: a pack, whose own lines have told of it. */
    if (p->epochs == 0.0) progress->printed_train_s = p->train_s;
    if (progress->is_quiet || (p->epochs == 0.0 && p->train_s > 0.0)) return;
    if (progress->is_terminal) {
        on_progress(context, p);
        return;
    }

    /* The first at once, then at most one a second; the last one that was left out stays in hand,
     * for the end or for a message that refers to it. */
    const uint64_t now = now_ns();
    progress->last = *p;
    progress->holds_last = progress->printed_ns != 0 && now - progress->printed_ns < line_ns;
    if (progress->holds_last) return;
    print_evaluation(progress, p);
    progress->printed_ns = now;
}

static void on_message(void *context, const char *line)
{
    static const char warning[] = "warning: ";
    cli_progress *progress = context;
    if (progress->is_quiet && strncmp(line, warning, sizeof warning - 1) != 0) return;
    cli_progress_end(progress);
    fprintf(stderr, "drove: %s\n", line);
}

void cli_progress_init(cli_progress *progress, bool is_quiet)
{
    const char *terminal = getenv("TERM");
    bool is_dumb = terminal == NULL || strcmp(terminal, "dumb") == 0;
    *progress = (cli_progress){
        .is_quiet = is_quiet,
        .is_terminal = isatty(STDERR_FILENO) && !is_dumb,
        .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

drove_callbacks cli_progress_callbacks(cli_progress *progress)
{
    return (drove_callbacks){.context = progress,
                             .progress = on_progress,
                             .evaluated = on_evaluated,
                             .message = on_message};
}
