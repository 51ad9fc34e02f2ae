from pigeonhole.retry import MOST_ATTEMPTS, exhausted, pause


def test_pauses_double_and_stop_at_an_hour():
    pauses = [pause(attempt, number=0) for attempt in range(1, 14)]
    assert pauses[:3] == [2.0, 4.0, 8.0]
    assert pauses[-1] == 3600.0


def test_the_pauses_of_one_job_never_differ_and_those_of_two_do():
    assert pause(3, number=17) == pause(3, number=17)
    assert pause(3, number=17) != pause(3, number=18)


def test_a_job_is_exhausted_after_eight_attempts():
    assert not exhausted(MOST_ATTEMPTS - 1)
    assert exhausted(MOST_ATTEMPTS)
