/* tests/modules/stranger.c - a shared library that is no module: it lacks the entry. */
int drove_test_stranger(void);

int drove_test_stranger(void)
{
    return 1;
}
