"""Stylesheets, scripts and icons, all from this installation: Bootstrap's out of the packages that bring it.

An address holds a digest of everything there is, so that browsers may keep a file for ever and still get a newer one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from xml.etree import ElementTree

import bootstrap_icons
import bootstrap_wrapper
from fastapi import APIRouter, HTTPException, Response

router = APIRouter()

ICONS = (
    *("bookmark-plus", "bookmark-check", "chat-dots", "chat-left-text", "box-arrow-right", "box-arrow-up-right"),
    *("eye", "eye-slash", "gear", "person", "send", "x-lg", "plus-lg", "clock-history", "sliders", "memory"),
    *("exclamation-triangle", "info-circle", "check-lg", "translate", "stars"),
)
"""Those the pages use, out of some two thousand."""

KEPT_FOR_EVER = "public, max-age=31536000, immutable"

_SVG = "http://www.w3.org/2000/svg"
_DARK = "[data-bs-theme=dark]"
_DARK_RULE = re.compile(r"[^{}]*\[data-bs-theme=dark\][^{}]*\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is served."""

    media_type: str
    content: bytes


@cache
def static_files() -> Mapping[str, StaticFile]:
    """Return name → file."""
    own = files("orbit_pipelines.web").joinpath("static")
    bootstrap = (bootstrap_wrapper.get_bootstrap_css_dir() / "bootstrap.min.css").read_text("utf-8")
    return {
        "bootstrap.css": StaticFile("text/css", re.sub(r"/\*# sourceMappingURL.*?\*/", "", bootstrap).encode()),
        "dark.css": StaticFile("text/css", dark_by_preference(bootstrap).encode()),
        "orbit.css": StaticFile("text/css", own.joinpath("orbit.css").read_bytes()),
        "orbit.js": StaticFile("text/javascript", own.joinpath("orbit.js").read_bytes()),
        "icons.svg": StaticFile("image/svg+xml", chosen_icons(bootstrap_icons.SVG_PATH.read_bytes())),
    }


@cache
def static_version() -> str:
    """Return the digest that stands in every address."""
    return sha256(b"".join(file.content for file in static_files().values())).hexdigest()[:12]


def static_url(name: str) -> str:
    """Return the address of a file.

    Raises:
        KeyError: there is none of that name.
    """
    return f"/static/{static_version()}/{name}" if static_files()[name] else ""


def dark_by_preference(stylesheet: str) -> str:
    """Return the dark rules of Bootstrap for whoever's system is dark; its own want an attribute, set by a script."""
    rules = _DARK_RULE.findall(re.sub(r"/\*.*?\*/", "", stylesheet, flags=re.DOTALL))
    return f"@media (prefers-color-scheme:dark){{{''.join(rule.replace(_DARK, ':root') for rule in rules)}}}"


def chosen_icons(sprite: bytes) -> bytes:
    """Return an SVG of the icons that the pages use, from the whole set.

    Raises:
        KeyError: the set lacks one.
    """
    ElementTree.register_namespace("", _SVG)
    # The installed package's own file, which nobody else writes.
    known = {symbol.get("id"): symbol for symbol in ElementTree.fromstring(sprite)}  # noqa: S314
    chosen = ElementTree.Element(f"{{{_SVG}}}svg")
    chosen.extend(known[name] for name in ICONS)
    return ElementTree.tostring(chosen)


@router.get("/static/{version}/{name}", include_in_schema=False)
def serve_static(version: str, name: str) -> Response:
    """Serve a file; an address of an earlier version gets today's, not to be kept."""
    file = static_files().get(name)
    if file is None:
        raise HTTPException(404)
    kept = KEPT_FOR_EVER if version == static_version() else "no-cache"
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": kept})
