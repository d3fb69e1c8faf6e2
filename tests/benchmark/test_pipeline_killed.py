"""kill -9 in every stage of a benchmark: what was answered is kept, nothing is asked again, the bytes are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_command import BenchmarkCommand, written
from support.benchmark_roles import Roles
from support.extras import needs
from support.kill_scenes import chance
from support.openai_server import OpenAIServer

pytestmark = [pytest.mark.slow, pytest.mark.untraced, needs("langchain_openai")]

N, CONCURRENCY = 10, 4
# what the answer of each step is known by -> how many are answered before the kill
STAGES = {"better": 2, "turns": 1, "coherent": 1, "worse_flaws": 0, "claims": 0, "decisions": 0}


def known_twice(roles: Roles) -> dict[str, int]:
    """Return how often each request was made again though it had been answered; one that was held had not been."""
    again = {digest: count - 1 - roles.held[digest] for digest, count in roles.asked.items()}
    return {digest: count for digest, count in again.items() if count > 0}


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The files of a benchmark that nothing interrupted, and how many requests it took."""
    roles = Roles()
    with OpenAIServer(roles) as server:
        command = BenchmarkCommand(tmp_path_factory.mktemp("unkilled"), server, n=N)
        command.run(*command.generate(generator="careful_generator"))
        command.run(*command.judge())
        return written(command.out), server.calls


def test_killed_in_every_stage(tmp_path: Path, unkilled: tuple[dict[str, bytes], int]) -> None:
    expected, calls = unkilled
    roles = Roles()
    with OpenAIServer(roles) as server:
        command = BenchmarkCommand(tmp_path, server, n=N)
        generate = command.generate("--max-concurrency", CONCURRENCY, generator="careful_generator")
        for stage, after in STAGES.items():
            held = command.kill_while(roles, stage, *generate, after=after)
            assert 1 <= held <= CONCURRENCY
        command.run(*generate)
        judge = command.judge("--max-concurrency", CONCURRENCY)
        assert 1 <= command.kill_while(roles, "verdict", *judge, after=0) <= CONCURRENCY
        assert 1 <= command.kill_while(roles, "verdict", *judge, after=15) <= CONCURRENCY
        command.run(*judge)
        assert server.calls == calls + roles.held.total()
    assert known_twice(roles) == {}
    assert roles.held.total() >= len(STAGES) + 2
    made = written(command.out)
    assert made.keys() == expected.keys()
    for name, content in expected.items():
        assert made[name] == content, name


def test_killed_at_any_moment(tmp_path: Path, unkilled: tuple[dict[str, bytes], int]) -> None:
    expected, calls = unkilled
    source, roles, kills = chance(), Roles(), 0
    with OpenAIServer(roles) as server:
        command = BenchmarkCommand(tmp_path, server, n=N)
        generate = command.generate("--max-concurrency", CONCURRENCY, generator="careful_generator")
        judge = command.judge("--max-concurrency", CONCURRENCY)
        for arguments, moments in ((generate, (40, 30)), (judge, (25,))):
            for most in moments:
                kills += command.kill_after(roles, source.randint(1, most), *arguments)
            command.run(*arguments)
        judges = 3  # each has so many calls in flight
        assert calls <= server.calls <= calls + 2 * CONCURRENCY + judges * CONCURRENCY
    assert kills
    assert written(command.out) == expected


def test_verify_killed_comes_to_what_generate_with_a_verifier_comes_to(
    tmp_path: Path, unkilled: tuple[dict[str, bytes], int]
) -> None:
    expected, _ = unkilled
    roles = Roles()
    with OpenAIServer(roles) as server:
        command = BenchmarkCommand(tmp_path, server, n=N)
        models = ("--models", tmp_path / "models.yaml", "--max-concurrency", CONCURRENCY)
        writing = ("--generator", "openai:careful_generator", *models)
        command.run("generate", command.documents, "--n", N, "--out", command.out, *writing)
        verify = tuple(map(str, ("verify", command.out, "--verifier", "openai:verifier", *models)))
        for stage, after in (("worse_flaws", 3), ("decisions", 0)):
            assert 1 <= command.kill_while(roles, stage, *verify, after=after) <= CONCURRENCY
        command.run(*verify)
    assert known_twice(roles) == {}
    assert written(command.out)["pairs.jsonl"] == expected["pairs.jsonl"]
