/* The SimHash of a text: see simhash.c. */
#ifndef SITECRAWL_SIMHASH_H
#define SITECRAWL_SIMHASH_H

#include <stddef.h>
#include <stdint.h>

/* Of `length` bytes of UTF-8, of which all but ASCII is in lower case already. `room` is for as many bytes. */
uint64_t simhash_of(const char *text, size_t length, char *room);

#endif
