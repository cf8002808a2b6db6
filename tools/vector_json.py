"""strict.json and spelling.json: what JSON is read, and which spelling is the one (rules C6, C7)."""

from __future__ import annotations

from collections.abc import Sequence

from vector_text import Json, b64

Named = Sequence[tuple[str, bytes]]


def _deep(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + closing * depth


def accepted() -> Named:
    """What the strict reader takes (rule C6)."""
    return [
        ("object", b'{"a":1}'),
        ("array", b"[1,2]"),
        ("string alone", b'"a"'),
        ("number alone", b"7"),
        ("null alone", b"null"),
        ("blanks around and inside", b' \t\r\n{ "a" : [ 1 , 2 ] }\n'),
        ("empty object", b"{}"),
        ("empty name", b'{"":1}'),
        ("names that differ in case", b'{"a":1,"A":2}'),
        ("names that differ in normal form", '{"\u00e9":1,"e\u0301":2}'.encode()),
        ("one name at two levels", b'{"a":{"a":1}}'),
        ("one name in two objects of an array", b'[{"a":1},{"a":2}]'),
        ("depth 64, arrays", _deep(64)),
        ("depth 64, objects", _deep(63, b'{"a":', b"}").replace(b":}", b":{}}", 1)),
        ("depth 64 in the second of two members", b'{"a":1,"b":' + _deep(63) + b"}"),
        ("brackets in a string are not depth", b'"' + b"[" * 200 + b'"'),
        ("many arrays side by side", b"[" + b"[]," * 500 + b"[]]"),
        ("minus zero", b"-0"),
        ("minus zero with a fraction", b"-0.0"),
        ("exponents", b"[1e5,1E5,1e+5,1E-05,0e0]"),
        ("a number no double holds", b"1e400"),
        ("a number that rounds to zero", b"1e-400"),
        ("five thousand digits", b"9" * 5000),
        ("five thousand digits after the point", b"0." + b"3" * 5000),
        ("an exponent of a hundred digits", b"1e" + b"9" * 100),
        ("all short escapes", b'"\\"\\\\\\/\\b\\f\\n\\r\\t"'),
        ("escaped null character", b'"\\u0000"'),
        ("escaped pair", b'"\\ud83d\\ude00"'),
        ("escaped pair, upper case", b'"\\uD83D\\uDE00"'),
        ("four-byte character", "\U0001f600".join('""').encode()),
        ("raw DEL", b'"\x7f"'),
        ("raw U+2028 and U+0085", '"\u2028\u0085"'.encode()),
        ("a byte order mark inside a string", '"\ufeff"'.encode()),
        ("noncharacter U+FFFF", '"\uffff"'.encode()),
        ("the last code point", '"\U0010ffff"'.encode()),
        ("escaped backslash before u", b'"\\\\ud800"'),
    ]


def refused() -> Named:
    """What the strict reader does not take (rule C6)."""
    return [
        ("nothing", b""),
        ("blanks alone", b"  "),
        ("byte order mark", b"\xef\xbb\xbf{}"),
        ("UTF-16", "\ufeff{}".encode("utf-16-le")),
        ("name twice", b'{"a":1,"a":1}'),
        ("name twice, far apart", b'{"a":1,"b":{"a":2},"c":3,"a":4}'),
        ("name twice after an escape", b'{"a":1,"\\u0061":2}'),
        ("name twice, both escaped differently", b'{"\\u00E9":1,"\\u00e9":2}'),
        ("name twice as pair and character", '{"\\ud83d\\ude00":1,"\U0001f600":2}'.encode()),
        ("name twice, nested", b'[{"x":{"a":1,"a":2}}]'),
        ("empty name twice", b'{"":1,"":2}'),
        ("lone high surrogate, escaped", b'"\\ud800"'),
        ("lone low surrogate, escaped", b'"\\udfff"'),
        ("high surrogate before a letter", b'"\\ud83dA"'),
        ("high surrogate before another escape", b'"\\ud83d\\u0041"'),
        ("pair in the wrong order", b'"\\ude00\\ud83d"'),
        ("two high surrogates and a low one", b'"\\ud83d\\ud83d\\ude00"'),
        ("lone surrogate in a name", b'{"\\ud800":1}'),
        ("surrogate in three bytes", b'"\xed\xa0\x80"'),
        ("pair in six bytes", b'"\xed\xa0\xbd\xed\xb8\x80"'),
        ("overlong slash", b'"\xc0\xaf"'),
        ("overlong null character", b'"\xc0\x80"'),
        ("overlong in three bytes", b'"\xe0\x80\xaf"'),
        ("beyond the last code point", b'"\xf4\x90\x80\x80"'),
        ("a byte that is never UTF-8", b'"\xff"'),
        ("lone continuation byte", b'"\x80"'),
        ("cut character", b'"\xe2\x82"'),
        ("Latin-1", b'"\xe9"'),
        ("depth 65, arrays", _deep(65)),
        ("depth 65, objects", _deep(65, b'{"a":', b"}").replace(b":}", b":1}", 1)),
        ("depth 65 in the second of two members", b'{"a":1,"b":' + _deep(64) + b"}"),
        ("depth 100,000, never closed", b"[" * 100000),
        ("NaN", b"NaN"),
        ("NaN inside", b'{"a":NaN}'),
        ("Infinity", b"Infinity"),
        ("minus Infinity", b"[-Infinity]"),
        ("leading zero", b"01"),
        ("minus and leading zero", b"-01"),
        ("plus", b"+1"),
        ("point without digits before", b".5"),
        ("point without digits after", b"1."),
        ("exponent without digits", b"1e"),
        ("exponent with a sign alone", b"1e+"),
        ("minus alone", b"-"),
        ("hexadecimal", b"0x10"),
        ("underscore in a number", b"1_000"),
        ("digits of another script", "\u0661".encode()),
        ("raw line feed in a string", b'"a\nb"'),
        ("raw tab in a string", b'"a\tb"'),
        ("raw null character in a string", b'"\x00"'),
        ("raw U+001F in a string", b'"\x1f"'),
        ("unknown escape", b'"\\x41"'),
        ("short \\u", b'"\\u12"'),
        ("\\u with a sign", b'"\\u+123"'),
        ("escape at the end", b'"\\"'),
        ("single quotes", b"{'a':1}"),
        ("name without quotes", b"{a:1}"),
        ("trailing comma in an array", b"[1,]"),
        ("trailing comma in an object", b'{"a":1,}'),
        ("no comma", b"[1 2]"),
        ("no colon", b'{"a" 1}'),
        ("no value", b'{"a":}'),
        ("comment", b"[1]/* one */"),
        ("two texts", b"{}{}"),
        ("letters after the text", b'{"a":1}x'),
        ("null character after the text", b"{}\x00"),
        ("not closed", b'{"a":[1'),
        ("closed by the wrong bracket", b"[1}"),
        ("True", b"True"),
        ("nul", b"nul"),
        ("form feed as a blank", b"\x0c{}"),
        ("no-break space as a blank", "\u00a0{}".encode()),
    ]


def one_spelling() -> tuple[Named, Named]:
    """Texts of the one spelling, and texts that the strict reader takes all the same (rule C7)."""
    good: Named = [
        ("no blanks", b'{"a":[1,2,{}],"b":null}'),
        ("order of names is free", b'{"b":1,"a":2}'),
        ("numbers as they stand", b"[1E5,1.0,1e400,-0,0.50,1e+05]"),
        ("short escapes", b'"\\b\\t\\n\\f\\r\\"\\\\"'),
        ("other controls", b'"\\u0000\\u0001\\u000b\\u001f"'),
        ("raw slash", b'"</script>"'),
        ("raw DEL", b'"\x7f"'),
        ("raw U+2028 and U+2029", '"\u2028\u2029"'.encode()),
        ("raw U+0085 and U+FEFF", '"\u0085\ufeff"'.encode()),
        ("raw letters", '{"\u00e9":"\u65e5\u672c"}'.encode()),
        ("raw four-byte character", '"\U0001f600"'.encode()),
        ("text that looks like an escape", b'"\\\\u0041"'),
        ("empty containers", b"[{},[]]"),
        ("blanks in a string", b'" a , b : c "'),
    ]
    bad: Named = [
        ("blank after a colon", b'{"a": 1}'),
        ("blank after a comma", b"[1, 2]"),
        ("blank in an empty object", b"{ }"),
        ("blank in an empty array", b"[ ]"),
        ("blank before", b" {}"),
        ("line feed after", b"{}\n"),
        ("carriage return after", b"{}\r"),
        ("tab between", b"[1,\t2]"),
        ("escaped slash", b'"\\/"'),
        ("letter as an escape", b'"\\u0041"'),
        ("letter as an escape in a name", b'{"\\u0061":1}'),
        ("line feed as \\u000a", b'"\\u000a"'),
        ("line feed as \\u000A", b'"\\u000A"'),
        ("backspace as \\u0008", b'"\\u0008"'),
        ("form feed as \\u000c", b'"\\u000c"'),
        ("quotation mark as \\u0022", b'"\\u0022"'),
        ("backslash as \\u005c", b'"\\u005c"'),
        ("control in upper case", b'"\\u001F"'),
        ("DEL as an escape", b'"\\u007f"'),
        ("U+2028 as an escape", b'"\\u2028"'),
        ("letter beyond ASCII as an escape", b'"\\u00e9"'),
        ("pair as escapes", b'"\\ud83d\\ude00"'),
        ("one needless escape after many needed ones", b'"' + b"\\n" * 50 + b'\\/"'),
    ]
    return good, bad


def strict_file() -> list[Json]:
    """Rows of strict.json."""
    rows = [(name, data, True) for name, data in accepted()] + [
        (name, data, False) for name, data in refused()
    ]
    return [{"name": name, "base64": b64(data), "ok": ok} for name, data, ok in rows]


def spelling_file() -> list[Json]:
    """Rows of spelling.json."""
    good, bad = one_spelling()
    rows = [(name, data, True) for name, data in good] + [(name, data, False) for name, data in bad]
    return [{"name": name, "base64": b64(data), "one_spelling": one} for name, data, one in rows]
