/* XXH3: the published value of nothing, pieces against the whole, and the text. */
#include "support.h"

#include "base/checksum.h"
#include "base/rng.h"

#include <string.h>

TEST(test_published)
{
    char text[DROVE_CHECKSUM_TEXT_SIZE];
    assert_true(drove__checksum("", 0) == 0x2d06800538d394c2u); /* xxHash's own test */
    drove__checksum_print(drove__checksum("", 0), text);
    assert_string_equal(text, "2d06800538d394c2");
    drove__checksum_print(1, text);
    assert_string_equal(text, "0000000000000001");
}

TEST(test_pieces)
{
    enum { N = 100000 };
    static unsigned char bytes[N];
    drove_rng rng;
    drove_checksum *sum;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (int i = 0; i < N; i++) bytes[i] = (unsigned char)drove__rng_below(&rng, 256);
    assert_ok(drove__checksum_begin(&sum));
    for (int round = 0; round < 20; round++) {
        drove__checksum_reset(sum);
        for (size_t at = 0; at < N;) {
            size_t n = 1 + (size_t)drove__rng_below(&rng, 3000);
            if (n > N - at) n = N - at;
            drove__checksum_add(sum, bytes + at, n);
            at += n;
        }
        assert_true(drove__checksum_value(sum) == drove__checksum(bytes, N));
    }
    drove__checksum_end(sum);
    drove__checksum_end(NULL);
}
