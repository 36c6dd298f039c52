from pathlib import Path
from typing import Any

import psycopg

from orbit_pipelines.lineage.mirror import mirror_lineage
from orbit_pipelines.lineage.pages import queries, refresh, run_query

PAGE = (Path(__file__).parents[2] / "docs" / "lineage.md").read_text()


def test_each_question_of_the_lineage_page_has_an_answer(lineage_folder: Path) -> None:
    assert [sql for sql in queries(PAGE) if run_query(lineage_folder, sql).is_empty()] == []


def test_the_lineage_page_asks_ten_questions_and_shows_an_answer_to_each() -> None:
    assert PAGE.count("\n### ") == 10
    assert len(queries(PAGE)) >= 10
    assert PAGE.count("```\n\n| ") == len(queries(PAGE))


def test_each_question_runs_on_an_empty_installation(connection: psycopg.Connection[Any], tmp_path: Path) -> None:
    mirror_lineage(connection, tmp_path)

    for sql in queries(PAGE):
        assert run_query(tmp_path, sql).is_empty()


def test_a_page_is_refreshed_with_what_its_queries_answer(lineage_folder: Path) -> None:
    page = "# How many?\n\n```sql\nselect count(*) as builds from builds\n```\n\nThat many.\n"

    refreshed = refresh(page, lineage_folder)

    assert "\n| builds |\n|--------|\n| 7      |\n\nThat many.\n" in refreshed
    assert refresh(refreshed, lineage_folder) == refreshed
    assert refresh(refreshed.replace("| 7 ", "| 9 "), lineage_folder) == refreshed
