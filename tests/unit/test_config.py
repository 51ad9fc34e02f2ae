"""Which store, embedder and profiles are meant, decided from options and surroundings alone."""

from pathlib import Path

import pytest

from weft.config import (
    STORE_NAME,
    Environment,
    choose_embedder,
    find_store,
    find_store_to_write,
    profile_folders,
    read_environment,
)
from weft.errors import InvalidInput, StoreError


@pytest.fixture
def around(tmp_path: Path) -> Environment:
    working = tmp_path / "project" / "deep" / "inside"
    working.mkdir(parents=True)
    return Environment(working, user_data=tmp_path / "data", user_config=tmp_path / "config")


def test_the_option_wins_over_everything(around: Environment) -> None:
    (around.working / STORE_NAME).mkdir()
    environment = Environment(around.working, store="from-environment")
    assert find_store(Path("given"), environment) == Path("given")
    assert find_store(None, environment) == Path("from-environment")


def test_the_nearest_store_above_is_found(around: Environment) -> None:
    far, near = around.working.parents[1] / STORE_NAME, around.working.parent / STORE_NAME
    far.mkdir()
    assert find_store(None, around) == far
    near.mkdir()
    assert find_store(None, around) == near


def test_the_users_own_store_is_the_last_resort(around: Environment) -> None:
    around.user_data.mkdir()
    assert find_store(None, around) == around.user_data
    assert find_store_to_write(None, around) == around.user_data


def test_without_any_store_reading_fails_and_indexing_makes_one_here(around: Environment) -> None:
    with pytest.raises(StoreError, match="weft index PATH"):
        find_store(None, around)
    assert find_store_to_write(None, around) == around.working / STORE_NAME


def test_a_home_folder_is_understood(around: Environment) -> None:
    assert find_store(Path("~/knowledge"), around) == Path.home() / "knowledge"


def test_a_name_no_folder_can_have_is_refused(around: Environment) -> None:
    with pytest.raises(InvalidInput, match="cannot name a folder"):
        find_store(Path("a\0b"), around)


def test_profiles_beside_the_store_come_before_the_users_own(around: Environment, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert profile_folders(store, around) == ()
    (store / "profiles").mkdir(parents=True)
    (around.user_config / "profiles").mkdir(parents=True)
    assert profile_folders(store, around) == (store / "profiles", around.user_config / "profiles")
    assert profile_folders(None, around) == (around.user_config / "profiles",)


def test_the_embedder_is_given_or_from_the_environment_or_static(around: Environment) -> None:
    environment = Environment(around.working, embedder="onnx:model")
    assert choose_embedder("none", environment) == "none"
    assert choose_embedder(None, environment) == "onnx:model"
    assert choose_embedder(None, around) == "static"


def test_the_environment_is_read_once_and_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("WEFT_STORE", "s"), ("WEFT_EMBEDDER", "e"), ("WEFT_API_KEY", "k")):
        monkeypatch.setenv(name, value)
    around = read_environment()
    assert (around.working, around.store, around.embedder, around.api_key) == (tmp_path, "s", "e", "k")
