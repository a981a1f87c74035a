/* The bits that a key has in a layer of pybloom-live: one in each slice, at a number of the key's hash. The twin is that
   library itself, see sitecrawl/frontier/seen/bloom.py. */

#include "bloom.h"

#include <stdint.h>
#include <string.h>

/* The number at `at`, of 2, 4 or 8 bytes in this machine's order. */
static uint64_t number_at(const char *at, Py_ssize_t size) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    if (size == 2) {
        memcpy(&two, at, sizeof two);
        return two;
    }
    if (size == 4) {
        memcpy(&four, at, sizeof four);
        return four;
    }
    memcpy(&eight, at, sizeof eight);
    return eight;
}

/* Whether all bits of a key are set, up to the first that is not, or has been `set` here; -1 with an error. */
static int look(PyObject *args, int set) {
    Py_buffer bits;
    const char *digest;
    Py_ssize_t length, size, slices, slice_bits;
    int found = 1;
    if (!PyArg_ParseTuple(args, "w*y#nnn", &bits, &digest, &length, &size, &slices, &slice_bits)) {
        return -1;
    }
    if ((size != 2 && size != 4 && size != 8) || slices < 0 || slices > length / size || slice_bits < 1 ||
        (slices > 0 && slice_bits > PY_SSIZE_T_MAX / slices) || slices * slice_bits > bits.len * 8) {
        PyErr_SetString(PyExc_ValueError, "no such layer");
        found = -1;
    }
    for (Py_ssize_t slice = 0; found == 1 && slice < slices; slice++) {
        const uint64_t number = number_at(digest + slice * size, size) % (uint64_t)slice_bits;
        const uint64_t place = (uint64_t)(slice * slice_bits) + number;
        unsigned char *byte = (unsigned char *)bits.buf + place / 8;
        const unsigned char bit = (unsigned char)(1U << place % 8);
        if (set) {
            *byte |= bit;
        }
        found = (*byte & bit) != 0;
    }
    PyBuffer_Release(&bits);
    return found;
}

const char bloom_add_doc[] = PyDoc_STR(
    "bloom_add(bits, digest, size, slices, slice_bits, /)\n--\n\n"
    "Set a key's bit in each slice: at its hash's numbers, of `size` bytes, modulo `slice_bits`.");

PyObject *bloom_add(PyObject *Py_UNUSED(module), PyObject *args) {
    if (look(args, 1) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

const char bloom_has_doc[] = PyDoc_STR(
    "bloom_has(bits, digest, size, slices, slice_bits, /)\n--\n\n"
    "Whether all the bits are set that `bloom_add` sets.");

PyObject *bloom_has(PyObject *Py_UNUSED(module), PyObject *args) {
    const int found = look(args, 0);
    return found < 0 ? NULL : PyBool_FromLong(found);
}
