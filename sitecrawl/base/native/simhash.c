/* The SimHash of a text, in one pass over its bytes. sitecrawl/page/simhash.py says what it is, and is its twin.

   The counts of the 64 bits are kept as planes, as they are there: plane k has the k-th binary digit of every count.
   Features are added by eights, by full adders: only what goes to the fourth plane runs through the others, once in
   eight features (Harley and Seal's way to count bits). */

#include "simhash.h"

#include "cityhash.h"
#include "eight.h"

enum { MAX_WORDS = 1024, PLANES = 10, GROUP = 8 }; /* 1,023 pairs have ten digits. */

typedef struct {
    uint64_t digits[PLANES];
    uint64_t waiting[GROUP]; /* features that are not in `digits` yet */
    unsigned features;
} Counts;

/* Adds `one` and `other` to a plane; returns what goes to the next. */
static uint64_t add_both(uint64_t *plane, uint64_t one, uint64_t other) {
    const uint64_t differ = *plane ^ one, carry = (*plane & one) | (differ & other);
    *plane = differ ^ other;
    return carry;
}

static void add_to(uint64_t *plane, uint64_t carry) {
    for (; carry != 0; plane++) {
        const uint64_t next = *plane & carry;
        *plane ^= carry;
        carry = next;
    }
}

static void add(Counts *counts, uint64_t feature) {
    uint64_t *const waiting = counts->waiting, *const digits = counts->digits, twos[4], fours[2];
    waiting[counts->features++ % GROUP] = feature;
    if (counts->features % GROUP != 0) {
        return;
    }
    for (int pair = 0; pair < 4; pair++) {
        twos[pair] = add_both(&digits[0], waiting[2 * pair], waiting[2 * pair + 1]);
    }
    for (int pair = 0; pair < 2; pair++) {
        fours[pair] = add_both(&digits[1], twos[2 * pair], twos[2 * pair + 1]);
    }
    add_to(&digits[3], add_both(&digits[2], fours[0], fours[1]));
}

static void add_rest(Counts *counts) {
    for (unsigned at = 0; at < counts->features % GROUP; at++) {
        add_to(counts->digits, counts->waiting[at]);
    }
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

/* What stands for each byte of a word: the byte, in lower case; 0 for one where white space may begin. */
static unsigned char folded[256];

static void fold(void) {
    for (int byte = 0; byte < 256; byte++) {
        const unsigned char one = (unsigned char)byte;
        const int may_begin = one == 0xc2 || (one >= 0xe1 && one <= 0xe3) || (one < 0x80 && space_at(&one, 1) > 0);
        folded[byte] = may_begin ? 0 : byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte | 0x20) : one;
    }
}

uint64_t simhash_of(const char *text, size_t length, char *room) {
    const unsigned char *s = (const unsigned char *)text;
    Counts counts = {{0}, {0}, 0};
    uint64_t before = 0;
    int words = 0;
    if (folded['a'] == 0) {
        fold();
    }
    for (size_t at = 0; at < length && words < MAX_WORDS;) {
        size_t size = 0, space;
        while (at < length && folded[s[at]] == 0 && (space = s[at] == ' ' ? 1 : space_at(s + at, length - at)) > 0) {
            at += space;
        }
        while (at < length) {
            if (s[at] < 0x80 && length - at >= EIGHT) {
                const size_t plain = copy_plain(s + at, room + size, 0);
                size += plain;
                at += plain;
                if (plain == EIGHT) {
                    continue;
                }
                if (s[at] == ' ') { /* what most words end with */
                    break;
                }
            }
            const unsigned char letter = folded[s[at]];
            if (letter == 0 && space_at(s + at, length - at) > 0) {
                break;
            }
            room[size++] = (char)(letter == 0 ? s[at] : letter);
            at++;
        }
        if (size > 0) {
            uint64_t hash = city_hash_64(room, size);
            if (words++ > 0) {
                add(&counts, before ^ before >> 63 ^ hash << 1);
            }
            before = hash;
        }
    }
    add_rest(&counts);
    return words == 1 ? before : majority(&counts);
}
