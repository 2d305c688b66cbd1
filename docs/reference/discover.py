"""A hook of mkdocs that makes one reference page per package, from its public names, and the table of file formats.

A method that is added to a package's `__init__` is in the reference at the next build, and nothing here changes.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def pages() -> dict[str, str]:
    """Path of every page below docs/ and its text."""
    import timelike

    made: dict[str, str] = {}
    packages = [name for name in timelike.__all__ if inspect.ismodule(getattr(timelike, name))]
    for name in sorted(packages):
        _document(getattr(timelike, name), made)
    return made


def _document(module: ModuleType, made: dict[str, str]) -> None:
    """The page of one module, and pages for the packages among its public names."""
    name = module.__name__
    blocks = [f"# {name}", _words(module)]
    inner = [getattr(module, entry) for entry in module.__all__]
    packages = [entry for entry in inner if inspect.ismodule(entry) and hasattr(entry, "__path__")]
    if packages:
        links = [f"[{p.__name__}]({_file(p)})" for p in packages]
        blocks.append("Pages of their own: " + ", ".join(links) + ".")
    for entry in module.__all__:
        if getattr(module, entry) not in packages:
            blocks.append(f"::: {name}.{entry}" + _whole(getattr(module, entry)))
    made[f"reference/{_file(module)}"] = "\n\n".join(blocks) + "\n"
    for package in packages:
        _document(import_module(package.__name__), made)


def _whole(entry: Any) -> str:
    """The base of all models is shown with the members that its subclasses do not repeat (`filters` in mkdocs.yml)."""
    from timelike.models import Model

    return '\n    options:\n      filters: ["!^_"]' if entry is Model else ""


def _words(module: ModuleType) -> str:
    return inspect.cleandoc(module.__doc__ or "")


def _file(module: ModuleType) -> str:
    return module.__name__.removeprefix("timelike.") + ".md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages into the section Reference."""
    section: Any = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    section.extend({path.removeprefix("reference/").removesuffix(".md"): path} for path in pages())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages themselves."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Insert the table of file formats where a page has the marker `<!-- formats -->`."""
    return markdown.replace("<!-- formats -->", formats()) if "<!-- formats -->" in markdown else markdown


def formats() -> str:
    """Every suffix and what such a file cannot hold, as Markdown."""
    from timelike.sequences.io.formats import FORMATS

    rows = ["| suffix | cannot hold |", "|---|---|"]
    for suffix, known in FORMATS.items():
        lacks = [word.replace("_", " ") for word in known.load_module().UNSUPPORTED[suffix]]
        rows.append(f"| `{suffix}` | {', '.join(lacks) or '–'} |")
    return "\n".join(rows)
