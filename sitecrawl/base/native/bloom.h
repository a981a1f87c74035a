/* The bits of a Bloom filter's layer: see bloom.c. */
#ifndef SITECRAWL_BLOOM_H
#define SITECRAWL_BLOOM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *bloom_add(PyObject *module, PyObject *args);
PyObject *bloom_has(PyObject *module, PyObject *args);

extern const char bloom_add_doc[], bloom_has_doc[];

#endif
