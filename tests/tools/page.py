#!/usr/bin/env python3
"""The pages of grove report in headless Chromium: tests/tools/page.py GROVE

From saved results, one, two and four, at phone and desktop width, light and dark: no complaint on
the console, nothing asked of the network, no sideways scrolling, no column of a table that cannot
be brought into view, results before facts, machines with names, every picture large enough and
full of shapes, letters large enough and in contrast to what is behind them. Exit status 77: no
browser.
"""
import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

SAVED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reports")
WIDTHS = (360, 400, 1280)
SCHEMES = ("light", "dark")

# What the page is asked; the answer is a list of sentences about what is wrong.
QUESTIONS = r"""
const wrong = [], say = (sentence) => wrong.push(sentence);
const html = document.documentElement;
if (html.scrollWidth > html.clientWidth)
  say(`the page is ${html.scrollWidth} wide, the window ${html.clientWidth}`);
const visible = (box) => box.width > 0 && box.height > 0;
const pictures = [...document.querySelectorAll("svg.picture")];
if (pictures.length < 5) say(`only ${pictures.length} pictures`);
for (const svg of pictures) {
  const box = svg.getBoundingClientRect(), name = svg.querySelector("title").textContent;
  if (box.width < 250 || box.height < 60) say(`${name}: ${box.width} x ${box.height}`);
  if (box.right > html.clientWidth) say(`${name}: cut off`);
  const shapes = [...svg.querySelectorAll("rect, circle, polyline, line")];
  const seen = shapes.filter((e) => {
    const b = e.getBoundingClientRect();
    return b.width + b.height > 0;
  });
  if (seen.length < 3) say(`${name}: ${seen.length} shapes`);
  const frame = svg.getBoundingClientRect();
  for (const t of svg.querySelectorAll("text")) {
    const b = t.getBoundingClientRect();
    if (b.left < frame.left - 8 || b.right > frame.right + 8) say(`'${t.textContent}' sticks out`);
  }
}

// A table may be wider than its box. Then the box scrolls, shows that it does, and brings every
// column into view.
for (const table of document.querySelectorAll("table")) {
  const scroll = table.closest(".scroll"), name = table.getAttribute("aria-label");
  if (!scroll) { say(`${name}: a table without a box`); continue; }
  const box = scroll.getBoundingClientRect(), style = getComputedStyle(scroll);
  if (box.left < 0 || box.right > html.clientWidth) say(`${name}: its box is cut off`);
  const cells = [...table.querySelectorAll("thead th")];
  for (const cell of cells) {
    scroll.scrollLeft = cell.offsetLeft;
    const b = cell.getBoundingClientRect();
    if (b.right > box.right + 1 || b.left < box.left - 1)
      say(`${name}: the column '${cell.textContent}' cannot be brought into view`);
  }
  scroll.scrollLeft = 0;
  const over = table.scrollWidth > scroll.clientWidth + 1;
  if (over && !/auto|scroll/.test(style.overflowX)) say(`${name}: wider than its box`);
  if (over && !style.backgroundImage.includes("gradient"))
    say(`${name}: nothing shows that there is more`);
  if (over && scroll.tabIndex !== 0) say(`${name}: the keyboard cannot scroll it`);
}

const top_of = (selector) => document.querySelector(selector).getBoundingClientRect().top;
if (!(top_of("#savings") < top_of("#machine") && top_of("#machine") < top_of("#facts")))
  say("facts come before results");
if (top_of("#savings") > 600) say(`the first result begins ${top_of("#savings")} pixels down`);
for (const e of document.querySelectorAll("#machine h3, #facts dd"))
  if (/^(measured|\?|)$/.test(e.firstChild ? e.firstChild.textContent.trim() : ""))
    say(`a machine without a name: '${e.textContent}'`);

// Contrast by the rules for accessible pages (WCAG 2.1): 4.5 for text.
const colour = (text) => text.match(/[\d.]+/g).map(Number);
const light = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const words = [...document.querySelectorAll("h1,h2,h3,p,dt,dd,th,td,li,footer,svg.picture text")];
for (const e of words) {
  if (!e.textContent.trim()) continue;
  const style = getComputedStyle(e), svg = e.closest("svg");
  const ink = light(colour(svg ? style.fill : style.color)), ground = light(behind(e));
  const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  if (ratio < 4.5) say(`'${e.textContent}': contrast ${ratio.toFixed(2)}`);
  const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  const size = parseFloat(style.fontSize) * scale;
  if (size < 9) say(`'${e.textContent}': letters of ${size.toFixed(1)} pixels`);
}
if (words.length < 50) say(`only ${words.length} texts`);
return {wrong, ground: behind(document.body)};
"""


def open_browser():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        print("there is no chromium with chromedriver")
        sys.exit(77)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # A container has no namespaces to spare, a small /dev/shm, and no graphics.
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


def colours(png):
    """How many different bytes the lines of an image have: of one colour it would be very few."""
    data, at = b"", 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(data)))


def look(browser, path, width, scheme):
    """What is wrong with the page at this width and in these colours."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500})
    browser.get("file://" + path)
    wrong = [str(entry) for entry in browser.get_log("browser")]
    answer = browser.execute_script(QUESTIONS)
    wrong += answer["wrong"]
    if (sum(answer["ground"][:3]) < 384) != (scheme == "dark"):
        wrong.append(f"the background is {answer['ground']}")
    requests = browser.execute_script("return performance.getEntriesByType('resource')"
                                      ".filter((e) => !e.name.startsWith('data:')).length")
    if requests:
        wrong.append(f"{requests} things were asked of elsewhere")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {
        "captureBeyondViewport": True,
        "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
    png = base64.b64decode(shot["data"])
    if colours(png) < 32:
        wrong.append("the picture of the page is of one colour")
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        name = f"{os.path.basename(path)[:-5]}-{width}-{scheme}.png"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(png)
    return wrong


def make_more(work, saved):
    """Two results that were not saved: a machine without a name of its own and a choice that is the
    standard route, on one node."""
    made = []
    for path, name in zip(saved, ("a-result-with-quite-a-long-name-from-a-laptop", "laptop")):
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        result["machine"] = result["profile"]["name"] = "measured"
        result["profile"]["about"] += f" ({name})"
        for part in [result, result.get("reduce")]:
            if part:
                part["auto"]["route"] = "standard"
        made.append(os.path.join(work, name + ".json"))
        with open(made[-1], "w", encoding="utf-8") as file:
            json.dump(result, file)
    return made


def main():
    grove, failed, looks = sys.argv[1], 0, 0
    saved = [os.path.join(SAVED, name) for name in sorted(os.listdir(SAVED))]
    assert len(saved) > 1, "the saved results are missing"
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as work:
            more = make_more(work, saved)
            for name, files in (("one", saved[:1]), ("several", saved), ("four", saved + more)):
                path = os.path.join(work, name + ".html")
                subprocess.run([grove, "report", *files, "-o", path], check=True,
                               stdout=subprocess.DEVNULL)
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        looks += 1
                        for sentence in look(browser, path, width, scheme):
                            print(f"{name}, {width} pixels, {scheme}: {sentence}")
                            failed = 1
    finally:
        browser.quit()
    print(f"{looks} views of pages, {'something is wrong' if failed else 'all in order'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
