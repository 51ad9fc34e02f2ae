import sqlite3

import pytest
from pigeonhole import backup, cli, migrations, report
from pigeonhole.queue import Queue


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.sqlite"


def test_the_report_says_how_long_the_oldest_job_has_waited(path):
    queue = Queue(str(path))
    queue.put("mail", None, due=1000.0)
    assert report.describe(queue, now=1100.0) == "1 due, 0 leased, 0 later, 0 set aside"
    assert report.describe(queue, now=1600.0).endswith("the oldest has been waiting for 600 s")
    assert 'pigeonhole_jobs{queue="mail",state="set_aside"} 0' in report.metrics(queue, 1600.0, "mail")


def test_a_copy_has_the_jobs_of_the_moment(path, tmp_path):
    queue = Queue(str(path))
    queue.put("mail", "ann")
    backup.copy(path, tmp_path / "copy.sqlite")
    assert Queue(str(tmp_path / "copy.sqlite")).take(now=0.0).body == "ann"


def test_a_file_of_a_newer_version_is_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(migrations.NewerFile, match="version 99"):
        Queue(str(path))


def test_revive_takes_one_number_and_refuses_others(path, capsys):
    assert cli.main([str(path), "put", "mail", '{"to": "ann"}']) == 0
    assert cli.main([str(path), "revive", "1"]) == 1
    assert "was not set aside" in capsys.readouterr().err
