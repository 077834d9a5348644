"""site.py SOURCE PLACE: the Markdown of the repository SOURCE as a site in PLACE, by pandoc. Needs no network, nor does
the site.

Pages lie as in the repository, README.md as index.html, with the schemas as tables beside docs/. Links to pages
become links to their HTML; whatever else of the repository is linked is copied, a folder with a list of its files.
A link to nothing, or to a heading that is not there, is an error: each is printed, and the site is not made.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

here = Path(__file__).resolve().parent
schemas = {
    "docs/schema.md": ("scenarios/schema.json", "The keys of a scenario"),
    "docs/sweep_schema.md": ("scenarios/sweep.schema.json", "The keys of a sweep"),
    "docs/study_schema.md": ("scenarios/study.schema.json", "The keys of a study"),
}
groups = [  # pages that are in no group come behind these, by name
    ("Start", ["README.md", "docs/tutorial.md", "docs/calibrate.md", "docs/scenarios.md", "docs/results.md", "docs/explain.md", "docs/explore.md", "docs/python.md", "docs/installing.md"]),
    ("Questions", ["docs/architects.md", "docs/wide_ep.md", "docs/kv_reuse.md", "docs/sweeps/*", "docs/sweeps_on_a_cluster.md", "docs/studies.md"]),
    ("The papers' systems", ["docs/systems/*"]),
    ("Reference", ["docs/schema.md", "docs/sweep_schema.md", "docs/study_schema.md", "docs/models.md", "docs/memory_models.md", "docs/activity.md"]),
    ("How far to trust it", ["docs/accuracy.md", "docs/performance.md", "docs/calibration/*"]),
    ("Inside", ["docs/architecture.md", "docs/decisions.md", "CHANGELOG.md"]),
]


def html_name(page):
    return "index.html" if page == "README.md" else page[:-3] + ".html"


def title_of(text, page):
    found = re.search(r"^# (.+)$", text, re.M)
    return re.sub(r"[`*]|\[(.*?)\]\(.*?\)", lambda m: m[1] or "", found[1]) if found else page


def navigation(titles, current):
    root = "../" * current.count("/")
    lines, left = [], set(titles)
    for name, patterns in [*groups, ("More", ["*", "*/*", "*/*/*"])]:
        members = []
        for pattern in patterns:
            members += sorted(p for p in left if Path(p).match(pattern) and p.count("/") == pattern.count("/"))
            left -= set(members)
        if members:
            lines += [f"<p>{html.escape(name)}</p>", "<ul>"]
        for page in members:
            here_now = ' aria-current="page"' if page == current else ""
            lines.append(f'<li><a href="{root}{quote(html_name(page))}"{here_now}>{html.escape(titles[page])}</a></li>')
        if members:
            lines.append("</ul>")
    return "\n".join(lines)


def to_html(text, title, current, menu):
    return subprocess.run(
        ["pandoc", "--from=gfm", "--to=html5", "--standalone", f"--template={here / 'template.html'}", "--wrap=none",
         "--no-highlight", f"--variable=root:{'../' * current.count('/')}", f"--variable=navigation:{menu}",
         f"--metadata=pagetitle:{title} - Weir" if title != "Weir" else "--metadata=pagetitle:Weir"],
        input=text, capture_output=True, text=True, check=True).stdout


def listing(folder, name):
    rows = "\n".join(
        f'<li><a href="{quote(one.name)}{"/index.html" if one.is_dir() else ""}">{html.escape(one.name)}</a></li>'
        for one in sorted(folder.iterdir()) if one.name != "index.html")
    return f"<!doctype html><meta charset=utf-8><title>{html.escape(name)}</title><h1>{html.escape(name)}</h1><ul>{rows}</ul>\n"


class Site:
    def __init__(self, source, place):
        self.source, self.place = source, place
        self.pages = {}  # path in the repository -> text
        self.problems = []

    def read(self):
        for file in [self.source / "README.md", self.source / "CHANGELOG.md", *sorted(self.source.glob("docs/**/*.md"))]:
            self.pages[str(file.relative_to(self.source))] = file.read_text(encoding="utf-8")
        for page, (schema, title) in schemas.items():
            self.pages[page] = subprocess.run(
                [sys.executable, here / "schema_tables.py", self.source / schema, title],
                capture_output=True, text=True, check=True).stdout

    def copied(self, path):
        """A file or folder of the repository, into the site."""
        origin, target = self.source / path, self.place / path
        if origin.is_dir():
            shutil.copytree(origin, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.md", "__pycache__"))
            for folder in [target, *(p for p in target.rglob("*") if p.is_dir())]:
                (folder / "index.html").write_text(listing(folder, str(folder.relative_to(self.place))), encoding="utf-8")
        elif not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, target)

    def target_of(self, page, link):
        """What the site calls a link of a page; problems are kept."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            if not parts.scheme and parts.fragment:
                self.anchors.append((page, page, parts.fragment))
            return link
        path = os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path)))
        anchor = "#" + parts.fragment if parts.fragment else ""
        if path in self.pages:
            if parts.fragment:
                self.anchors.append((page, path, parts.fragment))
            return quote(os.path.relpath(html_name(path), os.path.dirname(page) or ".")) + anchor
        if path.startswith("..") or not (self.source / path).exists():
            self.problems.append(f"{page}: {link}: there is no {path}")
            return link
        self.copied(path)
        return link + ("/index.html" if (self.source / path).is_dir() else "")

    def write(self):
        titles = {page: title_of(text, page) for page, text in self.pages.items()}
        self.anchors, made = [], {}
        for page, text in self.pages.items():
            whole = to_html(text, titles[page], page, "@@navigation@@")
            made[page] = re.sub(
                r'(<(?:a|img)\b[^>]*?\b(?:href|src)=")([^"]*)"',
                lambda m: m[1] + html.escape(self.target_of(page, html.unescape(m[2]))) + '"', whole)
        ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in made.items()}
        for page, other, anchor in self.anchors:
            if anchor not in ids[other]:
                self.problems.append(f"{page}: {other}#{anchor}: there is no such heading")
        for page, text in made.items():
            file = self.place / html_name(page)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("@@navigation@@", navigation(titles, page)), encoding="utf-8")
        shutil.copy(here / "style.css", self.place)


def main():
    source, place = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    site = Site(source, place)
    site.read()
    site.write()
    if site.problems:
        shutil.rmtree(place)
        sys.exit("\n".join(site.problems))
    print(f"{len(site.pages)} pages: {place / 'index.html'}")


if __name__ == "__main__":
    main()
