/* The file of --record: what is written is read again, and what is damaged is refused. */
#include "support.h"

#include "base/lock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"
#include "trace/recording.h"
#include "trace/recording_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, STRETCHES = 4, MOST_STEPS = 30000 };

static const char path[] = "steps.rec", header[] = "{\"options\": {}}";

/* Small and large numbers, and the largest. */
static uint64_t any_number(drove_rng *rng)
{
    uint64_t bits = drove__rng_u64(rng);
    return bits >> drove__rng_below(rng, 64);
}

static drove_recorded any_step(drove_rng *rng)
{
    drove_recorded s = {.number = any_number(rng),
                        .read = any_number(rng),
                        .staleness = any_number(rng) >> 1,
                        .view_order = any_number(rng),
                        .order = drove__rng_below(rng, 4) == 0 ? UINT64_MAX : any_number(rng),
                        .lr_factor = 1.0,
                        .n_steps = 1};
    uint64_t kind = drove__rng_below(rng, 8);
    if (kind == 0) s.retried = 1 + (any_number(rng) >> 1);
    if (kind == 1) {
        s.first = any_number(rng);
        s.n_rows = 1 + (any_number(rng) >> 1);
        s.lr_factor = 0.125;
    }
    if (kind == 2) s.n_steps = any_number(rng);
    s.is_dropped = kind == 3;
    s.is_updated = kind != 3;
    s.is_early = kind == 4;
    return s;
}

static void assert_same_step(const drove_recorded *a, const drove_recorded *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_true(a->lr_factor == b->lr_factor);
    assert_int_equal(a->read, b->read);
    assert_int_equal(a->staleness, b->staleness);
    assert_int_equal(a->view_order, b->view_order);
    assert_int_equal(a->order, b->order);
    assert_int_equal(a->retried, b->retried);
    assert_int_equal(a->n_steps, b->n_steps);
    assert_true(a->is_dropped == b->is_dropped && a->is_updated == b->is_updated);
    assert_true(a->is_early == b->is_early && a->is_settling == b->is_settling);
}

/* Worker w's steps of a stretch: the third has none in the second one. */
static unsigned steps_of(unsigned stretch, unsigned worker)
{
    if (stretch == 1 && worker == 2) return 0;
    return stretch == 0 && worker == 0 ? MOST_STEPS : 10 * (stretch + 1) + worker;
}

static void write_file(void)
{
    drove_recording *r;
    drove_rng rng;
    drove__rng_seed(&rng, 1, 0, 0);
    assert_int_equal(drove__recording_create(path, header, WORKERS, &r), DROVE_OK);
    for (unsigned stretch = 0; stretch < STRETCHES; stretch++) {
        for (unsigned w = 0; w < WORKERS; w++) {
            for (unsigned i = 0; i < steps_of(stretch, w); i++) {
                drove_recorded s = any_step(&rng);
                drove__recording_step(r, w, &s);
            }
        }
        drove_recorded_mark mark = {.next = 100 + stretch, .checksum = stretch};
        assert_int_equal(drove__recording_mark(r, &mark), DROVE_OK);
    }
    drove_recorded_mark end = {.next = 200, .outcome = 2};
    assert_int_equal(drove__recording_mark(r, &end), DROVE_OK);
    drove__recording_close(r);
}

TEST(what_is_written_is_read)
{
    drove_recorded_run *r;
    drove_recorded_mark mark;
    drove_recorded s, *want[WORKERS];
    drove_rng rng;
    size_t size;
    bool is_there;
    write_file();
    drove__rng_seed(&rng, 1, 0, 0);
    assert_int_equal(drove__recorded_open(path, &r), DROVE_OK);
    assert_int_equal(drove__recorded_workers(r), WORKERS);
    assert_string_equal(drove__recorded_header(r, &size), header);
    assert_int_equal(size, strlen(header));
    assert_int_equal(drove__recorded_rest(r), 0);
    for (unsigned stretch = 0; stretch < STRETCHES; stretch++) {
        assert_true(drove__recorded_goes_on(r) && drove__recorded_stretch(r, &mark));
        assert_true(mark.next == 100 + stretch && mark.checksum == stretch && mark.outcome == 0);
        for (unsigned w = 0; w < WORKERS; w++) {
            want[w] = calloc(steps_of(stretch, w) + 1, sizeof **want);
            for (unsigned i = 0; i < steps_of(stretch, w); i++) want[w][i] = any_step(&rng);
        }
        for (unsigned i = 0; i <= MOST_STEPS; i++) { /* the workers' steps in turn */
            for (unsigned w = 0; w < WORKERS; w++) {
                if (i > steps_of(stretch, w)) continue;
                assert_int_equal(drove__recorded_next(r, w, &s, &is_there), DROVE_OK);
                assert_true(is_there == (i < steps_of(stretch, w)));
                if (is_there) assert_same_step(&s, &want[w][i]);
            }
        }
        for (unsigned w = 0; w < WORKERS; w++) free(want[w]);
    }
    assert_false(drove__recorded_goes_on(r) || drove__recorded_stretch(r, &mark));
    assert_true(drove__recorded_end(r, &mark) && mark.outcome == 2);
    drove__recorded_close(r);
}

/* Steps of all stretches; false: refused somewhere. */
static bool read_all(const char *file, uint64_t *n_steps)
{
    drove_recorded_run *r;
    drove_recorded_mark mark;
    drove_recorded s;
    drove_status status = drove__recorded_open(file, &r);
    *n_steps = 0;
    if (status != DROVE_OK) {
        assert_int_equal(status, DROVE_E_DATA);
        return false;
    }
    unsigned n_workers = drove__recorded_workers(r);
    while (status == DROVE_OK && drove__recorded_stretch(r, &mark)) {
        for (unsigned w = 0; w < n_workers && status == DROVE_OK; w++) {
            bool is_there = true;
            while (status == DROVE_OK && is_there) {
                status = drove__recorded_next(r, w, &s, &is_there);
                *n_steps += status == DROVE_OK && is_there;
            }
        }
    }
    drove__recorded_close(r);
    assert_true(status == DROVE_OK || status == DROVE_E_DATA);
    return status == DROVE_OK;
}

static void write_small(size_t *size, char **bytes)
{
    drove_recording *r;
    drove_rng rng;
    drove__rng_seed(&rng, 2, 0, 0);
    assert_int_equal(drove__recording_create(path, header, 2, &r), DROVE_OK);
    for (unsigned stretch = 0; stretch < 3; stretch++) {
        for (unsigned i = 0; i < 6; i++) {
            drove_recorded s = any_step(&rng);
            drove__recording_step(r, i % 2, &s);
        }
        drove_recorded_mark mark = {.next = stretch};
        assert_int_equal(drove__recording_mark(r, &mark), DROVE_OK);
        assert_int_equal(mark.n_steps, 6 * (stretch + 1));
    }
    drove__recording_close(r);
    *bytes = read_bytes(path, size);
}

/* Of a run that was killed: what stands before the last mark is good, and no more is read. */
TEST(what_is_cut_off_is_left_out)
{
    char *bytes;
    size_t size;
    uint64_t n, before = 0;
    write_small(&size, &bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        write_bytes("cut.rec", bytes, cut);
        if (!read_all("cut.rec", &n)) {
            assert_int_equal(before, 0); /* not even the header */
            continue;
        }
        assert_true(n % 6 == 0 && n >= before);
        before = n;
    }
    assert_int_equal(before, 18);
    free(bytes);
}

TEST(flipped_bits_are_seen)
{
    char *bytes;
    size_t size;
    uint64_t n;
    write_small(&size, &bytes);
    for (size_t i = 0; i < size; i++) {
        if (i >= sizeof drove__recording_magic && i < sizeof drove__recording_magic + 4)
            continue; /* the number of workers, which the header has once more */
        for (int bit = (int)(i % 4); bit < 8; bit += 4) {
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
            write_bytes("cut.rec", bytes, size);
            /* Or a size is larger now: then the file ends within the block. */
            if (read_all("cut.rec", &n)) assert_true(n < 18);
            bytes[i] = (char)(bytes[i] ^ (1 << bit));
        }
    }
    free(bytes);
}

TEST(other_files_are_refused)
{
    drove_recording *w;
    drove_recorded_run *r;
    write_text("notes.txt", "these are my notes");
    assert_int_equal(drove__recording_create("notes.txt", header, 1, &w), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "notes.txt"));
    assert_int_equal(drove__recorded_open("notes.txt", &r), DROVE_E_DATA);
    size_t size;
    char *text = read_bytes("notes.txt", &size);
    assert_string_equal(text, "these are my notes");
    free(text);
    write_file(); /* an old record is written over */
    write_file();
    assert_int_equal(drove__recording_create("none/there.rec", header, 1, &w), DROVE_E_FILE);
    assert_null(w);
}

/* No descriptor is left to look into the file with: nobody knows whether it may be written over. */
TEST(what_cannot_be_looked_into_is_refused)
{
    struct rlimit usual, none;
    write_file();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const int next = dup(STDERR_FILENO);
    assert_true(next >= 0);
    close(next);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const drove_status status = drove__recording_check(path);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(status, drove__open_status(EMFILE));
    assert_int_equal(drove__recording_check(path), DROVE_OK);
}

/* What was marked before is still there, and the disk has the rest back. */
TEST(a_full_disk_is_reported_at_the_mark)
{
    enum { FIRST = 1000, MORE = 200000 };
    drove_recording *r;
    drove_recorded s = {.n_steps = 1, .lr_factor = 1.0};
    drove_recorded_mark mark = {.next = 1};
    uint64_t n, n_bytes;
    size_t size;
    assert_int_equal(drove__recording_create("/dev/null", header, 1, &r), DROVE_E_EXISTS);
    unlink(path);
    assert_int_equal(drove__recording_create(path, header, 1, &r), DROVE_OK);
    for (unsigned i = 0; i < FIRST; i++) drove__recording_step(r, 0, &s);
    assert_int_equal(drove__recording_mark(r, &mark), DROVE_OK);
    n_bytes = drove__recording_bytes(r);
    limit_files(400000);
    for (unsigned i = 0; i < MORE; i++) drove__recording_step(r, 0, &s);
    assert_int_equal(drove__recording_mark(r, &mark), DROVE_E_IO);
    assert_non_null(strstr(drove_error_text(), path));
    for (unsigned i = 0; i < MORE; i++) drove__recording_step(r, 0, &s);
    assert_int_equal(drove__recording_mark(r, &mark), DROVE_E_IO);
    limit_files(0);
    drove__recording_close(r);
    assert_true(read_all(path, &n));
    assert_int_equal(n, FIRST);
    free(read_bytes(path, &size));
    assert_int_equal(size, n_bytes);
}

TEST(a_state_is_read_again)
{
    enum { SIZE = 5 << 19 }; /* blocks hold up to 2^20 bytes */
    drove_recording *w;
    drove_recorded_run *r;
    drove_rng rng;
    char *bytes = malloc(SIZE), *found;
    size_t size;
    drove__rng_seed(&rng, 2, 0, 0);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)drove__rng_u64(&rng);
    assert_int_equal(drove__recording_create(path, header, 1, &w), DROVE_OK);
    assert_int_equal(drove__recording_state(w, bytes, 100), DROVE_OK);
    assert_int_equal(drove__recording_state(w, bytes + 100, SIZE - 100), DROVE_OK);
    assert_true(drove__recording_bytes(w) < 1000);
    drove_recorded s = {.number = 7, .n_steps = 1, .lr_factor = 1.0};
    drove_recorded_mark mark = {.next = 1};
    drove__recording_step(w, 0, &s);
    assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
    drove__recording_close(w);
    assert_int_equal(drove__recorded_open(path, &r), DROVE_OK);
    assert_true(drove__recorded_has_state(r));
    assert_int_equal(drove__recorded_state(r, &found, &size), DROVE_OK);
    assert_true(size == SIZE && memcmp(found, bytes, SIZE) == 0);
    free(found);
    bool is_there;
    assert_true(drove__recorded_stretch(r, &mark));
    assert_int_equal(drove__recorded_next(r, 0, &s, &is_there), DROVE_OK);
    assert_true(is_there && s.number == 7);
    drove__recorded_close(r);
    char *file = read_bytes(path, &size);
    file[size / 2] ^= 1;
    write_bytes("cut.rec", file, size);
    assert_int_equal(drove__recorded_open("cut.rec", &r), DROVE_OK);
    assert_int_equal(drove__recorded_state(r, &found, &size), DROVE_E_DATA);
    assert_null(found);
    drove__recorded_close(r);
    free(file);
    free(bytes);
}

/* Steps that two recordings without a file took go into the file of a third. */
TEST(blocks_go_from_memory_into_a_file)
{
    drove_recording *file, *part[2];
    drove_recorded_mark mark = {.next = 1};
    uint64_t n, n_steps;
    char *bytes;
    size_t size;
    assert_int_equal(drove__recording_create(path, header, 3, &file), DROVE_OK);
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(drove__recording_open(NULL, 3, &part[k]), DROVE_OK);
    for (unsigned stretch = 1; stretch <= 2; stretch++) {
        drove_recorded s = {.n_steps = 1, .lr_factor = 1.0};
        drove__recording_step(file, 0, &s);
        for (unsigned k = 0; k < 2; k++) {
            for (unsigned i = 0; i < 30000 * stretch; i++)
                drove__recording_step(part[k], 1 + k, &s);
            assert_int_equal(drove__recording_take(part[k], &bytes, &size, &n_steps), DROVE_OK);
            assert_int_equal(n_steps, 30000 * stretch);
            assert_int_equal(drove__recording_add(file, bytes, size, n_steps), DROVE_OK);
            free(bytes);
        }
        assert_int_equal(drove__recording_mark(file, &mark), DROVE_OK);
        assert_int_equal(mark.n_steps, stretch == 1 ? 60001 : 180002);
    }
    for (unsigned k = 0; k < 2; k++) drove__recording_close(part[k]);
    drove__recording_close(file);
    assert_true(read_all(path, &n));
    assert_int_equal(n, 180002);
}

/* Until it begins, an old file stays as it was and a new one is removed again. */
TEST(what_was_not_begun_is_not_there)
{
    drove_recording *r;
    uint64_t n;
    write_file();
    assert_int_equal(drove__recording_open(path, 1, &r), DROVE_OK);
    drove__recording_close(r);
    assert_true(read_all(path, &n));
    unlink(path);
    assert_int_equal(drove__recording_open(path, 1, &r), DROVE_OK);
    assert_int_equal(access(path, F_OK), 0);
    drove__recording_close(r);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- processes ---- */

static pid_t write_in_child(drove_recording *r, unsigned worker, unsigned n_steps)
{
    pid_t id = fork();
    if (id != 0) return id;
    drove_recorded s = {.n_steps = 1, .lr_factor = 1.0};
    for (unsigned i = 0; i < n_steps; i++) {
        s.number = 3 * i + worker;
        drove__recording_step(r, worker, &s);
    }
    _exit(0);
}

TEST(processes_write_one_record)
{
    enum { STEPS = 100000 };
    drove_recording *w;
    drove_recorded_run *r;
    drove_recorded_mark mark = {.next = 1};
    drove_recorded s;
    bool is_there = true;
    drove__memory_share_begin();
    assert_int_equal(drove__recording_open(path, WORKERS, &w), DROVE_OK);
    drove__memory_share_end();
    pid_t id[WORKERS];
    assert_int_equal(drove__recording_begin(w, header), DROVE_OK);
    for (unsigned k = 0; k < WORKERS; k++) id[k] = write_in_child(w, k, STEPS);
    for (unsigned k = 0; k < WORKERS; k++) assert_int_equal(waitpid(id[k], NULL, 0), id[k]);
    assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
    assert_int_equal(mark.n_steps, WORKERS * STEPS);
    drove__recording_close(w);
    assert_int_equal(drove__recorded_open(path, &r), DROVE_OK);
    assert_true(drove__recorded_stretch(r, &mark));
    for (unsigned k = 0; k < WORKERS; k++) {
        for (unsigned i = 0; i < STEPS; i++) {
            assert_int_equal(drove__recorded_next(r, k, &s, &is_there), DROVE_OK);
            assert_true(is_there && s.number == 3 * i + k);
        }
    }
    drove__recorded_close(r);
}

/* Does the system free the lock of a process that died?  An emulator may not: then the others wait
 * for ever. */
static bool frees_locks_of_the_dead(void)
{
    struct timespec until;
    drove__memory_share_begin();
    pthread_mutex_t *lock = drove__alloc(1, sizeof *lock);
    assert_non_null(lock);
    assert_int_equal(drove__lock_init(lock), DROVE_OK);
    drove__memory_share_end();
    pid_t id = fork();
    if (id == 0) _exit(pthread_mutex_lock(lock));
    assert_int_equal(waitpid(id, NULL, 0), id);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    int result = pthread_mutex_timedlock(lock, &until);
    if (result == EOWNERDEAD) pthread_mutex_consistent(lock);
    if (result == EOWNERDEAD) pthread_mutex_unlock(lock);
    drove__free(lock);
    return result == EOWNERDEAD;
}

/* Wherever one is killed, also while it writes: the blocks of the others are whole. */
TEST(a_killed_process_leaves_whole_blocks)
{
    enum { TRIALS = 20, STEPS = 100000 };
    drove_rng rng;
    if (!frees_locks_of_the_dead()) {
        print_message("skip: the system frees no locks of processes that died\n");
        skip();
    }
    drove__rng_seed(&rng, 3, 0, 0);
    for (int i = 0; i < TRIALS; i++) {
        drove_recording *w;
        drove_recorded_mark mark = {.next = 1};
        drove_recorded_run *r;
        drove_recorded s;
        bool is_there;
        drove__memory_share_begin();
        assert_int_equal(drove__recording_open(path, 2, &w), DROVE_OK);
        drove__memory_share_end();
        assert_int_equal(drove__recording_begin(w, header), DROVE_OK);
        pid_t killed = write_in_child(w, 0, UINT32_MAX), other = write_in_child(w, 1, STEPS);
        usleep((useconds_t)drove__rng_below(&rng, 3000));
        kill(killed, SIGKILL);
        assert_int_equal(waitpid(killed, NULL, 0), killed);
        assert_int_equal(waitpid(other, NULL, 0), other);
        assert_int_equal(drove__recording_mark(w, &mark), DROVE_OK);
        drove__recording_close(w);
        assert_int_equal(drove__recorded_open(path, &r), DROVE_OK);
        assert_true(drove__recorded_stretch(r, &mark));
        for (unsigned k = 0; k < STEPS; k++) {
            assert_int_equal(drove__recorded_next(r, 1, &s, &is_there), DROVE_OK);
            assert_true(is_there && s.number == 3 * k + 1);
        }
        assert_int_equal(drove__recorded_next(r, 1, &s, &is_there), DROVE_OK);
        assert_false(is_there);
        drove__recorded_close(r);
    }
}
