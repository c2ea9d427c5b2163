"""A page of grove report as a tree, and the results that it was made from, for tests/tools/report.sh.

The page is parsed strictly: a tag that is not closed, or an attribute without quotes, is an error.
"""
import json
import re
import sys
from xml.etree import ElementTree

page = open(sys.argv[1], encoding="utf-8").read()
results = [json.load(open(path, encoding="utf-8")) for path in sys.argv[2:]]
assert page.startswith("<!DOCTYPE html>\n")
# HTML leaves these two open, XML does not.
root = ElementTree.fromstring(re.sub(r"<(meta|link)([^>]*)>", r"<\1\2/>", page))


def all(tag):
    return list(root.iter(tag))


def text(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def texts(tag):
    return [text(e) for e in all(tag)]


def cards(section):
    found = root.find(f".//section[@id='{section}']")
    return [e for e in found.iter("article") if e.get("class") == "card"]


def shapes(card, tag):
    """Of the picture, not of the legend."""
    return [e for svg in card.iter("svg") if svg.get("class") == "picture" for e in svg.iter(tag)]


def proportional(lengths, numbers, tolerance=0.002):
    assert len(lengths) == len(numbers) > 0, (len(lengths), len(numbers))
    scale = max(lengths) / max(numbers)
    for length, number in zip(lengths, numbers):
        assert abs(length - scale * number) <= tolerance * max(lengths), (length, scale * number)


def whole():
    """Nothing from elsewhere, no number that is none, a title and a table for every picture."""
    assert not re.search(r"<script|https?:|@import|url\(", page)
    for e in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx", "cy"):
            assert re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", e.get(name, "0")), (e.tag, e.attrib)
    pictures = [e for e in all("svg") if e.get("class") == "picture"]
    assert len(pictures) == sum(len(cards(s)) for s in
                                ("savings", "times", "price", "traffic", "machine"))
    for e in pictures:
        assert e.get("role") == "img" and len(text(e.find("title"))) > 20
        assert sum(1 for _ in e.iter("rect")) + sum(1 for _ in e.iter("polyline")) > 0
    for card in root.iter("article"):
        if any(e.get("class") == "picture" for e in card.iter("svg")):
            assert card.find(".//tbody/tr") is not None
