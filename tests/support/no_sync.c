/* tests/support/no_sync.c - linked to every test in C, and preloaded by tests that run the program:
 * a sync returns at once.  Tests write thousands of files, and none must survive a power cut.  That
 * a sync fails is the business of tests/scripts/test_faults.sh, and the order of syncs that of
 * test_powercuts.sh: both preload libraries of their own. */
#include <unistd.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}
