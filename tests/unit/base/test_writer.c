/* The writer: a file appears whole or not at all, whatever goes wrong. */
#include "support.h"

#include "base/file.h"
#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of processes that were killed: by this test, or while running it. */
FIXTURE(remove_temporaries)
{
    return system("rm -f ./*.tmp.* ./.tmp.*");
}

GROUP(remove_temporaries, remove_temporaries);

static void expect_content(const char *path, const char *expected)
{
    size_t n;
    char *found = read_bytes(path, &n);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(found, expected, n);
    free(found);
}

TEST(test_appears_at_commit)
{
    drove_writer *w;
    unlink("new.txt");
    assert_ok(drove__writer_create("new.txt", &w));
    assert_ok(drove__writer_write(w, "one ", 4));
    assert_true(fprintf(drove__writer_stream(w), "two %d\n", 3) > 0);
    assert_int_equal(access("new.txt", F_OK), -1);
    assert_true(count_files("new.txt.tmp.") <= 1); /* 0: the content has no name yet */
    const char *now;
    size_t n;
    assert_ok(drove__writer_flush(w, &now));
    char *text = read_bytes(now, &n);
    assert_true(n == 10 && memcmp(text, "one two 3\n", 10) == 0);
    free(text);
    assert_int_equal(access("new.txt", F_OK), -1);
    assert_ok(drove__writer_commit(w));
    assert_int_equal(count_files("new.txt"), 1);
    expect_content("new.txt", "one two 3\n");
    struct stat about;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat("new.txt", &about), 0);
    assert_int_equal(about.st_mode & 0777, 0666 & ~mask);
}

TEST(test_abort_leaves_the_old_file)
{
    drove_writer *w;
    write_bytes("old.txt", "old", 3);
    char *big = calloc(1, 1000000);
    assert_non_null(big);
    assert_ok(drove__writer_create("old.txt", &w));
    assert_ok(drove__writer_write(w, big, 1000000));
    drove__writer_abort(w);
    drove__writer_abort(NULL);
    assert_int_equal(count_files("old.txt"), 1);
    expect_content("old.txt", "old");
    assert_ok(drove__writer_create("old.txt", &w)); /* nothing written at all */
    assert_ok(drove__writer_commit(w));
    expect_content("old.txt", "");
    free(big);
}

TEST(test_replaces_whole_files)
{
    drove_writer *left, *right;
    assert_int_equal(mkdir("folder", 0777) == 0 || access("folder", F_OK) == 0, 1);
    assert_ok(drove__writer_create("folder/x", &left)); /* two at once do not meet */
    assert_ok(drove__writer_create("folder/x", &right));
    assert_ok(drove__writer_write(left, "left", 4));
    assert_ok(drove__writer_write(right, "right", 5));
    assert_ok(drove__writer_commit(right));
    expect_content("folder/x", "right");
    assert_ok(drove__writer_commit(left));
    expect_content("folder/x", "left");
    assert_int_equal(unlink("folder/x"), 0);
    assert_int_equal(rmdir("folder"), 0); /* nothing else is in it */
}

TEST(test_cannot_create)
{
    drove_writer *w = (drove_writer *)1;
    assert_fails(drove__writer_create("absent/x", &w), DROVE_E_FILE,
                 "absent/x: cannot be created: No such file or directory");
    assert_null(w);
    assert_fails(drove__writer_create(".", &w), DROVE_E_FILE, "Is a directory");
    assert_fails(drove__writer_create("", &w), DROVE_E_FILE, "cannot be created");
    char name[300];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_fails(drove__writer_create(name, &w), DROVE_E_FILE, "File name too long");
    assert_int_equal(count_files(".tmp."), 0);
}

/* The limit on file sizes stands in for a full disk: write() fails the same way, halfway
 * through. */
static void limit_file_size(rlim_t size_bytes, struct rlimit *saved)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    assert_int_equal(sigaction(SIGXFSZ, &ignore, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, saved), 0);
    struct rlimit limit = {size_bytes, saved->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(test_no_room)
{
    static const size_t limits[] = {0, 1, 65535, 65536, 65537, 300000, 499999};
    char *big = calloc(1, 500000);
    assert_non_null(big);
    write_bytes("full.txt", "old", 3);
    for (size_t i = 0; i < DROVE_COUNT(limits); i++) {
        for (int through_stream = 0; through_stream < 2; through_stream++) {
            struct rlimit saved;
            drove_writer *w;
            drove_status status = DROVE_OK;
            assert_ok(drove__writer_create("full.txt", &w));
            limit_file_size(limits[i], &saved);
            if (through_stream) { /* the caller does not look; commit must */
                (void)fwrite(big, 1, 500000, drove__writer_stream(w));
                (void)fputs("end", drove__writer_stream(w));
            } else {
                for (int k = 0; k < 50 && status == DROVE_OK; k++) {
                    status = drove__writer_write(w, big, 10000);
                }
                if (status != DROVE_OK) {
                    assert_int_equal(status, DROVE_E_IO);
                    assert_error_has("full.txt: cannot be written: File too large");
                }
            }
            status = drove__writer_commit(w);
            setrlimit(RLIMIT_FSIZE, &saved);
            assert_int_equal(status, DROVE_E_IO);
            assert_string_equal(drove_error_text(), "full.txt: cannot be written: File too large");
            assert_int_equal(count_files("full.txt"), 1);
            expect_content("full.txt", "old");
        }
    }
    free(big);
}

TEST(test_no_room_for_the_last_bytes)
{
    struct rlimit saved;
    drove_writer *w;
    assert_ok(drove__writer_create("full.txt", &w));
    limit_file_size(3, &saved);
    assert_ok(drove__writer_write(w, "four", 4)); /* still in the stream's buffer */
    drove_status status = drove__writer_commit(w);
    setrlimit(RLIMIT_FSIZE, &saved);
    assert_int_equal(status, DROVE_E_IO);
    assert_error_has("File too large");
    assert_int_equal(count_files("full.txt"), 1);
}

TEST(test_devices_are_written_directly)
{
    drove_writer *w;
    struct stat about;
    if (access("/dev/full", W_OK) != 0) skip();
    assert_ok(drove__writer_create("/dev/full", &w));
    assert_true(fprintf(drove__writer_stream(w), "x") > 0);
    assert_fails(drove__writer_commit(w), DROVE_E_IO,
                 "/dev/full: cannot be written: No space left");
    char *big = calloc(1, 200000);
    assert_non_null(big);
    assert_ok(drove__writer_create("/dev/full", &w));
    assert_fails(drove__writer_write(w, big, 200000), DROVE_E_IO, "No space left on device");
    drove__writer_abort(w);
    assert_ok(drove__writer_create("/dev/null", &w));
    assert_ok(drove__writer_write(w, big, 200000));
    assert_ok(drove__writer_commit(w));
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    free(big);
}

TEST(test_pipes_are_written_directly)
{
    int ends[2];
    char path[64], found[10];
    drove_writer *w;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    if (access(path, W_OK) != 0) skip();
    assert_ok(drove__writer_create(path, &w));
    assert_ok(drove__writer_write(w, "never", 5));
    drove__writer_abort(w);
    assert_ok(drove__writer_create(path, &w));
    assert_ok(drove__writer_write(w, "once", 4));
    assert_ok(drove__writer_commit(w));
    close(ends[1]);
    assert_int_equal(read(ends[0], found, sizeof found), 4);
    assert_memory_equal(found, "once", 4);
    close(ends[0]);
}

/* ---- many writers, and sudden death ---- */

enum { CONTENT_BYTES = 200000, WRITERS = 4, COMMITS = 25 };

static drove_status write_version(const char *path, char version)
{
    drove_writer *w;
    char line[1000];
    memset(line, version, sizeof line);
    DROVE_TRY(drove__writer_create(path, &w));
    for (int i = 0; i < CONTENT_BYTES / 1000; i++) {
        drove_status status = drove__writer_write(w, line, sizeof line);
        if (status != DROVE_OK) {
            drove__writer_abort(w);
            return status;
        }
    }
    return drove__writer_commit(w);
}

static void expect_one_version(const char *path)
{
    size_t n;
    char *content = NULL;
    assert_ok(drove__file_load(path, CONTENT_BYTES, &content, &n));
    assert_int_equal(n, CONTENT_BYTES);
    for (size_t i = 1; i < n; i++) {
        if (content[i] != content[0]) fail_msg("mixed content at byte %zu", i);
    }
    free(content);
}

typedef struct writer_thread {
    pthread_t thread;
    char version;
    drove_status status;
    atomic_int *n_running;
} writer_thread;

static void *write_versions(void *argument)
{
    writer_thread *t = argument;
    for (int i = 0; i < COMMITS && t->status == DROVE_OK; i++) {
        t->status = write_version("shared.txt", t->version);
    }
    atomic_fetch_sub(t->n_running, 1);
    return NULL;
}

TEST(test_readers_see_one_version)
{
    writer_thread threads[WRITERS];
    atomic_int n_running = WRITERS;
    assert_ok(write_version("shared.txt", 'z'));
    for (int i = 0; i < WRITERS; i++) {
        threads[i] = (writer_thread){.version = (char)('a' + i), .n_running = &n_running};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, write_versions, &threads[i]), 0);
    }
    while (atomic_load(&n_running) > 0) expect_one_version("shared.txt");
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i].thread, NULL);
        assert_int_equal(threads[i].status, DROVE_OK);
    }
    expect_one_version("shared.txt");
    assert_int_equal(count_files("shared.txt"), 1);
}

TEST(test_killed_at_any_moment)
{
    assert_ok(write_version("killed.txt", 'z'));
    for (unsigned round = 0; round < 30; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (char version = 'a';; version = version == 'y' ? 'a' : (char)(version + 1)) {
                if (write_version("killed.txt", version) != DROVE_OK) _exit(1);
            }
        }
        usleep(500 + 977 * round);
        assert_int_equal(kill(child, SIGKILL), 0);
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        expect_one_version("killed.txt");
    }
}
