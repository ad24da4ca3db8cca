"""The pages that a user sees: a login as any user, errors that must not be sent back, and the end of a flow."""

from __future__ import annotations

from html import escape

from .people import Person
from .web import Answer, Pairs, html_answer

HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px sans-serif; max-width: 36em; margin: 2em auto }} label {{ display: block; margin: .5em 0 }}
input:not([type=checkbox]) {{ width: 100% }} textarea {{ width: 100%; height: 8em }}</style><h1>{title}</h1>
"""
# Field, its label, and its initial value.
TEXTS = (("username", "User name (who you are)"), ("name", "Name"), ("email", "E-mail"), ("picture", "Picture (URL)"),
         ("hosted_domain", "Google Workspace domain"), ("tenant", "Microsoft tenant"))
TICKS = (("email_verified", "The provider verified the e-mail"),
         ("domain_verified", "Microsoft: the tenant owns the e-mail's domain"), ("hide_email", "Apple: hide my e-mail"))


def login(provider: str, client_id: str, scopes: list[str], people: list[Person], hint: str) -> Answer:
    """A form that posts to its own URL, so that it keeps the parameters of the request."""
    known = "".join(
        f'<button name="person" value="{escape(each.username)}">{escape(each.display_name)}'
        f' &lt;{escape(each.email or "no e-mail")}&gt;</button> ' for each in people)
    shown = Person("someone")
    name, _, domain = hint.partition("@")
    hinted = {"username": name, "email": hint if domain else "", "tenant": shown.tenant}
    texts = "".join(
        f'<label>{label} <input name="{field}" id="{field}" value="{escape(hinted.get(field, ""))}"></label>'
        for field, label in TEXTS)
    ticks = "".join(f'<label><input type="checkbox" name="{field}" id="{field}"> {label}</label>'
                    for field, label in TICKS)
    declined = "".join(
        f'<label><input type="checkbox" name="declined" value="{escape(scope)}"> Do not allow {escape(scope)}</label>'
        for scope in scopes)
    return html_answer(
        HEAD.format(title=f"Log in at {escape(provider)}")
        + f"<p><b>{escape(client_id)}</b> asks for: {escape(', '.join(scopes)) or 'nothing in particular'}.</p>"
        + (f'<form method="post"><p>As somebody known:</p><p>{known}</p></form>' if known else "")
        + f'<form method="post"><p>As anybody:</p>{texts}{ticks}{declined}<p><button name="decision" value="allow" '
        'id="allow">Allow</button> <button name="decision" value="deny" id="deny">Deny</button></p></form></html>')


def refusal(provider: str, why: str, status: int = 400) -> Answer:
    """An error that concerns the client or the redirect URI stays here (RFC 6749 section 4.1.2.1)."""
    return html_answer(HEAD.format(title=f"{escape(provider)} cannot do this") + f"<p>{escape(why)}</p></html>", status)


def form_post(redirect_uri: str, parameters: Pairs) -> Answer:
    """OAuth 2.0 Form Post Response Mode: the browser posts the parameters by itself."""
    fields = "".join(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
                     for name, value in parameters)
    return html_answer(
        HEAD.format(title="Going back") + f'<form method="post" action="{escape(redirect_uri)}">{fields}'
        '<noscript><button>Go on</button></noscript></form><script>document.forms[0].submit()</script></html>')


def landing(callback_uri: str) -> Answer:
    """Replaces the application's own page, and shows what the application would pass to Latchkey."""
    return html_answer(
        HEAD.format(title="Back at the application")
        + "<p>The complete callback URI, with the form body, if any, as its query:</p>"
        f'<textarea id="callback" readonly>{escape(callback_uri)}</textarea></html>')
