from __future__ import annotations

import json

from bgsub.robustpca.competitors import METHODS


def test_every_method_is_listed_within_80_columns(invoke):
    lines = invoke("methods").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:2] == ["name", "paper"]
    blocks = "\n".join(lines[1:]).strip().split("\n\n")
    assert [block.split()[0] for block in blocks] == list(METHODS)
    assert "--support-fraction" in blocks[0]


def test_json_and_markdown_hold_all_columns(invoke):
    read = json.loads(invoke("methods", "--format", "json").stdout)
    assert [row["name"] for row in read["rows"]] == list(METHODS)
    assert set(read["rows"][0]) == {"name", "paper", "outlier_model", "parameters", "cost"}
    markdown = invoke("methods", "--format", "markdown").stdout.splitlines()
    assert markdown[0] == "| name | paper | outlier_model | parameters | cost |"
    assert len(markdown) == 2 + len(METHODS)
