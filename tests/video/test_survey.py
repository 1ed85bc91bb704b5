"""What became of every packet of a film, noted on one thread."""

from fractions import Fraction

import pytest

from bgsub.video import pyav
from bgsub.video.survey import PacketNote, Survey, decode_alone, survey
from tests.video.damaged_films import FRAMES, film, packet_places


def go_through(path, **settings):
    with pyav.open_input(path) as container:
        return survey(container, container.streams.video[0], strict=False, **settings)


@pytest.fixture
def intact(tmp_path):
    path = tmp_path / "film.avi"
    path.write_bytes(film("mpeg4", "avi"))
    return path


def test_every_packet_of_a_sound_film_gives_a_picture(intact):
    found = go_through(intact)
    assert len(found.packets) == len(found.pictures) == FRAMES
    assert found.errors == found.empty_packets == 0
    assert found.broke_off == ""
    assert sorted(picture.packet for picture in found.pictures) == list(range(FRAMES))
    assert not any(picture.is_damaged for picture in found.pictures)
    assert found.pictures[0].is_key
    assert all(picture.read >= picture.packet + 1 for picture in found.pictures)
    places = [(packet.position, packet.size) for packet in found.packets]
    assert places == packet_places(intact.read_bytes())


def test_a_spoiled_packet_is_noted_and_the_others_are_not(intact):
    data = bytearray(intact.read_bytes())
    position, size = packet_places(bytes(data))[12]
    data[position : position + size] = bytes(size)
    intact.write_bytes(bytes(data))
    found = go_through(intact)
    assert len(found.packets) == FRAMES
    gone = set(range(FRAMES)) - {picture.packet for picture in found.pictures}
    noted = {index for index, packet in enumerate(found.packets) if packet.error}
    assert (gone | noted) == {12}


def test_a_checksum_that_is_wrong_is_an_error_of_its_packet(intact):
    checked = []

    def is_sound(data):
        checked.append(len(data))
        return len(checked) != 6

    found = go_through(intact, is_sound=is_sound)
    assert checked == [packet.size for packet in found.packets]
    assert [i for i, packet in enumerate(found.packets) if packet.error] == [5]
    assert found.packets[5].error == "its checksum is wrong"
    assert found.errors == 1


def test_the_pictures_are_given_on_the_way(intact):
    notes = Survey()
    with pyav.open_input(intact) as container:
        shown = decode_alone(container, container.streams.video[0], strict=False, notes=notes)
        next(shown)
        assert len(notes.pictures) == 1
        assert len(notes.packets) < FRAMES
        assert sum(1 for _ in shown) == FRAMES - 1
    assert len(notes.pictures) == FRAMES


def packet(stamp, position=None, **changes):
    return PacketNote(stamp, stamp, position, 50, is_hidden=False, is_incomplete=False, **changes)


def test_how_far_the_packets_go():
    notes = Survey([packet(0.2, 10), packet(0.6, 70), packet(0.4, 130)])
    reach = notes.reach(Fraction(5))
    assert (reach.first_s, reach.last_s, reach.place) == (0.2, 0.6, 180)
    assert reach.end_s == pytest.approx(0.8)
    assert notes.reach(None).end_s == 0.6
    unknown = Survey([packet(None)]).reach(Fraction(5))
    assert (unknown.last_s, unknown.place) == (0.0, None)


def test_errors_of_another_way_of_decoding_are_added_and_none_replaced():
    mine = Survey([packet(0.0, error="a"), packet(0.1), packet(0.2)])
    mine.add_errors(Survey([packet(0.0, error="b"), packet(0.1, error="c")]))
    assert [one.error for one in mine.packets] == ["a", "c", ""]
