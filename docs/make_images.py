"""The pictures of the documentation, drawn from real data: run `python docs/make_images.py` after `make demo`."""

from pathlib import Path

IMAGES = Path(__file__).parent / "images"


def alignment() -> Path:
    """A gesture of the test part and its nearest neighbour in the training part, lined up by DTW."""
    import timelike as tl

    train, test = tl.load("PickupGestureWiimoteZ")
    train, test = train.standardize(per="sequence"), test.standardize(per="sequence")
    nearest = int(tl.DTW().neighbors(train, test[[1]]).ids[0, 0])
    figure = tl.DTW().align(test[1], train[nearest]).plot()
    path = IMAGES / "alignment.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


def warp() -> Path:
    """The same two gestures lined up in continuous time."""
    import timelike as tl

    train, test = tl.load("PickupGestureWiimoteZ")
    train, test = train.standardize(per="sequence"), test.standardize(per="sequence")
    nearest = int(tl.DTW().neighbors(train, test[[1]]).ids[0, 0])
    figure = tl.GDTW(regularization=0.1).align(test[1], train[nearest]).plot()
    path = IMAGES / "gdtw.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


if __name__ == "__main__":
    print(alignment(), warp())
