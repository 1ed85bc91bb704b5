"""Pictures, and places where some are missing, in the order in which they would be seen."""

from fractions import Fraction

import pytest

from bgsub.video.film_header import FilmHeader
from bgsub.video.slots import NO_PACKET, arrange, decoding_orders, has_own_stamps
from bgsub.video.survey import PacketNote, PictureNote, Survey


def packet(stamp, position=None, **changes):
    values = {"is_hidden": False, "is_incomplete": False, "error": ""} | changes
    return PacketNote(stamp, stamp, position, 50, **values)


def film(stamps, gone=(), **of_packets):
    """Packets by their stamps in the order of the file; pictures of all but the gone ones."""
    packets = [
        packet(
            stamp, 100 + 60 * i, **{name: what[i] for name, what in of_packets.items() if i in what}
        )
        for i, stamp in enumerate(stamps)
    ]
    kept = [i for i in range(len(stamps)) if i not in gone]
    shown = sorted(kept, key=lambda i: (stamps[i] is None, stamps[i] or 0))
    return Survey(packets, [PictureNote(i, len(stamps), stamps[i], i == 0, False) for i in shown])


def header(form="matroska,webm", codec="h264", **facts):
    return FilmHeader(format=form, codec=codec, rate=Fraction(25), **facts)


def in_order(survey, by_stamp=True, head=None):
    head = head or header()
    return arrange(survey, head, decoding_orders(survey, head), by_stamp=by_stamp)


def test_pictures_come_in_the_order_of_their_stamps_and_gaps_between_them():
    slots = in_order(film([0, 0.12, 0.04, 0.08, 0.16], gone=[2]))
    assert [slot.stamp_s for slot in slots] == [0, 0.04, 0.08, 0.12, 0.16]
    assert [slot.picture is None for slot in slots] == [False, True, False, False, False]
    assert slots[1].reason == "it depends on a damaged frame"
    assert slots[1].spoils


def test_without_stamps_they_come_in_the_order_of_the_file():
    slots = in_order(film([None] * 4, gone=[2]), by_stamp=False)
    assert [slot.order for slot in slots] == [0, 1, 2, 3]
    assert [slot.picture for slot in slots] == [0, 1, None, 2]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"error": {2: "odd data"}}, "odd data"),
        ({"is_incomplete": {2: True}}, "its data are incomplete"),
    ],
)
def test_what_is_known_of_a_packet_is_said_of_its_picture_too(changes, reason):
    for gone in ([], [2]):
        slot = in_order(film([0, 1, 2, 3], gone=gone, **changes))[2]
        assert (slot.reason, slot.spoils) == (reason, True)
        assert (slot.picture is None) == bool(gone)


def test_a_transport_stream_marks_a_packet_that_need_not_be_the_torn_one():
    slots = in_order(film([0, 1, 2], is_incomplete={1: True}), head=header("mpegts"))
    assert [slot.reason for slot in slots] == ["", "", ""]
    assert [slot.spoils for slot in slots] == [False, True, False]


def test_what_the_decoder_made_up_is_damaged():
    survey = film([0, 1, 2])
    survey.pictures[1].is_damaged = True
    assert [slot.reason for slot in in_order(survey)] == ["", "its data are damaged", ""]


def test_packets_before_the_first_picture_and_hidden_ones_are_no_gaps():
    assert len(in_order(film([0, 1, 2, 3], gone=[0, 1]))) == 2
    assert len(in_order(film([0, 1, 2, 3], gone=[2], is_hidden={2: True}))) == 3
    # But for what was damaged: then the beginning is missing.
    assert len(in_order(film([0, 1, 2, 3], gone=[0, 1], error={0: "odd"}))) == 4


def test_codecs_that_hide_packets_and_packets_that_are_fields_leave_no_gaps():
    assert len(in_order(film(list(range(9)), gone=[4]), head=header(codec="vp9"))) == 8
    half = film(list(range(10)), gone=[1, 3, 5, 7, 9])
    assert len(in_order(half)) == 5
    assert len(in_order(film(list(range(10)), gone=[3, 5, 7]))) == 10


def test_places_of_a_table_without_a_packet_are_gaps():
    survey = film([None] * 4)
    table = [(100 + 60 * i, i / 25) for i in range(4)]
    table.insert(2, (219, 0.07))
    head = header("avi", table=table)
    assert decoding_orders(survey, head) == [0, 1, 3, 4]
    slots = in_order(survey, by_stamp=False, head=head)
    assert [slot.picture for slot in slots] == [0, 1, None, 2, 3]
    assert slots[2].reason == NO_PACKET


def test_a_clock_that_begins_anew_begins_a_part_of_its_own():
    slots = in_order(film([100, 101, 102, 0, 1, 2]))
    assert [slot.stamp_s for slot in slots] == [100, 101, 102, 0, 1, 2]


def test_stamps_are_believed_where_most_packets_have_them_and_pictures_follow_them():
    assert has_own_stamps(film([0, 3, 1, 2]))
    assert not has_own_stamps(film([0, None, None, 3]))
    crossed = film(list(range(6)))
    crossed.pictures.reverse()
    assert not has_own_stamps(crossed)


def test_pictures_that_damage_brings_out_of_order_do_not_make_stamps_those_of_decoding():
    survey = film([0, 2, 1, 4, 3, 6, 5, 8, 7])
    for place, packet in enumerate(survey.packets):
        packet.decoding_s = place
    survey.pictures[3:7] = survey.pictures[6:2:-1]
    assert has_own_stamps(survey)
