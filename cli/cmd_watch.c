/* cli/cmd_watch.c - drove watch DIR: a run or a sweep while it goes on, in the terminal or, with
 * --http, in a browser; and drove report DIR...: runs as a page, a table or pictures.
 */
#include "cli.h"

#include <langinfo.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 80, MOST_COLUMNS = 200 };

static volatile sig_atomic_t stopped_by; /* a signal's number; 0: none */

static void on_signal(int number)
{
    stopped_by = number;
}

/* ---- the terminal ---- */

/* Clears the previous frame.  A frame is one write, so nothing flickers. */
static drove_status draw(const char *folder, const drove_watch_style *style,
                         drove_watch_state *state)
{
    char *frame = NULL;
    size_t n_bytes = 0;
    const size_t before = state->n_lines;
    FILE *stream = open_memstream(&frame, &n_bytes);
    if (stream == NULL) return DROVE_E_NOMEM;
    const drove_status status = drove_watch_print(folder, style, state, stream);
    if (fclose(stream) != 0 || status != DROVE_OK) {
        free(frame);
        return status != DROVE_OK ? status : DROVE_E_NOMEM;
    }
    if (!style->is_lines && before > 0) printf("\033[%zuA\r\033[J", before);
    fwrite(frame, 1, n_bytes, stdout);
    fflush(stdout);
    free(frame);
    return DROVE_OK;
}

static int watch_text(const char *folder, double every_s)
{
    const char *term = getenv("TERM");
    const bool is_terminal =
        isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0 && term[0] != '\0';
    drove_watch_style style = {.is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
                               .is_lines = !is_terminal};
    drove_watch_state state = {.n_seen = 0};
    while (stopped_by == 0) {
        struct winsize size;
        style.columns = MOST_COLUMNS;
        if (is_terminal && (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0))
            style.columns = COLUMNS;
        else if (is_terminal && size.ws_col < MOST_COLUMNS) style.columns = size.ws_col;
        const drove_status status = draw(folder, &style, &state);
        if (status != DROVE_OK) return cli_exit_status(status);
        if (state.is_over || ferror(stdout)) return CLI_OK;
        struct timespec time = {.tv_sec = (time_t)every_s,
                                .tv_nsec = (long)((every_s - floor(every_s)) * 1e9)};
        (void)nanosleep(&time, NULL);
    }
    return 128 + stopped_by;
}

/* ---- the browser ---- */

static int is_stopped(void *context)
{
    (void)context;
    return stopped_by != 0;
}

static int watch_http(const cli_args *args, const char *port_text)
{
    char *end;
    const unsigned long port = strtoul(port_text, &end, 10);
    if (*end != '\0' || end == port_text || port_text[0] == '-' || port > 65535)
        return cli_error(CLI_WRONG, "--http: expected a port from 0 to 65535, found \"%.40s\"",
                         port_text);
    const drove_watch_server server = {.folder = args->word,
                                       .n_folders = args->n_words,
                                       .address = cli_args_get(args, "bind-address", "127.0.0.1"),
                                       .port = (uint16_t)port,
                                       .message = cli_print_line,
                                       .context = stdout,
                                       .is_stopped = is_stopped};
    const drove_status status = drove_watch_serve(&server);
    if (status != DROVE_OK) return cli_exit_status(status);
    return stopped_by != 0 ? 128 + stopped_by : CLI_OK;
}

int cli_watch(const cli_args *args)
{
    char *end;
    const char *port = cli_args_get(args, "http", NULL);
    const char *every = cli_args_get(args, "every", "1");
    const double every_s = strtod(every, &end);
    if (*end != '\0' || end == every || !(every_s >= 0.05 && every_s <= 3600.0))
        return cli_error(CLI_WRONG, "--every: expected a number from 0.05 to 3600, found \"%.40s\"",
                         every);
    if (port == NULL && cli_args_has(args, "bind-address"))
        return cli_error(CLI_WRONG, "--bind-address: expected --http with it, found none");
    if (port == NULL && args->n_words > 1)
        return cli_error(CLI_WRONG, "watch: expected one folder, found %zu; --http takes several",
                         args->n_words);

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* without SA_RESTART: a sleep ends at once */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    return port != NULL ? watch_http(args, port) : watch_text(args->word[0], every_s);
}

/* ---- the report ---- */

int cli_report(const cli_args *args)
{
    const drove_report_options options = {.folder = args->word,
                                          .n_folders = args->n_words,
                                          .csv = cli_args_get(args, "csv", ""),
                                          .html = cli_args_get(args, "html", ""),
                                          .svg = cli_args_get(args, "svg", ""),
                                          .pdf = cli_args_get(args, "pdf", ""),
                                          .message = cli_print_line,
                                          .context = stderr};
    if (options.csv[0] == '\0' && options.html[0] == '\0' && options.svg[0] == '\0' &&
        options.pdf[0] == '\0')
        return cli_error(
            CLI_WRONG,
            "report: expected --html FILE, --csv FILE, --svg DIR or --pdf DIR; usage: drove "
            "report %s",
            args->command->usage);
    const drove_status status = drove_report(&options);
    return cli_exit_status(status);
}
