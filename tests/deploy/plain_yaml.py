"""The part of YAML that the files of deploy/ are written in: maps and lists by indentation, scalars on one line, quoted or plain, lists in
brackets. Whatever else (tabs, anchors, block scalars, a name twice in a map) is an error, so a file that passes is read alike by everybody."""
import json
import re

KEY = re.compile(r'^("(?:[^"\\]|\\.)*"|[A-Za-z0-9_.-]+):(?:\s+(.*))?$')
PLAIN = re.compile(r"^[A-Za-z0-9_./][^#&*!|>{}\[\]\"'`%@]*$")


class Malformed(Exception):
    pass


def scalar(text, number):
    if text.startswith(('"', "[")):
        try:
            return json.loads(text)
        except ValueError:
            raise Malformed(f"line {number}: {text}") from None
    if not PLAIN.match(text) or ": " in text or text.endswith(":"):
        raise Malformed(f"line {number}: quote {text}")
    words = {"true": True, "false": False, "null": None}
    return words[text] if text in words else int(text) if re.fullmatch(r"-?\d+", text) else text


def lines_of(text):
    """[(number, indentation, content)]; remarks stand on lines of their own."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line or line != line.rstrip():
            raise Malformed(f"line {number}: a tab, or space at the end")
        if line.strip() and not line.lstrip().startswith("#"):
            found.append((number, len(line) - len(line.lstrip()), line.strip()))
    return found


def block(lines, indent):
    """The value of the lines at the front that are indented so much; takes them."""
    return sequence(lines, indent) if lines[0][2].startswith("- ") else mapping(lines, indent)


def sequence(lines, indent):
    items = []
    while lines and lines[0][1] == indent and lines[0][2].startswith("- "):
        number, _, content = lines[0]
        if KEY.match(content[2:]):
            lines[0] = (number, indent + 2, content[2:])
            items.append(mapping(lines, indent + 2))
        else:
            lines.pop(0)
            items.append(scalar(content[2:], number))
    return items


def mapping(lines, indent):
    result = {}
    while lines and lines[0][1] == indent and not lines[0][2].startswith("- "):
        number, _, content = lines.pop(0)
        match = KEY.match(content)
        if not match:
            raise Malformed(f"line {number}: {content}")
        name = json.loads(match[1]) if match[1].startswith('"') else match[1]
        if name in result:
            raise Malformed(f"line {number}: {name} stands twice")
        if match[2]:
            result[name] = scalar(match[2], number)
        else:
            result[name] = block(lines, lines[0][1]) if lines and lines[0][1] > indent else None
    return result


def load(text):
    lines = lines_of(text)
    value = block(lines, 0)
    if lines:
        raise Malformed(f"line {lines[0][0]}: unexpected indentation")
    return value
