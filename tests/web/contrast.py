"""How well the text of a page can be read, from the colours that a browser gives it."""

from playwright.sync_api import Page

LEAST = 4.5
"""Of WCAG's level AA, for text of any size."""

_FAINT = """least => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    colours.forEach((colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); });
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = (element) => {
    const found = [];
    for (let each = element; each; each = each.parentElement) found.unshift(getComputedStyle(each).backgroundColor);
    return ["white", getComputedStyle(document.body).backgroundColor, ...found];
  };
  const faint = [];
  let seen = 0;
  const look = (element, ink, text) => {
    const below = grounds(element);
    const [one, other] = [light(over(below)), light(over([...below, ink]))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    seen += 1;
    if (ratio < least) faint.push(`${ratio.toFixed(2)} ${element.tagName} ${element.className}: ${text}`);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const text = walk.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
    look(element, getComputedStyle(element).color, text);
  }
  document.querySelectorAll("input:not([type=hidden]), textarea").forEach((field) => {
    if (!field.checkVisibility()) return;
    look(field, getComputedStyle(field).color, "what is typed");
    if (field.placeholder) look(field, getComputedStyle(field, "::placeholder").color, "a placeholder");
  });
  document.querySelectorAll("[data-heading]").forEach((cell) => {
    const heading = getComputedStyle(cell, "::before");
    if (heading.content !== "none") look(cell, heading.color, "a heading");
  });
  return [seen, faint];
}"""


def faint_texts(page: Page) -> list[str]:
    """Return what is too faint to be read, each with its contrast; a page without any text would prove nothing."""
    seen, faint = page.evaluate(_FAINT, LEAST)
    assert seen > 0
    return list(faint)
