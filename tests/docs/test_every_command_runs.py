"""Every command of the documentation is run here, or somebody is named who runs it or its like.

Blocks marked ``sh test`` are run by test_commands.py. Commands that ask a brain are run here as
they stand, against a real brain, with the names of the pages exchanged for those of the test. For
the rest there is a table of who runs it, or what is closest to it; that this is there is looked up
as text, not run. A command without an entry fails.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.shell_blocks import PAGES, ROOT, blocks, commands
from tests.harness.command import run
from tests.harness.feed import FedBrain
from tests.harness.zookeeper import ZooKeeperServer, eventually

ASK_A_BRAIN = ("status", "history", "explain", "plan", "whatif", "apply", "replay", "doctor")
WITHOUT_STORM = {"doctor": 1}
"""What exits with something else than 0, because no Nimbus is here: it finds that out."""
NAMES = {"my-topology": "lines", "parallel": "lines"}

RUN_BY = (
    ("stormbrain pipeline .*--master", "tests/pipeline/test_masters.py", "local-cluster"),
    ("stormbrain pipeline ", "tests/pipeline/test_documented_commands.py", '"pipeline.md"'),
    ("stormbrain simulate GRAPH", "tests/pipeline/test_documented_commands.py", "simulate GRAPH"),
    ("spark-submit ", "tests/pipeline/test_masters.py", '"spark-submit"'),
    ("make demo", "tests/storm/test_loop.py", "from brain.demo.run import"),
    ("make test$", ".ci/run", "^make test$"),
    ("make (setup|lint|test-java)$", "Makefile", "^test: setup lint test-java"),
    ("make test-storm-versions", "docs/compatibility.md", "make test-storm-versions"),
    (r"\.venv/bin/pytest ", "Makefile", r"\$\(BIN\)/pytest"),
    ("docker compose up --detach --build", "deploy/test-compose", "up --detach"),
    (
        "docker compose --profile metrics up --detach",
        "deploy/test-compose",
        "COMPOSE_PROFILES=metrics",
    ),
    ("docker compose run --rm submit parallel", "deploy/test-compose", "submit parallel"),
    ("docker compose run --rm stormbrain status", "deploy/test-compose", "-T stormbrain status"),
    ("docker build -f deploy/docker/brain.Dockerfile", "docker-compose.yml", "brain.Dockerfile"),
    ("deploy/test-compose ", "Makefile", "^\tdeploy/test-compose"),
    ("cp storm-plugin/target/.*extlib", "deploy/docker/storm.Dockerfile", "/plugin/ .*/extlib"),
    ("useradd ", "deploy/docker/brain.Dockerfile", "useradd --system"),
    ("python3 -m venv /opt/stormbrain", "deploy/docker/brain.Dockerfile", "venv /opt/stormbrain"),
    ("/opt/stormbrain/bin/pip install .", "deploy/docker/brain.Dockerfile", "/bin/pip install"),
    ("install -D ", "tests/docs/test_every_command_runs.py", "def test_install_lines"),
    ("systemctl ", "tests/deploy/test_drop_in.py", "systemd-analyze"),
)  # fmt: skip
"""(command, who runs it or its like, what is to be found there)"""


def documented() -> Iterator[tuple[str, str]]:
    """(where, command) of every command that is not run as a block."""
    for block in blocks():
        if not block.runs:
            for words in commands(block):
                yield block.label, shlex.join(words)
    for page in PAGES:  # commands with arguments in running text
        for text in re.findall(r"`(stormbrain [a-z]+ [^`…]*)`", page.read_text(encoding="utf-8")):
            words = shlex.split(text)
            if words[1] in ASK_A_BRAIN and "TOPOLOGY" not in words:
                yield page.name, text


def is_question(command: str) -> bool:
    return command.startswith("stormbrain ") and command.split()[1] in ASK_A_BRAIN


QUESTIONS = sorted({c for _, c in documented() if is_question(c)})


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FedBrain]:
    """A brain that has measured a topology, and has been told to move it once."""
    with ZooKeeperServer() as zookeeper:
        fed = FedBrain(zookeeper, tmp_path_factory.mktemp("brain"), root="/stormbrain").start()
        try:
            fed.until_measured()
            before = dict(fed.slots)
            digest = fed.ask("plan", topology="lines", algorithm="metis")["digest"]
            fed.ask("apply", topology="lines", digest=digest)
            fed.schedule()
            assert fed.slots != before
            fed.until_measured()
            yield fed
        finally:
            fed.stop()


@pytest.mark.parametrize("command", QUESTIONS)
def test_questions_of_the_pages_are_answered(command: str, fed: FedBrain) -> None:
    words = [NAMES.get(w, w) for w in shlex.split(command)[1:]]
    if "FILE" in words:
        words[words.index("FILE")] = str(next((fed.directory / "decisions").glob("*.json.gz")))
    if "DIGEST" in words:
        words[words.index("DIGEST")] = something_to_apply(fed)
    if words[0] == "replay":
        pass  # asks nobody
    elif "--zookeeper" in words:
        words[words.index("--zookeeper") + 1] = fed.zookeeper.hosts
    else:
        words += ["--zookeeper", fed.zookeeper.hosts]
    fed.until_measured()  # a command before this one may have moved the topology
    done = run(*words)
    assert done.code == WITHOUT_STORM.get(words[0], 0), done.error
    assert done.out.strip()


def something_to_apply(fed: FedBrain) -> str:
    """The digest of a plan, after Storm has dealt the executors out so that all lines cross."""
    fed.slots = {t: (fed.nodes[(t - 1 + (t - 1) // 3) % 3], 6700) for t in fed.tasks}
    fed.schedule()
    digest = ""

    def planned() -> bool:
        nonlocal digest
        fed.until_measured()
        digest = fed.ask("plan", topology="lines", algorithm="metis")["digest"]
        return bool(digest)

    eventually(planned, 30, "something to move")
    return digest


def test_the_pages_ask_questions() -> None:
    assert {c.split()[1] for c in QUESTIONS} == set(ASK_A_BRAIN)


@pytest.mark.parametrize(
    ("where", "command"), [d for d in documented() if not is_question(d[1])], ids=str
)
def test_somebody_runs(where: str, command: str) -> None:
    found = [row for row in RUN_BY if re.match(row[0], command)]
    assert found or has_a_cli_test(command), (
        f"{where}: nobody runs `{command}`; mark its block `sh test` or name who does"
    )
    for _, path, needle in found:
        files = [ROOT / path] if (ROOT / path).is_file() else sorted((ROOT / path).glob("*.py"))
        texts = [f.read_text(encoding="utf-8") for f in files]
        assert any(re.search(needle, t, re.MULTILINE) for t in texts), f"{path} has no {needle}"


def has_a_cli_test(command: str) -> bool:
    """Whether a test runs that subcommand of stormbrain through the command line."""
    if not command.startswith("stormbrain "):
        return False
    quoted = f'"{command.split()[1]}"'
    doors = ("tests.harness.command", "CliRunner", '"stormbrain"')
    texts = (f.read_text(encoding="utf-8") for f in (ROOT / "tests").rglob("test_*.py"))
    return any(quoted in t and any(door in t for door in doors) for t in texts)


def test_nothing_in_the_table_is_stale() -> None:
    shown = [c for _, c in documented()]
    pages = "\n".join(p.read_text(encoding="utf-8") for p in PAGES)
    for pattern, _, _ in RUN_BY:
        assert any(re.match(pattern, c) for c in shown) or re.search(pattern, pages), pattern


def test_install_lines_put_files_where_the_unit_reads_them(tmp_path: Path) -> None:
    """The lines of into-your-cluster.md, with another root and without another group."""
    storm = tmp_path / "storm"
    (storm / "conf").mkdir(parents=True)
    (storm / "conf" / "storm.yaml").write_text("storm.scheduler: x\n", encoding="utf-8")
    page = (ROOT / "docs" / "into-your-cluster.md").read_text(encoding="utf-8")
    lines = re.findall(r"^sudo (install -D .*)$", page, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        here = line.replace(" -g stormbrain", "").replace(" /etc/", f" {tmp_path}/etc/")
        here = here.replace("$STORM_HOME", str(storm))
        subprocess.run(["bash", "-euc", here], cwd=ROOT, check=True)
    unit = (tmp_path / "etc/systemd/system/stormbrain.service").read_text(encoding="utf-8")
    for read in (r"EnvironmentFile=(\S+)", r"--config (\S+)"):
        found = re.search(read, unit)
        assert found is not None
        assert (tmp_path / found[1].lstrip("/")).is_file(), found[1]
