"""Names that the sources and the pages share: metrics, log events, statuses, variables, and links to files."""

import pathlib
import re
import subprocess

METRIC = re.compile(r'"(awd_[a-z0-9_]+)"')
LITERAL = r'"(?:[^"\\]|\\.)*"'
EVENT = re.compile(rf'\blog\??\.(debug|info|warning|error)\(\s*({LITERAL}(?:\s*\+\s*{LITERAL})*)')
EITHER = re.compile(rf'\blog\??\.(debug|info|warning|error)\(\s*[^"()]{{1,80}}\?\s*({LITERAL})\s*:\s*({LITERAL})')
ROW = re.compile(r"^\| (?:`)?(debug|info|warning|error)(?:`)? \| `(.+?)` \| (.*) \|$")
# What Prometheus makes of a histogram.
SUFFIXES = ("_bucket", "_sum", "_count")
# Names with the same beginning that are no metrics.
OTHER_NAMES = re.compile(r"^awd_owner$|^awd_(app|msgr|app_post|msgr_send)_?(v\d+|[a-z]+_v\d+)$|^awd_[A-Z]")


def sources(root: pathlib.Path) -> dict[pathlib.Path, str]:
    return {path: path.read_text() for folder in ("Sources", "Plugins") for path in sorted((root / folder).rglob("*.swift"))}


def metrics(root: pathlib.Path, guide: pathlib.Path, pages: list[pathlib.Path]) -> list[str]:
    """Every metric of the program is in a table of the page Metrics, and every metric that a page names exists."""
    known = {name for text in sources(root).values() for name in METRIC.findall(text)}
    told = set(re.findall(r"^\| `(awd_[a-z0-9_]+)`", (guide / "Metrics.md").read_text(), re.MULTILINE))
    failures = [f"Metrics.md lacks {name}" for name in sorted(known - told)]
    alerts = set(re.findall(r"alert: (\w+)", (root / "config/alerts.yml").read_text()))
    described = set(re.findall(r"^\| (Awd\w+) \|", (guide / "Metrics.md").read_text(), re.MULTILINE))
    failures += [f"Metrics.md and alerts.yml differ in the alert {name}" for name in sorted(alerts ^ described)]
    files = pages + [root / "config/alerts.yml", root / "config/grafana-dashboard.json"]
    for file in files:
        for name in sorted(set(re.findall(r"\bawd_[a-z0-9_]+", file.read_text()))):
            base = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
            isPrefix = any(other.startswith(name) for other in known)
            if not {name, base} & known and not isPrefix and not OTHER_NAMES.match(name):
                failures.append(f"{file.name} names the metric {name}, which the program doesn't have")
    return failures


def plain(message: str) -> str:
    """The message as a page writes it: "…" for what is filled in, no escapes."""
    text = "".join(part[1:-1] for part in re.findall(LITERAL, message))
    text = re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "…", text)
    return text.replace('\\"', '"').replace("`", "'")


def events(root: pathlib.Path, guide: pathlib.Path, write: bool) -> list[str]:
    """Every event of the daemon's log is a row of the page LogEvents, and every row is an event."""
    page = guide / "LogEvents.md"
    known: dict[tuple[str, str], str] = {}
    for path, text in sources(root).items():
        if "WalletClient" in path.parts:
            continue
        found = EVENT.findall(text)
        for level, one, other in EITHER.findall(text):
            found += [(level, one), (level, other)]
        for level, message in found:
            if plain(message) != "…":
                known.setdefault((level, plain(message)), path.name)
    lines = page.read_text().splitlines()
    told = {}
    for line in lines:
        if row := ROW.match(line):
            told[(row[1], row[2])] = row[3]
    missing = sorted(set(known) - set(told))
    stale = sorted(set(told) - set(known))
    if write:
        kept = [line for line in lines if not (row := ROW.match(line)) or (row[1], row[2]) in known]
        kept += [f"| {level} | `{message}` | {known[level, message]} |" for level, message in missing]
        page.write_text("\n".join(kept) + "\n")
    return [f"LogEvents.md lacks {level}: {message} ({known[level, message]})" for level, message in missing] + [
        f"LogEvents.md has {level}: {message}, which the program doesn't log" for level, message in stale]


def statuses(root: pathlib.Path, pages: list[pathlib.Path]) -> list[str]:
    """Every HTTP status that the program has is named in a page, and every status in bold in a page is one of the program's."""
    known = {code for path in (root / "Sources/HTTPProtocol").glob("*.swift")
             for code in re.findall(r"static let \w+ = Status\((\d{3})\)", path.read_text())}
    told = {code for page in pages for code in re.findall(r"\b[1-5]\d\d\b", page.read_text())}
    failures = [f"no page names the status {code}" for code in sorted(known - told)]
    for page in pages:
        if page.name not in ("MsgrReference.md", "TokenScriptReference.md", "PushServerReference.md", "ApptimistReference.md"):
            continue
        # What push services answer stands in sections of its own.
        part = page.read_text().split("## Pushes")[0]
        for bold in re.findall(r"\*\*(\d{3}(?:, \d{3})*)\*\*", part):
            for code in bold.split(", "):
                if code not in known:
                    failures.append(f"{page.name} names the status {code}, which the program doesn't have")
    return failures


def keys(configuration: set[str], pages: list[pathlib.Path]) -> list[str]:
    """Every configuration key and variable that a page names is one of the page Configuration."""
    failures = []
    configuration = configuration | {"msgr.push_streams", "msgr.debug_pushes"}
    sections = {key.rsplit(".", 1)[0] for key in configuration if "." in key}
    sections |= {section.split(".")[0] for section in sections} | configuration
    # Former names of sections, which are still read.
    sections |= {"msgr.apns", "msgr.fcm", "msgr.web_push"}
    tops = {section.split(".")[0] for section in sections}
    variables = {"AWD_" + key.replace(".", "_").upper() for key in configuration}
    # What isn't a key, and what Kubernetes sets.
    variables |= {"AWD_CONFIG", "AWD_SERVICE_HOST", "AWD_PORT_8080_TCP"}
    for page in pages:
        text = page.read_text()
        for name in set(re.findall(r"`([a-z]+\.[a-z_.]+[a-z])(?: = [^`]*)?`", text)):
            if name.split(".")[0] in tops and name not in configuration | sections and not re.search(
                    r"\.(md|json|pem|toml|js|keys|service|yml|org|sqlite3|secret|example|txt|swift|xsd|timer|sh|gz|deb|xml|tsml)$", name):
                failures.append(f"{page.name} names the key {name}, which isn't in Configuration.md")
        for name in set(re.findall(r"`\[+([a-z_.]+)\]+", text)):
            if name.split(".")[0] in tops and name not in sections:
                failures.append(f"{page.name} names the section [{name}], which isn't in Configuration.md")
        for name in set(re.findall(r"\bAWD_[A-Z0-9_]+\b", text)):
            if name.removesuffix("_FILE") not in variables and not name.startswith(("AWD_TEST", "AWD_CHAINS")) and name != "AWD_":
                failures.append(f"{page.name} names the variable {name}, which no key has")
    return failures


DECLARATIONS = "actor|case|class|enum|extension|func|let|protocol|struct|typealias|var"


def links(root: pathlib.Path, pages: list[pathlib.Path]) -> list[str]:
    """Every relative link leads to a file, which declares what the link names, and every path of the repository that a page names
    exists."""
    failures = []
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for title, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:|#", target) or (target == "modules" or not re.search(r"[/.]", target)):
                continue
            file, _, anchor = target.partition("#")
            if not (page.parent / file).exists():
                failures.append(f"{page.name}: the link “{title}” leads to {target}, which isn't there")
            elif title.startswith("`") and file.endswith(".swift"):
                name = title.strip("`").split("(")[0].split(".")[-1].split("<")[0]
                if not re.search(rf"(?m)^ {{0,2}}(@?\w+(\(\w+\))? )*({DECLARATIONS}) {re.escape(name)}\b", (page.parent / file).read_text()):
                    failures.append(f"{page.name}: {target} declares no {name}")
        for path in re.findall(r"`((?:Sources|Plugins|Tests|config|Clients|\.ci|\.github)/[\w./+-]*\w)/?`", text):
            if not (root / path).exists():
                failures.append(f"{page.name} names {path}, which isn't there")
    return failures


def version(root: pathlib.Path) -> list[str]:
    """The newest version of CHANGELOG.md is the program's, and has no date before it is released."""
    product = re.search(r'version = "([^"]+)"', (root / "Sources/ServiceKit/Product.swift").read_text())[1]
    newest = re.search(r"^## \[([\d.]+)\] - (\S+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if newest is None or newest[1] != product.removesuffix("-dev"):
        return [f"CHANGELOG.md doesn't begin with the version {product}"]
    isReleased = re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2]) is not None
    if isReleased == product.endswith("-dev"):
        return [f"CHANGELOG.md has “{newest[2]}” for the version {product}"]
    return []


# What config/debian/copyright calls a library whose file has another name. Those of Swift are in the program that is released, and
# the system's C library comes with every Debian.
OTHER_LIBRARIES = {"libcrypto": "openssl", "libbrotlienc": "libbrotli", "libbrotlidec": "libbrotli", "libz": "zlib1g", "libicuuc": "libicu",
                   "libicui18n": "libicu", "libicudata": "libicu", "libgcc_s": "libgcc-s1"}
NO_LIBRARIES = re.compile(r"lib(c|m|dl|pthread|resolv|rt)\.so|ld-linux|lib_?(swift|Foundation|dispatch|BlocksRuntime)")


def built(root: pathlib.Path, awd: str) -> pathlib.Path | None:
    """The program to look at: the one that is given, or one that was built here."""
    programs = [pathlib.Path(awd), root / ".build/release/awd", root / ".build/debug/awd"]
    return next((program for program in programs if program.is_file()), None)


def licences(root: pathlib.Path, awd: str) -> list[str]:
    """config/debian/copyright names every linked library and every file that comes with a licence of its own."""
    text = (root / "config/debian/copyright").read_text()
    manifest = (root / "Package.swift").read_text()
    failures = []
    for name, package in re.findall(r'systemLibrary\("C(\w+)", [^,]+, "([^"]+)"\)', manifest):
        stem = re.sub(r"-?\d*(-openssl)?-dev$", "", package)
        if stem.lower() not in text.lower():
            failures.append(f"config/debian/copyright doesn't name {package}, which C{name} is")
    if program := built(root, awd):
        needed = subprocess.run(["readelf", "-d", str(program)], capture_output=True, text=True, timeout=60, check=True).stdout
        for file in re.findall(r"\(NEEDED\)[^\[]*\[(.+?)\]", needed):
            stem = file.split(".so")[0]
            if not NO_LIBRARIES.match(file) and OTHER_LIBRARIES.get(stem, stem).lower() not in text.lower():
                failures.append(f"config/debian/copyright doesn't name {file}, which {program} needs")
    for licence in sorted((root / "Plugins").rglob("*.LICENSE")) + sorted((root / "Sources").rglob("*.LICENSE")):
        if licence.name not in text:
            failures.append(f"config/debian/copyright doesn't name {licence.name}")
    return failures


# Names of other programs and of protocols that look like types, and what readers of the library's page write themselves.
NO_TYPES = set("""PushSubscription UnifiedPush JSONWebToken UserTo UserFrom DeviceID ClientId AddRequest AddUser DeviceName NewPassword TokenDigest
    StateDirectory RuntimeDirectory LimitNOFILE AllowedCPUs BadDeviceToken BadTopic TopicDisallowed DeviceTokenNotForTopic ExpiredProviderToken
    SignedProperties PrefixList StartLimitIntervalSec OpenSSL SO_REUSEPORT""".split())


def types(root: pathlib.Path, guide: pathlib.Path) -> list[str]:
    """Types and functions that the pages for contributors name exist, and so do members of the library in examples."""
    code = "\n".join(sources(root).values()) + (root / "Package.swift").read_text()
    words = set(re.findall(r"\w+", code))
    # Names of resources, C functions and SQL.
    for folder in ("Sources", "Plugins", "Tests", "Clients", "config"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".sql", ".c", ".h", ".js", ".toml", ".py", ".service"):
                words |= set(re.findall(r"\w+", path.read_text(errors="replace")))
    failures = []
    pages = [guide / "Architecture.md", guide / "RequestFlow.md", root / "CONTRIBUTING.md", *sorted((guide / "Decisions").glob("*.md"))]
    for page in pages:
        for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", page.read_text()):
            for name in re.findall(r"\b(?:[A-Z][a-z0-9]+){2,}[A-Za-z0-9]*\b|\b[a-z]+[A-Z]\w*(?=\()", span):
                if name not in words | NO_TYPES and "/" not in span and "." not in span.replace("." + name, ""):
                    failures.append(f"{page.name} names {name}, which the sources don't have")
    library = " ".join(text for path, text in sources(root).items() if path.parts[-3] == "WalletClient" or "WalletClient" in path.parts
                       or "ApptimistProtocol" in path.parts or "HTTPClient" in path.parts or "Cryptography" in path.parts)
    known = set(re.findall(r"\w+", library))
    for page in (guide / "WalletDevice.md", root / "README.md"):
        for block in re.findall(r"```swift\n(.*?)```", page.read_text(), re.DOTALL):
            block = re.sub(r"//.*", "", re.sub(r'"[^"]*"', '""', block))
            for name in sorted(set(re.findall(r"\b([A-Z]\w+)(?=[(.{])", block)) | set(re.findall(r"\.([a-z]\w+)(?=\()", block))):
                if name not in known | {"Task", "Array", "package", "product", "library", "save", "remove"}:
                    failures.append(f"{page.name}: an example uses {name}, which the library doesn't have")
    return failures
