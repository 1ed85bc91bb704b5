"""What becomes of packets and pictures in the numbering of frames."""

from fractions import Fraction

import pytest

from bgsub.video.film_header import FilmHeader
from bgsub.video.survey import PacketNote, PictureNote, Survey
from bgsub.video.timeline import make_timeline

STEP = 0.04
SIZE = 100


def packet(stamp, place=None, **changes):
    """A packet whose picture is seen at a multiple of the step; one of a row by its place."""
    seconds = None if stamp is None else stamp * STEP
    values = {"is_hidden": False, "is_incomplete": False, "error": ""} | changes
    return PacketNote(seconds, seconds, place, SIZE, **values)


def film(order, *, gone=(), keys=(0,), damaged=(), **changes):
    """Packets with the given stamps; pictures of all but the gone ones, in order of stamps.

    What is gone, is a key, or is damaged is named by its place in the order of decoding.
    """
    survey = Survey()
    for index, stamp in enumerate(order):
        more = {name: what[index] for name, what in changes.items() if index in what}
        survey.packets.append(packet(stamp, 1000 + index * (SIZE + 8), **more))
    seen = sorted(set(range(len(order))) - set(gone), key=lambda i: order[i])
    survey.pictures = [
        PictureNote(i, len(order), order[i] * STEP, i in keys, i in damaged) for i in seen
    ]
    return survey


def header(form="matroska,webm", **changes):
    return FilmHeader(**{"format": form, "codec": "h264", "rate": Fraction(25)} | changes)


def states(timeline):
    """One letter a frame: good, doubtful or bad."""
    return "".join(
        "b" if entry.picture is None else "d" if entry.doubtful else "g"
        for entry in timeline.entries
    )


def test_a_sound_film():
    timeline = make_timeline(film([0, 3, 1, 2, 4]), header())
    assert states(timeline) == "ggggg"
    assert [entry.time_s for entry in timeline.entries] == pytest.approx(
        [0, 0.04, 0.08, 0.12, 0.16]
    )
    assert timeline.notes == []


def test_what_depends_on_a_damaged_picture_is_doubtful_up_to_the_next_key():
    survey = film([0, 3, 1, 2, 6, 4, 5, 7, 8], damaged=[4], keys=[0, 7])
    assert states(make_timeline(survey, header())) == "ggggddbgg"  # 4 and 5 are decoded after 6


def test_pictures_that_are_shown_before_their_key_are_doubtful():
    survey = film([0, 1, 2, 5, 3, 4, 6], damaged=[2], keys=[0, 3])
    assert states(make_timeline(survey, header())) == "ggbddgg"


def test_where_no_picture_depends_on_another():
    survey = film(range(6), damaged=[2], keys=range(6))
    assert states(make_timeline(survey, header(intra_only=True))) == "ggbggg"


def test_two_frames_at_one_time_make_numbers_unsure():
    """A damaged timestamp puts a picture where another is; no jitter does."""
    order = [*range(8), 4, *range(9, 16)]
    timeline = make_timeline(film(order, keys=range(16)), header(intra_only=True))
    expected = "numbers and times are unsure from frame 5 on: two frames have the same time"
    assert (5, expected) in timeline.notes
    assert not any("keep their numbers" in text for _, text in timeline.notes)
    jittery = [place + (0.15 if place % 3 == 1 else 0) for place in range(16)]
    assert make_timeline(film(jittery, keys=range(16)), header(intra_only=True)).notes == []


def test_packets_without_a_picture_are_bad_frames():
    survey = film(range(10), gone=[4], error={4: "its data are damaged"})
    timeline = make_timeline(survey, header())
    assert states(timeline) == "ggggbddddd"
    assert timeline.entries[4].reason == "its data are damaged"
    assert [entry.number for entry in timeline.entries] == list(range(1, 11))


def test_a_picture_that_a_decoder_swallows_in_silence_is_a_bad_frame():
    timeline = make_timeline(film(range(10), gone=[4]), header())
    assert states(timeline) == "ggggbddddd"
    assert timeline.entries[4].reason == "it depends on a damaged frame"


def test_fields_are_no_lost_frames():
    survey = film([i / 2 for i in range(20)], gone=range(1, 20, 2), keys=range(20))
    assert states(make_timeline(survey, header())) == "g" * 10


def test_packets_before_the_first_key_are_no_lost_frames():
    assert states(make_timeline(film(range(8), gone=[0, 1], keys=[2]), header())) == "g" * 6


def test_an_incomplete_packet():
    survey = film(range(5), is_incomplete={2: True}, keys=range(5))
    mp4 = make_timeline(survey, header("mov,mp4,m4a,3gp,3g2,mj2", intra_only=True))
    assert states(mp4) == "ggbgg"
    # A transport stream notices too late which of the packets it is.
    assert states(make_timeline(survey, header("mpegts", intra_only=True))) == "ggdgg"


def gap(where, length, frames=20, *, torn=True):
    """A film of which a stretch is missing, with or without a trace of it in the file."""
    survey = film([i if i < where else i + length for i in range(frames - length)])
    if torn:
        for later in survey.packets[where:]:
            later.position += 5000
    return survey


def test_a_hole_is_counted():
    timeline = make_timeline(gap(6, 4), header())
    assert states(timeline) == "gggggd" + "bbbb" + "d" * 10
    assert [entry.number for entry in timeline.entries] == list(range(1, 21))
    assert timeline.entries[12].time_s == pytest.approx(12 * STEP)
    text = "4 frames are missing from the file, the first is frame 7"
    assert timeline.notes == [(7, f"{text}; those behind keep their numbers and times")]


def test_a_gap_that_the_recorder_left_casts_no_doubt_on_what_follows():
    assert states(make_timeline(gap(6, 4, torn=False), header())) == "gggggg" + "bbbb" + "g" * 10


def test_times_of_a_variable_rate_are_left_alone():
    survey = film([0, 1, 2, 12.5, 13.5, 50])
    timeline = make_timeline(survey, header())
    assert states(timeline) == "gggggg"
    assert timeline.notes == []


def test_a_film_that_is_mostly_missing_keeps_the_numbers_of_its_frames():
    timeline = make_timeline(gap(6, 100, 120), header())
    assert [entry.number for entry in timeline.entries] == list(range(1, 21))
    assert "numbers count the frames that are there" in timeline.notes[0][1]


def test_formats_without_times_cannot_number_what_follows_damage():
    survey = film(range(10), damaged=[3], keys=range(10))
    timeline = make_timeline(survey, header("hevc", intra_only=True))
    assert [number for number, _ in timeline.notes] == [4]
    assert "unsure from frame 4 on" in timeline.notes[0][1]
    at_the_end = make_timeline(film(range(10), damaged=[9]), header("hevc"))
    assert at_the_end.notes == []


def avi(survey, **changes):
    return make_timeline(survey, header("avi", **changes))


def test_an_avi_numbers_by_its_table():
    survey = film(range(10), keys=[0])
    table = [(note.position, index * STEP) for index, note in enumerate(survey.packets)]
    del survey.packets[4:6]
    survey.pictures = [PictureNote(i, 8, None, i == 0, False) for i in range(8)]
    timeline = avi(survey, table=table)
    assert states(timeline) == "gggdbbdddd"
    assert [entry.time_s for entry in timeline.entries] == pytest.approx(
        [i * STEP for i in range(10)]
    )
    assert "2 frames are missing" in timeline.notes[0][1]


def test_an_avi_without_a_table_says_that_it_does_not_know():
    survey = film(range(10))
    for note in survey.packets[5:]:
        note.position += 3000
    timeline = avi(survey)
    assert states(timeline) == "ggggdddddd"
    assert "unsure from frame 5 on" in timeline.notes[0][1]


def test_a_clock_that_begins_anew():
    survey = film([100, 101, 102, 0, 1, 2], keys=[0, 3])
    survey.pictures.sort(key=lambda picture: picture.packet)
    timeline = make_timeline(survey, header())
    assert [entry.picture for entry in timeline.entries] == list(range(6))
    assert [entry.time_s for entry in timeline.entries] == pytest.approx(
        [i * STEP for i in range(6)]
    )


def test_pictures_that_come_out_of_order_keep_their_place():
    survey = film(range(30))
    survey.pictures[2], survey.pictures[3] = survey.pictures[3], survey.pictures[2]
    entries = make_timeline(survey, header()).entries
    assert [entry.picture for entry in entries[:6]] == [0, 1, 3, 2, 4, 5]
