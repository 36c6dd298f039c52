"""The blocks that Slack's newer messages are made of, as the marked-up text that older ones have.

Only their words are taken, with links and mentions in Slack's own notation; nothing of their looks.
"""

from collections.abc import Iterator

from orbit_pipelines.history.formats.content import as_list, as_object, as_word

_DEEPEST = 20
"""How deep elements may be nested; Slack nests them three deep."""

_WHOLE_LINES = frozenset({"rich_text_list", "rich_text_preformatted", "rich_text_quote", "rich_text_section"})


def blocks_text(blocks: object) -> str:
    """Return the text of a message's blocks, each on lines of its own."""
    said = (_block_text(as_object(block)) for block in as_list(blocks))
    return "\n".join(text for text in said if text)


def _block_text(block: dict[str, object]) -> str:
    if block.get("type") == "rich_text":
        return _elements_text(block, 0)
    texts = [_plain(block.get("text")), *map(_plain, as_list(block.get("fields")))]
    # A context block has its texts as elements; buttons and menus have labels there, which nobody said.
    if block.get("type") == "context":
        texts += map(_plain, as_list(block.get("elements")))
    return "\n".join(text for text in texts if text)


def _plain(text: object) -> str:
    """Return a text object's text; newer blocks have the bare text."""
    if isinstance(text, str):
        return text
    held = as_object(text)
    said = as_word(held.get("text")) or ""
    return _escaped(said) if held.get("type") == "plain_text" else said


def _elements_text(holder: dict[str, object], depth: int) -> str:
    return "".join(_pieces(holder, depth)).strip("\n")


def _pieces(holder: dict[str, object], depth: int) -> Iterator[str]:
    for element in map(as_object, as_list(holder.get("elements"))):
        if as_word(element.get("type")) in _WHOLE_LINES:
            inner = _elements_text(element, depth + 1) if depth < _DEEPEST else ""
            yield f"{inner}\n" if inner else ""
        else:
            yield _inline(element)


def _inline(element: dict[str, object]) -> str:
    text = _escaped(as_word(element.get("text")) or "")
    match element.get("type"):
        case "user":
            return f"<@{as_word(element.get('user_id')) or ''}>"
        case "channel":
            return f"<#{as_word(element.get('channel_id')) or ''}>"
        case "usergroup":
            return f"<!subteam^{as_word(element.get('usergroup_id')) or ''}>"
        case "broadcast":
            return f"<!{as_word(element.get('range')) or ''}>"
        case "emoji":
            return f":{as_word(element.get('name')) or ''}:"
        case "date":
            return _escaped(as_word(element.get("fallback")) or "")
        case "link":
            url = _escaped(as_word(element.get("url")) or "")
            return f"<{url}|{text}>" if text else f"<{url}>"
        case _:
            return text


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
