/* A sample of a text's runs of words, in one pass over its bytes. sitecrawl/page/shingles.py says what it is, and is
   its twin. */

#include "shingles.h"

#include <string.h>

#include "cityhash.h"
#include "eight.h"

enum { SCALE = 8, WIDTH = 4, WINDOW = 2 * WIDTH - 1, MOST = SHINGLES_MOST, LEVELS = 8, SLOTS = 4 * MOST };

typedef struct {
    uint64_t window[WINDOW]; /* hashes of neighbouring words; the one in the middle is looked at */
    size_t words;
    uint64_t units[MOST]; /* the run that a word begins in the upper half, the one that it ends in the lower */
    unsigned count, least;
    uint16_t slots[SLOTS]; /* which unit stands here, from 1 on; 0 for none */
} Sample;

static uint32_t run_of(const uint64_t *hashes) {
    uint64_t run = 0;
    for (int at = 0; at < WIDTH; at++) {
        run = (run + hashes[at]) * 0x9e3779b97f4a7c15u;
    }
    return (uint32_t)(run >> 32);
}

static unsigned level_of(uint64_t word) {
    uint64_t bits = word / SCALE | 1 << (LEVELS - 1);
    unsigned level = 0;
    for (; (bits & 1) == 0; bits >>= 1) {
        level++;
    }
    return level;
}

/* Where `unit` stands, or would. */
static uint16_t *slot_of(Sample *sample, uint64_t unit) {
    size_t at = (size_t)(unit ^ unit >> 40) % SLOTS;
    while (sample->slots[at] != 0 && sample->units[sample->slots[at] - 1] != unit) {
        at = (at + 1) % SLOTS;
    }
    return &sample->slots[at];
}

static void keep(Sample *sample, uint64_t unit) {
    uint16_t *slot = slot_of(sample, unit);
    if (*slot == 0) {
        sample->units[sample->count++] = unit;
        *slot = (uint16_t)sample->count;
    }
}

/* Leaves out what is of too low a level. */
static void raise_level(Sample *sample) {
    const unsigned count = sample->count;
    sample->least++;
    sample->count = 0;
    memset(sample->slots, 0, sizeof sample->slots);
    for (unsigned at = 0; at < count; at++) {
        if ((sample->units[at] >> 32) % LEVELS >= sample->least) {
            keep(sample, sample->units[at]);
        }
    }
}

static void look_at_middle(Sample *sample) {
    const uint64_t word = sample->window[WIDTH - 1];
    if (sample->words < WIDTH || word % SCALE != 0) {
        return;
    }
    const unsigned level = level_of(word);
    const uint32_t begun = (run_of(sample->window + WIDTH - 1) & ~(uint32_t)(LEVELS - 1)) | level;
    const uint64_t unit = (uint64_t)begun << 32 | run_of(sample->window);
    if (level < sample->least || *slot_of(sample, unit) != 0) {
        return;
    }
    while (sample->count == MOST && sample->least < LEVELS - 1) {
        raise_level(sample);
    }
    if (level >= sample->least && sample->count < MOST) {
        keep(sample, unit);
    }
}

static void add(Sample *sample, uint64_t word) {
    memmove(sample->window, sample->window + 1, sizeof sample->window - sizeof sample->window[0]);
    sample->window[WINDOW - 1] = word;
    sample->words++;
    look_at_middle(sample);
}

typedef enum { BETWEEN, LETTER, ALONE } Kind;

/* Of a character beyond ASCII; how many bytes long it is goes into `size`. */
static Kind kind_of(const unsigned char *s, size_t *size) {
    *size = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    switch (s[0]) {
    case 0xc2: /* up to U+00BF */
        return BETWEEN;
    case 0xe0: /* U+0E00 to U+0EFF: Thai, Lao */
        return s[1] >= 0xb8 && s[1] <= 0xbb ? ALONE : LETTER;
    case 0xe1: /* U+1000 to U+107F: Burmese; U+1780 to U+17FF: Khmer */
        return s[1] <= 0x81 || s[1] == 0x9e || s[1] == 0x9f ? ALONE : LETTER;
    case 0xe2: /* U+2000 to U+2BFF: punctuation, symbols */
        return s[1] < 0xb0 ? BETWEEN : LETTER;
    default: /* from U+3000 on */
        return s[0] < 0xe3 ? LETTER : ALONE;
    }
}

/* What stands for each byte of a word in ASCII: the byte, in lower case; 0 for all other bytes. */
static unsigned char folded[256];

static void fold(void) {
    for (int byte = 0; byte < 128; byte++) {
        const int is_upper = byte >= 'A' && byte <= 'Z', is_lower = byte >= 'a' && byte <= 'z';
        const int is_digit = byte >= '0' && byte <= '9';
        folded[byte] = (unsigned char)(is_upper ? byte | 0x20 : is_lower || is_digit ? byte : 0);
    }
}

/* Whether a word is a number; then 0 stands for it. */
static int is_number(char *word, size_t letters) {
    for (size_t at = 0; at < letters; at++) {
        if (word[at] < '0' || word[at] > '9') {
            return 0;
        }
    }
    word[0] = letters > 0 ? '0' : word[0];
    return letters > 0;
}

/* Copies the letters of the word that begins at `at` to `room`; returns where it ends. Its size goes into `size`, 0
   where no word begins. */
static size_t word_at(const unsigned char *s, size_t at, size_t length, char *room, size_t *size) {
    size_t letters = 0, bytes;
    while (at < length && s[at] == ' ') { /* the end of most words before */
        at++;
    }
    while (at < length) {
        const unsigned char letter = folded[s[at]];
        if (letter != 0) {
            const size_t plain = length - at >= EIGHT ? copy_plain(s + at, room + letters, 1) : 0;
            room[letters] = (char)letter;
            letters += plain > 0 ? plain : 1;
            at += plain > 0 ? plain : 1;
            continue;
        }
        const Kind kind = s[at] < 0x80 ? BETWEEN : kind_of(s + at, &bytes);
        if (kind == BETWEEN || (letters > 0 && kind == ALONE)) {
            at += letters > 0 ? 0 : s[at] < 0x80 ? 1 : bytes;
            break;
        }
        for (size_t end = at + bytes; at < end; at++) {
            room[letters++] = (char)s[at];
        }
        if (kind == ALONE) {
            break;
        }
    }
    *size = is_number(room, letters) ? 1 : letters;
    return at;
}

static size_t written(const Sample *sample, unsigned char *bytes) {
    size_t size = 0;
    bytes[size++] = (unsigned char)sample->least;
    for (unsigned at = 0; at < sample->count; at++) {
        for (int by = 0; by < 64; by += 8) {
            bytes[size++] = (unsigned char)(sample->units[at] >> by);
        }
    }
    return size;
}

size_t shingles_of(const char *text, size_t length, char *room, unsigned char *bytes) {
    const unsigned char *s = (const unsigned char *)text;
    Sample sample;
    size_t size;
    memset(&sample, 0, sizeof sample);
    if (folded['a'] == 0) {
        fold();
    }
    for (size_t at = 0; at < length;) {
        at = word_at(s, at, length, room, &size);
        if (size > 0) {
            add(&sample, city_hash_64(room, size));
        }
    }
    for (int beyond = 1; beyond < WIDTH && sample.words > 0; beyond++) {
        add(&sample, 0);
    }
    return written(&sample, bytes);
}
