"""What a picture says and how it is made, for tests."""

from __future__ import annotations

import struct
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

__all__ = ["drawn", "kept_figures", "size_of", "texts_of"]


def texts_of(svg: Path) -> list[str]:
    """Return the texts of a picture: SVG keeps texts as texts."""
    root = ET.parse(svg).getroot()  # noqa: S314 - our own file
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def size_of(png: Path) -> tuple[int, int]:
    """Return width and height of a PNG in pixels."""
    header = png.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", header[16:])


def drawn(files: list[Path], *names: str) -> list[str]:
    """Check that these pictures were written as PNG and SVG, and return the texts of all."""
    assert [path.name for path in files] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert all(min(size_of(path)) > 60 for path in files if path.suffix == ".png")
    texts = [text for path in files if path.suffix == ".svg" for text in texts_of(path)]
    assert not any("\x1b" in text for text in texts)
    return texts


def kept_figures(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[Figure]:
    """Keep the figures that a module draws, to look at what they are made of, rather than write them."""
    kept: list[Figure] = []

    def keep(figure: Figure, _folder: Path, _name: str) -> list[Path]:
        kept.append(figure)
        return []

    monkeypatch.setattr(module, "save_figure", keep)
    return kept
