"""The charset of a body, against what the WHATWG standards say."""

from __future__ import annotations

import codecs
import encodings

import pytest

from sitecrawl.page import charset

# Encoding standard, section 4.2, "names and labels": the charset that decodes as the standard says, and its labels.
LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 "
    "iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
    "iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 "
    "latin5 windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
}


def test_labels_of_the_standard() -> None:
    """Every label of the standard means the encoding that the standard gives it."""
    wrong = {
        label: charset.of_label(label)
        for name, labels in LABELS.items()
        for label in labels.split()
        if charset.of_label(label) != name
    }
    assert wrong == {}


@pytest.mark.parametrize("name", LABELS)
def test_charset_is_a_codec(name: str) -> None:
    """Every charset that a page can have is a codec that Python decodes with."""
    assert b"a".decode(name, "replace") in {"a", "\ufffd"}


def _in_parts(name: str, body: bytes) -> str:
    decoder = codecs.getincrementaldecoder(name)("replace")
    return "".join(decoder.decode(bytes([byte])) for byte in body) + decoder.decode(b"", final=True)


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("x-user-defined", b"a\x7f\x80\xe9\xff", "a\x7f\uf780\uf7e9\uf7ff"),
        ("x-user-defined", b"", ""),
        ("replacement", b"<a href=x>", "\ufffd"),
        ("replacement", b"", ""),
    ],
)
def test_charsets_that_python_lacks(name: str, body: bytes, text: str) -> None:
    """Bytes for a page's own use are private characters; of what could hide markup nothing is read."""
    assert body.decode(name, "replace") == _in_parts(name, body) == text


def test_queries_in_charsets_that_python_lacks() -> None:
    """Private characters are their bytes again; what would be replaced is sent in UTF-8 (Encoding, section 4.3)."""
    assert charset.with_encoded_query("?a\uf7e9\xe9", "x-user-defined") == "?a%E9%26%23233%3B"
    assert charset.with_encoded_query("?\xe9", "replacement") == "?%C3%A9"


@pytest.mark.parametrize("label", ["rot13", "base64", "idna", "utf-7", "hz", "", "no-such", "os.path", "a\0b", "é"])
def test_what_is_no_label(label: str) -> None:
    """A codec that is no encoding of web pages, or none at all, cannot be chosen."""
    assert charset.of_label(label) is None


def test_labels_are_not_remembered() -> None:
    """Asking for labels that do not exist leaves nothing behind in the interpreter's list of codecs."""
    before = len(encodings._cache)
    for number in range(1000):
        charset.of_label(f"hostile-{number}")
    assert len(encodings._cache) == before


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "windows-1251", "utf-8"),
        (b"\xfe\xff\0<", "utf-8", "utf-16be"),
        (b"\xff\xfe<\0", None, "utf-16le"),
        (b"<meta charset=koi8-r>", "windows-1251", "windows-1251"),
        (b"<meta charset=koi8-r>", "no-such", "koi8-r"),
        (b"<p>\xe9", None, "windows-1252"),
        (b"<META\nCHARSET = 'ISO-8859-1' >", None, "windows-1252"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">', None, "cp932"),
        (b'<meta content="text/html; charset=Shift_JIS" http-equiv=content-type>', None, "cp932"),
        (b'<meta name=x content="text/html; charset=Shift_JIS">', None, "windows-1252"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<meta charset=x-user-defined>", None, "windows-1252"),
        (b"<meta charset=hz-gb-2312>", None, "replacement"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=koi8-u>", None, "koi8-u"),
        (b"<img alt='<meta charset=koi8-r>'><meta charset=koi8-u>", None, "koi8-u"),
        (b"<metal charset=koi8-r>", None, "windows-1252"),
        (b"<meta charset=no-such><meta charset=koi8-u>", None, "koi8-u"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", None, "koi8-r"),
        (b" " * 1003 + b"<meta charset=koi8-r>", None, "koi8-r"),
        (b" " * 1024 + b"<meta charset=koi8-r>", None, "koi8-r"),
        (b" " * 1000 + b"<meta charset=iso-8859-15>", None, "iso-8859-15"),  # the first 1,024 bytes end in its middle
        (b"<!--" + b"x" * 2000 + b'--><title>\xc3\xa4</title><meta charset="windows-1251">', None, "windows-1251"),
        (b" " * 1024 + b"<script>'<meta charset=koi8-r>'</script><META charset=koi8-u>", None, "koi8-u"),
        (b" " * 1024 + b"<!-- <meta charset=koi8-r> -->", None, "windows-1252"),
        (b" " * 1024 + b"<svg><title/></svg><meta charset=koi8-r>", None, "koi8-r"),
        ("<p>Größe 石田".encode(), None, "utf-8"),
        ("<p>Größe 石田".encode()[:-1], None, "utf-8"),
        ("<p>Größe".encode() + b"\xe9", None, "utf-8"),
        ("<p>Größe".encode() + b"\xe9 ", None, "windows-1252"),
        ("<p>Größe".encode(), "no-such", "utf-8"),
        (b"<p>only ASCII", None, "windows-1252"),
        (b'<meta httpequiv="ContentType" content="text/html; charset=gbk"><p>\xcd\xf8', None, "gb18030"),
        (b'<meta http-equiv="Content" content="text/html;charset=koi8-r"><p>\xc1\xd4', None, "koi8-r"),
        ('<meta httpequiv="Content-Type" content="text/html; charset=gbk"><p>\u00e4'.encode(), None, "utf-8"),
        (b'<meta httpequiv="Content-Type" content="text/html; charset=gbk"><p>ASCII', None, "windows-1252"),
        (b'<meta name=x content="text/html; charset=gbk"><p>\xcd\xf8', None, "windows-1252"),
        (b'<meta content="the label charset=gbk"><p>\xcd\xf8', None, "windows-1252"),
    ],
)
def test_order_of_evidence(body: bytes, declared: str | None, expected: str) -> None:
    """A byte order mark, the Content-Type, the first 1,024 bytes, a later `<meta>`, valid UTF-8, one that is misspelt
    where there is no other, windows-1252.
    """
    assert charset.of_body(body, declared) == expected


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (b"\xef\xbb\xbf<?xml version='1.0' encoding='koi8-r'?>", "koi8-u", "utf-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-u", "koi8-u"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset='koi8-u'/>", None, "koi8-r"),
        (b"<html><meta charset='koi8-r'/>", None, "utf-8"),
        (b"<html><meta charset='koi8-r'/>\xc1\xd4", None, "koi8-r"),
        (b"<html>\xe9 ", None, "windows-1252"),
    ],
)
def test_order_of_evidence_in_xml(body: bytes, declared: str | None, expected: str) -> None:
    """A `<meta>` declares nothing there, unless the body is no UTF-8, which it would have to be."""
    assert charset.of_xml(body, declared) == expected


def test_declarations_only_in_html() -> None:
    """What looks like a declaration in a body that is no HTML declares nothing."""
    assert charset.of_body(b"<meta charset=koi8-r>", None, prescan=False, default="utf-8") == "utf-8"


@pytest.mark.parametrize(
    "hostile", [b"<!--", b"<meta ", b"<meta charset=", b"<a b='", b"<", b"charset=<meta charset"]
)
def test_hostile_declarations(hostile: bytes) -> None:
    """Markup without end in the first bytes ends the search, without an error."""
    assert charset.of_body(hostile * 300 + b" charset", None) == "windows-1252"


def test_query_in_the_charset_of_the_page() -> None:
    """A link's query is encoded in the page's charset, its path in UTF-8, as the server of the page expects it."""
    assert charset.with_encoded_query("/да?q=да&x=€", "windows-1251") == "/да?q=%E4%E0&x=%88"


def test_query_beyond_the_charset() -> None:
    """A character that the page's charset lacks goes as a character reference, as from a form."""
    assert charset.with_encoded_query("?q=☃", "koi8-r") == "?q=%26%239731%3B"
