/* Batches that become a file of rows while memory runs out: at every allocation the error says so,
 * or nothing is lost by it; no memory stays, and no file that is not whole.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "support.h"

#include "base/mem.h"
#include "data/arrays.h"

#include <drove/batches.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 3000, N_BATCHES = 3, N_ROWS = 2, D = 3, N_CLASSES = 4 };

typedef struct script {
    bool has_names, has_order;
    size_t at;
} script;

/* Each batch has a class more than the one before, the last of them all. */
static drove_status next(void *context, drove_batch_request *request)
{
    static const float x[N_ROWS * D] = {1, 2, 3, 4, 5, 6};
    static const int class[N_ROWS] = {1, 0};
    static const char *const name[N_CLASSES] = {"pear", "apple", "10", "9"};
    static const uint32_t number[N_CLASSES] = {2, 0, 3, 1};
    script *s = context;
    if (s->at == N_BATCHES) {
        request->is_over = 1;
        request->class_number = s->has_order ? number : NULL;
        return DROVE_OK;
    }
    const drove_matrix m = drove_matrix_dense(x, DROVE_TYPE_F32, N_ROWS, D);
    const drove_matrix y = drove_matrix_dense(class, DROVE_TYPE_I32, N_ROWS, 1);
    DROVE_TRY(drove_arrays_set_dense(request->rows, &m));
    return drove_arrays_set_classes(request->rows, &y, N_CLASSES - N_BATCHES + ++s->at,
                                    s->has_names ? name : NULL);
}

static drove_status write_script(script *s)
{
    const drove_batch_source source = {.context = s, .next = next};
    (void)unlink("m.rows");
    s->at = 0;
    return drove_batches_write(&source, "m.rows", NULL);
}

static void writes(script *s)
{
    size_t n_whole, n_bytes;
    unsigned long n = 1;
    if (write_script(s) != DROVE_OK) fail_msg("%s", drove_error_text());
    char *whole = read_bytes("m.rows", &n_whole);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        no_memory_begin(n);
        const drove_status status = write_script(s);
        has_failed = no_memory_end();
        if (status != DROVE_OK && (!has_failed || status != DROVE_E_NOMEM))
            fail_msg("allocation %lu: status %d: %s", n, status, drove_error_text());
        if (no_memory_live() != 0)
            fail_msg("names %d, order %d, allocation %lu: %zu pieces of memory stay", s->has_names,
                     s->has_order, n, no_memory_live());
        assert_int_equal(access("m.rows", F_OK) == 0, status == DROVE_OK);
        if (status != DROVE_OK) continue;
        char *bytes = read_bytes("m.rows", &n_bytes);
        assert_int_equal(n_bytes, n_whole);
        assert_memory_equal(bytes, whole, n_whole);
        free(bytes);
    }
    assert_in_range(n, 10, MOST_CALLS - 1);
    free(whole);
}

TEST(batches_that_find_no_memory_leave_nothing)
{
    if (!no_memory_works()) skip();
    for (unsigned k = 0; k < 4; k++) {
        script s = {.has_names = (k & 1) != 0, .has_order = (k & 2) != 0};
        writes(&s);
    }
}
