"""What a pasted explanation must not tell."""

from __future__ import annotations

import pytest

from raiselens_server.read.mask import mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('File "/home/ada/proj/x.py", line 3', 'File "/home/<user>/proj/x.py", line 3'),
        ('File "/Users/ada/proj/x.py", line 3', 'File "/Users/<user>/proj/x.py", line 3'),
        ("/lustre/home/ada: full", "/lustre/home/<user>: full"),
        (r"C:\Users\Ada\x.py", r"C:\Users\<user>\x.py"),
        (r"C:\\Users\\Ada\\x.py", r"C:\\Users\\<user>\\x.py"),
        ("ada@gpu-box-17:~/x$ python", "<user>@<host>:~/x$ python"),
        ("May 04 11:27:26 gpu-box-17 systemd[1]: Started", "May 04 11:27:26 <host> systemd[1]: Started"),
        ("  host      : gpu-node-17", "  host      : <host>"),
        ("connect to 10.0.3.7:8000", "connect to <ip>:8000"),
        ("(pid=10444, ip=10.0.3.7)", "(pid=10444, ip=<ip>)"),
        ("inet6 fe80::1ff:fe23:4567:890a", "inet6 <ip>"),
        ("inet6 2001:0db8:85a3:0000:0000:8a2e:0370:7334", "inet6 <ip>"),
        ("ether aa:bb:cc:dd:ee:ff", "ether <mac>"),
        ("ask ada.b@example.org", "ask <email>"),
        ("https://ada:pw1234@hub.example/x", "https://<credentials>@hub.example/x"),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "HF_TOKEN=<token>"),
        ("key sk-abcdefghijklmnop1234", "key <token>"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer <token>"),
        ('{"api_key": "s3cr3tvalue"}', '{"api_key": "<secret>"}'),
        ("WANDB_API_KEY=0123456789abcdef", "WANDB_API_KEY=<secret>"),
        (r'File "C:\Users\Ada B. Lee\proj\x.py"', r'File "C:\Users\<user>\proj\x.py"'),
        (r"C:\Users\Ada failed", r"C:\Users\<user> failed"),
        (r"open \\filer7\models\a.bin", r"open \\<host>\models\a.bin"),
        (r"open '\\\\filer7\\models'", r"open '\\\\<host>\\models'"),
        ("gsk_abcdefghijklmnopqrst01 npm_abcdefghijklmnopqrst01", "<token> <token>"),
        ("pypi-AgEIcHlwaS5vcmcC SG.abcdefghijklmnop.abcdefghijklmnop", "<token> <token>"),
        ("dop_v1_0123456789abcdef", "<token>"),
        ("https://0123456789abcdef01234567@git.example/x", "https://<credentials>@git.example/x"),
        ("/blob?se=1&sig=AbC%2Fdef1234%3D&sp=r", "/blob?se=1&sig=<secret>&sp=r"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", "ssh-ed25519 <key>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END", "-----BEGIN RSA PRIVATE KEY-----<secret>-----END"),
        ("--password hunter22 --db_password=hunter22", "--password <secret> --db_password=<secret>"),
    ],
)
def test_is_masked(text: str, masked: str):
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-01 10:00:00,123 token usage: 0.95, #token: 72030",
        "RuntimeError: got c10::Half != float, torch.Size([2, 3]), x[::2], at 0x7f00d7830af0",
        "raise TypeError(f'{name} must be int32')  # host memory",
        "listening on 127.0.0.1:8000 and localhost",
        "max_tokens=128 eos_token_id=2",
        "torch 2.13.0 cuda 12.4",
        "--tokenizer /models/a --max-total-tokens 4096",
        "/usr/lib/python3.12/threading.py",
        r"C:\\models\\a, \\d+\\w and C:\\Windows\\x",
        r"stderr '\\nTraceback\\nValueError'",
        "key_cache_and_value_cache_for_attention_2, x?key=1",
    ],
)
def test_is_left_alone(text: str):
    assert mask(text) == text


def test_a_user_known_from_a_home_is_masked_everywhere():
    assert mask("/home/ada/x.py\nlogged in: ada; adamant") == "/home/<user>/x.py\nlogged in: <user>; adamant"


def test_names_known_from_elsewhere_are_masked():
    assert mask("job of grace on dgx07", users=("grace",), hosts=("dgx07",)) == "job of <user> on <host>"


def test_masking_twice_changes_nothing_more():
    text = "ada@box9:~$ cat /home/ada/.netrc password=abcdefgh 10.1.2.3"
    assert mask(mask(text)) == mask(text)
