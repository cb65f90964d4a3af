"""The numbers of the page Limits that are no keys of the configuration, compared with the constants that they come from."""

import pathlib
import re

PAGE = "Limits.md"
# A phrase of the page, the folder of the constant, and the constant as it is written there.
LIMITS = [
    ("has few file descriptors left", "Sources/HTTPServer", r"min\(all / 4, 512\)"),
    ("512 bytes a second", "Sources/HTTPServer", r"minimumRate = 512\b"),
    ("after the first 15 seconds", "Sources/Transport", r"grace: Duration = \.seconds\(15\)"),
    ("1 MiB of responses that the client hasn't read", "Sources/HTTPServer", r"untakenLimit = 1 << 20"),
    ("32 pipelined requests", "Sources/HTTPServer", r"turnLimit = 32\b"),
    ("128 KiB of HTTP/2 header fields", "Sources/HTTPServer", r"turnLimit = 128 << 10"),
    ("has 800 points", "Sources/HTTPServer", r"limit = 800\b"),
    ("gets 40 back each second", "Sources/HTTPServer", r"perSecond = 40\b"),
    ("a cancelled request 4", "Sources/HTTPServer", r"lostRequest = 4\b"),
    ("breaks the protocol 20", "Sources/HTTPServer", r"fault = 20\b"),
    ("32 empty fragments", "Sources/HTTPProtocol", r"emptyFragmentLimit = 32\b"),
    ("up to 512 KiB", "Plugins/TokenScriptRepo", r"shortLimit = 512 << 10"),
    ("30 publications, 10 previews and 10 reports", "Plugins/TokenScriptRepo", r"publication: 30 \* users\n\s+case \.preview, \.report: 10 \* users"),
    ("64 files, 64 MiB and 256 origins", "Plugins/TokenScriptRepo", r"Usage\(files: 64, bytes: 64 << 20, origins: 256\)"),
    ("10,000 files, 1 GiB and 10,000 origins", "Plugins/TokenScriptRepo", r"Usage\(files: 10_000, bytes: 1 << 30, origins: 10_000\)"),
    ("up to 1,000 files without a signing time", "Plugins/TokenScriptRepo", r"digests = 1000\b"),
    ("previews** is 256 MiB", "Plugins/TokenScriptRepo", r"previewRoom = 256 << 20"),
    ("counts as 256 KiB at least", "Plugins/TokenScriptRepo", r"leastPreview = 256 << 10"),
    ("10,000 contracts an hour", "Plugins/TokenScriptRepo", r"contractLimit = 10_000\b"),
    ("8 at once, and those", "Plugins/TokenScriptRepo", r"width = 8\b"),
    ("may have 256 KiB", "Plugins/TokenScriptRepo", r"responseLimit = 256 << 10"),
    ("After 8 failures in a row", "Plugins/TokenScriptRepo", r"failureLimit = 8\b"),
    ("up to 1 MiB of sources", "Plugins/TokenScriptRepo", r"sourceLimit = 1 << 20"),
    ("100 pushes may wait for a browser", "Plugins/Msgr", r"webPushes = 100\b"),
    ("500 pushes to browsers", "Sources/Push", r"all = 500\b"),
    ("1 MiB, or of 64 copies", "Plugins/Apptimist", r"pieceBytes = 1 << 20"),
    ("100 are written within 10 seconds", "Sources/Observability", r"limit = 100\b"),
    ("1 MiB of log lines", "Sources/Observability", r"limit = 1 << 20"),
]


def check(root: pathlib.Path, guide: pathlib.Path) -> list[str]:
    page = " ".join((guide / PAGE).read_text().split())
    failures = []
    for phrase, folder, constant in LIMITS:
        if phrase not in page:
            failures.append(f"{PAGE} doesn't say “{phrase}”")
        if not any(re.search(constant, path.read_text()) for path in (root / folder).rglob("*.swift")):
            failures.append(f"{folder} has no {constant}, of which {PAGE} says “{phrase}”")
    return failures
