"""The page of a simulated site that has passkeys. It passes options from Latchkey to the browser, and its answer back.

The page has no connection to Latchkey, because a site's own server makes those calls. Paste the `options_json` of
StartRegistration or StartSignIn, or open the page with the options behind a `#`.
"""

from __future__ import annotations

from .web import Answer, html_answer

PASSKEYS_PATH = "/passkeys"

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Passkeys</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 40em; margin: 2em auto; padding: 0 1em }
label { display: block; margin: 1em 0 .3em; font-weight: bold }
textarea { box-sizing: border-box; width: 100%; height: 9em; font-family: monospace }
button { font: inherit; margin: 1em .5em 0 0; padding: .4em 1em }
#outcome { margin-top: 1em; padding: .6em 1em; background: #eee; border-left: .4em solid #888 }
#outcome.done { background: #e6f4e6; border-color: #2a7a2a }
#outcome.failed { background: #fbe9e9; border-color: #b03030 }
</style>
<h1>Passkeys at <span id="site"></span></h1>
<p>Paste <code>options_json</code> of StartRegistration or StartSignIn. The answer is the <code>credential_json</code>
of FinishRegistration or SignIn.</p>
<label for="options">Options</label><textarea id="options" spellcheck="false"></textarea>
<button id="register">Register</button><button id="sign_in">Sign in</button>
<div id="outcome">Nothing yet.</div>
<label for="answer">Answer</label><textarea id="answer" readonly></textarea>
<script>
const element = id => document.getElementById(id);
element("site").textContent = location.host;
element("options").value = decodeURIComponent(location.hash.slice(1));

function show(kind, text) {
  element("outcome").className = kind;
  element("outcome").textContent = text;
}

async function answer(ceremony) {
  element("answer").value = "";
  show("", "Waiting for the authenticator…");
  try {
    const credential = await ceremony(JSON.parse(element("options").value));
    element("answer").value = JSON.stringify(credential.toJSON());
    const attachment = credential.authenticatorAttachment ?? "unknown";
    show("done", `The authenticator (${attachment}) answered with the passkey ${credential.id}.`);
  } catch (error) {
    show("failed", `${error.name}: ${error.message}`);
  }
}

element("register").onclick = () => answer(options => navigator.credentials.create(
  { publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));
element("sign_in").onclick = () => answer(options => navigator.credentials.get(
  { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
</script></html>
"""


def passkeys() -> Answer:
    return html_answer(PAGE)
