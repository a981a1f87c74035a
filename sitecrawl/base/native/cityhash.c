/* CityHash64 of version 1.1, the hash that the `cityhash` package gives in Python, for strings that are bytes here.

   The algorithm and its constants are Google's, by Geoff Pike and Jyrki Alakuijala:

   Copyright (c) 2011 Google, Inc.

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
   documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
   rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
   persons to whom the Software is furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
   Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
   WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
   COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
   OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   Four ways, by length: up to 16 bytes, 32, 64, and what is longer in blocks of 64. Numbers are read as little-endian
   on every machine. */

#include "cityhash.h"

static const uint64_t K0 = 0xc3a5c85c97cb3127u, K1 = 0xb492b66fbe98f273u, K2 = 0x9ae16a3b2f90404fu;
static const uint64_t PAIR = 0x9ddfea08eb382d69u;

typedef struct {
    uint64_t first, second;
} Pair;

/* Compilers make one load of each of these two. */
static uint64_t read32(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
}

static uint64_t read64(const char *bytes) {
    return read32(bytes) | read32(bytes + 4) << 32;
}

/* `by` is from 1 to 63. */
static uint64_t rotated(uint64_t value, unsigned by) {
    return value >> by | value << (64 - by);
}

static uint64_t reversed(uint64_t value) {
    value = (value & 0x00ff00ff00ff00ffu) << 8 | (value >> 8 & 0x00ff00ff00ff00ffu);
    value = (value & 0x0000ffff0000ffffu) << 16 | (value >> 16 & 0x0000ffff0000ffffu);
    return value << 32 | value >> 32;
}

static uint64_t shifted(uint64_t value) {
    return value ^ value >> 47;
}

static uint64_t mixed(uint64_t one, uint64_t other, uint64_t factor) {
    return shifted((other ^ shifted((one ^ other) * factor)) * factor) * factor;
}

static uint64_t of_16(const char *s, size_t length) {
    if (length >= 8) {
        uint64_t factor = K2 + length * 2, a = read64(s) + K2, b = read64(s + length - 8);
        return mixed(rotated(b, 37) * factor + a, (rotated(a, 25) + b) * factor, factor);
    }
    if (length >= 4) {
        return mixed(length + (read32(s) << 3), read32(s + length - 4), K2 + length * 2);
    }
    if (length > 0) {
        const unsigned char *b = (const unsigned char *)s;
        uint64_t y = (uint64_t)b[0] + ((uint64_t)b[length >> 1] << 8), z = length + ((uint64_t)b[length - 1] << 2);
        return shifted(y * K2 ^ z * K0) * K2;
    }
    return K2;
}

static uint64_t of_32(const char *s, size_t length) {
    uint64_t factor = K2 + length * 2;
    uint64_t a = read64(s) * K1, b = read64(s + 8), c = read64(s + length - 8) * factor, d = read64(s + length - 16) * K2;
    return mixed(rotated(a + b, 43) + rotated(c, 30) + d, a + rotated(b + K2, 18) + c, factor);
}

static uint64_t of_64(const char *s, size_t length) {
    uint64_t factor = K2 + length * 2;
    uint64_t a = read64(s) * K2, b = read64(s + 8), c = read64(s + length - 24), d = read64(s + length - 32);
    uint64_t e = read64(s + 16) * K2, f = read64(s + 24) * 9, g = read64(s + length - 8);
    uint64_t h = read64(s + length - 16) * factor;
    uint64_t u = rotated(a + g, 43) + (rotated(b, 30) + c) * 9, v = ((a + g) ^ d) + f + 1;
    uint64_t w = reversed((u + v) * factor) + h, x = rotated(e + f, 42) + c;
    uint64_t y = (reversed((v + w) * factor) + g) * factor, z = e + f + c;
    a = reversed((x + z) * factor + y) + b;
    b = shifted((z + a) * factor + d + h) * factor;
    return b + x;
}

static Pair of_block(const char *s, uint64_t a, uint64_t b) {
    uint64_t w = read64(s), x = read64(s + 8), y = read64(s + 16), z = read64(s + 24), c;
    a += w;
    b = rotated(b + a + z, 21);
    c = a;
    a += x + y;
    b += rotated(a, 44);
    return (Pair){a + z, b + c};
}

static uint64_t of_more(const char *s, size_t length) {
    const char *end = s + length;
    uint64_t x = read64(end - 40), y = read64(end - 16) + read64(end - 56), swapped;
    uint64_t z = mixed(read64(end - 48) + length, read64(end - 24), PAIR);
    Pair v = of_block(end - 64, length, z), w = of_block(end - 32, y + K1, x);
    x = x * K1 + read64(s);
    for (size_t blocks = (length - 1) / 64; blocks > 0; blocks--, s += 64) {
        x = rotated(x + y + v.first + read64(s + 8), 37) * K1;
        y = rotated(y + v.second + read64(s + 48), 42) * K1;
        x ^= w.second;
        y += v.first + read64(s + 40);
        z = rotated(z + w.first, 33) * K1;
        v = of_block(s, v.second * K1, x + w.first);
        w = of_block(s + 32, z + w.second, y + read64(s + 16));
        swapped = z;
        z = x;
        x = swapped;
    }
    return mixed(mixed(v.first, w.first, PAIR) + shifted(y) * K1 + z, mixed(v.second, w.second, PAIR) + x, PAIR);
}

uint64_t city_hash_64(const char *bytes, size_t length) {
    if (length <= 16) {
        return of_16(bytes, length);
    }
    if (length <= 32) {
        return of_32(bytes, length);
    }
    return length <= 64 ? of_64(bytes, length) : of_more(bytes, length);
}
