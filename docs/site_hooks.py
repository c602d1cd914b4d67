"""What `mkdocs` does otherwise than the forge: pages beside docs/, and links to files.

README.md, ARCHITECTURE.md and CHANGELOG.md are pages of the site, too. A link leads to
the same page on the forge and on the site; one to a file that is no page of the site
becomes its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
# Files beside docs/, and what they are on the site. A README.md would be its index.
PAGES = {
    "README.md": "project.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "weaknesses.md",
}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages beside docs/ come with the others."""
    from mkdocs.structure.files import File

    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links as they are right on the site."""
    return relinked(markdown, page.file.src_uri)


def relinked(markdown: str, page: str) -> str:
    """The text of a page of the site, with links to pages of the site alone."""
    on_forge = {of_site: name for name, of_site in PAGES.items()}
    folder = posixpath.dirname(on_forge.get(page, DOCS + page))

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        of_site = PAGES.get(path, path.removeprefix(DOCS))
        if path not in PAGES and not path.startswith(DOCS):
            return text
        relative = posixpath.relpath(of_site, posixpath.dirname(page) or ".")
        return f"[{text}]({relative}{anchor})"

    code = FENCE.findall(markdown)
    parts = FENCE.split(markdown)
    changed = [LINK.sub(link, part) for part in parts]
    return "".join(
        part + block for part, block in zip(changed, [*code, ""], strict=True)
    )
