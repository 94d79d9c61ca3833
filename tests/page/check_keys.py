"""Every key that the page reads by name is a key that strobe writes: of some schema under docs/.
What it reads as a property the compiler checks against the generated types. usage: check_keys.py SOURCE"""
import json
import pathlib
import re
import sys

# num(x, 'key'), text(x, "key"); lists of keys that a table leaves out
READS = re.compile(r"""\b(?:num|text)\([^()]*?(?:\([^()]*\)[^()]*?)*,\s*['"](\w+)['"]\)""")
SKIPS = re.compile(r"skip=\{\[([^\]]*)\]\}")


def keys_of(schema):
    for node in [schema, *schema.get("$defs", {}).values()]:
        yield from node.get("properties", {})


def main(source):
    known = set()
    for path in sorted((source / "docs").glob("*.schema.json")):
        known |= set(keys_of(json.loads(path.read_text())))
    read, unknown = 0, []
    for path in sorted((source / "web/src").rglob("*.ts*")):
        text = path.read_text()
        keys = READS.findall(text) + [k for found in SKIPS.findall(text) for k in re.findall(r"'(\w+)'", found)]
        read += len(keys)
        unknown += [f"{path.relative_to(source)}: '{key}' is a key that strobe never writes" for key in keys if key not in known]
    print("\n".join(unknown) or f"{read} keys read, all of them written")
    return 1 if unknown or read < 50 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
