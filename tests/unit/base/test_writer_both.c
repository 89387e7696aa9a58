/* Two files that belong together: each call that names or syncs them fails in turn.
 *
 * ctest: wraps=rename,link,fsync */
#include "support.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails_at;     /* the call from 1 that fails; 0: none */
static bool fails_after; /* ... and all after it */
static int n_calls;

static bool is_to_fail(void)
{
    const int call = ++n_calls;
    if (fails_at == 0 || call < fails_at || (call > fails_at && !fails_after)) return false;
    errno = EIO;
    return true;
}

/* The linker puts these in the place of the system's. */
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_rename(const char *from, const char *to)
{
    return is_to_fail() ? -1 : __real_rename(from, to);
}

int __wrap_link(const char *from, const char *to)
{
    return is_to_fail() ? -1 : __real_link(from, to);
}

int __wrap_fsync(int fd)
{
    return is_to_fail() ? -1 : __real_fsync(fd);
}

static const char *const names[] = {"both.x", "both.y"};

static void expect(int which, const char *expected, const char *when)
{
    size_t n;
    if (expected == NULL) {
        if (access(names[which], F_OK) == 0) fail_msg("%s: %s is there", when, names[which]);
        return;
    }
    char *found = read_bytes(names[which], &n);
    if (n != strlen(expected) || memcmp(found, expected, n) != 0)
        fail_msg("%s: %s: expected %s, found %.*s", when, names[which], expected, (int)n, found);
    free(found);
}

static drove_status write_both(void)
{
    drove_writer *x = NULL, *y = NULL;
    assert_ok(drove__writer_create(names[0], &x));
    assert_ok(drove__writer_create(names[1], &y));
    assert_ok(drove__writer_write(x, "new x", 5));
    assert_ok(drove__writer_write(y, "new y", 5));
    n_calls = 0;
    return drove__writer_commit_both(x, y);
}

/* What was there before: bit i of `present` says whether file i was. */
static int fail_once(unsigned present, int at)
{
    static const char *const old[] = {"old x", "old y"}, *const new[] = {"new x", "new y"};
    char when[64];
    for (int i = 0; i < 2; i++) {
        if ((present >> i & 1) != 0) write_bytes(names[i], old[i], 5);
        else unlink(names[i]);
    }
    fails_at = at;
    drove_status status = write_both();
    fails_at = 0;
    snprintf(when, sizeof when, "files %u, call %d", present, at);
    const bool is_new = status == DROVE_OK || strstr(drove_error_text(), "is written") != NULL;
    for (int i = 0; i < 2; i++) {
        const char *before = (present >> i & 1) != 0 ? old[i] : NULL;
        expect(i, is_new ? new[i] : before, when);
    }
    assert_int_equal(count_files(".tmp."), 0);
    return status == DROVE_OK ? 0 : is_new ? 1 : 2;
}

TEST(both_are_new_or_both_as_before)
{
    for (unsigned present = 0; present < 4; present++) {
        unsigned n[3] = {0};
        assert_int_equal(fail_once(present, 0), 0);
        const int most = n_calls;
        assert_true(most >= 6); /* two contents, two names, two folders */
        for (int at = 1; at <= most; at++) n[fail_once(present, at)]++;
        assert_int_equal(n[0], 0);
        assert_int_equal(n[1], 2); /* the folders */
        assert_int_equal(n[2], 5);
    }
}

/* Neither the second file's name nor the way back can be had. */
TEST(old_content_that_cannot_come_back_is_named)
{
    char text[512];
    size_t n;
    for (int i = 0; i < 2; i++) write_bytes(names[i], i == 0 ? "old x" : "old y", 5);
    fails_at = 5; /* two contents, the link, the first name */
    fails_after = true;
    assert_int_equal(write_both(), DROVE_E_IO);
    fails_at = 0;
    fails_after = false;
    snprintf(text, sizeof text, "%s", drove_error_text());
    const char *at = strstr(text, "; the old content of both.x is in both.x.tmp.");
    if (strstr(text, "both.y: cannot be replaced") != text || at == NULL) fail_msg("%s", text);
    char *found = read_bytes(strstr(at, "both.x.tmp."), &n);
    assert_true(n == 5 && memcmp(found, "old x", n) == 0);
    free(found);
    expect(1, "old y", "no way back");
    assert_int_equal(unlink(strstr(at, "both.x.tmp.")), 0);
    assert_int_equal(count_files(".tmp."), 0);
}

TEST(two_paths_of_one_file_are_refused)
{
    drove_writer *x, *y;
    unlink("both.x");
    assert_ok(drove__writer_create("both.x", &x));
    assert_ok(drove__writer_create("./both.x", &y));
    assert_fails(drove__writer_commit_both(x, y), DROVE_E_ARG,
                 "./both.x: expected two different files");
    expect(0, NULL, "one file");
    assert_int_equal(count_files(".tmp."), 0);
}

/* A folder has taken the second file's name. */
TEST(the_old_content_comes_back)
{
    drove_writer *x, *y;
    struct stat before, after;
    write_bytes(names[0], "old x", 5);
    unlink(names[1]);
    assert_int_equal(stat(names[0], &before), 0);
    assert_ok(drove__writer_create(names[0], &x));
    assert_ok(drove__writer_create(names[1], &y));
    assert_int_equal(mkdir(names[1], 0777), 0);
    assert_fails(drove__writer_commit_both(x, y), DROVE_E_IO, "both.y: cannot be replaced");
    assert_int_equal(rmdir(names[1]), 0);
    expect(0, "old x", "a folder");
    assert_int_equal(stat(names[0], &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(count_files(".tmp."), 0);
}

TEST(a_full_device_leaves_no_file)
{
    drove_writer *x, *y;
    if (access("/dev/full", W_OK) != 0) skip();
    unlink(names[0]);
    assert_ok(drove__writer_create(names[0], &x));
    assert_ok(drove__writer_create("/dev/full", &y));
    assert_ok(drove__writer_write(y, "y", 1));
    assert_fails(drove__writer_commit_both(x, y), DROVE_E_IO, "/dev/full: cannot be written");
    expect(0, NULL, "a full device");
    assert_int_equal(count_files(".tmp."), 0);
}
