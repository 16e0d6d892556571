"""All kinds of data by name."""

from __future__ import annotations

from topologies.data.dataset import Dataset
from topologies.data.logs import Logs
from topologies.data.opengov import Contracts, Ticker
from topologies.data.sentences import Sentences
from topologies.data.smartplugs import SmartPlugs
from topologies.data.soccer import Soccer
from topologies.data.srbench import SRBench
from topologies.data.taxi import Taxi

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        SRBench(),
        Ticker(),
        Contracts(),
        Soccer(),
        SmartPlugs(),
        Taxi(),
        Logs(),
        Sentences(),
    )
}
