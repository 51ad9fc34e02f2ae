"""Secrets in code and documents are taken out; hashes, ids, variables and examples stay."""

import pytest

from weft.text.redact_source import redact_source

SECRETS = [
    'AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzZ81kQ0a2b"',
    "aws_access_key_id = AKIA" + "IOSFODNN7ABCDEFG",
    "The admin password is Tr0ub4dor&3.",
    "password: hunter2hunter",
    'db = "postgres://app:s3cr3tPa55@db.internal/x"',
    'API_KEY = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"',
    'token: str = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"',
    '"client_secret": "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"',
]
HARMLESS = [
    'sha256 = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"',
    'commit = "fc67cfdfd7d4bbf53ef76515fae69726626fe256"',
    'token_id = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"',
    'password_hash = "pbkdf2:sha256:150000$abc$9f8b7c6d5e4f3a2b"',
    'secret_key = "dev"',
    'password = "example-password-1"',
    "password = getpass.getpass()",
    'token = request.headers.get("X-Token-2")',
    "token = self._tokens[key1]",
    "secret=settings.SECRET_KEY_2",
    "The password is hashed with argon2.",
    'url = "https://user@host/path"',
    "PASSWORD=${DB_PASSWORD_1}",
    'token_endpoint="http://localhost:8080/token/refresh1"',
    "tokenizer = Tokenizer2(vocabulary)",
]


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_is_replaced(line: str) -> None:
    redacted = redact_source(f"first\n{line}\nlast")
    assert len(redacted.kinds) == 1
    assert "[redacted: " in redacted.text
    assert redacted.text.split("\n")[::2] == ["first", "last"]


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact_source(line).text == line


def test_a_private_key_leaves_as_many_lines_as_it_had() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcdef\n-----END RSA PRIVATE KEY-----"
    redacted = redact_source(f"{key}\nnext")
    assert redacted.kinds == ("private key",)
    assert redacted.text.split("\n")[4] == "next"
    assert "MIIE" not in redacted.text


def test_code_that_looks_for_private_keys_stays() -> None:
    line = 'if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):'
    assert redact_source(line).text == line
