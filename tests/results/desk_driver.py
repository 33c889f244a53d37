"""Opens a page in Chromium, acts in it as a reader does, and returns what the reader then sees."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
    "--virtual-time-budget=60000", "--dump-dom",
)  # fmt: skip

ACTIONS = """
const pause = (ms = 300) => new Promise((done) => setTimeout(done, ms));
const until = async (test) => { while (!test()) await pause(20); };
const one = (css, root = document) => root.querySelector(css);
const all = (css, root = document) => [...root.querySelectorAll(css)];
const desk = () => one("#desk-part");
const field = (name) => all("#desk-part label").find((label) =>
  one("span", label).textContent.startsWith(name)).lastElementChild;
const choose = (name, value) => {
  const select = field(name);
  select.value = value;
  select.dispatchEvent(new Event("change"));
};
const find = async (text) => {
  field("Find").value = text;
  field("Find").dispatchEvent(new Event("input"));
  await pause();
};
const rows = () => all("#desk-part tbody tr:not(.why)").map((row) =>
  [...row.cells].map((cell) => cell.textContent.trim()));
const users = () => all("#desk-part .open").map((button) => button.textContent);
const status = () => one("#desk-part [role=status]").textContent;
const shown = () => Number(status().split(" ")[0].replaceAll(",", ""));
const press = (node, key) => node.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const list = (n) => all("#desk-part .why ol")[n];
const entries = (n) => all("li", list(n)).map((entry) => ({
  text: one(".title", entry).textContent, rank: one(".rank", entry).textContent,
  hit: entry.classList.contains("hit"), cut: entry.classList.contains("cut"),
  moved: one(".moved", entry)?.textContent ?? "", gain: one(".gain", entry)?.textContent ?? "",
}));
const files = [];
URL.createObjectURL = (blob) => { files.push(blob); return "data:,"; };
"""


def act(folder, page, script, address=""):
    """Run a script in a page once its desk is there: what it returns, what the console said."""
    driver = f"""
    (async () => {{
      {ACTIONS}
      let given;
      try {{
        await until(() => document.getElementById("desk-part"));
        given = await (async () => {{ {script} }})();
      }} catch (error) {{ given = {{ error: `${{error}} ${{error.stack}}` }}; }}
      const answer = document.createElement("pre");
      answer.id = "given";
      answer.textContent = JSON.stringify(given ?? null);
      document.body.append(answer);
    }})();
    """
    digest = base64.b64encode(hashlib.sha256(driver.encode()).digest()).decode()
    text = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    text = text.replace("</body>", f"<script>{driver}</script></body>")
    path = folder / "page.html"
    path.write_text(text, "utf-8", newline="\n")
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"{path.as_uri()}{address}"],
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip
    found = re.search(r'<pre id="given">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    given = json.loads(html.unescape(found[1]))
    assert not (isinstance(given, dict) and "error" in given), given["error"]
    return given, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
