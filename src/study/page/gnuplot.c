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
    static const char *const names[] = {"script", "out", "err", "all.png"};
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

/* ---- PNG ---- */

enum { PNG_WIDTH = 760, PNG_HEIGHT = 520 };

drove_status drove__gnuplot_png(const char *program, const drove_plot *plot, size_t n,
                                const char *path)
{
    char folder[PATH_SIZE], drawn[PATH_SIZE], *bytes = NULL;
    size_t n_bytes;
    FILE *script;
    const size_t columns = n > 1 ? 2 : 1, rows = (n + columns - 1) / columns;
    if (n == 0)
        return drove__fail(DROVE_E_DATA, "--png: expected runs with evaluations to draw, "
                                         "found none");
    DROVE_TRY(make_folder(folder));
    drove_status status = open_script(folder, &script);
    if (status != DROVE_OK) goto fail;
    fprintf(script,
            "set terminal pngcairo size %zu,%zu font 'sans,12' noenhanced\nset encoding utf8\n"
            "set datafile missing 'NaN'\n",
            columns * PNG_WIDTH, rows * PNG_HEIGHT);
    name_file(folder, "all.png", drawn);
    print_output(drawn, script);
    fprintf(script, "set multiplot layout %zu,%zu\n", rows, columns);
    for (size_t i = 0; i < n; i++) {
        fprintf(script, "set title '%s'\n", plot[i].title); /* ours: without a quote */
        drove__script_plot(&plot[i], i, false, script);
    }
    fputs("unset multiplot\n", script);
    if ((status = close_script(script)) != DROVE_OK) goto fail;
    if ((status = run(program, folder)) != DROVE_OK) goto fail;
    status = drove__file_load(drawn, MOST_BYTES, &bytes, &n_bytes);
    if (status == DROVE_OK) status = drove__page_save(path, bytes, n_bytes);

fail:
    free(bytes);
    remove_folder(folder, 0);
    return status;
}
