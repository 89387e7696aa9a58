/* study/page/gnuplot.c - see gnuplot.h. */
#include "study/page/gnuplot.h"

#include "base/file.h"
#include "base/mem.h"
#include "study/page/html.h"
#include "study/page/script.h"
#include "study/runner.h"
#include "values/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_BYTES = 64 << 20 };

static const double LIMIT_S = 120.0;

bool drove__gnuplot_find(char *into, size_t size)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        const char *stop = strchr(at, ':');
        const int n = stop != NULL ? (int)(stop - at) : (int)strlen(at);
        if (n > 0 && (size_t)snprintf(into, size, "%.*s/gnuplot", n, at) < size &&
            access(into, X_OK) == 0)
            return true;
        at = stop != NULL ? stop + 1 : NULL;
    }
    return false;
}

/* ---- a folder for its files ---- */

static drove_status make_folder(char folder[PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0' || strlen(base) > 1024) base = "/tmp";
    snprintf(folder, PATH_SIZE, "%s/drove-report-XXXXXX", base);
    if (mkdtemp(folder) != NULL) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be created", folder);
}

static void name_file(const char *folder, const char *name, char into[PATH_SIZE])
{
    snprintf(into, PATH_SIZE, "%.2048s/%.64s", folder, name);
}

static void name_picture(const char *folder, size_t i, char into[PATH_SIZE])
{
    char name[32];
    snprintf(name, sizeof name, "%zu.svg", i);
    name_file(folder, name, into);
}

static void remove_folder(const char *folder, size_t n)
{
    static const char *const names[] = {"script", "out", "err"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        name_file(folder, names[i], path);
        (void)unlink(path);
    }
    for (size_t i = 0; i < n; i++) {
        name_picture(folder, i, path);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* ---- running it ---- */

static drove_status run(const char *program, const char *folder)
{
    char script[PATH_SIZE], why[256] = "";
    drove_child child;
    drove_command command = {.limit_s = LIMIT_S};
    name_file(folder, "script", script);
    name_file(folder, "out", command.out);
    name_file(folder, "err", command.err);
    drove__command_add(&command, program);
    drove__command_add(&command, "-d"); /* without the user's own settings */
    drove__command_add(&command, script);
    const drove_status status = drove__command_run(&command, drove__run_interrupts(), &child);
    if (status == DROVE_OK && child.status != 0) drove__child_message(command.err, why, sizeof why);
    drove__command_fini(&command);
    DROVE_TRY(status);
    if (child.status == 0) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "%s: ended with status %d%s%s", program, child.status,
                       why[0] != '\0' ? ": " : "", why);
}

static drove_status open_script(const char *folder, FILE **out)
{
    char path[PATH_SIZE];
    name_file(folder, "script", path);
    *out = fopen(path, "we");
    if (*out != NULL) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be created", path);
}

static drove_status close_script(FILE *script)
{
    const bool is_whole = ferror(script) == 0;
    if (fclose(script) == 0 && is_whole) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "the script of gnuplot cannot be written");
}

static void print_output(const char *path, FILE *script)
{
    fputs("set output '", script);
    for (; *path != '\0'; path++) {
        if (*path == '\'') fputc('\'', script);
        fputc(*path, script);
    }
    fputs("'\n", script);
}

/* ---- SVG ---- */

drove_status drove__gnuplot_svg(const char *program, const drove_plot *plot, size_t n, char **svg)
{
    char folder[PATH_SIZE], path[PATH_SIZE];
    size_t n_bytes;
    FILE *script;
    memset(svg, 0, n * sizeof *svg);
    if (n == 0) return DROVE_OK;
    DROVE_TRY(make_folder(folder));
    drove_status status = open_script(folder, &script);
    if (status != DROVE_OK) goto fail;
    fprintf(script,
            "set terminal svg size %d,%d dynamic font 'sans,13' noenhanced\nset encoding utf8\n"
            "unset key\nset datafile missing 'NaN'\n",
            DROVE_SVG_WIDTH, DROVE_SVG_HEIGHT);
    for (size_t i = 0; i < n; i++) {
        name_picture(folder, i, path);
        print_output(path, script);
        drove__script_plot(&plot[i], i, true, script);
    }
    if ((status = close_script(script)) != DROVE_OK) goto fail;
    status = run(program, folder);
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        name_picture(folder, i, path);
        status = drove__file_load(path, MOST_BYTES, &svg[i], &n_bytes);
    }

fail:
    remove_folder(folder, n);
    for (size_t i = 0; i < n && status != DROVE_OK; i++) {
        free(svg[i]);
        svg[i] = NULL;
    }
    return status;
}

/* ---- files ---- */

/* What the script ends with where gnuplot was built without the library for PDF. */
#define NO_PDF "no terminal pdfcairo"

/* Saves an SVG with the plot's title in the place of gnuplot's name. */
static drove_status save_svg(const char *path, const char *svg, const char *title)
{
    static const char own[] = "<title>Gnuplot</title>";
    char *text = NULL;
    size_t n_bytes;
    const char *at = strstr(svg, own);
    FILE *stream = at != NULL ? open_memstream(&text, &n_bytes) : NULL;
    if (at == NULL) return drove__page_save(path, svg, strlen(svg));
    if (stream == NULL) return drove__fail_nomem("a picture", 1);
    fprintf(stream, "%.*s<title>", (int)(at - svg), svg);
    drove__html_text(title, stream);
    fprintf(stream, "</title>%s", at + sizeof own - 1);
    bool is_whole = ferror(stream) == 0;
    is_whole = fclose(stream) == 0 && is_whole;
    const drove_status status =
        is_whole ? drove__page_save(path, text, n_bytes) : drove__fail_nomem("a picture", n_bytes);
    free(text);
    return status;
}

drove_status drove__gnuplot_files(const char *program, const drove_plot *plot, size_t n,
                                  bool is_pdf, const char *into)
{
    char folder[PATH_SIZE], path[PATH_SIZE], name[64];
    const char *option = is_pdf ? "pdf" : "svg";
    FILE *script;
    if (n == 0)
        return drove__fail(DROVE_E_DATA, "--%s: expected runs with evaluations to draw, found none",
                           option);
    if (mkdir(into, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(DROVE_E_FILE, errno, "%s: cannot be created", into);
    DROVE_TRY(make_folder(folder));
    drove_status status = open_script(folder, &script);
    if (status != DROVE_OK) goto fail;
    if (is_pdf)
        fputs("if (strstrt(GPVAL_TERMINALS, 'pdfcairo') == 0) exit message '" NO_PDF "' status 1\n",
              script);
    for (size_t i = 0; i < n; i++) {
        const unsigned rows = drove__script_key_rows(&plot[i]);
        if (is_pdf)
            fprintf(script,
                    "set terminal pdfcairo size 12cm,%.2fcm font 'Helvetica,9' linewidth 0.8 "
                    "noenhanced background rgb 'white'\n",
                    8.0 + 0.4 * rows);
        else
            fprintf(script,
                    "set terminal svg size %d,%u font 'Helvetica, Arial, sans-serif,12' noenhanced "
                    "background rgb 'white'\n",
                    DROVE_SVG_WIDTH, DROVE_SVG_HEIGHT + 18 * rows);
        fputs("set encoding utf8\nset datafile missing 'NaN'\n", script);
        name_picture(folder, i, path);
        print_output(path, script);
        drove__script_plot(&plot[i], i, false, script);
    }
    fputs("set output\n", script);
    if ((status = close_script(script)) != DROVE_OK) goto fail;
    status = run(program, folder);
    if (status == DROVE_E_SYSTEM && strstr(drove_error_text(), NO_PDF) != NULL)
        status = drove__fail(DROVE_E_UNSUPPORTED,
                             "--pdf: expected a gnuplot with the terminal pdfcairo, found %s "
                             "without; --svg needs none",
                             program);
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        char *bytes = NULL;
        size_t n_bytes;
        name_picture(folder, i, path);
        status = drove__file_load(path, MOST_BYTES, &bytes, &n_bytes);
        snprintf(name, sizeof name, "%.50s.%s", plot[i].id, option);
        name_file(into, name, path);
        if (status == DROVE_OK && is_pdf) status = drove__page_save(path, bytes, n_bytes);
        else if (status == DROVE_OK) status = save_svg(path, bytes, plot[i].title);
        free(bytes);
    }

fail:
    remove_folder(folder, n);
    return status;
}
