import re
from pathlib import Path

from orbit_pipelines.model import Reason

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"


def test_the_glossary_explains_every_reason_and_no_other() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(Reason)


def test_the_glossary_lists_its_words_in_order() -> None:
    words = re.findall(r"^\| (\w[\w ,]*) \|", GLOSSARY.read_text("utf-8").split("## Reasons")[0], re.MULTILINE)
    assert words[1:] == sorted(words[1:])
