/* CityHash64 of version 1.1: see cityhash.c. */
#ifndef SITECRAWL_CITYHASH_H
#define SITECRAWL_CITYHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t city_hash_64(const char *bytes, size_t length);

#endif
