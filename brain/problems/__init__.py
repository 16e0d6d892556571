"""Problem files: a placement problem as one JSON document, and generators for the papers' own."""

from brain.problems.answer import answer_to_dict, placement_to_dict, read_placement, score_to_dict
from brain.problems.reader import load, parse, problem_from_dict
from brain.problems.writer import problem_to_dict

__all__ = [
    "answer_to_dict",
    "load",
    "parse",
    "placement_to_dict",
    "problem_from_dict",
    "problem_to_dict",
    "read_placement",
    "score_to_dict",
]
