/* tests/support/no_sync.c - linked to every test in C: fsync returns at once.  Tests write
 * thousands of files, and none must survive a power cut.  An fsync that fails is the business of
 * tests/scripts/test_faults.sh. */
#include <unistd.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}
