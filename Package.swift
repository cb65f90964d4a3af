// swift-tools-version: 6.2
import PackageDescription

/// Makes the module of an installed C library, in a folder of its own.
func systemLibrary(_ name: String, _ pkgConfig: String?, _ package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Libraries/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([package])])
}

/// Makes a target of C, in a folder beside those of the libraries.
func targetInC(_ name: String, _ libraries: String...) -> Target {
  .target(
    name: name, path: "Sources/Libraries/\(name)",
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

// The C libraries, each behind a module of its own. `make deps` installs the Debian packages named here.
let systemLibraries: [Target] =
  [
    systemLibrary("CBrotli", "libbrotlienc", "libbrotli-dev"),
    // Its pkg-config file asks for jansson's, which nothing here needs.
    systemLibrary("CCJose", nil, "libcjose-dev"),
    systemLibrary("CCurl", "libcurl", "libcurl4-openssl-dev"),
    systemLibrary("CJansson", "jansson", "libjansson-dev"),
    systemLibrary("CNettle", "nettle", "nettle-dev"),
    systemLibrary("CNghttp2", "libnghttp2", "libnghttp2-dev"),
    systemLibrary("CPostgreSQL", "libpq", "libpq-dev"),
    systemLibrary("CQREncode", "libqrencode", "libqrencode-dev"),
    systemLibrary("COpenSSL", "openssl", "libssl-dev"),
    systemLibrary("CSecp256k1", "libsecp256k1", "libsecp256k1-dev"),
    systemLibrary("CSQLite", "sqlite3", "libsqlite3-dev"),
    systemLibrary("CSodium", "libsodium", "libsodium-dev"),
    systemLibrary("CUV", "libuv", "libuv1-dev"),
    systemLibrary("CXML", "libxml-2.0", "libxml2-dev"),
    systemLibrary("CXMLSec", "xmlsec1-openssl", "libxmlsec1-dev"),
    systemLibrary("CZlib", "zlib", "zlib1g-dev"),
    targetInC("CICU", "icuuc"), targetInC("CMemory"), targetInC("CSpawn"), targetInC("CTOML"),
  ]

let libraries: [Target] = [
  .target(name: "Addresses"),
  .target(name: "ApptimistProtocol", dependencies: ["Cryptography", "Wire"]),
  .target(name: "Budgets", dependencies: ["Threading", "Time"]),
  .target(
    name: "Bus",
    dependencies: ["Cryptography", "Observability", "Storage", "Threading", "Time", "Wire"]),
  // The endpoints that all services may ask, and what is asked there for several of them.
  .target(
    name: "Chains",
    dependencies: [
      "Configuration", "Ethereum", "HTTPClient", "HTTPProtocol", "Time",
    ]),
  .target(name: "Compression", dependencies: ["CBrotli", "CZlib"]),
  .target(
    name: "Configuration",
    dependencies: [
      "Addresses", "CTOML", "Observability", "SystemCalls", "Threading", "Time", "Wire",
    ]),
  .target(name: "Cryptography", dependencies: ["CNettle", "COpenSSL", "CSodium", "Time"]),
  // Tells the streams of users what comes to them, the same way in all services.
  .target(
    name: "Delivery", dependencies: ["Bus", "Observability", "Storage", "Threading", "Transport"]),
  .target(
    name: "Ethereum", dependencies: ["Addresses", "CSecp256k1", "Cryptography", "Time"],
    resources: [.embedInCode("ValidateSigOffchain.hex")]),
  .target(
    name: "HTTPClient",
    dependencies: ["Addresses", "CCurl", "HTTPProtocol", "SystemCalls", "Time", "Transport"]),
  .target(name: "HTTPProtocol", dependencies: ["Addresses", "Time", "Wire"]),
  .target(
    name: "HTTPServer",
    dependencies: [
      "Addresses", "Budgets", "CNghttp2", "COpenSSL", "CUV", "Cryptography", "HTTPProtocol",
      "SystemCalls", "Threading", "Time", "Transport", "Wire",
    ]),
  .target(name: "JSON", dependencies: ["CJansson"]),
  .target(name: "JSONWebTokens", dependencies: ["CCJose", "Cryptography"]),
  .target(name: "Observability", dependencies: ["Threading", "Time"]),
  .target(
    name: "Pages", dependencies: ["Cryptography"],
    resources: ["base.css", "message.css", "page.html"].map { .embedInCode($0) }),
  // Carries what services queue for phones and browsers to their push services; knows no service's tables.
  .target(
    name: "Push",
    dependencies: [
      "Budgets", "Configuration", "Cryptography", "HTTPClient", "HTTPProtocol", "JSON",
      "JSONWebTokens", "Observability", "Storage", "SystemCalls", "Threading", "Time", "URLs",
      "Wire",
    ],
    resources: [.embedInCode("Steps")]),
  .target(
    name: "Routing",
    dependencies: [
      "Addresses", "Configuration", "HTTPProtocol", "HTTPServer", "Observability", "Pages",
    ]),
  .target(
    name: "ServiceKit",
    dependencies: [
      "Budgets", "Bus", "Configuration", "Cryptography", "HTTPProtocol",
      "Observability", "Pages", "Push", "Routing", "Storage", "Threading", "Time",
    ]),
  .target(
    name: "Storage",
    dependencies: [
      "CPostgreSQL", "CSQLite", "Cryptography", "Observability", "SystemCalls", "Threading", "Time",
    ],
    resources: [.embedInCode("PostgreSQL/tables.postgresql.sql")]),
  .target(name: "QRCode", dependencies: ["CQREncode"]),
  .target(name: "SystemCalls", dependencies: ["CMemory"]),
  .target(name: "Text", dependencies: ["CICU"]),
  .target(name: "Threading", dependencies: ["SystemCalls", "Time"]),
  .target(name: "Time"),
  .target(
    name: "Transport",
    dependencies: ["COpenSSL", "CUV", "SystemCalls", "Threading", "Time", "Wire"]),
  .target(
    name: "WalletClient",
    dependencies: [
      "ApptimistProtocol", "Cryptography", "Ethereum", "HTTPClient", "HTTPProtocol",
      "Observability", "SystemCalls", "Text", "Threading", "Time", "URLs", "WebSocketClient",
      "XMLSecurity",
    ]),
  .target(name: "URLs", dependencies: ["CCurl"]),
  // Serves the pages that are built into the program, with the style that they share.
  .target(
    name: "WebApps",
    dependencies: ["Compression", "Cryptography", "HTTPProtocol", "Routing", "Time", "Wire"],
    resources: [.embedInCode("style.css"), .embedInCode("view.js")]),
  .target(
    name: "WebSocketClient",
    dependencies: [
      "Cryptography", "HTTPProtocol", "SystemCalls", "Threading", "Transport", "URLs",
    ]),
  .target(name: "Wire", dependencies: ["SystemCalls"]),
  .target(
    name: "XMLSecurity",
    dependencies: ["COpenSSL", "CXML", "CXMLSec", "Cryptography", "Ethereum", "Threading", "Time"]),
]

// A service is a folder below Plugins, two entries here, and a name in Sources/awd/Services.swift.
let plugins: [Target] = [
  .target(
    name: "Apptimist",
    dependencies: [
      "Addresses", "ApptimistProtocol", "Budgets", "Bus", "Chains", "Configuration",
      "Cryptography", "Delivery", "Ethereum", "HTTPClient", "HTTPProtocol", "HTTPServer", "JSON",
      "JSONWebTokens", "Observability", "Push", "Routing", "ServiceKit", "Storage", "SystemCalls",
      "Text", "Threading", "Time", "Transport", "URLs", "WalletClient", "WebApps",
      "WebSocketClient", "Wire",
    ],
    path: "Plugins/Apptimist", exclude: ["Web/nacl-fast.LICENSE", "Web/qrcode.LICENSE"],
    resources: [.embedInCode("Commands/chat.txt"), .embedInCode("Store/Steps")]
      + [
        "account.js", "app.css", "app.js", "apptimist.js", "chat.js", "contents.js", "details.js",
        "export.js", "files.js", "forum.js", "forums.js", "icon.svg", "index.html", "link.js",
        "linking.js", "manifest.webmanifest", "nacl-fast.js", "oidc.js", "page.js",
        "passphrase.js", "people.js", "qr.js", "qrcode.js", "settings.js", "siwe.js", "store.js",
        "wakes.js", "worker.js",
      ].map { .embedInCode("Web/\($0)") }),
  .target(
    name: "Msgr",
    dependencies: [
      "Addresses", "Budgets", "Bus", "Chains", "Configuration", "Cryptography",
      "Delivery", "Ethereum", "HTTPProtocol", "HTTPServer", "JSON", "JSONWebTokens",
      "Observability", "Push", "Routing", "ServiceKit", "Storage", "SystemCalls", "Text",
      "Threading", "Time", "Transport", "URLs", "WebApps", "Wire",
    ],
    path: "Plugins/Msgr",
    resources: [.embedInCode("openapi.json"), .embedInCode("Store/Steps")]
      + [
        "api.html", "api.js", "app.js", "archive.js", "icon.svg", "index.html",
        "manifest.webmanifest", "msgr.js", "page.js", "settings.js", "worker.js",
      ].map { .embedInCode("Web/\($0)") }),
  .target(
    name: "PushServer",
    dependencies: [
      "Addresses", "Budgets", "Configuration", "Cryptography", "HTTPProtocol", "JSON",
      "JSONWebTokens", "Observability", "Push", "Routing", "ServiceKit", "Storage", "Threading",
      "Time", "Wire",
    ],
    path: "Plugins/PushServer", resources: [.embedInCode("Steps")]),
  .target(
    name: "TokenScriptRepo",
    dependencies: [
      "Addresses", "Budgets", "Bus", "CSpawn", "Chains", "Compression",
      "Configuration",
      "Cryptography", "Ethereum", "HTTPClient", "HTTPProtocol", "Observability", "Pages", "QRCode",
      "Routing", "ServiceKit", "Storage", "SystemCalls", "Threading", "Time",
      "WalletClient", "Wire", "XMLSecurity",
    ],
    path: "Plugins/TokenScriptRepo",
    resources: [
      .embedInCode("Commands/new.tsml"), .embedInCode("Demo/Files"),
      .embedInCode("Store/Steps"),
      .embedInCode("Commands/schemas.sha256"), .embedInCode("Page/contract.css"),
      .embedInCode("Page/contract.html"),
      .embedInCode("Page/index.css"), .embedInCode("Page/index.html"),
      .embedInCode("Previews/preview.html"), .embedInCode("Serving/choices.html"),
    ]),
]

let programs: [Target] = [
  .target(
    name: "Commands",
    dependencies: [
      "Addresses", "Bus", "Configuration", "Cryptography", "HTTPClient",
      "HTTPProtocol", "HTTPServer", "Observability", "Pages", "Push", "Routing", "ServiceKit",
      "Storage", "SystemCalls", "Threading", "Time", "Transport",
    ],
    resources: [
      .embedInCode("Completion"), .embedInCode("Status/status.css"),
      .embedInCode("Status/status.html"), .embedInCode("awd.1"),
    ]),
  .executableTarget(
    name: "awd", dependencies: ["Commands", "ServiceKit"] + plugins.map { .byName(name: $0.name) }),
]

let tests: [Target] = [
  .testTarget(name: "AddressesTests", dependencies: ["Addresses"]),
  .testTarget(
    name: "BusTests",
    dependencies: [
      "Bus", "Cryptography", "Observability", "Storage", "TestSupport", "Threading", "Time",
    ]),
  .testTarget(name: "BudgetsTests", dependencies: ["Budgets", "TestSupport", "Time"]),
  // What the tests of several targets need.
  .target(
    name: "TestSupport",
    dependencies: [
      "Addresses", "CSpawn", "Cryptography", "HTTPProtocol", "HTTPServer", "Routing", "Storage",
      "Threading", "Time", "XMLSecurity",
    ],
    path: "Tests/TestSupport", exclude: ["account_chain.py", "web_push.py"]),
  // What the sanitizers are to leave out; linked into the one program that all tests are.
  .target(name: "Sanitizers", path: "Tests/Sanitizers"),
  // Serves the routes that protocol probes, load and fault tests ask for; no part of the product.
  .executableTarget(
    name: "probe-server",
    dependencies: [
      "Addresses", "Cryptography", "HTTPProtocol", "HTTPServer", "Storage", "Wire",
    ],
    path: "Tests/ProbeServer"),
  .testTarget(
    name: "ApptimistProtocolTests", dependencies: ["ApptimistProtocol", "Cryptography", "Wire"],
    exclude: ["Vectors"]),
  .testTarget(
    name: "ApptimistTests",
    dependencies: [
      "Addresses", "Apptimist", "ApptimistProtocol", "Bus", "Chains", "Commands",
      "Configuration", "Cryptography", "Delivery", "Ethereum", "HTTPClient", "HTTPProtocol",
      "HTTPServer", "Observability", "Push", "Routing", "ServiceKit", "Storage", "TestSupport",
      "Threading", "Time", "WebApps", "Wire",
      "awd",
    ],
    exclude: ["JavaScript", "Python"]),
  .testTarget(
    name: "CommandsTests",
    dependencies: [
      "Addresses", "Commands", "Configuration", "Cryptography", "HTTP2StandIn",
      "HTTPProtocol", "HTTPServer", "Observability", "Routing", "ServiceKit", "Storage",
      "SystemCalls", "TestSupport", "Threading", "Time", "XMLSecurity", "awd",
    ]),
  .executableTarget(
    name: "apptimist-benchmark",
    dependencies: ["ApptimistProtocol", "Cryptography", "HTTPProtocol", "Storage", "Threading"],
    path: "Tests/Benchmarks/Apptimist"),
  .executableTarget(
    name: "store-benchmark", dependencies: ["Storage"], path: "Tests/Benchmarks/Store"),
  .executableTarget(
    name: "message-benchmark", dependencies: ["Msgr", "Storage", "Time"],
    path: "Tests/Benchmarks/Messages"),
  .executableTarget(
    name: "mixed-load",
    dependencies: [
      "ApptimistProtocol", "Cryptography", "HTTPClient", "HTTPProtocol", "Threading",
      "WalletClient", "WebSocketClient",
    ],
    path: "Tests/Benchmarks/MixedLoad"),
  .testTarget(
    name: "CompressionTests", dependencies: ["CBrotli", "CZlib", "Compression"],
    linkerSettings: [.linkedLibrary("brotlidec")]),
  .testTarget(
    name: "ConfigurationTests",
    dependencies: ["Addresses", "Configuration", "Observability", "TestSupport"]),
  .testTarget(
    name: "CryptographyTests", dependencies: ["COpenSSL", "Cryptography", "TestSupport", "Time"]),
  .testTarget(name: "DeliveryTests", dependencies: ["Delivery", "TestSupport"]),
  .testTarget(
    name: "ChainsTests",
    dependencies: [
      "Chains", "Configuration", "Cryptography", "Ethereum", "HTTPProtocol", "HTTPServer",
      "TestSupport", "Threading",
    ]),
  .testTarget(
    name: "EthereumTests", dependencies: ["Cryptography", "Ethereum", "TestSupport", "Time"],
    exclude: ["SignIn"]),
  // An HTTP/2 server that answers what a test says.
  .target(
    name: "HTTP2StandIn", dependencies: ["CNghttp2", "COpenSSL", "SystemCalls", "Threading"],
    path: "Tests/HTTP2StandIn"),
  .testTarget(
    name: "HTTPClientTests",
    dependencies: ["HTTP2StandIn", "HTTPClient", "HTTPProtocol", "TestSupport", "Threading"]),
  .testTarget(name: "HTTPProtocolTests", dependencies: ["HTTPProtocol", "TestSupport"]),
  .testTarget(
    name: "HTTPServerTests",
    dependencies: [
      "Addresses", "Budgets", "CNghttp2", "COpenSSL", "Cryptography", "HTTPProtocol", "HTTPServer",
      "TestSupport", "Threading", "Transport", "Wire", "probe-server",
    ]),
  .testTarget(
    name: "IntegrationTests",
    dependencies: [
      "ApptimistProtocol", "Cryptography", "Ethereum", "HTTPClient", "HTTPProtocol",
      "Observability", "TestSupport", "Threading", "Time", "WalletClient", "WebSocketClient",
      "XMLSecurity", "awd",
    ]),
  .testTarget(
    name: "MsgrTests",
    dependencies: [
      "Addresses", "Budgets", "Bus", "COpenSSL", "Configuration", "Cryptography",
      "Delivery", "Ethereum", "HTTP2StandIn", "HTTPClient", "HTTPProtocol", "HTTPServer", "JSON",
      "JSONWebTokens", "Msgr", "Observability", "Push", "Routing", "ServiceKit",
      "Storage", "TestSupport", "Threading", "Time", "URLs", "WebApps", "Wire", "awd",
    ]),
  .testTarget(name: "ObservabilityTests", dependencies: ["Observability", "TestSupport", "Time"]),
  .testTarget(
    name: "PushServerTests",
    dependencies: [
      "Configuration", "Cryptography", "HTTP2StandIn", "HTTPClient", "HTTPProtocol",
      "JSONWebTokens", "Observability", "Push", "PushServer", "Routing", "ServiceKit", "Storage",
      "TestSupport", "Threading", "Time", "awd",
    ]),
  .testTarget(name: "QRCodeTests", dependencies: ["QRCode", "TestSupport"]),
  .testTarget(
    name: "RoutingTests",
    dependencies: [
      "Addresses", "Budgets", "Configuration", "HTTPProtocol", "HTTPServer", "Observability",
      "Routing", "ServiceKit", "Storage", "TestSupport", "Threading", "Wire",
    ]),
  .testTarget(
    name: "ServiceKitTests",
    dependencies: [
      "Configuration", "Observability", "Routing", "ServiceKit", "TestSupport", "Threading",
    ]),
  .testTarget(
    name: "StorageTests",
    dependencies: ["Observability", "Sanitizers", "Storage", "TestSupport", "Threading", "Time"]),
  .testTarget(
    name: "TokenScriptRepoTests",
    dependencies: [
      "Addresses", "Chains", "Compression", "Configuration", "Cryptography",
      "Ethereum",
      "HTTPClient", "HTTPProtocol", "HTTPServer", "Observability", "Pages", "Routing", "ServiceKit",
      "Storage", "SystemCalls", "TestSupport", "Threading", "Time",
      "TokenScriptRepo", "Wire", "XMLSecurity", "awd",
    ],
    exclude: ["Python"]),
  .testTarget(
    name: "WalletClientTests",
    dependencies: [
      "Addresses", "Apptimist", "ApptimistProtocol", "Configuration", "Cryptography", "Ethereum",
      "HTTPClient", "HTTPProtocol", "HTTPServer", "Msgr", "Observability", "Routing", "ServiceKit",
      "Storage", "TestSupport", "Threading", "Time", "TokenScriptRepo", "WalletClient",
      "WebSocketClient", "XMLSecurity",
    ]),
  .testTarget(
    name: "WebSocketClientTests",
    dependencies: ["HTTPProtocol", "HTTPServer", "TestSupport", "Threading", "WebSocketClient"]),
  .testTarget(name: "TextTests", dependencies: ["Text"]),
  .testTarget(name: "ThreadingTests", dependencies: ["TestSupport", "Threading"]),
  .testTarget(name: "TimeTests", dependencies: ["Time"]),
  .testTarget(name: "TransportTests", dependencies: ["TestSupport", "Threading", "Transport"]),
  .testTarget(name: "WireTests", dependencies: ["SystemCalls", "Wire"]),
  .testTarget(
    name: "XMLSecurityTests", dependencies: ["Cryptography", "TestSupport", "Time", "XMLSecurity"],
    exclude: ["Signed"]),
]

/// A program that fuzzes one parser. Built as usual it runs the files that it is given, as its test does; `make fuzz` builds it
/// with libFuzzer.
func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "\(name)Fuzzer", dependencies: dependencies + ["Fuzzing"], path: "Tests/Fuzz/\(name)")
}

let fuzzers: [Target] = [
  .target(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
  .target(
    name: "Fuzzing", dependencies: ["CLibFuzzer", "HTTPProtocol"], path: "Tests/Fuzz/Fuzzing"),
  fuzzer("APNsResponse", ["Push"]),
  fuzzer("Configuration", ["Configuration"]),
  fuzzer("ForwardedFor", ["Addresses", "HTTPProtocol", "Routing"]),
  fuzzer("GraphReply", ["Apptimist", "Time"]),
  fuzzer("HTTP2Head", ["HTTPProtocol"]),
  fuzzer("HTTPParser", ["HTTPProtocol"]),
  fuzzer("IDToken", ["Apptimist", "JSONWebTokens"]),
  fuzzer("Msgr", ["HTTPProtocol", "JSON", "Msgr", "Push"]),
  fuzzer("MultipartForm", ["HTTPProtocol"]),
  fuzzer("PDU", ["ApptimistProtocol", "Wire"]),
  fuzzer("ReturnData", ["Cryptography", "Ethereum"]),
  fuzzer(
    "Session",
    ["Apptimist", "ApptimistProtocol", "Cryptography", "Delivery", "HTTPProtocol"]),
  fuzzer("TokenLink", ["Cryptography", "Ethereum", "WalletClient"]),
  fuzzer("TokenScript", ["Cryptography", "Time", "TokenScriptRepo", "XMLSecurity"]),
  fuzzer(
    "Version2",
    ["Apptimist", "ApptimistProtocol", "Cryptography", "Delivery", "HTTPProtocol"]),
  fuzzer("WebLink", ["WalletClient"]),
  fuzzer("WebSocket", ["HTTPProtocol"]),
  .testTarget(name: "FuzzerTests", dependencies: ["TestSupport"]),
]

let package = Package(
  name: "awd",
  products: [
    .executable(name: "awd", targets: ["awd"]),
    // What an app needs to speak to the three services.
    .library(name: "WalletClient", targets: ["WalletClient", "WebSocketClient"]),
  ],
  targets: systemLibraries + libraries + plugins + programs + tests + fuzzers,
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)

let inC = ["CICU", "CLibFuzzer", "CMemory", "CSpawn", "CTOML", "Sanitizers"]
for target in package.targets where target.type != .system && !inC.contains(target.name) {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .treatAllWarnings(as: .error),
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
    ]
  if target.type != .test && target.path?.hasPrefix("Tests/") != true {
    // An asynchronous function runs where its caller does: a change of executors costs a lock of the task, even from a loop
    // to the same loop.
    target.swiftSettings? += [
      .strictMemorySafety(), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
  }
}

// The engine's state is touched by one thread, in short accesses; debug builds and all tests check that none overlap.
// Checking again in a release build costs a tenth of the server's own work: a conditional GET of the probe server takes
// 3.7 µs of user time with the checks and 3.3 µs without (medians of 20 runs of wrk with 32 connections).
for target in package.targets where ["HTTPServer", "Transport"].contains(target.name) {
  target.swiftSettings?.append(
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)))
}
