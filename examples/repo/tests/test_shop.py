import pytest
from pigeonhole.queue import Queue
from shop import digest, mail, video


def test_the_id_of_a_mail_comes_from_its_order():
    first = mail.compose({"to": "ann@example.org", "order": 17, "step": 2})
    again = mail.compose({"to": "ann@example.org", "order": 17, "step": 2})
    assert first["Message-ID"] == again["Message-ID"] == "<17.2@shop.example>"


def test_a_mail_to_nobody_is_refused():
    with pytest.raises(mail.NoAddress):
        mail.compose({"to": ""})


def test_a_picture_outside_of_the_media_folder_is_refused():
    with pytest.raises(PermissionError):
        video.locate("../../etc/passwd")


def test_an_empty_digest_is_not_sent(tmp_path):
    queue, orders = Queue(str(tmp_path / "jobs.sqlite")), []
    handler = digest.make_digest(queue, lambda: orders)
    handler(None, lambda: None)
    assert queue.take(now=0.0) is None
    orders.append("17: two lamps")
    handler(None, lambda: None)
    assert queue.take(now=0.0).body["subject"] == "1 orders"
