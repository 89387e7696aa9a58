/* Memory that runs out while data are opened or written: at every allocation the error says so, or
 * nothing is lost by it, and no memory stays. */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 3000, N_ROWS = 5 };

static void opens(const char *spec)
{
    unsigned long n = 1;
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_data *train = NULL, *held_out = NULL;
        no_memory_begin(n);
        const drove_status status = drove_data_open(spec, "split", 1, &train, &held_out);
        has_failed = no_memory_end();
        /* some memory only makes it faster */
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("%s, allocation %lu: status %d: %s", spec, n, status, drove_error_text());
        assert_int_equal(train == NULL, status != DROVE_OK);
        if (train != NULL) assert_true(train->n_rows + held_out->n_rows == N_ROWS);
        drove_data_destroy(train);
        drove_data_destroy(held_out);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", spec, n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
}

/* A file that is written all the same has all of its bytes. */
static void converts(const char *from, const char *to)
{
    drove_data *data = open_data(from);
    const char *path = strchr(to, ':') + 1;
    unsigned long n = 1;
    size_t n_whole, n_bytes;
    (void)unlink(path);
    if (drove_data_convert(data, to) != DROVE_OK) fail_msg("%s", drove_error_text());
    char *whole = read_file(path, &n_whole);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        (void)unlink(path);
        no_memory_begin(n);
        const drove_status status = drove_data_convert(data, to);
        has_failed = no_memory_end();
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("%s, allocation %lu: status %d: %s", to, n, status, drove_error_text());
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", to, n, no_memory_live());
        if (status != DROVE_OK) continue;
        char *bytes = read_file(path, &n_bytes);
        if (n_bytes != n_whole || memcmp(bytes, whole, n_whole) != 0)
            fail_msg("%s, allocation %lu: status %d, and another file", to, n, status);
        free(bytes);
    }
    assert_in_range(n, 4, MOST_CALLS - 1);
    free(whole);
    drove_data_destroy(data);
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
    (void)state;
    if (!no_memory_works()) skip();
    write_text("m.csv", "1,2,a\n3,4,b\n5,6,a\n7,8,b\n9,1,a\n");
    write_text("m.svm", "1 1:2 3:4\n-1 2:5\n1 1:1\n-1 3:2\n1 2:2\n");
    opens("csv:m.csv?scale=standard");
    opens("libsvm:m.svm");
    converts("csv:m.csv", "rows:m.rows");
    converts("libsvm:m.svm", "rows:s.rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
