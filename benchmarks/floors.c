/* What a page of 40 links takes of a frontier at the least: programs that do a part's work, and nothing else.

       cc -O2 -o floors benchmarks/floors.c
       valgrind --tool=callgrind --callgrind-out-file=floors.out ./floors && callgrind_annotate floors.out

   The instructions of `seen`, `credit` and `frontier` by `PAGES` are the floors in docs/performance.md. Each page has
   one new URL and 39 known ones of `URLS`, of which a dozen have credit coming and four another place in the queue. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PAGES = 1000, LINKS = 40, URLS = 600, SLOTS = 1 << 16, KEY = 16, ENTRY = 28, PROBES = 10, REACHED = 12, MOVED = 4 };
enum { HEAD = 91, URL = 40 }; /* bytes of a record */

typedef struct {
    unsigned char key[KEY];
    int is_taken;
    unsigned char mark;
    uint64_t owed, credit;
    double history;
} Slot;

static Slot slots[SLOTS];
static unsigned char bits[1 << 20], heap[URLS + 64][ENTRY], written[1 << 12];
static int entries;

static Slot *slot_of(const unsigned char *key) {
    uint64_t at;
    memcpy(&at, key, sizeof at);
    for (at %= SLOTS; slots[at].is_taken && memcmp(slots[at].key, key, KEY) != 0; at = (at + 1) % SLOTS) {
    }
    return &slots[at];
}

static void key_of(uint64_t number, unsigned char *key) {
    const uint64_t halves[2] = {number * UINT64_C(0x9E3779B97F4A7C15), number * UINT64_C(0xC2B2AE3D27D4EB4F)};
    memcpy(key, halves, KEY);
}

/* The table of seen URLs marks all links; the filter is asked for the new one, and takes it. */
__attribute__((noinline)) static void seen(unsigned char (*links)[KEY]) {
    for (int link = 0; link < LINKS; link++) {
        Slot *slot = slot_of(links[link]);
        if (slot->is_taken) {
            slot->mark = 1;
            continue;
        }
        memcpy(slot->key, links[link], KEY);
        slot->is_taken = 1;
        for (int probe = 0; probe < PROBES; probe++) {
            uint32_t bit;
            memcpy(&bit, links[link] + probe, sizeof bit);
            bits[bit % sizeof bits] |= (unsigned char)(1 << bit % 8);
        }
    }
}

/* Each link owes its share; of a dozen it arrives, and their class is found. */
__attribute__((noinline)) static unsigned credit(unsigned char (*links)[KEY], uint64_t share) {
    unsigned classes = 0;
    for (int link = 0; link < LINKS; link++) {
        slot_of(links[link])->owed += share;
    }
    for (int link = 0; link < REACHED; link++) {
        Slot *slot = slot_of(links[link]);
        slot->history += (double)slot->owed;
        slot->credit += slot->owed;
        slot->owed = 0;
        classes += slot->credit ? 64 - (unsigned)__builtin_clzll(slot->credit) : 0;
    }
    return classes;
}

static void swap(int one, int other) {
    unsigned char kept[ENTRY];
    memcpy(kept, heap[one], ENTRY);
    memcpy(heap[one], heap[other], ENTRY);
    memcpy(heap[other], kept, ENTRY);
}

static void push(const unsigned char *key, uint32_t rank) {
    int at = entries++;
    memset(heap[at], 0, ENTRY);
    memcpy(heap[at], &rank, sizeof rank);
    memcpy(heap[at] + ENTRY - KEY, key, KEY);
    for (; at > 0 && memcmp(heap[at], heap[(at - 1) / 2], ENTRY) < 0; at = (at - 1) / 2) {
        swap(at, (at - 1) / 2);
    }
}

static void pop(void) {
    memcpy(heap[0], heap[--entries], ENTRY);
    for (int at = 0, least; 2 * at + 1 < entries; at = least) {
        least = 2 * at + 1;
        least += least + 1 < entries && memcmp(heap[least + 1], heap[least], ENTRY) < 0;
        if (memcmp(heap[at], heap[least], ENTRY) <= 0) {
            break;
        }
        swap(at, least);
    }
}

/* Two records are packed; one new entry and four that move go into the queue, and as many leave it. */
__attribute__((noinline)) static void frontier(unsigned char (*links)[KEY], uint32_t rank) {
    for (int record = 0; record < 2; record++) {
        memset(written + record * (HEAD + URL), record, HEAD);
        memcpy(written + record * (HEAD + URL) + HEAD, links, URL);
    }
    for (int link = 0; link < MOVED + 1; link++) {
        push(links[link], rank * UINT32_C(2654435761) + (uint32_t)link);
        if (entries > URLS) {
            pop();
        }
    }
}

int main(void) {
    unsigned char links[LINKS][KEY];
    unsigned classes = 0;
    for (uint64_t page = 0; page < PAGES; page++) {
        key_of(URLS + page, links[0]);
        for (int link = 1; link < LINKS; link++) {
            key_of((page * 17 + (uint64_t)link * 31) % URLS, links[link]);
        }
        seen(links);
        classes += credit(links, 1000000 + page);
        frontier(links, (uint32_t)page);
    }
    printf("%u %d %d\n", classes, entries, written[HEAD]);
    return 0;
}
