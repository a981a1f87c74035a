/* A page's elements and text, off lexbor's tree: see tree.c. */
#ifndef SITECRAWL_TREE_H
#define SITECRAWL_TREE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern const char tree_doc[], use_lexbor_doc[];
PyObject *tree(PyObject *module, PyObject *args);
PyObject *use_lexbor(PyObject *module, PyObject *path);

#endif
