"""Which files patterns mean."""

from timelike.sequences.io import paths


def test_a_broken_link_that_a_pattern_matches_is_not_left_out(tmp_path):
    (tmp_path / "a.gif").write_bytes(b"")
    (tmp_path / "b.gif").symlink_to(tmp_path / "nothing")
    assert [path.name for path in paths.match_pattern(tmp_path / "*.gif")] == ["a.gif", "b.gif"]
