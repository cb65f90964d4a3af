#!/usr/bin/python3
"""clients.py AWD: asks AWD what today's clients of TokenScripts ask, and checks what each makes of the responses.

The clients are the TokenScript engine and viewer, AlphaWallet for iOS and Android, and tlink. Each function here sends what
the client of its name sends, and reads the response as that one does. The files are signed here, some as the official
command-line tool signs them; a stand-in for a chain's endpoint tells the contracts' owner, URIs and registry. A canary
counts whoever fetches what strangers name: nobody may. Prints a line for each failed check, and ends with 1 if there is one.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import traceback
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Attacks"))
from attack import Response, Server  # noqa: E402

# The contracts: addresses of EIP-55's own examples. ALICE's and DAVE's owner is known; BOB is on two chains that nobody asks;
# CAROL has no files; ERIN names her file by its CID.
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
CAROL = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
DAVE = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
ERIN = "0x52908400098527886E0F7030069857D2E4169EE7"
REGISTRY = "0x0077380bCDb2717C9640e892B9d5Ee02Bb5e0682"

# The addresses of the secp256k1 keys 1, 2 and 3.
OWNER = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
RIVAL = "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF"
DELEGATE = "0x6813Eb9362372EEF6200f3b1dbC3f819671cBA69"
KEYS = {"owner": 1, "rival": 2, "delegate": 3}

VIEWER = "https://viewer.tokenscript.org"
MEMBERS = {"name": str, "icon": str, "order": int, "authenticated": bool, "sourceId": str, "sourceUrl": str, "scriptId": str,
           "type": str}
C14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
DSIG = "http://www.w3.org/2000/09/xmldsig#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"

failures: list[str] = []
count = 0


def expect(holds, words: str, seen=""):
    """Notes a check, and what was seen if it fails."""
    global count
    count += 1
    if not holds:
        text = f"status {seen.status}, {seen.fields}, {seen.body[:300]!r}" if isinstance(seen, Response) else repr(seen)
        failures.append(f"{sys._getframe(1).f_code.co_name}: {words}" + (f": {text}" if seen != "" else ""))


def run(*words: str, input: bytes = b"", folder=None) -> bytes:
    outcome = subprocess.run(words, input=input, capture_output=True, cwd=folder, timeout=60)
    if outcome.returncode:
        raise RuntimeError(f"{' '.join(words)}: {outcome.stdout.decode()}{outcome.stderr.decode()}")
    return outcome.stdout


# The outside world


class Web(http.server.ThreadingHTTPServer):
    """An HTTP server at a port of its own, on a thread of its own."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = answer(self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_POST = do_PUT = do_OPTIONS = do_GET

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Canary(Web):
    """Counts the requests for what strangers name."""

    def __init__(self):
        self.paths: list[str] = []

        def answer(path, _):
            self.paths.append(path)
            return b"<ts:token/>"
        super().__init__(answer)


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def text(string: str) -> bytes:
    data = string.encode()
    return word(len(data)) + data + bytes(-len(data) % 32)


def array(elements: list[bytes]) -> bytes:
    offsets, tail = b"", b""
    for element in elements:
        offsets += word(32 * len(elements) + len(tail))
        tail += element
    return word(32) + word(len(elements)) + offsets + tail


def entry(name: str, token: int, url: str, is_authenticated: bool) -> bytes:
    """What the registry's scriptData tells of an entry."""
    label, icon = text(name), text("")
    return (word(160) + word(160 + len(label)) + word(token) + word(160 + len(label) + len(icon)) + word(is_authenticated)
            + label + icon + text(url))


class Chain(Web):
    """A JSON-RPC endpoint of chain 1, where strangers have put the canary wherever they can."""

    def __init__(self, canary: Canary):
        self.words: dict[tuple[str, str], bytes] = {}

        def answer(_, body: bytes) -> bytes:
            answers = []
            for call in json.loads(body):
                asked = call["params"][0]
                result = self.words.get((asked["to"].lower(), asked["data"].removeprefix("0x")))
                outcome = ({"error": {"code": 3, "message": "execution reverted"}} if result is None
                           else {"result": "0x" + result.hex()})
                answers.append({"jsonrpc": "2.0", "id": call["id"], **outcome})
            return json.dumps(answers).encode()
        super().__init__(answer)
        owner = word(int(OWNER, 16))
        entries = [entry("Stranger", 7, f"{canary.url}/7", False), entry("Mine", 3, f"{canary.url}/3", True),
                   entry("Script", 8, "javascript:alert(1)", False), entry("Empty", 0, f"{canary.url}/0", False)]
        self.say(ALICE, "8da5cb5b", owner)  # owner()
        self.say(DAVE, "8da5cb5b", owner)
        self.say(ALICE, "06fdde03", word(32) + text("Alice's Coin"))  # name()
        self.say_places(ALICE, [f"{canary.url}/own.tsml", "javascript:alert(1)"])
        self.say(REGISTRY, "e6c607ac" + word(int(ALICE, 16)).hex(), array(entries))  # scriptData(address)
        self.say(REGISTRY, "6352211e" + word(3).hex(), owner)  # ownerOf(uint256)

    def say(self, contract: str, data: str, result: bytes):
        self.words[contract.lower(), data] = result

    def say_places(self, contract: str, urls: list[str]):
        self.say(contract, "4bb30912", array([text(url) for url in urls]))  # scriptURI()


def cid(content: bytes) -> str:
    """The CIDv0 of a file of one chunk, as `ipfs add` makes it: of UnixFS in a node of DAG-PB, the SHA-256 in base58."""
    def field(number: int, value: bytes | int) -> bytes:
        if isinstance(value, int):
            return bytes([number << 3]) + varint(value)
        return bytes([number << 3 | 2]) + varint(len(value)) + value

    def varint(value: int) -> bytes:
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)

    node = field(1, field(1, 2) + field(2, content) + field(3, len(content)))
    number = int.from_bytes(b"\x12\x20" + hashlib.sha256(node).digest(), "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + digits
    return digits


# The repository


class Repository(Server):
    """A served folder of files that are signed here."""

    def __init__(self, canary: Canary, chain: Chain):
        super().__init__(f"""
[tokenscript]
repository = "repository"
roots = "roots.pem"
[tokenscript.chains]
1 = "{chain.url}"
[[tokenscript.clients]]
name = "OldWallet"
namespaces = ["2019/05"]
""")
        self.canary, self.chain = canary, chain
        self.bytes: dict[str, bytes] = {}
        self.hostile: list[bytes] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "AWD_SERVER_PUBLIC_URL": self.base, "AWD_SERVER_SERVICES": "tokenscript"}

    def start(self, within: float = 20):
        self.sign_files()
        super().start(within)

    def ask(self, url: str, fields: dict[str, str] | None = None, method: str = "GET", body: bytes = b"") -> Response:
        """Asks for a URL of this server, or for a path."""
        return self.request(method, url.removeprefix(self.base), body, fields)

    def sign_files(self):
        folder = pathlib.Path(self.folder)
        (folder / "repository").mkdir()
        for name, number in KEYS.items():
            secret = bytes.fromhex("302e0201010420") + word(number) + bytes.fromhex("a00706052b8104000a")
            run("openssl", "ec", "-inform", "DER", "-out", f"{name}.key", input=secret, folder=folder)
            run("openssl", "ec", "-in", f"{name}.key", "-pubout", "-out", f"{name}.pub", folder=folder)
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/O=Shop/CN=shop.example",
            "-keyout", "shop.key", "-out", "roots.pem", folder=folder)
        self.certify()
        self.bytes = {
            "owner": self.made("owner.tsml", ALICE, "owner"),
            "rival": self.made("rival.tsml", ALICE, "rival"),
            "old": self.tool_made("2020/03", ALICE, [1], "rival"),
            "two": self.tool_made("2024/01", BOB, [137, 11155111], "rival"),
            "delegated": self.tool_made("2024/01", DAVE, [1], "delegate", "delegate.pem"),
            "pinned": self.tool_made("2022/09", ERIN, [1], "rival"),
            "shop": self.made("shop.tsml", CAROL, "shop", "--certificate", "roots.pem"),
        }
        for name, content in self.bytes.items():
            if name != "shop":
                (folder / "repository" / f"{name}.tsml").write_bytes(content)
        url = self.canary.url
        self.hostile = [
            self.tool_made("2024/01", DAVE, [1], "rival", uri=f"{url}/reference"),
            self.tool_made("2024/01", DAVE, [1], "rival", retrieval=f"{url}/key"),
            self.bytes["delegated"].replace(b"<ts:token ", (
                '<ts:token xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
                f'xsi:schemaLocation="http://tokenscript.org/2024/01/tokenscript {url}/schema" ').encode(), 1),
            f'<!DOCTYPE x SYSTEM "{url}/dtd"><x/>'.encode(),
            f'<!DOCTYPE x [<!ENTITY e SYSTEM "{url}/entity">]><x>&e;</x>'.encode()]
        for number, content in enumerate(self.hostile):
            (folder / "repository" / f"hostile{number}.tsml").write_bytes(content)
        self.chain.say_places(ERIN, [f"ipfs://{cid(self.bytes['pinned'])}"])

    def certify(self):
        """Makes the delegate's certificate as `tokenscript certificate sign` does: the owner's point is its issuerAltName."""
        point = run("openssl", "pkey", "-in", "owner.key", "-pubout", "-outform", "DER", folder=self.folder)[-65:]
        extensions = pathlib.Path(self.folder, "delegate.ext")
        extensions.write_text(f"2.5.29.18 = critical,DER:{point.hex()}\nbasicConstraints = critical,CA:FALSE,pathlen:0\n")
        run("openssl", "req", "-x509", "-new", "-key", "owner.key", "-subj", "/CN=owner", "-out", "owner.pem",
            folder=self.folder)
        run("openssl", "req", "-new", "-key", "delegate.key", "-subj", "/CN=delegate", "-out", "delegate.csr",
            folder=self.folder)
        run("openssl", "x509", "-req", "-in", "delegate.csr", "-CA", "owner.pem", "-CAkey", "owner.key", "-set_serial", "1",
            "-sha256", "-days", "30", "-extfile", "delegate.ext", "-out", "delegate.pem", folder=self.folder)

    def made(self, name: str, contract: str, key: str, *certificate: str) -> bytes:
        """A file that awd has made and signed, with a signing time."""
        run(self.program, "repo", "new", "--namespace", "2020/06", "--contract", contract, "--name", "Coin", name, folder=self.folder)
        run(self.program, "repo", "sign", name, "--key", f"{key}.key", *certificate, folder=self.folder)
        return pathlib.Path(self.folder, name).read_bytes()

    def tool_made(self, version: str, contract: str, chains: list[int], key: str, certificate: str = "",
                  uri: str = "", retrieval: str = "") -> bytes:
        """A file as `tokenscript sign` makes it: no signing time, inclusive C14N, an ECDSAKeyValue, one certificate at most.

        The text is canonical as it stands, so that hashing it is canonicalizing it.
        """
        addresses = "".join(f'<ts:address network="{number}">{contract.lower()}</ts:address>' for number in chains)
        before = (
            f'<ts:token xmlns:ts="http://tokenscript.org/{version}/tokenscript" name="tool">'
            '<ts:label><ts:string xml:lang="de">Münze</ts:string><ts:string xml:lang="en">Made by the tool</ts:string>'
            '</ts:label>'
            f'<ts:meta><ts:description xml:lang="en">A &lt;description&gt;</ts:description><ts:aboutUrl>javascript:alert(1)'
            f'</ts:aboutUrl><ts:iconUrl>{self.canary.url}/icon</ts:iconUrl></ts:meta>'
            f'<ts:contract interface="erc721" name="Coin">{addresses}</ts:contract>'
            '<ts:origins><ts:ethereum contract="Coin"></ts:ethereum></ts:origins>'
            '<ts:cards><ts:card name="mint" type="action"><ts:label><ts:string xml:lang="en">Mint</ts:string></ts:label>'
            '</ts:card><ts:card name="info" type="token"></ts:card></ts:cards>')
        digest = base64.b64encode(hashlib.sha256((before + "</ts:token>").encode()).digest()).decode()
        reference = f' URI="{uri}"' if uri else ""
        content = (
            f'<ds:CanonicalizationMethod Algorithm="{C14N}"></ds:CanonicalizationMethod>'
            f'<ds:SignatureMethod Algorithm="{MORE}ecdsa-sha256"></ds:SignatureMethod><ds:Reference{reference}><ds:Transforms>'
            f'<ds:Transform Algorithm="{DSIG}enveloped-signature"></ds:Transform>'
            f'<ds:Transform Algorithm="{C14N}"></ds:Transform></ds:Transforms>'
            '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod>'
            f'<ds:DigestValue>{digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>')
        signed = (f'<ds:SignedInfo xmlns:ds="{DSIG}" xmlns:ts="http://tokenscript.org/{version}/tokenscript">' + content)
        value = run("openssl", "dgst", "-sha256", "-sign", f"{key}.key", input=signed.encode(), folder=self.folder)
        point = run("openssl", "pkey", "-in", f"{key}.key", "-pubout", "-outform", "DER", folder=self.folder)[-64:]
        x, y = (base64.b64encode(half).decode() for half in (point[:32], point[32:]))
        more = ""
        if certificate:
            pem = pathlib.Path(self.folder, certificate).read_text()
            data = "".join(pem.split("-----")[2].split())
            more = f"<ds:X509Data><ds:X509Certificate>{data}</ds:X509Certificate></ds:X509Data>"
        if retrieval:
            more += f'<ds:RetrievalMethod URI="{retrieval}"></ds:RetrievalMethod>'
        return (
            before + f'<ds:Signature xmlns:ds="{DSIG}"><ds:SignedInfo>' + content
            + f'<ds:SignatureValue>{base64.b64encode(side_by_side(value)).decode()}</ds:SignatureValue>'
            f'<ds:KeyInfo><ds:KeyValue><ecdsa:ECDSAKeyValue xmlns:ecdsa="{MORE}"><ecdsa:DomainParameters>'
            f'<ecdsa:NamedCurve URI="urn:oid:1.3.132.0.10"></ecdsa:NamedCurve></ecdsa:DomainParameters>'
            f'<ecdsa:PublicKey><ecdsa:X>{x}</ecdsa:X><ecdsa:Y>{y}</ecdsa:Y>'
            f'</ecdsa:PublicKey></ecdsa:ECDSAKeyValue></ds:KeyValue>{more}</ds:KeyInfo></ds:Signature></ts:token>').encode()

    def is_signed(self, content: bytes, key: str) -> bool:
        """Whether xmlsec1 finds the signature of a key, as a client's own library would."""
        path = pathlib.Path(self.folder, "fetched.tsml")
        path.write_bytes(content)
        words = ["xmlsec1", "--verify", "--pubkey-pem", f"{key}.pub", "--id-attr:Id", "SignedProperties", str(path)]
        return subprocess.run(words, capture_output=True, cwd=self.folder, timeout=60).returncode == 0


def side_by_side(value: bytes) -> bytes:
    """R and S of 32 bytes each, from the sequence of two numbers that openssl writes."""
    first = value[4:4 + value[3]]
    second = value[6 + value[3]:]
    return b"".join(int.from_bytes(number, "big").to_bytes(32, "big") for number in (first, second))


# The clients


def is_for_browsers(response: Response) -> bool:
    """Whether a browser gives the response to a page of another origin (CORS)."""
    return response.fields.get("access-control-allow-origin") == "*"


def script_info(repository: Repository, contract: str, chain: int) -> list[dict]:
    """As the engine's LaunchpadAPI asks: in lower case, by a browser, and what is no array is no scripts."""
    response = repository.ask(f"/tokenscript/{contract.lower()}/chain/{chain}/script-info", {"Origin": VIEWER})
    expect(response.status == 200 and is_for_browsers(response), "a browser may read", response)
    scripts = json.loads(response.body)
    expect(isinstance(scripts, list) and len(scripts) <= 64, "an array of at most 64", response)
    for place, script in enumerate(scripts):
        expect({name: type(value) for name, value in script.items()} == MEMBERS, "the eight members", script)
        expect(script["order"] == place and script["sourceId"] == f"{chain}-{contract}", "the place and the contract", script)
        expect(re.match(r"(https?|ipfs):", script["sourceUrl"]), "a URL that a browser opens", script)
        expect(re.match(r"(https:|ipfs:|$)", script["icon"]), "an icon that a browser shows", script)
        expect("-" not in script["scriptId"] and script["type"] in ("scriptUri", "registry"), "a link can name it", script)
    expect(len({script["scriptId"] for script in scripts}) == len(scripts), "each has its name", scripts)
    return scripts


def engine(repository: Repository):
    """The engine and the viewer: the first script is opened unasked, others by <chain>-<address>-<scriptId>."""
    scripts = script_info(repository, ALICE, 1)
    found = [(script["scriptId"], script["authenticated"]) for script in scripts]
    expect(found == [("", True), (f"awd_202006_{OWNER}", True), ("7738_3", True), (f"awd_202006_{RIVAL}", False),
                     (f"awd_202003_{RIVAL}", False), ("7738_7", False)], "the contract's own first, strangers last", found)
    expect(scripts[0]["sourceUrl"] == f"{repository.canary.url}/own.tsml" and scripts[0]["name"] == "Alice's Coin",
           "what the contract says", scripts[0])
    wanted = {f"awd_202006_{OWNER}": ("owner", "owner"), f"awd_202006_{RIVAL}": ("rival", "rival"),
              f"awd_202003_{RIVAL}": ("old", "rival")}
    for name, (file, key) in wanted.items():
        link = f"1-{ALICE}-{name}"
        script = next((each for each in scripts if each["scriptId"] == link.split("-")[2]), None)
        if script is None:
            expect(False, "a script for the link", link)
            continue
        response = repository.ask(script["sourceUrl"], {"Origin": VIEWER})
        expect(200 <= response.status < 300 and is_for_browsers(response), f"a browser gets {script['sourceUrl']}", response)
        expect(response.body == repository.bytes[file] and repository.is_signed(response.body, key), "the signed bytes",
               response)
    # On chains that nobody asks files are told too, and the one of whom the owner has certified is its contract's own.
    for number in (137, 11155111):
        [script] = script_info(repository, BOB, number)
        expect(not script["authenticated"] and script["name"] == "Made by the tool" and script["icon"] == "", "BOB's", script)
        expect(repository.ask(script["sourceUrl"]).body == repository.bytes["two"], "BOB's file", script)
    [script] = script_info(repository, DAVE, 1)
    expect(script["authenticated"] and script["scriptId"].startswith("awd_202401_"), "DAVE's is the owner's", script)
    content = repository.ask(script["sourceUrl"]).body
    expect(content == repository.bytes["delegated"] and repository.is_signed(content, "delegate"), "DAVE's file", script)
    [own, script] = script_info(repository, ERIN, 1)
    expect(own["sourceUrl"].startswith("ipfs://Qm") and own["scriptId"] == "", "ERIN's own", own)
    expect(script["authenticated"] and repository.ask(script["sourceUrl"]).body == repository.bytes["pinned"],
           "the file that ERIN names", script)
    expect(script_info(repository, CAROL, 1) == [] and script_info(repository, BOB, 1) == [], "no scripts")


def caches(repository: Repository):
    """Browsers keep what has an entity tag; a date means nothing where several files are told of."""
    for name in ("script-info", "script-uri"):
        path = f"/tokenscript/{ALICE}/chain/1/{name}"
        response = repository.ask(path, {"If-Modified-Since": "Wed, 01 Jan 2031 00:00:00 GMT"})
        tag = response.fields.get("etag", "")
        expect(response.status == 200 and re.fullmatch(r'"[^"]+"', tag), f"{name} has a strong entity tag", response)
        expect("last-modified" not in response.fields and response.fields.get("cache-control") == "no-cache",
               f"{name} has no date", response)
        same = repository.ask(path, {"If-None-Match": tag})
        expect(same.status == 304 and same.body == b"" and same.fields.get("etag") == tag, f"{name} is not modified", same)
        other = repository.ask(path, {"If-None-Match": '"x"'})
        expect(other.status == 200 and other.body == response.body, f"{name} is given again", other)
    for path in (f"/tokenscript/{ALICE}/chain/1/script-info", f"/tokenscript/{ALICE}/chain/1/script-uri", f"/2024/01/{DAVE}",
                 f"/token-view/1/{DAVE}", f"/token-view/1/{DAVE}/script-uri"):
        full, head = repository.ask(path), repository.ask(path, method="HEAD")
        expect(head.status == full.status == 200 and head.body == b"", f"HEAD {path}", head)
        expect(all(head.fields.get(name) == full.fields.get(name) for name in ("content-length", "content-type", "etag")),
               f"HEAD {path} is as GET", head)


def ios(repository: Repository):
    """AlphaWallet for iOS decodes arrays of strings, or null, and shows a button where there is a place."""
    places = {}
    for contract in (ALICE, CAROL):
        response = repository.ask(f"/tokenscript/{contract}/chain/1/script-uri")
        expect(response.status == 200, "the places", response)
        found = json.loads(response.body)["scriptURI"]
        expect(all(value is None or isinstance(value, list) and all(isinstance(each, str) for each in value)
                   for value in found.values()), "arrays of strings", found)
        places[contract] = found
    expect(places[CAROL] == {"erc5169": [], "offchain": []}, "no button", places[CAROL])
    found = places[ALICE]
    expect(f"{repository.canary.url}/own.tsml" in found["erc5169"], "the contract's own", found)
    files = [repository.bytes[name] for name in ("owner", "rival", "old")]
    responses = [repository.ask(url) for url in found["offchain"]]
    expect([(each.status, each.body) for each in responses] == [(200, file) for file in files],
           "one file a URL, the owner's first", [(url, each.status) for url, each in zip(found["offchain"], responses)])
    expect(repository.ask(f"/2020/06/{ALICE}").status == 300, "without a signer there is a choice")
    # Earlier releases have files verified, and cut the subject at commas and equals signs; this one writes a GET.
    boundary = "Boundary"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file.tsml"\r\nContent-Type: text/xml'
    form = f"{head}\r\n\r\n".encode() + repository.bytes["shop"] + f"\r\n--{boundary}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    response = repository.ask("/api/v1/verifyXMLDSig", kind, "POST", form)
    expect(response.status == 202, "a trusted signer passes", response)
    verdict = json.loads(response.body)
    subject = dict(part.split("=") for part in verdict.get("subject", "").split(","))
    expect(verdict.get("result") == "pass" and subject.get("CN") == "shop.example", "the subject", verdict)
    response = repository.ask("/api/v1/verifyXMLDSig", kind, "POST", form.replace(repository.bytes["shop"],
                                                                                  repository.bytes["rival"]))
    expect(response.status == 400 and json.loads(response.body).get("result") == "fail", "nobody's key fails", response)
    refused = repository.ask("/api/v1/verifyXMLDSig", {**kind, "Content-Length": str(len(form))}, "GET", form)
    expect(refused.status == 405 and "POST" in refused.fields.get("allow", ""), "GET is refused", refused)


ANDROID = {"Accept": "text/xml; charset=UTF-8", "X-Client-Name": "AlphaWallet", "X-Client-Version": "3.78",
           "X-Platform-Name": "Android", "X-Platform-Version": "14"}


def validated(repository: Repository, contract: str, chain: int, content: bytes | None, url: str = "") -> Response:
    """Has a file validated as Android does: Base64 in lines of 76 characters, every slash with a backslash."""
    asked = {"sourceType": "scriptUri", "sourceId": f"{chain}-{contract}", "sourceUrl": url}
    if content is not None:
        asked["base64Xml"] = base64.encodebytes(content).decode()
    body = json.dumps(asked).replace("/", "\\/").encode()
    return repository.ask("/tokenscript/validate", {"Content-Type": "application/json", "Accept": "application/json"}, "POST",
                          body)


def android(repository: Repository):
    """AlphaWallet for Android: the first place, with a file's own fields; 200 alone counts; the verdict on the bytes."""
    old = {**ANDROID, "If-Modified-Since": "Thu, 1 Jan 1970 00:00:00 GMT"}
    for contract, chain, name, words in ((ALICE, 1, "owner", "matches the contract deployer"),
                                         (DAVE, 1, "delegated", "matches the contract deployer"),
                                         (ERIN, 1, "pinned", "the IPFS CID matches the scriptURI"), (BOB, 137, "two", "")):
        response = repository.ask(f"/tokenscript/{contract}/chain/{chain}/script-uri", old)
        expect(response.status == 200, "the places", response)
        places = json.loads(response.body)["scriptURI"]["offchain"]
        expect(places and not any("/ipfs/" in place for place in places), "no place that looks certified unseen", places)
        file = repository.ask(places[0], old)
        expect(file.status == 200 and file.body == repository.bytes[name], f"the file at {places[0]}", file)
        again = repository.ask(places[0], {**ANDROID, "If-Modified-Since": file.fields.get("last-modified", "")})
        expect(again.status == 304 and again.body == b"", "what it has is not sent again", again)
        verdict = validated(repository, contract, chain, file.body, places[0])
        expect(verdict.status == 200, "a verdict", verdict)
        status = json.loads(verdict.body)["overview"]["originStatuses"][0]
        expect(status["status"] == ("pass" if words else "warn"), f"the verdict on {name}", status)
        expect(words in status["statusText"], "what proves it", status)
        expect(("matches the contract deployer" in status["statusText"]) == ("deployer" in words), "Contract Owner", status)
    changed = repository.bytes["owner"].replace(b"<p>Coin</p>", b"<p>Gone</p>", 1)
    for content, contract in ((changed, ALICE), (repository.bytes["owner"], BOB), (b"<x/>", ALICE)):
        verdict = validated(repository, contract, 1, content)
        expect(verdict.status == 200 and json.loads(verdict.body)["overview"]["originStatuses"][0]["status"] == "fail",
               "what is not signed for the contract fails", verdict)


def validates_by_url(repository: Repository):
    """Without the bytes only a URL that this repository has told of is taken."""
    for contract, chain in ((ALICE, 1), (BOB, 137), (DAVE, 1)):
        places = repository.ask(f"/tokenscript/{contract}/chain/{chain}/script-uri")
        for place in json.loads(places.body)["scriptURI"]["offchain"]:
            verdict = validated(repository, contract, chain, None, place)
            expect(verdict.status == 200 and json.loads(verdict.body)["signatureStatus"] == "pass", place, verdict)
    for url in ("", f"{repository.canary.url}/own.tsml", f"{repository.base}.evil.example/2024/01/{DAVE}",
                f"http://localhost:{repository.port}/2024/01/{DAVE}", repository.base + "/"):
        verdict = validated(repository, DAVE, 1, None, url)
        expect(verdict.status == 400 and "error" in json.loads(verdict.body), f"{url!r} is no URL of a file here", verdict)


def tlink(repository: Repository):
    """tlink, the explorer, the snap and the frames: a preflight, the texts, and a URL that ends in .tsml."""
    key = {"Origin": "https://tlink.store", "X-Stl-Key": "any"}
    for contract, chain, name in ((ALICE, 1, "owner"), (BOB, 137, "two"), (BOB, 11155111, "two"), (DAVE, 1, "delegated")):
        path = f"/token-view/{chain}/{contract}"
        for place in (path + "?tokenId=1&entry=", path + "/script-uri"):
            preflight = repository.ask(place, {"Origin": key["Origin"], "Access-Control-Request-Method": "GET",
                                               "Access-Control-Request-Headers": "x-stl-key"}, "OPTIONS")
            allowed = preflight.fields.get("access-control-allow-headers", "").lower()
            expect(preflight.status == 204 and is_for_browsers(preflight) and "x-stl-key" in re.split(r"[ ,]+", allowed),
                   f"a preflight of {place}", preflight)
        response = repository.ask(path + "?tokenId=1&entry=", key)
        expect(response.status == 200 and is_for_browsers(response), "a browser reads", response)
        view = json.loads(response.body)
        expect(view.keys() == {"tokenMetadata", "tsMetadata", "signed", "explorerUrl"}, "the members", view)
        meta = view["tsMetadata"]
        expect(view["tokenMetadata"] is None and view["signed"] is True and meta["signed"] is True and meta["cssStr"] == "",
               "a signed script", view)
        expect(meta["meta"].keys() == {"description", "aboutUrl", "iconUrl", "imageUrl", "backgroundImageUrl"}, "meta", meta)
        expect(contract in (view["explorerUrl"] or ""), "the explorer", view)
        if name != "owner":
            expect(meta["name"] == "tool" and meta["label"] == "Made by the tool", "the label", meta)
            expect(meta["meta"]["description"] == "A <description>" and meta["meta"]["aboutUrl"] is None, "the texts", meta)
            expect([(action["name"], action["label"], action["type"]) for action in meta["actions"]]
                   == [("mint", "Mint", "action"), ("info", "Unnamed Card", "token")], "the cards", meta)
        place = repository.ask(path + "/script-uri", key)
        url = json.loads(place.body)["scriptURI"]
        expect(place.status == 200 and url.endswith(".tsml") and url.startswith(repository.base), "a script, no frame", place)
        file = repository.ask(url, {"Origin": key["Origin"]})
        expect(file.status == 200 and is_for_browsers(file) and file.body == repository.bytes[name], f"the file at {url}",
               file)
    for path, status in ((f"/token-view/1/{CAROL}", 404), (f"/token-view/1/{BOB}/script-uri", 404),
                         ("/token-view/1/0x12", 400), (f"/token-view/x/{ALICE}", 400),
                         (f"/token-view/1/{ALICE}?entry=7", 404), (f"/token-view/1/{ALICE}/script-uri?entry=7", 404)):
        response = repository.ask(path, {**key, "Accept": "text/html"})
        expect(response.status == status and isinstance(json.loads(response.body).get("error"), str), path, response)
    # The extension's dead code: no templates.
    response = repository.ask(f"/tokenscript/{ALICE}/chain/1/from-template/0", key)
    body = json.loads(response.body)
    expect(response.status == 404 and body.keys() == {"error", "url"} and body["url"] is None, "no templates", response)


def endings(repository: Repository):
    """An address with .tsml behind it is the address."""
    for path in (f"/{DAVE}", f"/2024/01/{DAVE}", f"/chain/1/{DAVE}", f"/2024/01/chain/1/{DAVE}"):
        plain, ending = repository.ask(path), repository.ask(path + ".tsml")
        expect(plain.status == ending.status == 200 and plain.body == ending.body, path, ending)
        expect(all(plain.fields.get(name) == ending.fields.get(name) for name in ("etag", "last-modified")), path, ending)


def malformed(repository: Repository):
    """What is no address or no chain is 400, wherever it stands."""
    for name in ("script-uri", "script-info"):
        for place in ("0x12/chain/1", ALICE + "0/chain/1", "0x" + "g" * 40 + "/chain/1", f"{ALICE}.tsml/chain/1",
                      f"{ALICE}/chain/0", f"{ALICE}/chain/-1", f"{ALICE}/chain/x", f"{ALICE}/chain/0x1",
                      f"{ALICE}/chain/{2**63}"):
            response = repository.ask(f"/tokenscript/{place}/{name}")
            expect(response.status == 400, f"{place}/{name}", response)
        response = repository.ask(f"/tokenscript/{ALICE}/chain/{2**63 - 1}/{name}")
        expect(response.status == 200, "the last chain", response)


def listed(repository: Repository):
    """A wallet that the operator lists, and that reads none of the versions here, keeps what it has."""
    wallet = {**ANDROID, "X-Client-Name": "OldWallet"}
    for path in (f"/{DAVE}", f"/chain/1/{DAVE}", f"/chain/137/{BOB}"):
        response = repository.ask(path, wallet)
        expect(response.status == 204 and response.body == b"", path, response)
        expect(not response.fields.keys() & {"etag", "last-modified"} and response.fields.get("cache-control") == "no-cache"
               and "x-client-name" in response.fields.get("vary", "").lower(), f"{path}: nothing to keep", response)
    for path, fields, status in ((f"/2024/01/{DAVE}", wallet, 200), (f"/{CAROL}", wallet, 404),
                                 (f"/chain/1/{BOB}", wallet, 404), (f"/{DAVE}", ANDROID, 200)):
        response = repository.ask(path, fields)
        expect(response.status == status, path, response)


def strangers(repository: Repository):
    """Nothing that a stranger names is fetched: not by the chain's words or files, nor by any of the requests before."""
    url = repository.canary.url
    place = urllib.parse.quote(url, safe="")
    for content in repository.hostile:
        response = validated(repository, DAVE, 1, content, f"{url}/source")
        expect(response.status == 200 and json.loads(response.body)["overview"]["originStatuses"][0]["status"] == "fail",
               "a stranger's file fails", response)
    report = json.dumps({"url": f"{url}/report", "sha256": "0" * 64, "reason": "signature"}).encode()
    response = repository.ask("/tokenscript/report", {"Content-Type": "application/json"}, "POST", report)
    expect(response.status == 400, "a report of a foreign URL", response)
    names = {"Host": url.removeprefix("http://"), "X-Forwarded-Host": url.removeprefix("http://"), "X-Stl-Key": url,
             "Origin": url, "Referer": url}
    for path in (f"/tokenscript/{ALICE}/chain/1/script-info?url={place}", f"/token-view/1/{ALICE}?entry={place}",
                 f"/tokenscript/{ALICE}/chain/1/from-template/0?url={place}", f"/tlink/proxy?url={place}",
                 f"/contracts/1/{ALICE}?tokenscriptUrl={place}"):
        response = repository.ask(path, names)
        expect(response.status in (200, 404), path, response)
    found = script_info(repository, ALICE, 1)
    expect(sum(script["sourceUrl"].startswith(url) for script in found) == 3, "the canary is named", found)
    time.sleep(1)
    expect(not repository.canary.paths, "nothing is fetched", repository.canary.paths)


def main():
    canary = Canary()
    urllib.request.urlopen(f"{canary.url}/sings", timeout=10).close()
    expect(canary.paths == ["/sings"], "the canary counts", canary.paths)
    canary.paths.clear()
    with Repository(canary, Chain(canary)) as repository:
        end = time.monotonic() + 20
        # The chain is asked in the background.
        while time.monotonic() < end and not all(
                words in repository.get(f"/tokenscript/{contract}/chain/1/script-info").body
                for contract, words in ((ALICE, b"7738_3"), (DAVE, b"true"), (ERIN, b"ipfs"))):
            time.sleep(0.1)
        for client in (engine, caches, ios, android, validates_by_url, tlink, endings, malformed, listed, strangers):
            try:
                client(repository)
            except Exception as error:
                line = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == __file__][-1]
                failures.append(f"{client.__name__}: {type(error).__name__} at line {line}: {error}")
    if failures:
        sys.exit("\n".join(f"FAIL {each}" for each in failures))
    print(f"ok {count} checks")


main()
