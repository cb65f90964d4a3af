#!/usr/bin/python3
"""pictures.py AWD FOLDER: makes the README's pictures from the running program AWD, by Debian's Chromium.

The front door and Apptimist on a desktop, and Msgr on a phone, each in light and dark.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE = 60
QUALITY = 60
CONFIGURATION = """[server]
name = "wallet.example"
listen = ["127.0.0.1:{port}"]
[log]
level = "warning"
[msgr]
password_memory = "8KiB"
password_passes = 1
[apptimist]
web = true
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, words: str):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {words}")
        time.sleep(0.1)
    return found


class Browser:
    """A Chromium with a profile of its own, through WebDriver."""

    def __init__(self, home: pathlib.Path):
        home.mkdir()
        self.port = free_port()
        self.process = subprocess.Popen(["/usr/bin/chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(home)})
        until(self.is_ready, "chromedriver")
        options = {"args": ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars"]}
        answer = self.call("/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.session = answer["sessionId"]

    def is_ready(self) -> bool:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status", timeout=2).status == 200
        except OSError:
            return False

    def call(self, path: str, body: dict, method: str = "POST"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)["value"]

    def open(self, url: str):
        self.call(f"/session/{self.session}/url", {"url": url})

    def run(self, script: str):
        return self.call(f"/session/{self.session}/execute/sync", {"script": script, "args": []})

    def wait(self, condition: str):
        until(lambda: self.run(f"return Boolean({condition})"), condition)

    def press(self, text: str):
        """Presses the button with this text, in the dialog on top if there is one."""
        self.wait("""(() => {
          const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
          const found = [...place.querySelectorAll('button')].find((button) => button.checkVisibility() && !button.disabled
            && button.textContent === %s);
          found?.click();
          return found;
        })()""" % json.dumps(text))

    def devtools(self, command: str, **parameters):
        return self.call(f"/session/{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int, is_phone: bool = False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone)

    def shoot(self, folder: pathlib.Path, name: str) -> int:
        """Takes the page in light and dark; returns the bytes of both pictures."""
        sizes = []
        for scheme in ("light", "dark"):
            self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            time.sleep(0.3)
            picture = base64.b64decode(self.devtools("Page.captureScreenshot", format="webp", quality=QUALITY)["data"])
            (folder / f"picture-{name}-{scheme}.webp").write_bytes(picture)
            sizes.append(len(picture))
        return sum(sizes)

    def close(self):
        # Chromium outlives a chromedriver that ends with a session.
        self.call(f"/session/{self.session}", {}, "DELETE")
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


class Pictures:
    def __init__(self, awd: str, folder: pathlib.Path):
        self.folder = folder
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="awd-pictures-"))
        self.port = free_port()
        text = CONFIGURATION.format(port=self.port)
        while True:
            (self.place / "awd.toml").write_text(text)
            outcome = subprocess.run([awd, "check", "--config", self.place / "awd.toml"], capture_output=True, text=True)
            # A key of a later version is left out.
            unknown = re.search(r"server\.name: unknown key", outcome.stderr)
            if not unknown:
                break
            text = text.replace('name = "wallet.example"\n', "")
        log = open(self.place / "log", "wb")
        self.server = subprocess.Popen([awd, "serve", "--config", self.place / "awd.toml"], stdout=log, stderr=log)
        until(lambda: self.answers("/readyz"), "the server")
        self.browsers: list[Browser] = []

    def answers(self, path: str) -> bool:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5).status == 200
        except OSError:
            return False

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def browser(self) -> Browser:
        browser = Browser(self.place / f"browser-{len(self.browsers)}")
        self.browsers.append(browser)
        return browser

    def post(self, path: str, fields: dict, token: str = "") -> dict:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(self.url(path), json.dumps(fields).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)

    def front(self) -> int:
        browser = self.browser()
        browser.size(1000, 360)
        browser.open(self.url("/"))
        return browser.shoot(self.folder, "front")

    def msgr(self) -> int:
        """Anna's phone, on which she talks to Bert."""
        tokens = {}
        for name in ("anna", "bert", "cleo"):
            tokens[name] = self.post("/register", {"Username": name, "Password": "correct horse", "DeviceID": f"stream:{name}s-phone"})["Token"]
        for name in ("bert", "cleo"):
            self.post("/add", {"AddUser": "anna"}, tokens[name])
            self.post("/add", {"AddUser": name}, tokens["anna"])
        browser = self.browser()
        browser.size(390, 700, is_phone=True)
        browser.open(self.url("/msgr/"))
        browser.wait("document.querySelector('#sign')?.checkVisibility()")
        browser.run("""const form = document.querySelector('#sign');
          form.elements.Username.value = 'anna'; form.elements.Password.value = 'correct horse';
          form.requestSubmit(form.querySelector('[value=login]'));""")
        browser.wait("document.querySelector('#people li')")
        talk = [("bert", "anna", "The tickets are in your wallet"), ("anna", "bert", "I see them. Both for Friday?"),
                ("bert", "anna", "Yes, doors open at seven"), ("anna", "bert", "Then let us meet at the station"),
                ("bert", "anna", "Half past six?"), ("anna", "bert", "Good. I bring the umbrella")]
        for sender, recipient, text in talk:
            self.post("/message", {"UserTo": recipient, "Message": text}, tokens[sender])
        self.post("/message", {"UserTo": "anna", "Message": "Are you coming tomorrow?"}, tokens["cleo"])
        browser.run("""[...document.querySelectorAll('#people li')].find((item) => item.textContent.includes('bert'))
          .querySelector('button, a').click();""")
        browser.wait("document.querySelectorAll('#messages li').length >= 6")
        time.sleep(1)
        return browser.shoot(self.folder, "msgr")

    def person(self, name: str) -> Browser:
        browser = self.browser()
        browser.size(1000, 620)
        browser.open(self.url("/siren/app/"))
        browser.wait("document.documentElement.dataset.view === 'welcome'")
        browser.run(f"""document.querySelector('#make').elements.name.value = {json.dumps(name)};
          document.querySelector('#make').requestSubmit();""")
        browser.wait("document.documentElement.dataset.connection === 'open'")
        return browser

    def write(self, browser: Browser, text: str):
        count = browser.run("return document.querySelectorAll('#messages li[data-id]').length")
        browser.run(f"""document.querySelector('#text').value = {json.dumps(text)};
          document.querySelector('#compose').requestSubmit();""")
        browser.wait(f"document.querySelectorAll('#messages li[data-id]').length > {count}")

    def apptimist(self) -> int:
        """Anna's desktop, on which she talks to Bert."""
        anna, bert = self.person("Anna"), self.person("Bert")
        anna.press("New chat")
        anna.run("""const field = document.querySelector('#find'); field.value = 'Bert';
          field.dispatchEvent(new Event('input'));""")
        anna.wait("document.querySelector('#finding li button')")
        anna.run("document.querySelector('#finding li button').click()")
        anna.wait("document.querySelector('#compose').checkVisibility()")
        self.write(anna, "Hello Bert, can you read this?")
        bert.wait("document.querySelector('.people li button')")
        bert.run("document.querySelector('.people li button').click()")
        bert.press("Allow")
        bert.wait("document.querySelector('#compose').checkVisibility()")
        for browser, text in [(bert, "Yes. And nobody else can."), (anna, "Shall we compare the safety number?"),
                              (bert, "I call you in a minute")]:
            self.write(browser, text)
        anna.wait("document.querySelectorAll('#messages li[data-id]').length >= 4")
        time.sleep(1)
        return anna.shoot(self.folder, "apptimist")

    def close(self):
        for browser in self.browsers:
            browser.close()
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(30)
        shutil.rmtree(self.place, ignore_errors=True)


def main():
    pictures = Pictures(sys.argv[1], pathlib.Path(sys.argv[2]))
    pictures.folder.mkdir(parents=True, exist_ok=True)
    try:
        sizes = [pictures.front(), pictures.msgr(), pictures.apptimist()]
    finally:
        pictures.close()
    print(f"ok {sum(sizes) / 1024:.0f} KiB in all")


main()
