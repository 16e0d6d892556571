"""The expected values were printed by jshell of JDK 17 (String.hashCode, Arrays.deepHashCode)."""

from __future__ import annotations

import pytest

from topologies.common.java_hash import deep_hash, fields_grouping_index, java_hash


@pytest.mark.parametrize(
    ("text", "code", "of_three", "pair_of_seven"),
    [
        ("", 0, 1, 2),
        ("a", 97, 2, 5),
        ("hello", 99162322, 2, 5),
        ("polygenelubricants", -2147483648, 2, 2),
        ("9e107d9d372bb6826bd81d3542a419d6", 611471621, 0, 2),
        ("d41d8cd98f00b204e9800998ecf8427e", -1070354251, 0, 2),
        ("naïve ☃ 😀", 1112818261, 2, 6),
    ],
)
def test_strings_hash_as_in_java(text: str, code: int, of_three: int, pair_of_seven: int) -> None:
    assert java_hash(text) == code
    assert fields_grouping_index([text], 3) == of_three
    assert fields_grouping_index([text, text], 7) == pair_of_seven


def test_other_values_hash_as_in_java() -> None:
    assert java_hash(-1) == 0
    assert java_hash(1.5) == 1073217536
    assert java_hash(-0.0) == -2147483648
    assert deep_hash([42, "a", True, None, 1.5, -1, 5_000_000_000]) == 1257107736
