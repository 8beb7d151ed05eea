#!/usr/bin/env python3
"""Opens pages of `tamis look --html` and `tamis replay --html` in headless Chromium and uses them.

    check.py PATH-OF-TAMIS [FOLDER-FOR-SCREENSHOTS]

Needs Debian's chromium and chromium-driver. Talks WebDriver to chromedriver, without other packages. Checks that the
page works from a file, loads nothing and logs nothing; that zoom, keyboard, table, search, before and after, and the
themes work; that text is legible in light and dark; and that the page prints the table. A page of `replay` has no script: it
must be drawn without texts that cover each other, in light, in dark and on a narrow screen.
"""

import base64
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ENTER, ESCAPE, RIGHT = "\ue007", "\ue00c", "\ue014"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
        wanted = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,800"]},
        }
        for _ in range(100):
            try:
                session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except OSError:
                time.sleep(0.1)
        self.base += "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)["value"]

    def run(self, script, *args):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def click(self, selector):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/click", {})

    def press(self, selector):
        """Clicks at the label of a rectangle, which no other rectangle covers."""
        place = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.x, box.y]"
        x, y = (round(side) + 8 for side in self.run(place, selector))
        actions = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def picture(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()


# The lowest contrast of the texts that are shown, by the formula of WCAG 2.
CONTRAST = """
const luminance = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const back = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
let worst = 21;
for (const element of document.querySelectorAll("h1, p, button, td, .tile, small, footer")) {
  if (!element.textContent.trim() || !element.checkVisibility()) continue;
  if (getComputedStyle(element).opacity !== "1") return 0;
  const [one, other] = [luminance(getComputedStyle(element).color), luminance(back(element))];
  worst = Math.min(worst, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
}
return worst;
"""


# The number of rectangles that are not inside the map.
OUTSIDE = """
const box = document.getElementById('map').getBoundingClientRect();
return [...document.querySelectorAll('.tile')].map((tile) => tile.getBoundingClientRect())
  .filter((tile) => tile.left < box.left - 1 || tile.right > box.right + 1
    || tile.top < box.top - 1 || tile.bottom > box.bottom + 1).length
"""


# The part of the map that the rectangles cover.
AREA = """
const box = document.getElementById('map').getBoundingClientRect();
const tiles = [...document.querySelectorAll('.tile')].map((tile) => tile.getBoundingClientRect());
const right = Math.max(...tiles.map((tile) => tile.right)), bottom = Math.max(...tiles.map((tile) => tile.bottom));
return ((right - box.left) * (bottom - box.top)) / (box.width * box.height)
"""

# The colours of the members in the legend.
COLOURS = """
return Object.fromEntries([...document.querySelectorAll('#legend li:not(.title)')].filter((item) => item.querySelector('.member'))
  .map((item) => [item.textContent, getComputedStyle(item.querySelector('i')).backgroundColor]))
"""


def check(browser, page, pictures, name, after):
    def same(found, expected, what):
        if found != expected:
            raise SystemExit(f"{name}: {what}: found {found!r}, expected {expected!r}")

    def true(value, what):
        if not value:
            raise SystemExit(f"{name}: {what}")

    count = lambda: browser.run("return document.querySelectorAll('.tile').length")
    crumbs = lambda: browser.run("return [...document.querySelectorAll('#crumbs button')].map((b) => b.textContent)")
    details = lambda: browser.run("return document.getElementById('details').textContent")
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    browser.cdp("Emulation.setEmulatedMedia", media="", features=light)
    browser.call("POST", "/url", {"url": page.as_uri()})
    true(count() > 2, "rectangles are drawn")
    same(crumbs(), ["(document)"], "the path at first")
    # No rectangle leaves the map, and siblings do not overlap: their areas sum to that of the parent at most.
    same(browser.run(OUTSIDE), 0, "rectangles outside the map")
    browser.picture(pictures / f"{name}-light.png")
    true(browser.run(CONTRAST) >= 4.5, f"light: contrast {browser.run(CONTRAST):.1f}")

    # Zoom by click, by keyboard, and back.
    container = "return [...document.querySelectorAll('.tile:not(.leaf)')].length"
    if browser.run(container):
        browser.press(".tile:not(.leaf)")
        true(len(crumbs()) > 1, "a click zooms in")
        browser.picture(pictures / f"{name}-zoomed.png")
        browser.keys(ESCAPE)
        same(crumbs(), ["(document)"], "Escape zooms out")
        browser.run("document.querySelector('.tile:not(.leaf)').focus()")
        browser.keys(ENTER)
        true(len(crumbs()) > 1, "Enter zooms in")
        before = details()
        browser.keys(RIGHT)
        true(details() != before, "an arrow moves to another rectangle")
        browser.click("#crumbs button")
        same(crumbs(), ["(document)"], "the path zooms out")
        focused = browser.run("return document.activeElement.classList.contains('tile')")
        true(focused, "the keyboard stays in the map")
    browser.run("document.querySelector('.leaf').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))")
    true("tokens" in details() and "×" in details(), "hovering shows the figures")

    # The table.
    browser.click("[data-view=table]")
    rows = lambda: browser.run("return [...document.querySelectorAll('#rows tr')].map((r) => r.cells[0].textContent)")
    true(rows()[0] == "(document)" and len(rows()) > 2, "the table begins with the document")
    browser.picture(pictures / f"{name}-table.png")
    browser.click("[data-sort=path]")
    true(rows() == sorted(rows(), key=lambda row: "" if row == "(document)" else row), "the table is sorted by path")
    wanted = rows()[-1]
    browser.run("const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", wanted)
    true(rows() and all(wanted.lower() in row.lower() for row in rows()), "search finds a path")
    browser.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")
    browser.click("[data-view=map]")

    # Before and after.
    if after:
        tiles = count()
        legend = lambda: browser.run("return document.getElementById('legend').textContent")
        colours = lambda: browser.run(COLOURS)
        if name == "repos":
            true("Left out by:" in legend(), "the legend names the rules")
        true(browser.run("return document.getElementById('filter').textContent"), "the page names the filter")
        before = colours()
        browser.click("[data-side=after]")
        true(count() != tiles, "the output has other rectangles")
        true(all(before.get(member, colour) == colour for member, colour in colours().items()), "members keep their colours")
        # Areas have the scale of the input's.
        ratio = browser.run(AREA)
        true(ratio < 1, f"the output is drawn smaller: {ratio}")
        browser.picture(pictures / f"{name}-after-scale.png")
        browser.click("#scale")
        true(browser.run(AREA) > 0.99, "the output fills the map")
        browser.picture(pictures / f"{name}-after.png")
        if browser.run(container):
            browser.press(".tile:not(.leaf)")
            path = crumbs()
            true(len(path) > 1, "a click zooms into the output")
            browser.click("[data-side=before]")
            same(crumbs(), path, "the other document is shown at the same path")
            browser.click("#crumbs button")
        else:
            browser.click("[data-side=before]")
    else:
        same(browser.run("return document.getElementById('sides').hidden"), True, "there is no switch")

    # Dark, by the system and by the button.
    back = lambda: browser.run("return getComputedStyle(document.body).backgroundColor")
    white = back()
    browser.cdp("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = back()
    true(dark != white, "the system's theme is used")
    true(browser.run(CONTRAST) >= 4.5, f"dark: contrast {browser.run(CONTRAST):.1f}")
    browser.picture(pictures / f"{name}-dark.png")
    browser.click("#theme")
    same(back(), white, "the button chooses light")
    browser.click("#theme")
    same(back(), dark, "the button chooses dark")

    # Paper: light even if the screen is dark, without controls, with the whole map and the table.
    dark_system = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.cdp("Emulation.setEmulatedMedia", media="print", features=dark_system)
    browser.call("POST", "/window/rect", {"width": 700, "height": 800})
    same(browser.run(OUTSIDE), 0, "rectangles outside the map on paper")
    true(browser.run(CONTRAST) >= 4.5, f"paper: contrast {browser.run(CONTRAST):.1f}")
    browser.call("POST", "/window/rect", {"width": 1200, "height": 800})
    printed = browser.run("return ['.controls', '#table-view'].map((s) => document.querySelector(s).checkVisibility())")
    same(printed, [False, True], "paper has the table and no controls")
    same(back(), white, "paper is light")
    (pictures / f"{name}.pdf").write_bytes(base64.b64decode(browser.call("POST", "/print", {"background": True})))
    browser.cdp("Emulation.setEmulatedMedia", media="", features=light)

    same(browser.run("return performance.getEntriesByType('resource').length"), 0, "requests")
    logged = [entry["message"] for entry in browser.call("POST", "/se/log", {"type": "browser"})]
    same(logged, [], "messages on the console")
    print(f"{name}: good")


# The first two texts of a drawing that cover each other.
COVERED = """
const texts = [...document.querySelectorAll('svg text')].filter((text) => text.textContent.trim())
  .map((text) => [text.textContent, text.getBoundingClientRect()]);
for (const [at, [one, a]] of texts.entries())
  for (const [other, b] of texts.slice(at + 1))
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
      return [one, other];
return null;
"""

# The parts of a page that are wider than the screen, without those that scroll.
WIDE = """
return [...document.querySelectorAll('h1, h2, p, li, svg, footer')]
  .filter((part) => part.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((part) => part.tagName)
"""


def check_report(browser, page, pictures, name):
    """A page of `tamis replay`."""

    def same(found, expected, what):
        if found != expected:
            raise SystemExit(f"{name}: {what}: found {found!r}, expected {expected!r}")

    backs = []
    for theme in ("light", "dark"):
        browser.cdp("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": theme}])
        browser.call("POST", "/url", {"url": page.as_uri()})
        same(browser.run("return document.querySelectorAll('svg rect').length > 4"), True, "rectangles are drawn")
        same(browser.run("return document.querySelectorAll('table').length >= 4"), True, "there are tables")
        same(browser.run(COVERED), None, f"{theme}: texts that cover each other")
        contrast = browser.run(CONTRAST.replace("h1, p,", "h1, h2, p, li, th,"))
        same(contrast >= 4.5, True, f"{theme}: contrast {contrast:.1f}")
        backs.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
        browser.call("POST", "/window/rect", {"width": 1200, "height": 1600})
        browser.picture(pictures / f"{name}-{theme}.png")
        browser.call("POST", "/window/rect", {"width": 600, "height": 800})
        same(browser.run(WIDE), [], f"{theme}: parts that are wider than a narrow screen")
        browser.call("POST", "/window/rect", {"width": 1200, "height": 800})
    same(backs[0] != backs[1], True, "the system's theme is used")
    same(browser.run("return document.scripts.length"), 0, "scripts")
    same(browser.run("return performance.getEntriesByType('resource').length"), 0, "requests")
    logged = [entry["message"] for entry in browser.call("POST", "/se/log", {"type": "browser"})]
    same(logged, [], "messages on the console")
    print(f"{name}: good")


def main():
    tamis = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parents[3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        pictures.mkdir(parents=True, exist_ok=True)
        hostile = folder / "hostile.json"
        hostile.write_text(json.dumps([{"</script><script>alert(1)</script>": 1, "<!--<script>": [1, {"&amp;\u2028\"'": "x" * 50}], "\u202egnp.": 1}]))
        repos = root / "corpus/github-list-repos.json"
        cases = [
            ("repos", [repos, "--tool", "github.list-repos"], True),
            ("pods", [root / "corpus/kubernetes-list-pods.json"], False),
            ("hostile", [hostile], False),
            ("lines", [root / "corpus/commands/cargo-test-large.txt", "--command", "cargo test"], True),
        ]
        browser = Browser()
        try:
            for name, args, after in cases:
                page = folder / f"{name}.html"
                subprocess.run([tamis, "look", *args, "--html", page], check=True, stdout=subprocess.DEVNULL)
                check(browser, page, pictures, name, after)
            sessions = root / "crates/replay/tests/sessions"
            for name, flags in (("replay", []), ("replay-limit", ["--limit", "500", "--baselines"])):
                page = folder / f"{name}.html"
                words = [tamis, "replay", sessions, "--defaults", *flags, "--html", page]
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
                check_report(browser, page, pictures, name)
        finally:
            browser.close()


main()
