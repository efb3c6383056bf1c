"""Figures that scenarios measure, kept with the logs of the run: `run --keep`."""

from lab.world import OUT


def note(figure: str) -> None:
    with (OUT / "figures").open("a") as file:
        print(figure, file=file)
