"""The pages of docs/reference/, each with the function that makes it."""

from scripts.reference.command_line import command_line_page
from scripts.reference.error_messages import errors_page
from scripts.reference.library import library_page
from scripts.reference.profile_fields import profile_page
from scripts.reference.service import service_page
from scripts.reference.settings import settings_page
from scripts.reference.tools import tools_page

PAGES = {
    "command-line.md": command_line_page,
    "rest-routes.md": service_page,
    "mcp-tools.md": tools_page,
    "python.md": library_page,
    "profile-fields.md": profile_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
}
