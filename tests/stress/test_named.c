/* Files in memory that many threads name, read and give back at once: each is read whole or not
 * found, is destroyed once, and never while somebody reads it. */
#include "base/file.h"
#include "base/memfile.h"
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, SHELVES = 4, ROUNDS = 1500, BYTES = 300 };

/* Names of the files that lie about; 0: none. */
static _Atomic uint64_t shelf[SHELVES];
static _Atomic unsigned n_read, n_gone;

typedef struct visitor {
    unsigned number, n_wrong;
} visitor;

/* A file of one letter, which its size tells. */
static drove_memfile *make(unsigned seed)
{
    char text[BYTES + 26];
    const unsigned letter = seed % 26;
    drove_memfile *file;
    memset(text, 'a' + (int)letter, sizeof text);
    return drove__memfile_create(text, BYTES + letter, true, &file) == DROVE_OK ? file : NULL;
}

static void read_one(visitor *v, uint64_t number)
{
    char path[40], *text;
    size_t n;
    snprintf(path, sizeof path, "memory:%llu", (unsigned long long)number);
    if (drove__file_load(path, 1 << 20, &text, &n) != DROVE_OK) {
        atomic_fetch_add(&n_gone, 1);
        return;
    }
    bool is_whole = n >= BYTES;
    for (size_t i = 0; i < n && is_whole; i++) is_whole = text[i] == 'a' + (char)(n - BYTES);
    v->n_wrong += !is_whole;
    atomic_fetch_add(&n_read, 1);
    free(text);
}

/* Puts a new file on a shelf, reads what lies there, and takes its own back. */
static void *visit(void *argument)
{
    visitor *v = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        drove_memfile *mine = make(v->number * ROUNDS + i);
        if (mine == NULL) {
            v->n_wrong++;
            continue;
        }
        atomic_store(&shelf[i % SHELVES], mine->named.number);
        for (unsigned k = 0; k < SHELVES; k++) {
            const uint64_t number = atomic_load(&shelf[(i + k) % SHELVES]);
            if (number != 0) read_one(v, number);
        }
        drove__memfile_release(mine);
    }
    return NULL;
}

TEST(files_come_and_go)
{
    pthread_t thread[THREADS];
    visitor all[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (visitor){.number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, visit, &all[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(all[i].n_wrong, 0);
    }
    assert_true(atomic_load(&n_read) > THREADS * ROUNDS); /* each read its own, at least once */
    print_message("%u files read, %u were gone\n", atomic_load(&n_read), atomic_load(&n_gone));
    for (unsigned k = 0; k < SHELVES; k++) { /* all are gone now */
        char path[40];
        snprintf(path, sizeof path, "memory:%llu", (unsigned long long)atomic_load(&shelf[k]));
        assert_null(drove__memfile_find(path));
    }
}
