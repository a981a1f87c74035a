/* The head of an HTTP message as a WARC record has it, and base32 for its digests. sitecrawl/pagestore/record.py says
   what they are, and has their twins. */

#include "warc.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const size_t PADDING[] = {0, 6, 4, 3, 1}; /* by the bytes that are over after the last five */
enum { GROUP = 5, LETTERS = 8 };

const char base32_doc[] = PyDoc_STR("base32(data, /)\n--\n\nBytes in base32 (RFC 4648, section 6), as a str.");

PyObject *base32(PyObject *Py_UNUSED(module), PyObject *data) {
    char *bytes, *text, *end;
    Py_ssize_t length;
    PyObject *encoded;
    if (PyBytes_AsStringAndSize(data, &bytes, &length) < 0) {
        return NULL;
    }
    end = text = PyMem_Malloc(((size_t)length / GROUP + 1) * LETTERS);
    if (text == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t at = 0; at < length; at += GROUP) {
        uint64_t group = 0;
        for (Py_ssize_t of = at; of < at + GROUP; of++) {
            group = group << 8 | (of < length ? (unsigned char)bytes[of] : 0);
        }
        for (int shift = 5 * (LETTERS - 1); shift >= 0; shift -= 5) {
            *end++ = ALPHABET[group >> shift & 31];
        }
    }
    memset(end - PADDING[length % GROUP], '=', PADDING[length % GROUP]);
    encoded = PyUnicode_FromStringAndSize(text, end - text);
    PyMem_Free(text);
    return encoded;
}

typedef struct {
    const char *bytes;
    Py_ssize_t length;
} Bytes;

typedef struct {
    char *end;
    Py_ssize_t room; /* for lines, as the twin counts it */
    Py_ssize_t dropped;
    int framed;
    Bytes body_size; /* in digits */
} Head;

enum { OWN_LINES = 200 }; /* more than what the head says itself takes */

static Bytes literal(const char *text) {
    return (Bytes){text, (Py_ssize_t)strlen(text)};
}

/* Whether `object` is bytes, and which. */
static int is_bytes(PyObject *object, Bytes *found) {
    if (!PyBytes_CheckExact(object)) {
        return 0;
    }
    found->bytes = PyBytes_AsString(object);
    found->length = PyBytes_Size(object);
    return 1;
}

static void put(Head *head, Bytes part) {
    memcpy(head->end, part.bytes, (size_t)part.length);
    head->end += part.length;
}

static void put_line(Head *head, Bytes prefix, Bytes name, Bytes value) {
    put(head, prefix);
    put(head, name);
    put(head, literal(": "));
    put(head, value);
    put(head, literal("\r\n"));
}

/* Whether it is a header's name that needs no change. */
static int is_plain_name(Bytes name) {
    for (Py_ssize_t at = 0; at < name.length; at++) {
        char c = name.bytes[at];
        if (c < '!' || c > '~' || c == ':') {
            return 0;
        }
    }
    return name.length > 0;
}

static int is_plain_value(Bytes value) {
    for (Py_ssize_t at = 0; at < value.length; at++) {
        char c = value.bytes[at];
        if (c == '\r' || c == '\n' || c == '\0') {
            return 0;
        }
    }
    return 1;
}

/* Whether `name` is `lower` in any case. */
static int is_named(Bytes name, Bytes lower) {
    if (name.length != lower.length) {
        return 0;
    }
    for (Py_ssize_t at = 0; at < name.length; at++) {
        char c = name.bytes[at];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower.bytes[at]) {
            return 0;
        }
    }
    return 1;
}

/* As `bytes.isspace` has it; line breaks are in no plain value. */
static int is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_body_size(const Head *head, Bytes value) {
    while (value.length > 0 && is_space(value.bytes[0])) {
        value.bytes++;
        value.length--;
    }
    while (value.length > 0 && is_space(value.bytes[value.length - 1])) {
        value.length--;
    }
    return value.length == head->body_size.length &&
           memcmp(value.bytes, head->body_size.bytes, (size_t)value.length) == 0;
}

/* Whether the header speaks of the body as it was sent, and not as it is stored. */
static int misleads(const Head *head, Bytes name, Bytes value) {
    if (is_named(name, literal("content-length"))) {
        return !is_body_size(head, value);
    }
    return is_named(name, literal("transfer-encoding"));
}

/* Whether the header was read; what is no plain one is for the twin. */
static int add_header(Head *head, PyObject *header) {
    Bytes name, value, prefix = {"", 0};
    Py_ssize_t length;
    if (!PyTuple_Check(header) || PyTuple_Size(header) != 2 || !is_bytes(PyTuple_GetItem(header, 0), &name) ||
        !is_bytes(PyTuple_GetItem(header, 1), &value) || !is_plain_name(name) || !is_plain_value(value)) {
        return 0;
    }
    if (misleads(head, name, value)) {
        prefix = literal("X-Crawler-");
        head->framed = 0;
    }
    length = prefix.length + name.length + 2 + value.length;
    if (length > head->room) {
        head->dropped++;
    } else {
        put_line(head, prefix, name, value);
        head->room -= length + 2;
    }
    return 1;
}

static int add_headers(Head *head, PyObject *headers) {
    for (Py_ssize_t at = 0; at < PyList_Size(headers); at++) {
        if (!add_header(head, PyList_GetItem(headers, at))) {
            return 0;
        }
    }
    return 1;
}

static void add_own_lines(Head *head) {
    char digits[24];
    if (!head->framed) {
        put_line(head, literal(""), literal("Content-Length"), head->body_size);
    }
    if (head->dropped > 0) {
        PyOS_snprintf(digits, sizeof digits, "%zd", head->dropped);
        put_line(head, literal(""), literal("X-Crawler-Dropped-Headers"), literal(digits));
    }
    put(head, literal("\r\n"));
}

const char http_head_doc[] = PyDoc_STR(
    "http_head(start_line, headers, body_size, room, /)\n--\n\n"
    "Start line, headers and blank line; None where a header is no plain one, or not as `Headers` are.");

PyObject *http_head(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *headers, *made = NULL;
    Bytes start_line;
    Py_ssize_t body_size, room;
    Head head = {.framed = 1};
    char digits[24], *text;
    if (!PyArg_ParseTuple(args, "y#Onn:http_head", &start_line.bytes, &start_line.length, &headers, &body_size,
                          &room)) {
        return NULL;
    }
    if (!PyList_Check(headers)) {
        Py_RETURN_NONE;
    }
    /* No more than fits into `room` is written. */
    text = PyMem_Malloc((size_t)start_line.length + (size_t)(room > 0 ? room : 0) + OWN_LINES);
    if (text == NULL) {
        return PyErr_NoMemory();
    }
    PyOS_snprintf(digits, sizeof digits, "%zd", body_size);
    head.end = text;
    head.room = room - start_line.length;
    head.body_size = literal(digits);
    put(&head, start_line);
    put(&head, literal("\r\n"));
    if (add_headers(&head, headers)) {
        add_own_lines(&head);
        made = PyBytes_FromStringAndSize(text, head.end - text);
    }
    PyMem_Free(text);
    return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}
