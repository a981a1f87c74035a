"""The character set of a body, decided as a browser decides it (WHATWG HTML, section 13.2.3; Encoding, section 4.2).

In this order: a byte order mark, the charset of the Content-Type, what the first 1,024 bytes declare, what a `<meta>`
behind them declares, at which a browser begins anew (13.2.3.5), UTF-8 where it is that and not ASCII, what a `<meta>`
says that would declare it but for a slip (`httpequiv`), and windows-1252. A browser would not guess UTF-8 of what
comes from the web, but authors who declare nothing write it. For slips it makes up by guessing from the letters.

XML (section 4.3.3 and appendix F) is UTF-8 where nothing else is declared, and no `<meta>` counts in it.

A charset is named as the codec in Python's registry that decodes as the standard says. Where both have the same
name, it is the standard's own. The two that Python lacks are registered here. The codecs differ from the standard's
in a few bytes that are no text: Python's windows-1252 makes U+FFFD of five bytes that a browser shows as control
characters.
"""

from __future__ import annotations

import codecs
import encodings
import re
from collections.abc import Iterator, Mapping
from encodings.aliases import aliases
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from sitecrawl.base.expressions import expression
from sitecrawl.page.budget import within
from sitecrawl.page.markup import tags

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DEFAULT: Final = "windows-1252"

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
_PRESCAN_BYTES = 1024

# Python's module of the codec that a label finds -> the codec that the standard means by it. What is not here is no
# label: `charset=rot13` must not choose a codec that is none, nor UTF-7 smuggle in markup.
_MEANT = {
    "utf_8": "utf-8", "utf_16": "utf-16le", "utf_16_le": "utf-16le", "utf_16_be": "utf-16be",
    "ascii": "windows-1252", "latin_1": "windows-1252", "cp1252": "windows-1252",
    "iso8859_9": "windows-1254", "cp1254": "windows-1254", "iso8859_11": "cp874", "tis_620": "cp874",
    "cp874": "cp874", "cp866": "ibm866", "mac_roman": "macintosh", "mac_cyrillic": "mac-cyrillic",
    "koi8_r": "koi8-r", "koi8_u": "koi8-u",
    **{f"iso8859_{part}": f"iso-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{page}": f"windows-{page}" for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs",
    "euc_jp": "euc-jp", "iso2022_jp": "iso-2022-jp", "shift_jis": "cp932", "cp932": "cp932",
    "euc_kr": "cp949", "cp949": "cp949",
}  # fmt: skip

# Labels of the standard that Python does not know, or knows as something else.
_LABELS = {
    "unicode-1-1-utf-8": "utf-8", "unicode11utf8": "utf-8", "unicode20utf8": "utf-8", "x-unicode20utf8": "utf-8",
    "iso88592": "iso-8859-2", "iso88593": "iso-8859-3", "iso88594": "iso-8859-4", "iso88595": "iso-8859-5",
    "csiso88596e": "iso-8859-6", "csiso88596i": "iso-8859-6", "iso-8859-6-e": "iso-8859-6",
    "iso-8859-6-i": "iso-8859-6", "iso88596": "iso-8859-6", "iso88597": "iso-8859-7", "sun_eu_greek": "iso-8859-7",
    "csiso88598e": "iso-8859-8", "iso-8859-8-e": "iso-8859-8", "iso88598": "iso-8859-8", "visual": "iso-8859-8",
    "csiso88598i": "iso-8859-8", "iso-8859-8-i": "iso-8859-8", "logical": "iso-8859-8", "iso885910": "iso-8859-10",
    "iso885913": "iso-8859-13", "iso885914": "iso-8859-14", "csisolatin9": "iso-8859-15", "iso885915": "iso-8859-15",
    "koi": "koi8-r", "koi8": "koi8-r", "koi8-ru": "koi8-u", "csmacintosh": "macintosh", "mac": "macintosh",
    "x-mac-roman": "macintosh", "dos-874": "cp874", "iso885911": "cp874", "windows-874": "cp874",
    "x-cp1250": "windows-1250", "x-cp1251": "windows-1251", "iso88591": "windows-1252", "x-cp1252": "windows-1252",
    "x-cp1253": "windows-1253", "iso88599": "windows-1254", "x-cp1254": "windows-1254", "x-cp1255": "windows-1255",
    "x-cp1256": "windows-1256", "x-cp1257": "windows-1257", "x-cp1258": "windows-1258",
    "x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic", "csgb2312": "gb18030", "gb_2312": "gb18030",
    "gb_2312-80": "gb18030", "x-gbk": "gb18030", "cn-big5": "big5hkscs", "x-x-big5": "big5hkscs",
    "cseucpkdfmtjapanese": "euc-jp", "x-euc-jp": "euc-jp", "windows-31j": "cp932", "x-sjis": "cp932",
    "cseuckr": "cp949", "csksc56011987": "cp949", "iso-ir-149": "cp949", "ks_c_5601-1989": "cp949",
    "ksc_5601": "cp949", "windows-949": "cp949", "unicodefffe": "utf-16be", "csunicode": "utf-16le",
    "iso-10646-ucs-2": "utf-16le", "ucs-2": "utf-16le", "unicode": "utf-16le", "unicodefeff": "utf-16le",
    "x-user-defined": "x-user-defined", "csiso2022kr": "replacement", "hz-gb-2312": "replacement",
    "iso-2022-cn": "replacement", "iso-2022-cn-ext": "replacement", "iso-2022-kr": "replacement",
    "replacement": "replacement",
}  # fmt: skip

NAMES: Final = frozenset({*_MEANT.values(), *_LABELS.values(), DEFAULT})
"""All names of charsets used here."""

_SPACE = "\t\n\f\r "


@lru_cache(maxsize=256)
def of_label(label: str) -> str | None:
    """The charset of `label`; None for an unknown one (Encoding, section 4.2)."""
    label = label.strip(_SPACE).lower()
    if label in _LABELS:
        return _LABELS[label]
    # Not `codecs.lookup`, which remembers every name that it was ever asked for, and a page can ask for any.
    name = encodings.normalize_encoding(label)
    return _MEANT.get(aliases.get(name, name))


def of_body(body: bytes, declared: str | None, *, prescan: bool = True, default: str = DEFAULT) -> str:
    """The charset of `body` with the label `declared` in its Content-Type.

    `prescan` is for HTML, whose body may declare a charset itself.
    """
    return (
        _of_outside(body, declared)
        or (prescan and (_prescan(body) or _late(body)))
        or ("utf-8" if default != "utf-8" and _is_utf8(body) else None)
        or (prescan and _misspelt(body))
        or default
    )


def of_xml(body: bytes, declared: str | None) -> str:
    """The charset of XML. A body that is not UTF-8 and declares nothing valid in XML is treated as HTML."""
    found = _of_outside(body, declared) or _of_xml_declaration(body[:_PRESCAN_BYTES])
    return found or (of_body(body, None) if _is_broken(body) else "utf-8")


def _of_outside(body: bytes, declared: str | None) -> str | None:
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name
    return of_label(declared) if declared else None


def _is_utf8(body: bytes) -> bool:
    """Whether it is UTF-8 with characters beyond ASCII."""
    return not body.isascii() and not body[: _length_in_utf8(body)].isascii()


def _is_broken(body: bytes) -> bool:
    return not body.isascii() and not _length_in_utf8(body)


def _length_in_utf8(body: bytes) -> int:
    """Length without a cut-off last character; 0 if it is not UTF-8."""
    try:
        return codecs.utf_8_decode(body)[1]
    except UnicodeDecodeError:
        return 0


def without_bom(body: bytes) -> bytes:
    for bom, _ in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :]
    return body


# The markup before a declaration. Each alternative takes what it starts with, so a declaration in a comment or in
# another attribute's value is none; possessive, so hostile bytes cost one pass.
_PRESCANNED = expression(
    rb"""<!--.*?(?:-->|\Z)
       | <meta(?=[\s/])(?P<meta>(?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+)
       | <[a-z/](?:[^>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = expression(rb"""([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]++)))?+""")
_IN_CONTENT = expression(r"""charset\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s;"']++))""", re.IGNORECASE)
_TYPED = expression(r"\s*+[a-z]++/[a-z+.-]++\s*+;", re.IGNORECASE)
_NAMES = {"name", "property", "itemprop"}
"""Attributes by which a `<meta>` is about something else."""
_XML_ENCODING = expression(rb"""<\?xml\s[^>]*?encoding\s*+=\s*+(?:"([^">]*+)"|'([^'>]*+)')""")


def _prescan(body: bytes) -> str | None:
    head = body[:_PRESCAN_BYTES]
    if b"charset" in head.lower():
        for match in _PRESCANNED.finditer(head):
            is_cut = match.end() == _PRESCAN_BYTES and body[match.end() : match.end() + 1] not in (b"", b">")
            if (attributes := match["meta"]) and not is_cut and (name := _of_meta(_attributes(attributes))):
                return name
    return _of_xml_declaration(head)


def _late(body: bytes) -> str | None:
    """Charset of the first `<meta>` that declares one, anywhere."""
    return next(filter(None, map(_of_meta, _metas(body))), None)


def _misspelt(body: bytes) -> str | None:
    """Charset of the first unnamed `<meta>` whose content is a media type with a charset."""
    if body.isascii():
        return None
    contents = (values.get("content") or "" for values in _metas(body) if not _NAMES & values.keys())
    return next(filter(None, (_of_content(content) for content in contents if _TYPED.match(content))), None)


def _metas(body: bytes) -> Iterator[Mapping[str, str | None]]:
    if b"charset" in body.lower():
        for meta in tags(within(body).decode("latin-1"), lambda tag, _attributes: tag == "meta"):
            yield meta.attributes


def _attributes(text: bytes) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for name, *spellings in _ATTRIBUTE.findall(text):
        values.setdefault(name.decode("latin-1").lower(), b"".join(spellings).decode("latin-1"))
    return values


def _of_meta(values: Mapping[str, str | None]) -> str | None:
    label = values.get("charset")
    if label is None and (values.get("http-equiv") or "").lower() == "content-type":
        return _of_content(values.get("content") or "")
    return _of_declaration(label) if label is not None else None


def _of_content(content: str) -> str | None:
    found = _IN_CONTENT.search(content)
    return _of_declaration("".join(part or "" for part in found.groups())) if found else None


def _of_xml_declaration(head: bytes) -> str | None:
    match = _XML_ENCODING.match(head)
    return _of_declaration((match[1] or match[2] or b"").decode("latin-1")) if match else None


def _of_declaration(label: str) -> str | None:
    name = of_label(label)
    # Whoever could read the declaration was not reading UTF-16: HTML, section 13.2.3.2.
    return _DECLARED.get(name, name) if name is not None else None


_DECLARED: Final = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": DEFAULT}


_KEPT_IN_QUERY = "!$%&()*+,-./:;=?@[\\]^_`{|}~"  # URL, section 1.3: not in the special-query percent-encode set
_FORM_ESCAPE = "sitecrawl.form-escape"


def with_encoded_query(href: str, charset: str) -> str:
    """`href` with its query percent-encoded as in a page in `charset` (URL, section 4.4, query state)."""
    before, mark, query = href.partition("?")
    return before + mark + quote(query.encode(charset, _FORM_ESCAPE), safe=_KEPT_IN_QUERY)


def _form_escape(error: UnicodeError) -> tuple[str, int]:
    """Encode characters outside the page's charset as character references, as forms do."""
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(char)}%3B" for char in characters), error.end


codecs.register_error(_FORM_ESCAPE, _form_escape)


# Of the standard, and not of Python

_USER_DEFINED: Final = "".join(map(chr, (*range(0x80), *range(0xF780, 0xF800))))  # Encoding, section 14.5
_TO_USER_DEFINED: Final = codecs.charmap_build(_USER_DEFINED)


class _UserDefined(codecs.IncrementalDecoder):
    def decode(self, data: ReadableBuffer, final: bool = False) -> str:  # noqa: FBT001, FBT002 - the base has it so
        return codecs.charmap_decode(data, self.errors, _USER_DEFINED)[0]


class _Replacement(codecs.IncrementalDecoder):
    """Decoder for charsets in which markup can hide (section 14.1): one U+FFFD for everything."""

    _is_over = False

    def decode(self, data: ReadableBuffer, final: bool = False) -> str:  # noqa: FBT001, FBT002
        found = "\ufffd" if data and not self._is_over else ""
        self._is_over |= bool(data)
        return found


_OWN: Final = {
    "x_user_defined": codecs.CodecInfo(
        name="x-user-defined",
        encode=lambda text, errors="strict": codecs.charmap_encode(text, errors, _TO_USER_DEFINED),
        decode=lambda data, errors="strict": codecs.charmap_decode(data, errors, _USER_DEFINED),
        incrementaldecoder=_UserDefined,
    ),
    "replacement": codecs.CodecInfo(
        name="replacement",
        encode=codecs.utf_8_encode,  # section 4.3
        decode=lambda data, _errors="strict": (_Replacement().decode(data), len(data)),
        incrementaldecoder=_Replacement,
    ),
}
codecs.register(_OWN.get)

codecs.lookup(DEFAULT)  # loads its module, which takes a file descriptor: later there may be none, and pages be lost
