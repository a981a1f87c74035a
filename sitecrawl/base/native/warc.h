/* What a WARC record is made of: see warc.c. */
#ifndef SITECRAWL_WARC_H
#define SITECRAWL_WARC_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern const char base32_doc[], http_head_doc[];
PyObject *base32(PyObject *module, PyObject *data);
PyObject *http_head(PyObject *module, PyObject *args);

#endif
