/* The choice of a way: what is offered, that it is kept, and that no file harms. */
#include "conv_support.h"
#include "support/files.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/file.h"
#include "base/mem.h"
#include "kernel/conv/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL = DROVEK_CONV_FORWARD | DROVEK_CONV_DATA | DROVEK_CONV_WEIGHTS, MOST = 9 };
static char cache[PATH_MAX], file[PATH_MAX];
static drovek_table widest;
static bool has_library;
static drovek_format blocks; /* of the library */
static const char *blocks_name;

/* A cache folder of this test's own. */
FIXTURE(set_up)
{
    char folder[] = "/tmp/drove-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s", folder);
    snprintf(file, sizeof file, "%s/drove/convolutions", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    assert_int_equal(drovek_select(&widest, drove__cpu_features(), NULL), DROVE_OK);
    has_library = strstr(widest.gemm_source, "oneDNN") != NULL;
    blocks = strstr(widest.gemm_source, "avx512") != NULL ? DROVEK_NCHW16 : DROVEK_NCHW8;
    blocks_name = blocks == DROVEK_NCHW16 ? "nchw16" : "nchw8";
    if (!has_library) print_message("this build has no library: nothing is measured\n");
    return 0;
}

FIXTURE(tear_down)
{
    char folder[PATH_MAX];
    drovek_conv_forget();
    snprintf(folder, sizeof folder, "%.*s/drove", PATH_MAX - 10, cache);
    unlink(file);
    rmdir(folder);
    return rmdir(cache);
}

GROUP(set_up, tear_down);

static drovek_conv_options options_of(drovek_conv_shape s, const drovek_table *kernels)
{
    return (drovek_conv_options){.shape = s,
                                 .act = DROVEK_RELU,
                                 .rows = 4,
                                 .max_rows = 4,
                                 .passes = ALL,
                                 .in = DROVEK_NHWC,
                                 .out = DROVEK_NHWC,
                                 .kernels = kernels};
}

static size_t choose(const drovek_conv_options *opt, drovek_conv_choice out[MOST])
{
    size_t n = 0;
    assert_int_equal(drovek_conv_choose(opt, out, MOST, &n), DROVE_OK);
    assert_true(n > 0 && n < MOST);
    return n;
}

/* The file's text; valid until the next call but one. */
static char *get_file(void)
{
    static char both[2][1 << 16];
    static unsigned turn;
    char *text = both[++turn % 2];
    FILE *f = fopen(file, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof both[0] - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* ---- what is offered ---- */

static void check_offer(const drovek_conv_options *opt)
{
    drovek_conv_choice c[MOST];
    size_t n = choose(opt, c), n_plain = 0;
    for (size_t i = 0; i < n; i++) {
        drovek_conv_options one = *opt;
        drovek_conv *conv;
        assert_true(c[i].out != DROVEK_NCHW);
        assert_int_equal(c[i].in == DROVEK_NCHW, opt->in == DROVEK_NCHW);
        assert_true(i == 0 || c[i].step_s >= 0.9 * c[i - 1].step_s);
        n_plain += !drovek_is_blocked(c[i].in) && c[i].out == DROVEK_NHWC;
        one.way = c[i].way, one.in = c[i].in, one.out = c[i].out;
        assert_int_equal(drovek_conv_create(&one, &conv), DROVE_OK);
        drovek_conv_destroy(conv);
    }
    assert_int_equal(n_plain, 1);
}

TEST(test_plain_c_is_not_measured)
{
    drovek_conv_options opt =
        options_of(conv_shape(16, 6, 6, 16, 1, square(3, 1, 1, 1)), &drovek_ref);
    drovek_conv_choice c[MOST];
    drovek_conv *conv;
    assert_int_equal(choose(&opt, c), 1);
    assert_string_equal(c[0].way, "ref");
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_OK);
    assert_string_equal(drovek_conv_way(conv), "ref");
    drovek_conv_destroy(conv);
}

TEST(test_offers)
{
    for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) {
        drovek_conv_options opt = options_of(*s, &widest);
        check_offer(&opt);
        opt.in = DROVEK_NCHW;
        opt.passes = DROVEK_CONV_FORWARD;
        check_offer(&opt);
        opt.kernels = &drovek_ref;
        check_offer(&opt);
    }
}

/* ---- the file ---- */

static drovek_conv_options blocked(void)
{
    return options_of(conv_shape(32, 8, 8, 32, 1, square(3, 1, 1, 1)), &widest);
}

/* The line that the file has for blocked(). */
static char *measured_line(char **text)
{
    drovek_conv_options opt = blocked();
    drovek_conv_choice c[MOST];
    drovek_conv_forget();
    unlink(file);
    choose(&opt, c);
    *text = get_file();
    return strchr(*text, '\n') + 1;
}

TEST(test_is_kept)
{
    drovek_conv_options opt = blocked();
    drovek_conv_choice c[MOST];
    char *text, other[2048];
    if (!has_library) skip();
    char *line = measured_line(&text), *tab = strchr(line, '\t');
    /* another machine's line, and for this case what was not measured */
    int n = snprintf(other, sizeof other,
                     "%.*sanother machine\tgemm nhwc nhwc 1\n%.*s\tonednn %s %s 0.25\tgemm "
                     "nhwc nhwc 0.5\n",
                     (int)(line - text), text, (int)(tab - line), line, blocks_name, blocks_name);
    write_bytes(file, other, (size_t)n);
    choose(&opt, c);
    assert_true(c[0].step_s != 4 * 0.25); /* the process remembers what it measured */
    drovek_conv_forget();
    assert_int_equal(choose(&opt, c), 2);
    assert_string_equal(c[0].way, "onednn");
    assert_int_equal(c[0].in, blocks);
    assert_true(c[0].step_s == 4 * 0.25 && c[1].step_s == 4 * 0.5);
    /* another case is added, and nothing lost */
    opt = options_of(conv_shape(20, 6, 6, 10, 1, square(3, 1, 1, 1)), &widest);
    choose(&opt, c);
    text = get_file();
    assert_non_null(strstr(text, "\nanother machine\tgemm nhwc nhwc 1\n"));
    assert_non_null(strstr(strstr(text, blocks_name), " 0.25\t"));
    assert_non_null(strstr(text, "; 20 6 6; 10 6 6; "));
}

/* Not believed: the case is measured anew, and the file written again. */
static void check_bad(const char *text, size_t n_bytes)
{
    drovek_conv_options opt = blocked();
    drovek_conv_choice c[MOST];
    drovek_conv *conv;
    write_bytes(file, text, n_bytes);
    drovek_conv_forget();
    choose(&opt, c);
    assert_true(c[0].step_s > 0.0);
    assert_int_equal(drovek_conv_create(&opt, &conv), DROVE_OK);
    drovek_conv_destroy(conv);
    char *now = get_file(), *line = strstr(now, "; 32 8 8; 32 8 8; ");
    assert_true(strlen(now) != n_bytes || memcmp(now, text, n_bytes) != 0);
    assert_int_equal(now[strlen(now) - 1], '\n');
    assert_non_null(line);
    assert_null(strstr(line + 1, "; 32 8 8; 32 8 8; "));
}

TEST(test_bad_choices)
{
    static const char *const bad[] = {
        "",
        "gemm",
        "gemm nhwc nhwc",
        "gemm nhwc nhwc ",
        "gemm nhwc nhwc 5x",
        "gemm nhwc nhwc -5",
        "gemm nhwc nhwc 0",
        "gemm nhwc nhwc nan",
        "gemm nhwc nhwc inf",
        "gemm nhwc nhwc 1e400",
        "gemm nhwc nhwc 5 5",
        "gemm  nhwc nhwc 5",
        "gemm nchw16 nchw16 5",
        "gemm nchw nhwc 5",
        "onednn nhwc nchw 5",
        "ref nhwc nhwc 5",
        "quick nhwc nhwc 5",
        "a_way_with_a_name_that_is_much_too_long nhwc nhwc 5",
        "gemm nhwc nhwc 5\t",
        "gemm nhwc nhwc 5\tgemm",
        ("gemm nhwc nhwc 5\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5"
         "\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5\tgemm nhwc nhwc 5"),
    };
    char *text, good[2048], other[4096];
    if (!has_library) skip();
    char *line = measured_line(&text), *tab = strchr(line, '\t');
    snprintf(good, sizeof good, "%.*s", (int)(tab - text), text);
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        int n = snprintf(other, sizeof other, "%s\t%s\n", good, bad[i]);
        check_bad(other, (size_t)n);
    }
}

/* A file that says of blocked() that one image takes so long, and its length. */
static size_t write_seconds(char *text, size_t size, const char *seconds)
{
    char *now, *line = measured_line(&now), *tab = strchr(line, '\t');
    int n = snprintf(text, size, "%.*s\tgemm nhwc nhwc %s\n", (int)(tab - now), now, seconds);
    assert_true(n > 0 && (size_t)n < size);
    return (size_t)n;
}

/* Every beginning of "9.125e-05" but two is a number, too. */
TEST(test_a_line_cut_off)
{
    drovek_conv_options opt = blocked();
    drovek_conv_choice c[MOST];
    char text[2048], *now;
    if (!has_library) skip();
    size_t n = write_seconds(text, sizeof text, "9.125e-05");
    for (size_t end = n - sizeof "9.125e-05\n"; end < n; end++) check_bad(text, end);
    write_bytes(file, text, n); /* believed when whole */
    drovek_conv_forget();
    assert_int_equal(choose(&opt, c), 1);
    assert_true(c[0].step_s == 4 * 9.125e-05);
    /* what was cut off does not become whole because another line is added */
    write_bytes(file, text, n - sizeof "25e-05");
    opt = options_of(conv_shape(20, 6, 6, 10, 1, square(3, 1, 1, 1)), &widest);
    drovek_conv_forget();
    choose(&opt, c);
    now = get_file();
    assert_non_null(strstr(now, "; 20 6 6; 10 6 6; "));
    assert_null(strstr(now, "; 32 8 8; 32 8 8; "));
}

TEST(test_bad_files)
{
    enum { MANY = (1 << 20) + 100 };
    static char text[4096];
    char *many = malloc(MANY);
    if (!has_library) skip();
    size_t n = write_seconds(text, sizeof text, "9.125e-05");
    assert_non_null(many);
    for (size_t end = 0; end < n; end += 1 + n / 16) check_bad(text, end); /* cut off */
    check_bad("\0\0\0\0", 4);
    check_bad("\n\n\n", 3);
    check_bad("another heading\n", 16);
    memset(many, 'x', MANY);
    check_bad(many, MANY);
    memcpy(many, text, n);
    check_bad(many, MANY); /* too large, though the line is there */
    memset((char *)memchr(many, '\n', MANY) + 1, 'x', n);
    many[(1 << 19) - 1] = '\n';
    check_bad(many, 1 << 19); /* one long line */
    text[n - 2] = '\0';
    check_bad(text, n);
    free(many);
}

TEST(test_no_file)
{
    drovek_conv_options opt = blocked();
    drovek_conv_choice c[MOST];
    setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1);
    drovek_conv_forget();
    choose(&opt, c);
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    drovek_conv_forget();
    choose(&opt, c);
    assert_int_equal(access("relative", F_OK), -1);
    setenv("XDG_CACHE_HOME", cache, 1);
}
