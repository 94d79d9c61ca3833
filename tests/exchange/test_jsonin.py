"""The streaming JSON reader against Python's json, on the same inputs."""
import json
import os
import random
import re
import subprocess

BUILD = os.environ["STROBE_BUILD"]


def echo(documents):
    """What our reader makes of each document: (True, value) or (False, message)."""
    fed = b"".join(b"%d\n%s" % (len(d), d) for d in documents)
    out = subprocess.run([BUILD + "/tests/json_echo"], input=fed, stdout=subprocess.PIPE, check=True).stdout
    answers = []
    for line in out.split(b"\n")[:-1]:
        if line.startswith(b"ok "):
            answers.append((True, json.loads(line[3:].decode())))
        else:
            answers.append((False, line[6:].decode(errors="replace")))
    assert len(answers) == len(documents)
    return answers


def refuse(name):
    raise ValueError(name)


def clean(value):
    """Half surrogates become U+FFFD, numbers past the doubles null: as our echo has them."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    if isinstance(value, list):
        return [clean(v) for v in value]
    if isinstance(value, dict):
        return {clean(k).split("\0")[0]: clean(v) for k, v in value.items()}  # echo's keys are C strings
    return value


def python_reads(document):
    try:
        return True, clean(json.loads(document.decode("utf-8"), parse_constant=refuse))
    except (ValueError, RecursionError):
        return False, None


def compare(documents):
    accepted = 0
    for document, (ours, value) in zip(documents, echo(documents)):
        theirs, expected = python_reads(document)
        assert ours == theirs, (document, value)
        if ours:
            assert value == expected, document
            accepted += 1
    return accepted


def any_value(rng, depth):
    kind = rng.randrange(10 if depth else 7)
    if kind == 0:
        return rng.choice([True, False, None])
    if kind == 1:
        return rng.randrange(-10 ** rng.randrange(1, 30), 10 ** rng.randrange(1, 30))
    if kind == 2:
        return rng.uniform(-1, 1) * 10 ** rng.randrange(-300, 300)
    if kind == 3:
        return rng.randrange(10 ** 16) / 1000
    if kind < 7:
        return "".join(rng.choice('ab"\\/\b\f\n\r\t\0\x1f\x7fé€😀 \ud800') for _ in range(rng.randrange(30)))
    if kind == 7:
        return [any_value(rng, depth - 1) for _ in range(rng.randrange(6))]
    return {any_value(rng, 0) if rng.random() < 0.01 else str(rng.random()): any_value(rng, depth - 1) for _ in range(rng.randrange(6))}


def test_what_python_writes_reads_back_the_same():
    rng = random.Random(1)
    documents = []
    for i in range(1500):
        value = any_value(rng, 5)
        text = json.dumps(value, ensure_ascii=bool(i % 2), indent=[None, 1, "\t"][i % 3])
        documents.append(re.sub("[\ud800-\udfff]", "?", text).encode())
    assert compare(documents) == len(documents)


def test_damaged_documents_are_refused_where_python_refuses_them():
    rng = random.Random(2)
    documents = []
    for _ in range(6000):
        text = bytearray(json.dumps(any_value(rng, 3), ensure_ascii=rng.random() < 0.5).encode(errors="replace"))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text) + 1)
            what = rng.randrange(4)
            if what == 0:
                text[at:at + 1] = b""
            elif what == 1:
                text[at:at] = bytes([rng.choice(b'{}[]",:\\0123456789.eE+-untfls \n\x00\x80\xff\xc3\xa9')])
            elif what == 2:
                del text[at:]
            elif at < len(text):
                text[at] = rng.randrange(256)
        documents.append(bytes(text))
    accepted = compare(documents)
    assert 0 < accepted < len(documents) * 0.9


def test_numbers_are_the_doubles_python_has():
    rng = random.Random(3)
    documents = [b"[%s]" % b",".join(
        ("%s%d.%se%d" % (rng.choice(["", "-"]), rng.randrange(10 ** rng.randrange(1, 25)), str(rng.randrange(10 ** 20)).zfill(rng.randrange(1, 25)),
                         rng.randrange(-330, 310))).encode() for _ in range(20)) for _ in range(300)]
    documents += [b"[0.1, 1e22, 1e23, 9007199254740993.0, 2.2250738585072011e-308, 1.7976931348623157e308, 5e-324, -0.0]"]
    assert compare(documents) == len(documents)
