"""Send the shop's mails."""

import smtplib
from collections.abc import Callable
from email.message import EmailMessage

from pigeonhole.handlers import handles

SENDER = "orders@shop.example"
SERVER, PORT = "localhost", 2525


class NoAddress(ValueError):
    """The body names nobody to write to; trying again would not help."""


@handles("mail")
def send(body: object, renew: Callable[[], None]) -> None:
    """Send one mail. A job may run twice: the server drops a second mail with the same id."""
    message = compose(body)
    with smtplib.SMTP(SERVER, PORT, timeout=20) as server:
        server.send_message(message)


def compose(body: object) -> EmailMessage:
    """Make the mail that a body describes; its id comes from the order, not from the clock."""
    if not isinstance(body, dict) or not body.get("to"):
        raise NoAddress(f"There is no address in {body!r}.")
    message = EmailMessage()
    message["From"], message["To"] = SENDER, str(body["to"])
    message["Subject"] = str(body.get("subject", "Your order"))
    message["Message-ID"] = f"<{body.get('order', 'none')}.{body.get('step', 0)}@shop.example>"
    message.set_content(str(body.get("text", "")))
    return message
