/* What a host's pages have shown, asked and told a page at a time. sitecrawl/page/shown_text.py says what the tables
   are, and is the twin. */

#include "shown.h"

#include <stdint.h>
#include <string.h>

enum { PROBES = 6, WAYS = 8, VOTE_BYTES = 5, BUCKET = WAYS * VOTE_BYTES, UNIT = 8, LEVELS = 8, MOST = 512, LAYERS = 32 };

typedef struct {
    unsigned char *bytes;
    size_t size;
} Table;

static uint32_t read_32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static size_t scaled(uint32_t key, size_t to) {
    return (size_t)((uint64_t)key * to >> 32);
}

static uint32_t step_of(uint32_t key) {
    return (uint32_t)(key * 0x9e3779b1u) | 1;
}

static int layer_has(const Table *layer, uint32_t key) {
    const uint32_t step = step_of(key);
    for (int probe = 0; probe < PROBES; probe++, key += step) {
        const size_t bit = scaled(key, 8 * layer->size);
        if ((layer->bytes[bit / 8] >> bit % 8 & 1) == 0) {
            return 0;
        }
    }
    return 1;
}

static void layer_add(const Table *layer, uint32_t key) {
    const uint32_t step = step_of(key);
    for (int probe = 0; probe < PROBES; probe++, key += step) {
        const size_t bit = scaled(key, 8 * layer->size);
        layer->bytes[bit / 8] |= (unsigned char)(1 << bit % 8);
    }
}

static int any_has(const Table *layers, Py_ssize_t count, uint32_t key) {
    for (Py_ssize_t at = count - 1; at >= 0; at--) {
        if (layer_has(&layers[at], key)) {
            return 1;
        }
    }
    return 0;
}

/* The bucket where votes for `key` are; NULL where there is none. */
static unsigned char *bucket_of(const Table *votes, uint32_t key) {
    return votes->size < BUCKET ? NULL : votes->bytes + BUCKET * scaled(key, votes->size / BUCKET);
}

static unsigned votes_for(const Table *votes, uint32_t key) {
    const unsigned char *entry = bucket_of(votes, key);
    for (int way = 0; entry != NULL && way < WAYS; way++, entry += VOTE_BYTES) {
        if (entry[4] > 0 && read_32(entry) == key) {
            return entry[4];
        }
    }
    return 0;
}

static void vote_for(const Table *votes, uint32_t key) {
    unsigned char *const bucket = bucket_of(votes, key), *least = bucket;
    for (unsigned char *entry = bucket; entry < bucket + BUCKET; entry += VOTE_BYTES) {
        if (entry[4] > 0 && read_32(entry) == key) {
            entry[4] = (unsigned char)(entry[4] + (entry[4] < 255));
            return;
        }
        least = entry[4] < least[4] ? entry : least;
    }
    if (least[4] > 1) {
        least[4]--;
        return;
    }
    for (int at = 0; at < 4; at++) {
        least[at] = (unsigned char)(key >> 8 * at);
    }
    least[4] = 1;
}

static int table_of(PyObject *object, Table *table) {
    if (!PyByteArray_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a table is a bytearray");
        return -1;
    }
    table->bytes = (unsigned char *)PyByteArray_AsString(object);
    table->size = (size_t)PyByteArray_Size(object);
    return 0;
}

static Py_ssize_t tables_of(PyObject *list, Table *tables) {
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0 || count > LAYERS) {
        PyErr_SetString(PyExc_ValueError, "too many layers");
        return -1;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        if (table_of(PyList_GetItem(list, at), &tables[at]) < 0) {
            return -1;
        }
        if (tables[at].size == 0) {
            PyErr_SetString(PyExc_ValueError, "a layer without bits");
            return -1;
        }
    }
    return count;
}

const char shown_compare_doc[] = PyDoc_STR(
    "shown_compare(sample, level, layers, votes, half, /)\n--\n\n"
    "(words that are common, known and new; the units to be added; the runs that have a vote)");

PyObject *shown_compare(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *sample;
    Py_ssize_t length, layer_count, half, common = 0, known = 0, added = 0, voted = 0, fresh = 0;
    unsigned char add[MOST * UNIT], vote[MOST * 4];
    PyObject *list, *votes_object;
    Table layers[LAYERS], votes;
    int level;
    if (!PyArg_ParseTuple(args, "y#iO!On:shown_compare", &sample, &length, &level, &PyList_Type, &list, &votes_object,
                          &half)) {
        return NULL;
    }
    if ((layer_count = tables_of(list, layers)) < 0 || table_of(votes_object, &votes) < 0) {
        return NULL;
    }
    if (length > 1 + MOST * UNIT) {
        PyErr_SetString(PyExc_ValueError, "a sample is not so long");
        return NULL;
    }
    for (Py_ssize_t at = 1; at + UNIT <= length; at += UNIT) {
        const unsigned char *unit = (const unsigned char *)sample + at;
        const uint32_t ended = read_32(unit), begun = read_32(unit + 4);
        unsigned of_page;
        int is_ended, is_begun;
        if ((int)(begun % LEVELS) < level) {
            continue;
        }
        of_page = votes_for(&votes, ended);
        if (of_page > 0) {
            memcpy(vote + 4 * voted++, unit, 4);
            if (half >= 0 && (Py_ssize_t)of_page > half) {
                common++;
                continue;
            }
        }
        is_ended = of_page > 0 || any_has(layers, layer_count, ended);
        is_begun = any_has(layers, layer_count, begun);
        if (is_ended && of_page == 0) {
            memcpy(vote + 4 * voted++, unit, 4);
        }
        known += is_ended || is_begun;
        fresh += !is_ended && !is_begun;
        if (!is_ended || !is_begun) {
            memcpy(add + UNIT * added++, unit, UNIT);
        }
    }
    return Py_BuildValue("nnny#y#", common, known, fresh, add, UNIT * added, vote, 4 * voted);
}

const char shown_fill_doc[] = PyDoc_STR("shown_fill(layer, units, /)\n--\n\nAdd both runs of each unit.");

PyObject *shown_fill(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object;
    const char *units;
    Py_ssize_t length;
    Table layer;
    if (!PyArg_ParseTuple(args, "Oy#:shown_fill", &object, &units, &length) || table_of(object, &layer) < 0) {
        return NULL;
    }
    for (Py_ssize_t at = 0; layer.size > 0 && at + 4 <= length; at += 4) {
        layer_add(&layer, read_32((const unsigned char *)units + at));
    }
    Py_RETURN_NONE;
}

const char shown_vote_doc[] = PyDoc_STR("shown_vote(votes, runs, /)\n--\n\nA page has said each of `runs`.");

PyObject *shown_vote(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object;
    const char *runs;
    Py_ssize_t length;
    Table votes;
    if (!PyArg_ParseTuple(args, "Oy#:shown_vote", &object, &runs, &length) || table_of(object, &votes) < 0) {
        return NULL;
    }
    for (Py_ssize_t at = 0; votes.size >= BUCKET && at + 4 <= length; at += 4) {
        vote_for(&votes, read_32((const unsigned char *)runs + at));
    }
    Py_RETURN_NONE;
}
