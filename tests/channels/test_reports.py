"""Every report of what went wrong with such channels elsewhere, and the tests that show that it does not here.

The reports are those of `platforms.md`, section 5, by their numbers. A report without a test fails, as does a test that
is named here and is gone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

QQ, WECHAT, TELEGRAM = "channels/onebot", "channels/wxclaw", "channels/telegram"
REPORTS: Mapping[int, tuple[str, ...]] = {
    1: (f"{WECHAT}/test_talk::a_batch_that_comes_again_is_answered_once",),
    2: (f"{WECHAT}/test_window_talk::the_answer_is_among_the_first_ten_whatever_is_told_on_the_way",),
    3: (f"{WECHAT}/test_window_talk::a_day_after_their_last_message_a_reminder_waits_for_them",),
    4: (f"{WECHAT}/test_window_talk::prepare_failed_means_that_it_is_closed",),
    5: (
        f"{WECHAT}/test_window_talk::a_refusal_is_believed_and_never_asked_for_again_and_again",
        f"{WECHAT}/test_window::what_an_answer_means",
        f"{WECHAT}/test_recorded::an_answer_is_understood",
    ),
    6: (
        f"{WECHAT}/test_window_talk::a_refusal_is_believed_and_never_asked_for_again_and_again",
        "channels/test_pace::http_200_with_a_refusal_inside_is_no_delivery",
    ),
    7: (
        f"{WECHAT}/test_sessions::a_session_that_ended_is_said_and_asked_for_no_more",
        f"{WECHAT}/test_sessions::a_new_login_resumes_without_a_restart",
        "channels/test_watchdog::the_owner_is_told_once_and_once_when_it_is_back",
    ),
    8: (f"{WECHAT}/test_sessions::a_takeover_is_known_for_one",),
    10: (
        f"{WECHAT}/test_talk::three_messages_arrive_in_their_order",
        "channels/test_pace::a_slow_first_send_does_not_let_the_next_overtake_it",
    ),
    11: (f"{WECHAT}/test_talk::a_long_answer_is_cut_at_safe_places",),
    12: (f"{WECHAT}/test_talk::the_token_of_a_chat_outlives_the_process",),
    14: (f"{QQ}/test_sending::a_timeout_is_unknown_and_never_sent_again",),
    15: (f"{QQ}/test_sending::three_unknowns_in_a_group_stop_it_there_and_nowhere_else",),
    16: (f"{QQ}/test_entry::a_silenced_group_gets_nothing_until_it_is_over",),
    17: (
        f"{QQ}/test_fetching::a_picture_of_which_the_address_is_over_spoils_no_later_turn",
        f"{QQ}/test_fetching::a_picture_whose_address_is_over_is_asked_for_again",
        "media/test_seeing::later_requests_say_the_same_of_it_and_carry_no_bytes",
    ),
    18: (
        f"{QQ}/test_entry::a_quote_and_a_mention_alone_ask_what_was_said_before",
        "scenarios/test_reading_along::a_quote_without_words_is_the_request",
        f"{QQ}/test_recorded::an_event_has_its_turn_or_its_silence",
    ),
    19: (
        f"{QQ}/test_entry::a_command_behind_a_quote_is_run",
        f"{TELEGRAM}/test_receiving::a_command_runs_also_where_something_is_quoted",
    ),
    21: (f"{TELEGRAM}/test_recorded::an_update_has_its_turn_or_its_silence",),
    22: (f"{TELEGRAM}/test_recorded::an_update_has_its_turn_or_its_silence",),
    23: (f"{TELEGRAM}/test_receiving::an_update_that_comes_again_is_heard_once_in_one_run_and_over_a_restart",),
    24: (f"{TELEGRAM}/test_webhook::the_answer_does_not_wait_for_the_work_and_redelivery_is_one_turn",),
    25: (
        f"{TELEGRAM}/test_receiving::a_server_that_answers_no_more_is_hung_up_on",
        f"{TELEGRAM}/test_receiving::the_longest_silence_is_noticed_within_ninety_seconds",
    ),
    26: (
        f"{TELEGRAM}/test_receiving::an_idle_connection_is_no_error",
        f"{TELEGRAM}/test_receiving::a_poll_that_is_held_longer_than_asked_is_waited_for",
    ),
    27: (f"{TELEGRAM}/test_streaming::too_many_requests_are_obeyed_and_the_answer_is_whole",),
    29: (
        f"{TELEGRAM}/test_receiving::an_album_is_one_turn",
        f"{TELEGRAM}/test_recorded::the_recorded_album_is_one_turn",
    ),
    30: (
        "scenarios/test_bursts::two_texts_shortly_after_each_other_and_another_chat",
        f"{TELEGRAM}/test_receiving::two_requests_at_once_are_answered_one_by_one_and_another_chat_meanwhile",
    ),
    31: (
        f"{QQ}/test_connections::reconnecting_again_and_again_hears_each_message_once",
        f"{TELEGRAM}/test_receiving::reconnecting_multiplies_nothing",
    ),
    32: (
        f"{QQ}/test_sending::each_answer_has_its_outcome",
        f"{QQ}/test_sending::what_could_not_be_written_goes_out_with_the_next_connection",
    ),
    33: (f"{TELEGRAM}/test_sending::long_texts_are_split_within_the_limit",),
    34: (f"{QQ}/test_entry::markdown_becomes_text_that_reads_well",),
    36: (f"{WECHAT}/test_sessions::the_owner_is_told_once_however_often_it_starts",),
}


def test_every_report_has_its_tests(shared: Path) -> None:
    facts = (shared / "facts/platforms.md").read_text("utf-8").partition("\n## 5.")[2].partition("\n## ")[0]
    numbers = {int(number) for number in re.findall(r"^(\d+) ", facts, re.M)}
    assert len(numbers) > 30
    assert numbers == set(REPORTS)


@pytest.mark.parametrize("number", REPORTS)
def test_the_tests_of_a_report_are_there(number: int) -> None:
    for named in REPORTS[number]:
        file, _, name = named.partition("::")
        tree = ast.parse((REPOSITORY / "tests" / f"{file}.py").read_text("utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert f"test_{name}" in there, named
