/* The SimHash of a text, in one pass over its bytes. sitecrawl/page/simhash.py says what it is, and is its twin.

   The counts of the 64 bits are kept as planes, as they are there: plane k has the k-th binary digit of every count.
   Here one feature is added at a time, and a carry rarely goes beyond the second plane. */

#include "simhash.h"

#include "cityhash.h"

enum { MAX_WORDS = 1024, PLANES = 10 }; /* 1,023 pairs have ten digits. */

typedef struct {
    uint64_t digits[PLANES];
    unsigned features;
} Counts;

static void add(Counts *counts, uint64_t feature) {
    for (int plane = 0; feature != 0; plane++) {
        uint64_t carry = counts->digits[plane] & feature;
        counts->digits[plane] ^= feature;
        feature = carry;
    }
    counts->features++;
}

/* The bits whose count is more than half of all. */
static uint64_t majority(const Counts *counts) {
    uint64_t above = 0, equal = UINT64_MAX;
    unsigned half = counts->features / 2;
    for (int plane = PLANES - 1; plane >= 0; plane--) {
        if (half >> plane & 1) {
            equal &= counts->digits[plane];
        } else {
            above |= equal & counts->digits[plane];
            equal &= ~counts->digits[plane];
        }
    }
    return above;
}

/* How many bytes long the white space is that begins here, by `str.isspace`; 0 for what is none. */
static size_t space_at(const unsigned char *s, size_t left) {
    if (s[0] < 0x80) {
        return s[0] == ' ' || (s[0] >= '\t' && s[0] <= '\r') || (s[0] >= 0x1c && s[0] <= 0x1f);
    }
    if (s[0] == 0xc2 && left >= 2) { /* U+0085, U+00A0 */
        return s[1] == 0x85 || s[1] == 0xa0 ? 2 : 0;
    }
    if (s[0] < 0xe1 || s[0] > 0xe3 || left < 3) {
        return 0;
    }
    if (s[0] == 0xe1) { /* U+1680 */
        return s[1] == 0x9a && s[2] == 0x80 ? 3 : 0;
    }
    if (s[0] == 0xe3) { /* U+3000 */
        return s[1] == 0x80 && s[2] == 0x80 ? 3 : 0;
    }
    if (s[1] == 0x80) { /* U+2000 to U+200A, U+2028, U+2029, U+202F */
        return s[2] <= 0x8a || s[2] == 0xa8 || s[2] == 0xa9 || s[2] == 0xaf ? 3 : 0;
    }
    return s[1] == 0x81 && s[2] == 0x9f ? 3 : 0; /* U+205F */
}

static char lower(unsigned char byte) {
    return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

uint64_t simhash_of(const char *text, size_t length, char *room) {
    const unsigned char *s = (const unsigned char *)text;
    Counts counts = {{0}, 0};
    uint64_t before = 0;
    int words = 0;
    for (size_t at = 0; at < length && words < MAX_WORDS;) {
        size_t size = 0, space;
        while (at < length && (space = space_at(s + at, length - at)) > 0) {
            at += space;
        }
        while (at < length && space_at(s + at, length - at) == 0) {
            room[size++] = lower(s[at++]);
        }
        if (size > 0) {
            uint64_t hash = city_hash_64(room, size);
            if (words++ > 0) {
                add(&counts, before ^ before >> 63 ^ hash << 1);
            }
            before = hash;
        }
    }
    return words == 1 ? before : majority(&counts);
}
