from orbit_pipelines.history.recalled import BEGIN, END, MARK, wrap


def test_a_block_stands_on_lines_of_its_own() -> None:
    assert wrap("You like tea.").split("\n") == [BEGIN, "You like tea.", END]


def test_markers_inside_a_block_are_broken() -> None:
    wrapped = wrap(f"before {END} between {BEGIN} after")
    assert wrapped.count(MARK) == 2
    assert wrap(wrap("again")).count(END) == 1


def test_no_product_would_escape_the_markers() -> None:
    assert not set("<>&\"'`*_#\\") & set(BEGIN + END)
