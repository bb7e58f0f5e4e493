"""Check the links of a built site to its own pages: ``python docs/check_links.py FOLDER``."""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The anchors of a page and the addresses that it refers to."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        self.links += [values[name] for name in ("href", "src") if values.get(name)]


def broken_links(folder):
    """Return page and address of each internal link that leads nowhere.

    Parameters
    ----------
    folder : path-like
        The built site.

    Returns
    -------
    broken : list of tuple of str
        Page and address, both as text.
    """
    folder = Path(folder).resolve()
    # The theme keeps a template among its files.
    paths = (path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts)
    pages = {path: _Page(path) for path in paths}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            missing = not target.exists()
            anchors = pages[target].anchors if target in pages else {unquote(address.fragment)}
            if missing or (address.fragment and unquote(address.fragment) not in anchors):
                broken.append((str(path.relative_to(folder)), link))
    return broken


def main():
    """Print the broken links; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the built site")
    folder = parser.parse_args().folder
    broken = broken_links(folder)
    for page, link in broken:
        print(f"{page}: {link}")
    print(f"{len(broken)} broken internal links in {folder}.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
