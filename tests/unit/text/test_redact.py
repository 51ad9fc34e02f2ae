"""Secrets are taken out of texts and nodes; everything else stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model import Node
from weft.text.redact import redact, redact_node

# Put together here, so that no scanner takes this file for a leak.
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SECRETS = {
    "GitHub": "ghp" + "_" + MIXED,
    "GitHub, fine-grained": "github" + "_pat_" + MIXED,
    "GitLab": "glpat" + "-" + MIXED[:20],
    "AWS": "AK" + "IA" + "QWERTYUIOPASDFGH",
    "OpenAI": "sk" + "-proj-" + MIXED,
    "Anthropic": "sk" + "-ant-api03-" + MIXED,
    "Google": "AI" + "za" + MIXED[:35],
    "Hugging Face": "hf" + "_" + MIXED[:34],
    "Slack": "xox" + "b-123456789012-" + MIXED[:24],
    "Stripe": "sk" + "_live_" + MIXED[:24],
    "Stripe, longer than its pattern": "sk" + "_live_51" + 3 * MIXED[:32],
    "JWT": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "NPM": "npm" + "_" + MIXED,
}
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nIBAAKC/+x==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("name", SECRETS)
def test_a_token_is_replaced_wherever_it_stands_and_the_words_around_it_stay(name: str) -> None:
    result = redact(f"I used {SECRETS[name]}, and it worked.")
    assert SECRETS[name] not in result.text
    assert result.text.startswith("I used [redacted: ")
    assert result.text.endswith("], and it worked.")
    assert len(result.kinds) == 1


def test_a_private_key_goes_with_its_body() -> None:
    assert redact(f"before\n{KEY}\nafter").text == "before\n[redacted: private key]\nafter"


def test_a_private_key_that_was_cut_off_goes_as_far_as_it_reaches() -> None:
    assert "MIIEow" not in redact(KEY[:48]).text


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("DATABASE_PASSWORD=hunter2x", "DATABASE_PASSWORD=[redacted: secret]"),
        ("export API_KEY=correcthorse", "export API_KEY=[redacted: secret]"),
        ('password = "tr0ub4dor&3"', 'password = "[redacted: secret]"'),
        ('{"client_secret": "aB3dE6gH9", "id": 4}', '{"client_secret": "[redacted: secret]", "id": 4}'),
        (
            'db = connect(user="ada", password="s3cr3t99", port=5)',
            'db = connect(user="ada", password="[redacted: secret]", port=5)',
        ),
        ("mysql --password hunter2x --host db", "mysql --password [redacted: secret] --host db"),
        ("X-Api-Key: 7f3a9c2e1b", "X-Api-Key: [redacted: secret]"),
        ("token: 7f3a9c2e1b", "token: [redacted: secret]"),
        ("Authorization: Bearer abc123def456ghi7", "Authorization: Bearer [redacted: authorization]"),
        ("postgres://ada:s3cr3t@db/x", "postgres://ada:[redacted: Basic Auth Credentials]@db/x"),
    ],
)
def test_a_value_given_to_something_named_like_a_secret_is_replaced(line: str, kept: str) -> None:
    assert redact(line).text == kept


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens=4000 and token_model: cl100k_base",
        "The secret: nobody reads the manual.",
        'password = os.environ["DATABASE_PASSWORD"]',
        'PASSWORD = "${DATABASE_PASSWORD}"',
        "token = counter.count(text)",
        'label: "Enter your password here"',
        "commit 709ac09f2c7d9f1c6b1c2c3b0c8b0d3c2e1f0a9b moved risk-assessment-of-the-whole-Quarter-2026",
        "See https://example.org/path?key=value",
    ],
)
def test_words_variables_hashes_and_templates_stay(line: str) -> None:
    assert redact(line) == redact(redact(line).text)
    assert redact(line).text == line


def test_a_very_long_line_hides_no_secret() -> None:
    line = '{"note": "' + "so it goes " * 400 + '", "password": "tr0ub4dor", "more": "' + "on and on " * 400 + '"}'
    assert "tr0ub4dor" not in redact(line).text
    assert redact(line).kinds == ("secret",)


def test_overlapping_finds_become_one_mark() -> None:
    result = redact(f'API_KEY="{SECRETS["GitHub"]}"')
    assert result.text == 'API_KEY="[redacted: GitHub Token]"'
    assert result.kinds == ("GitHub Token",)


def test_a_node_is_cleaned_in_title_summary_text_and_fields() -> None:
    token = SECRETS["GitHub"]
    fields = {"note": [f"uses {token}"], "login": {"password": "hunter2x"}, "lines": 3}
    node, found = redact_node(Node("a:1", "message", title=token, summary=token, text=f"x {token}", fields=fields))
    assert "hunter2x" not in str(node)
    assert token not in str(node)
    assert node.fields["lines"] == 3
    assert len(found) == 5


def test_a_node_without_secrets_is_returned_as_it_is() -> None:
    node = Node("a:1", "message", text="Nothing to hide.", fields={"token_model": "cl100k_base"})
    assert redact_node(node) == (node, ())


@given(st.lists(st.sampled_from([*SECRETS.values(), KEY, " ", "\n", "password = ", '"', "words", "é", "="])))
def test_no_secret_survives_and_a_second_pass_finds_nothing(parts: list[str]) -> None:
    result = redact(" ".join(parts))
    assert all(secret not in result.text for secret in SECRETS.values())
    assert redact(result.text).text == result.text


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    result = redact(text)
    assert result.kinds or result.text == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the staging password is Tr0ub4dor&3", "the staging password is [redacted: secret]"),
        ("My api key is 8f3kd93kx02.", "My api key is [redacted: secret]."),
        ("use password p@ssw0rd9 for the demo", "use password [redacted: secret] for the demo"),
        ('The passphrase is "correct horse"', 'The passphrase is "[redacted: secret]"'),
        ("PIN code: 4921", "PIN code: [redacted: secret]"),
        ("The passcode of the door equals 4711", "The passcode of the door equals [redacted: secret]"),
        ("log in as bob with pw Sommer2024!", "log in as bob with pw [redacted: secret]!"),
        ("use token abc123def456 for staging", "use token [redacted: secret] for staging"),
        ("das Passwort ist Gehe1m", "das Passwort ist [redacted: secret]"),
        ("root's password was changed to Kitten99", "root's password was changed to [redacted: secret]"),
        ("the db password for prod = s3cr3t", "the db password for prod = [redacted: secret]"),
        ("secret key → zk39dkw02kd", "secret key → [redacted: secret]"),
        ("pw is hunter2", "pw is [redacted: secret]"),
        ("OPENAI_API_KEY is sk-proj-abc123DEF", "OPENAI_API_KEY is [redacted: secret]"),
        ("Tr0ub4dor&3 is our staging password.", "[redacted: secret] is our staging password."),
        ("use Tr0ub4dor&3 as the password for root", "use [redacted: secret] as the password for root"),
        ("4821 is my PIN", "[redacted: secret] is my PIN"),
        ("the admin login is admin / Pa55w0rd!", "the admin login is admin / [redacted: secret]!"),
        ("creds: bob/Str0ngPass", "creds: [redacted: secret]"),
        ("db pass for prod: s3cr3t-Pa55", "db pass for prod: [redacted: secret]"),
        ("ssh in as deploy with password hunter2", "ssh in as deploy with password [redacted: secret]"),
        ("my password's qwerty123!", "my password's [redacted: secret]!"),
        ("vpn: user jo, pass Quokka-44", "vpn: user jo, pass [redacted: secret]"),
        ("log in with jo@x.io / Winter#2025", "log in with jo@x.io / [redacted: secret]"),
        ("curl -u kim:p4ssw0rd https://x.io", "curl -u kim:[redacted: secret] https://x.io"),
        ("mysql -u root -pS3cretRoot app", "mysql -u root -p[redacted: secret] app"),
        ("sshpass -p 'Zt7!kk21' ssh box", "sshpass -p '[redacted: secret]' ssh box"),
        ("set DB_PASS=Fjord77x first", "set DB_PASS=[redacted: secret] first"),
        ("the passphrase is correct horse battery staple", "the passphrase is [redacted: secret]"),
        (f"recovery phrase: {'about above ' * 6}".strip(), "recovery phrase: [redacted: secret]"),
        ("2FA backup codes: 8123-4567, 9981-2210", "2FA backup codes: [redacted: secret]"),
        ("the door code is 4821#", "the door code is [redacted: secret]"),
        ("the combination of the safe is 12-34-56", "the combination of the safe is [redacted: secret]"),
        ("the password is swordfish", "the password is [redacted: secret]"),
        ("our pw for everything: aquarium", "our pw for everything: [redacted: secret]"),
        ("het wachtwoord is Fiets123!", "het wachtwoord is [redacted: secret]!"),
        ("la password di produzione è Ciliegia!77", "la password di produzione è [redacted: secret]"),
        ("hasło do serwera to Zamek!88", "hasło do serwera to [redacted: secret]"),
        ("пароль от базы Kot20!24x", "пароль от базы [redacted: secret]"),
        ("密码是 Abc!2345", "密码是 [redacted: secret]"),
        ("パスワードは Neko2024! です", "パスワードは [redacted: secret] です"),
        ("alarm code 7391#", "alarm code [redacted: secret]#"),
        ("AWS_SECRET_ACCESS_KEY wJalr71XUtnFEMIK7", "AWS_SECRET_ACCESS_KEY [redacted: secret]"),
        ("das Kennwort lautet Bergziege", "das Kennwort lautet [redacted: secret]"),
        ("the key for staging is stg_9a8b7c6d5e4f", "the key for staging is [redacted: secret]"),
        (
            "password changed from Alpha11! to Beta22!",
            "password changed from [redacted: secret]! to [redacted: secret]!",
        ),
    ],
)
def test_a_secret_that_a_sentence_tells_is_redacted_in_prose(text: str, kept: str) -> None:
    assert redact(text, prose=True).text == kept


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.",
        "le mot de passe est obligatoire",
        "пароль обязателен",
        "reset the password of jo2@example.org",
        "does the password prompt work in python3?",
        "Count each token cl100k_base gives for it",
        "a token understandably costs more",
        "the passcode is required",
        "the token is stored in vault.py",
        "The API key is read from OPENAI_API_KEY",
        "the password was changed on 2026-03-01",
        "the secret is that we ship on Friday",
        "token: Annotated[str, Depends(scheme)]",
        "sha256 is the password hash",
        "return the same `username1` or `user` as the token",
        "HTTP/2 is the secret of its speed",
        "the login endpoint is /api/v2/login",
        "The user account is active/inactive",
        "log-in: Google / GitHub",
        "1. **Password Hashing**: never store the password itself",
        "the password is case-sensitive",
        "password: see 1Password",
        "password: string (required)",
        "the passcode is six digits",
        "the passphrase is asked for once when the agent starts",
        "pass -k test_login to pytest",
        "status code: 404",
        "the error code is E1234",
        "access code paths are logged",
        "our password policy is NIST-800-63B",
        "ssh key is ed25519",
        "the signing key is RSA-2048",
        "the primary key is order_line_id",
        "curl -u takes user:password",
        "refresh token was added in 3.2",
        "password hashing uses PBKDF2-SHA256 with 600000 rounds",
        "the secret of good tests is patience",
        "log in with Google / GitHub",
        "the wifi password is on the fridge",
        "the wifi password is hunter22  (pragma: allowlist secret)",
    ],
)
def test_a_sentence_about_secrets_that_tells_none_is_left_alone(text: str) -> None:
    assert redact(text, prose=True).text == text
