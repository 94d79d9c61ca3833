"""Planted problems around real pipelines on the CPU, without a flag: each is named with its place. Those that cost most are taken,
so that a busy machine says the same; tests/planted/run.py runs all of them."""
import importlib
import os
import sys

import pytest

from conftest import HERE

PLANTED = os.path.join(HERE, os.pardir, "planted")
sys.path.insert(0, PLANTED)
problem, table = importlib.import_module("problem"), importlib.import_module("run")
for family in ("callbacks", "trackers"):
    importlib.import_module(family)

NAMED = ("tokenizer_made_for_every_request", "debug_log_formats_tensors", "progress_bar_with_a_tensor", "workers_started_for_every_request",
         "anomaly_detection_left_on", "tracemalloc_left_on", "answers_without_a_cache", "wan_preview_every_step", "wan_in_float64",
         "wan_hook_lists_values", "wan_prompt_encoded_in_one_video", "scheduler_filters_with_numpy", "words_are_banned_one_by_one",
         "clips_are_made_with_numpy", "hook_hashes_outputs")


def said_of(run, name, *more):
    one = problem.TABLE[name]
    report = run(sys.executable, os.path.join(PLANTED, "program.py"), name, *more).report()
    found = table.naming({"ids": one.ids, "lines": one.lines, "stage": one.stage, "file": one.file}, report)
    return found, [table.short(f) for f in table.said(report)]


@pytest.mark.parametrize("name", NAMED)
def test_it_is_named_in_the_first_two_findings(run, name):
    found, said = said_of(run, name)
    assert found, said


@pytest.mark.parametrize("name", ("anomaly_detection_left_on", "tracemalloc_left_on", "answers_without_a_cache", "wan_hook_lists_values"))
def test_nothing_is_said_of_it_once_it_is_fixed(run, name):
    _, said = said_of(run, name, "--fixed")
    assert not {f["id"] for f in said} & set(problem.TABLE[name].ids), said


def test_training_is_told_nothing_urgent(run):
    _, said = said_of(run, "healthy_training")
    assert not [f for f in said if f["priority"] == "high"], said
