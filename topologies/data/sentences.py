"""Sentences, for Word Count and Tag-and-count: words drawn from a heavy-tailed vocabulary."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate

from topologies.common.events import Event
from topologies.data.dataset import Dataset, share, up_to


def _words(text: str) -> list[str]:
    return text.split()


_NOUNS = _words("river storm cloud house tree engine signal market garden winter letter")
_VERBS = _words("runs falls grows turns carries opens follows breaks holds crosses sends")
_ADJECTIVES = _words("quiet bright heavy narrow early distant common sudden green simple")
_LITTLE = _words("the a of and to in with over under near")

VOCABULARY = [w for words in zip(_LITTLE, _NOUNS, _VERBS, _ADJECTIVES, strict=False) for w in words]
_CUMULATED = list(accumulate(1 / (rank + 1) for rank in range(len(VOCABULARY))))
START_MS = 1_420_070_400_000


class Sentences(Dataset):
    """One sentence of 5 to 12 words a line; word frequencies follow Zipf's law."""

    name = "sentences"
    title = "sentences of English words (Cardellini: Word Count, Tag-and-count)"
    suffix = "txt"
    unit = "sentences"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        for i in up_to(share(size, partition, partitions)):
            number = partition + i * partitions
            rng = random.Random(f"sentence:{seed}:{number}")
            yield START_MS + number * 100, [number, _sentence(rng)]

    def format(self, event: Event) -> str:
        number, sentence = event[1]
        return f"{number}\t{sentence}"

    def parse(self, line: str) -> Event | None:
        number, tab, sentence = line.partition("\t")
        if not tab:
            return None if not line.strip() else (0, [0, line])
        return START_MS + int(number) * 100, [int(number), sentence]


def _sentence(rng: random.Random) -> str:
    last = _CUMULATED[-1]
    words = [VOCABULARY[bisect(_CUMULATED, rng.random() * last)] for _ in range(rng.randint(5, 12))]
    return " ".join(words)
