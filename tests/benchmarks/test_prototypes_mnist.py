"""The page on Prototypes under attack says what its rows say, and nothing of rows that are not there."""

from benchmarks.papers.prototypes import mnist


def row(model, training, part="table", **heads):
    scores = {
        head: {column: value for column, value in zip(mnist.COLUMNS, values, strict=True) if value is not None}
        for head, values in heads.items()
    }
    made = {"seconds": 1.0, "machine": "here", "steps": 10, "attacked": 300, "training s": 60.0}
    return {"part": part, "model": model, "training": training, "seed": 0, "heads": scores, **made}


def page(**sim):
    """A page with one row of Prototypes, trained on clean images."""
    scores = {"clean": 0.99, "FGSM": 0.5, "PGD-100": 0.1, "margin × 5": 0.1, "transfer": 0.1}
    values = [(scores | sim)[column] for column in mnist.COLUMNS]
    return mnist.Mnist.of_rows({"a": row("prototypes", "clean", SIM=values, DOL=[0.99, *[0.0] * 7])}).body()


def test_points_that_only_one_attack_leaves_are_called_masked():
    said = page(**{"PGD-40": 0.2, "softmax twice": 0.3, "worst of all": 0.01})
    assert "The 19.0 points between are images that another loss" in said
    assert "With the softmax taken twice, as in the authors' program, one run leaves 30.0." in said


def test_points_that_every_attack_leaves_are_not():
    said = page(**{"PGD-40": 0.3, "softmax twice": 0.3, "worst of all": 0.25})
    assert "Part of the robustness stands up to these attacks" in said
    assert "not robust" not in said


def test_where_one_run_is_enough_nothing_is_masked():
    said = page(**{"PGD-40": 0.02, "softmax twice": 0.3, "worst of all": 0.01})
    assert "even one run finds almost every image" in said


def test_a_line_of_ours_stands_above_the_papers():
    lines = page(**{"PGD-40": 0.02, "softmax twice": 0.3, "worst of all": 0.01}).splitlines()
    ours = next(i for i, line in enumerate(lines) if line.startswith("| Prototypes | clean images | SIM"))
    assert lines[ours].split(" | ")[3:6] == ["99.00", "50.0", "2.0"]
    assert "*23.85*" in lines[ours + 1]
    assert "**With adversarial training**" not in "".join(lines)


def test_a_network_without_a_dense_layer_has_no_transfer():
    found = mnist.Mnist.of_rows(
        {"b": row("without L_aux", "clean", "ablations", SIM=[0.9, *[0.1] * 5, None, 0.1])}
    ).body()
    assert "| without L_aux | SIM | 90.00 | 10.0 | 10.0 | 10.0 | 10.0 | 10.0 | – | 10.0 |" in found
