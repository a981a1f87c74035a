/* A sample of a text's runs of words: see shingles.c. */
#ifndef SITECRAWL_SHINGLES_H
#define SITECRAWL_SHINGLES_H

#include <stddef.h>
#include <stdint.h>

enum { SHINGLES_MOST = 512, SHINGLES_BYTES = 1 + 8 * SHINGLES_MOST };

/* Of `length` bytes of UTF-8, of which all but ASCII is in lower case already. `room` is for as many bytes, `sample`
   for SHINGLES_BYTES. Returns how many bytes long the sample is. */
size_t shingles_of(const char *text, size_t length, char *room, unsigned char *sample);

#endif
