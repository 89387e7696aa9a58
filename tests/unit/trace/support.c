#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void limit_files(size_t size_bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN); /* write() then fails, as it does on a full disk */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size_bytes == 0 ? limit.rlim_max : size_bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
