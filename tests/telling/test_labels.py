"""Labels of a thread and of records, under the application's role."""

from orbit_pipelines.model import Store
from orbit_pipelines.telling.labels import labels_of
from orbit_pipelines.telling.wording import wording_for
from tests.telling.conftest import Acting
from tests.worlds import World

ENGLISH, FRENCH = wording_for("en"), wording_for("fr")


def said(acting: Acting, store: Store, session: str = "s1", locale: str = "en") -> list[str]:
    """Return the labels of a thread in words, in the order of its messages."""
    with acting(store.user_id) as app:
        labels = labels_of(app, store.user_id, store.agent_id, session)
    return [str(label.text(wording_for(locale))) for label in labels.values()]


def test_the_four_wordings_follow_each_other(world: World, acting: Acting) -> None:
    ann = world.account("ann")
    asked, _ = world.say(ann, "s1", "Plums?", "> Ripe.")
    assert said(acting, ann) == ["Remembered, from the next build on"]
    world.build()
    assert said(acting, ann) == ["Remembered"]
    world.remember(ann, "s1", asked, remembered=False)
    assert said(acting, ann) == ["Not remembered, from the next build on"]
    assert said(acting, ann, locale="fr") == ["Non mémorisé, à partir de la prochaine construction"]
    world.build()
    assert said(acting, ann) == ["Not remembered, already out of memory"]
    assert said(acting, ann, locale="fr") == ["Non mémorisé, déjà hors de la mémoire"]
    world.remember(ann, "s1", asked, remembered=True)
    assert said(acting, ann) == ["Remembered, from the next build on"]
    world.build()
    assert said(acting, ann) == ["Remembered"]
