/* Eight bytes of a text at once, as digits of one number: a word is mostly shorter.

   The letters of a word are copied in lower case to where it is put together. Where numbers do not lie in memory from
   their lowest byte on, or the compiler has no count of zeros, no letters are copied here, and callers go byte by
   byte, as they do for whatever is no plain letter. */

#ifndef SITECRAWL_EIGHT_H
#define SITECRAWL_EIGHT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { EIGHT = 8 };

#define EACH(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(byte))
#define HIGH EACH(0x80)

/* The high bit of each byte that is at least `least`; `bytes` has no high bits. */
#define AT_LEAST(bytes, least) (((bytes) + EACH(0x80 - (least))) & HIGH)
#define WITHIN(bytes, first, last) (AT_LEAST(bytes, first) & ~AT_LEAST(bytes, (last) + 1))

/* Copies the eight bytes at `from` to `to`, those from A to Z in lower case, and returns how many of them, from the
   first on, are plain: in ASCII and above the space, or, for `only_words`, letters and digits of ASCII. */
static inline size_t copy_plain(const unsigned char *from, char *to, int only_words) {
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t bytes, low, plain, other;
    memcpy(&bytes, from, EIGHT);
    low = bytes & ~HIGH;
    bytes |= (WITHIN(low, 'A', 'Z') & ~bytes) >> 2; /* a high bit by two places is what lower case adds */
    memcpy(to, &bytes, EIGHT);
    plain = AT_LEAST(low, ' ' + 1);
    if (only_words) {
        plain = WITHIN(low | EACH(0x20), 'a', 'z') | WITHIN(low, '0', '9');
    }
    other = ~(plain & ~bytes) & HIGH;
    return other == 0 ? EIGHT : (size_t)__builtin_ctzll(other) / EIGHT;
#else
    (void)from;
    (void)to;
    (void)only_words;
    return 0;
#endif
}

#endif
