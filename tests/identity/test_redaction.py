"""Secrets are masked, and nothing else is. All secrets here are made up; those that scanners know are put together
at run time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qingtuan.identity.numbers import is_bank_card, is_id_card
from qingtuan.identity.redaction import Secret, has_secret, mask, secrets_in

A35 = "AAF" + "x7Kq_2-Zp9" * 3 + "Lm"
HEX = "3f9a" * 8
MIX = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA " + "PRIVATE KEY-----"
ID = "11010519491231002X"
CARD = "4111111111111111"
UNION = "6222021234567890128"

SECRETS = [
    (Secret.API_KEY, "sk-" + MIX),
    (Secret.API_KEY, "sk-" + HEX),
    (Secret.API_KEY, "sk-proj-" + MIX + "_" + MIX),
    (Secret.API_KEY, "sk-ant-api03-" + MIX + "-AA"),
    (Secret.API_KEY, "sk-" + "abcdefghijklmnopqrstuvwx"),
    (Secret.API_KEY, "ghp_" + MIX),
    (Secret.API_KEY, "qt_" + (2 * MIX)[:43]),
    (Secret.API_KEY, "github_pat_" + MIX),
    (Secret.API_KEY, "glpat-" + MIX[:20]),
    (Secret.API_KEY, "xoxb-" + "123456789012-" + MIX[:24]),
    (Secret.API_KEY, "https://hooks.slack.com/" + "services/T0123456/B0123456/" + MIX[:24]),
    (Secret.API_KEY, "AKIA" + "IOSFODNN7EXAMPLE"),
    (Secret.API_KEY, "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    (Secret.API_KEY, "AIza" + MIX[:35]),
    (Secret.API_KEY, "ya29." + MIX),
    (Secret.API_KEY, "123456789:" + A35),
    (Secret.API_KEY, "https://api.telegram.org/file/bot123456789:" + A35 + "/photo.jpg"),
    (Secret.API_KEY, "hf_" + MIX[:34]),
    (Secret.API_KEY, "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + MIX),
    (Secret.API_KEY, "LTAI" + MIX[:20]),
    (Secret.API_KEY, f"{HEX}.{MIX[:16]}"),
    (Secret.API_KEY, '{"api_key": "' + MIX[:20] + '"}'),
    (Secret.API_KEY, "密钥是 " + MIX[:16]),
    (Secret.API_KEY, "https://x.test/hook?access_token=" + MIX[:16]),
    (Secret.BEARER, "Authorization: Bearer " + MIX[:24]),
    (Secret.BEARER, "authorization: basic " + "dXNlcjpwYXNzMTIz"),
    (Secret.PASSWORD, "密码：hunter2"),
    (Secret.PASSWORD, "我的密码是 qwer1234，别忘了"),
    (Secret.PASSWORD, "图书馆密码是芝麻开门"),
    (Secret.PASSWORD, "密码:芝麻开门123"),
    (Secret.PASSWORD, "wifi密码 88886666"),
    (Secret.PASSWORD, "password: correct horse"),
    (Secret.PASSWORD, "my password is swordfish"),
    (Secret.PASSWORD, '{"user": "me", "password":"a,b c\\"}", "x": 1}'),
    (Secret.PASSWORD, "PASSWD=abc&def"),
    (Secret.PASSWORD, "pin 码是 4821"),
    (Secret.PASSWORD, "postgres://me:s3cret@db.test/x"),
    (Secret.PRIVATE_KEY, PEM),
    (Secret.PRIVATE_KEY, PEM.replace("\n", "\\n")),
    (Secret.PRIVATE_KEY, PEM[:50]),
    (Secret.ID_CARD, ID),
    (Secret.ID_CARD, "身份证11010519491231002x。"),
    (Secret.ID_CARD, "110105 19491231 002X"),
    (Secret.ID_CARD, "110105-1949-1231-002X"),
    (Secret.ID_CARD, "１１０１０５１９４９１２３１００２Ｘ"),
    (Secret.ID_CARD, "110105\u200b19491231\u200b002X"),
    (Secret.BANK_CARD, CARD),
    (Secret.BANK_CARD, "4111 1111 1111 1111"),
    (Secret.BANK_CARD, "4111-1111-1111-1111"),
    (Secret.BANK_CARD, "3 张：4111 1111 1111 1111"),
    (Secret.BANK_CARD, "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
    (Secret.BANK_CARD, UNION),
    (Secret.BANK_CARD, "6222 0212 3456 7890 128"),
    (Secret.BANK_CARD, "卡号６２２２０２１２３４５６７８９０１２８"),
    (Secret.BANK_CARD, "3782 822463 10005"),
    (Secret.PHONE, "13800138000"),
    (Secret.PHONE, "打我电话13800138000吧"),
    (Secret.PHONE, "+86 138-0013-8000"),
    (Secret.PHONE, "8613800138000"),
    (Secret.PHONE, "138 0013 8000"),
    (Secret.PHONE, "１３８００１３８０００"),
    (Secret.PHONE, "138\u200b0013\u200d8000"),
    (Secret.PHONE, "2026-11-30 13800138000"),
    (Secret.PHONE, "1.13800138000"),
    (Secret.LOGIN_CODE, "https://liteapp.weixin.qq.com/q/7GiQu1?qrcode=9c3f0b7de1&bot_type=3"),
    (Secret.LOGIN_CODE, "https://login.weixin.qq.com/l/Ab12Cd=="),
    (Secret.LOGIN_CODE, "https://txz.qq.com/p?k=Xy9&f=710"),
    (Secret.LOGIN_CODE, "otpauth://totp/x?secret=JBSWY3DP"),
    (Secret.LOGIN_CODE, "tg://login?token=abc"),
    (Secret.LOGIN_CODE, "WIFI:T:WPA;S:home;P:hello;;"),
]


@pytest.mark.parametrize(("kind", "text"), SECRETS, ids=range(len(SECRETS)))
def test_secrets_are_masked(kind: Secret, text: str) -> None:
    masked = mask(f"前面 {text} 后面")
    assert kind in masked.kinds
    assert kind in secrets_in(text)
    assert masked.text.startswith("前面 ")
    assert f"已隐去：{kind.words.zh}" in masked.text
    assert not has_secret(masked.text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("密码是 qwer1234，别忘了", "密码是 [已隐去：密码]，别忘了"),
        ("密码：a(b)c!", "密码：[已隐去：密码]!"),
        ('{"password":"a, b}","x":1}', '{"password":"[已隐去：密码]","x":1}'),
        ("打 13800138000 或 139 0013 8000", "打 [已隐去：手机号] 或 [已隐去：手机号]"),
        ("postgres://me:s3cret@db.test/x", "postgres://[已隐去：密码]@db.test/x"),
        ("key=" + "sk-" + HEX + "\n完", "key=[已隐去：API 密钥]\n完"),
        ("卡 4111\u200b 1111 1111 1111。", "卡 [已隐去：银行卡号]。"),
    ],
)
def test_only_the_secret_is_covered(text: str, masked: str) -> None:
    assert mask(text).text == masked


def test_in_english() -> None:
    masked = mask("password: hunter2, phone 13800138000", language="en")
    assert masked.text == "password: [hidden: password], phone [hidden: mobile number]"
    assert masked.kinds == (Secret.PASSWORD, Secret.PHONE)
    assert not has_secret(masked.text)


def test_phone_numbers_may_stay_but_nothing_else() -> None:
    text = f"我的号 13800138000，密码：13900139000，卡 {CARD}"
    masked = mask(text, keep_phone=True)
    assert masked.kinds == (Secret.PASSWORD, Secret.BANK_CARD)
    assert "13800138000" in masked.text
    assert "13900139000" not in masked.text


PLAIN = [
    "二楼安静区-A12",
    "明天（周二 12月1日）9–12 点，座位 二楼安静区-A12。回复「确认」或「取消」。",
    "2026-11-30T08:00:00.123Z",
    "20261130123456",
    "1764460800000",
    "evt_01KB8ZJ4T5N6M7P8Q9R0S1T2V3 和 s_01KB8ZJ4T5N6M7P8Q9R0S1T2V3",
    "5c9c183e0f1a2b3c4d5e6f708192a3b4c5d6e7f8",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "4c1f6b0d-deef-4b60-9254-683816910928",
    "9.735480675419367 和 5.654337101730491",
    "121 138 194 105 148 185 155 182 121 46 85 30",
    "圆周率 3.141592653589793，另有 0.13800138000",
    "192.168.100.200:8080",
    "qq:10001 在群 qq:777777777 里",
    "tg:-1001234567890",
    "ISBN 978-7-111-54742-6",
    "订单 12345678901234567",
    "4111111111111112",
    "110105194912310021",
    "11010519491331002X",
    "12345678901",
    "一共 1234567890123 元",
    "密码是多少？",
    "密码是错的",
    "密码是什么来着",
    "忘记密码了怎么办",
    "请重置密码。",
    "The password is wrong.",
    "password is required",
    "Passwords are hashed.",
    "a bearer of good news",
    "the token is required",
    "sk-learn 和 sk-learn-contrib-tools",
    "risk-based approach to disk-encryption-everywhere",
    "https://mp.weixin.qq.com/s/abcdef123456",
    "https://github.com/encode/httpx/pull/1234567",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "我住二楼，喜欢靠窗",
    "10:30 到 12:00，room 301",
    "python3.11 pip==24.0 torch-2.4.1+cu121",
]


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert mask(text).text == text
    assert mask(text).kinds == ()


@pytest.mark.parametrize(
    ("digits", "valid"),
    [
        (ID, True),
        ("110105194912310021", False),
        ("010105194912310020", False),
        ("11010519490231002X", False),
        ("1101051949123100", False),
    ],
)
def test_the_check_digit_of_an_identity_card(digits: str, valid: bool) -> None:
    assert is_id_card(digits) is valid


@pytest.mark.parametrize(
    ("digits", "valid"),
    [
        (CARD, True),
        ("5555555555554444", True),
        ("378282246310005", True),
        ("30569309025904", True),
        (UNION, True),
        ("4111111111111112", False),
        ("1764460800000", False),
        ("0000000000000000", False),
        ("411111111111", False),
    ],
)
def test_bank_cards_by_luhn(digits: str, valid: bool) -> None:
    assert is_bank_card(digits) is valid


SCRAPS = st.sampled_from(
    (
        *("密码", "密码：", "password is ", "Bearer ", "是", "芝麻开门", "用户", "a1", "。", '"', ":", ".", "@", "://"),
        *("138", "0013", "8000", " ", "-", "4111", "X", "_", "1３8", "\u200b", ID, MIX, "sk-", "eyJ", PEM[:32]),
        *("[已隐去：密码]", "[hidden: password]", "Authorization: Basic "),
    )
)


@settings(max_examples=300)
@given(st.lists(SCRAPS | st.text(max_size=3), max_size=12).map("".join))
def test_masking_twice_changes_nothing(text: str) -> None:
    masked = mask(text)
    assert bool(masked.kinds) is has_secret(text)
    again = mask(masked.text)
    assert again.text == masked.text


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_without_secrets_a_text_is_the_same(text: str) -> None:
    masked = mask(text)
    assert masked.kinds or masked.text == text


UNITS = (
    *("sk-", "ghp_", "xoxb-", "eyJ", "eyJa.", "eyJaaaaaaaa-", "a.", "a_", "SG.", "AKIA", "ya29.", "x1", "0f" * 16),
    *("1", "1 ", "1-", "0 ", "4111 ", "4111-1111 ", "13800138000", "1:", "bot1", "１", "1\u200b", "\u200b", "A", "路"),
    *("密码", "密码 ", "密码是", "password", "password:", "password is ", "bearer ", "token=", "secret", '"', "= "),
    *("authorization: a ", "://a:", "://", "@", "WIFI:", "https://txz.qq.com/p?k=", "otpauth://"),
    *("-----BEGIN ", "-----BEGIN PRIVATE " + "KEY-----"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_text_and_not_faster(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    begin = time.process_time()
    mask(text)
    # CPU time. Each takes well under a second; a quadratic pattern would take minutes.
    assert time.process_time() - begin < 10
