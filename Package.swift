// swift-tools-version: 6.2
import PackageDescription

/// Makes the module of an installed C library, in a folder of its own.
func systemLibrary(_ name: String, _ pkgConfig: String?, _ package: String) -> Target {
  .systemLibrary(
    name: name,
    path: "Sources/Libraries/\(name)",
    pkgConfig: pkgConfig,
    providers: [.apt([package])])
}

/// Makes a target of C, in a folder beside those of the libraries.
func targetInC(_ name: String, _ libraries: String...) -> Target {
  .target(
    name: name,
    path: "Sources/Libraries/\(name)",
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// Makes a module of `Sources`, or of `Plugins` if the path says so.
///
/// With `hasResources`, the folder `Resources` holds files that are built into the program, and the source in C that includes
/// them: a target of its own, since one target has one language. `others` are folders beside it, of which it includes files.
func module(
  _ name: String, path: String? = nil, hasResources: Bool = false, others: [String] = [],
  _ dependencies: [String]
) -> [Target] {
  let path = path ?? "Sources/\(name)"
  var dependencies = dependencies
  var targets: [Target] = []
  if hasResources {
    let resources = "\(name)Resources"
    dependencies.append(resources)
    targets.append(
      .target(
        name: resources,
        dependencies: ["CResources"],
        path: "\(path)/Resources",
        sources: ["resources.c"]))
  }
  targets.append(
    .target(
      name: name,
      dependencies: dependencies.map { .byName(name: $0) },
      path: path,
      exclude: hasResources ? ["Resources"] + others : []))
  return targets
}

// The C libraries, each behind a module of its own. `make deps` installs the Debian packages named here.
let systemLibraries: [Target] = [
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
  // The commit that is built.
  targetInC("CBuild"),
  targetInC("CICU", "icuuc"),
  targetInC("CMemory"),
  // The form of the files that are built into the program.
  targetInC("CResources"),
  targetInC("CSpawn"),
  targetInC("CTOML"),
]

// The modules, each below those that import it.
let libraries: [[Target]] = [
  // Time, threads, and the operating system's calls.
  module("Platform", ["CMemory", "CResources"]),
  // Bytes, addresses, URLs, text, JSON, compression and QR codes.
  module(
    "Formats", ["CBrotli", "CCurl", "CICU", "CJansson", "CQREncode", "CZlib", "Platform"]),
  module("Cryptography", ["CCJose", "CNettle", "COpenSSL", "CSodium", "Platform"]),
  module("Observability", ["Formats", "Platform"]),
  // What one client may use: quotas, rate limits and shared budgets.
  module("Budgets", ["Formats", "Platform"]),
  module("Configuration", ["CTOML", "Formats", "Observability", "Platform"]),
  module("Transport", ["COpenSSL", "CUV", "Formats", "Platform"]),
  module("HTTPProtocol", ["Formats", "Platform"]),
  module(
    "HTTPServer",
    [
      "Budgets", "CNghttp2", "COpenSSL", "CUV", "Cryptography", "Formats", "HTTPProtocol",
      "Platform", "Transport",
    ]),
  // Clients of HTTP and WebSocket.
  module(
    "HTTPClient", ["CCurl", "Cryptography", "Formats", "HTTPProtocol", "Platform", "Transport"]),
  module(
    "Storage", hasResources: true,
    ["CPostgreSQL", "CSQLite", "Cryptography", "Observability", "Platform"]),
  // What several nodes over one store share: who listens where, who lives, and what they tell each other.
  module(
    "Cluster", ["Cryptography", "Formats", "Observability", "Platform", "Storage", "Transport"]),
  // Ethereum's values, and the chains' endpoints that all services may query.
  module(
    "Ethereum", hasResources: true,
    [
      "CSecp256k1", "Configuration", "Cryptography", "Formats", "HTTPClient", "HTTPProtocol",
      "Platform",
    ]),
  module(
    "XMLSecurity", ["COpenSSL", "CXML", "CXMLSec", "Cryptography", "Ethereum", "Platform"]),
  // Pages and web apps that are built into the program, with the style that they share.
  module("WebApps", hasResources: true, ["Cryptography", "Formats", "HTTPProtocol", "Platform"]),
  module(
    "Routing",
    [
      "Configuration", "Formats", "HTTPProtocol", "HTTPServer", "Observability", "Platform",
      "WebApps",
    ]),
  // Carries what services queue for phones and browsers to their push services; knows no service's tables.
  module(
    "Push", hasResources: true,
    [
      "Budgets", "Configuration", "Cryptography", "Formats", "HTTPClient", "HTTPProtocol",
      "Observability", "Platform", "Storage",
    ]),
  // What a service sees of the program.
  module(
    "ServiceKit",
    [
      "Budgets", "CBuild", "Cluster", "Configuration", "Cryptography", "HTTPProtocol",
      "Observability", "Platform", "Push", "Routing", "Storage", "WebApps",
    ]),
  module("ApptimistProtocol", ["Cryptography", "Formats"]),
  // The device side of the services.
  module(
    "WalletClient",
    [
      "ApptimistProtocol", "Cryptography", "Ethereum", "Formats", "HTTPClient", "HTTPProtocol",
      "Observability", "Platform", "XMLSecurity",
    ]),
]

// A service is a folder below Plugins, two entries here, and a name in Sources/awd/Services.swift.
let plugins: [[Target]] = [
  module(
    "Apptimist", path: "Plugins/Apptimist", hasResources: true, others: ["Web"],
    [
      "ApptimistProtocol", "Budgets", "Cluster", "Configuration", "Cryptography", "Ethereum",
      "Formats", "HTTPClient", "HTTPProtocol", "HTTPServer", "Observability", "Platform", "Push",
      "Routing", "ServiceKit", "Storage", "Transport", "WalletClient", "WebApps",
    ]),
  module(
    "Msgr", path: "Plugins/Msgr", hasResources: true, others: ["Web"],
    [
      "Budgets", "Cluster", "Configuration", "Cryptography", "Ethereum", "Formats", "HTTPClient",
      "HTTPProtocol", "HTTPServer", "Observability", "Platform", "Push", "Routing", "ServiceKit",
      "Storage", "Transport", "WebApps",
    ]),
  module(
    "PushServer", path: "Plugins/PushServer", hasResources: true,
    [
      "Budgets", "Configuration", "Cryptography", "Formats", "HTTPProtocol", "Observability",
      "Platform", "Push", "Routing", "ServiceKit", "Storage",
    ]),
  module(
    "TokenScriptRepo", path: "Plugins/TokenScriptRepo", hasResources: true,
    [
      "Budgets", "CSpawn", "Cluster", "Configuration", "Cryptography", "Ethereum", "Formats",
      "HTTPClient", "HTTPProtocol", "Observability", "Platform", "Routing", "ServiceKit",
      "Storage", "WalletClient", "WebApps", "XMLSecurity",
    ]),
]

let programs: [Target] =
  module(
    "Commands", hasResources: true,
    [
      "CBrotli", "CCJose", "CCurl", "CICU", "CJansson", "CNettle", "CNghttp2", "COpenSSL",
      "CPostgreSQL", "CQREncode", "CSQLite", "CSodium", "CUV", "CXML", "CXMLSec", "CZlib",
      "Cluster", "Configuration", "Cryptography", "Formats", "HTTPClient",
      "HTTPProtocol", "HTTPServer", "Observability", "Platform", "Push", "Routing", "ServiceKit",
      "Storage", "Transport", "WebApps",
    ])
  + [
    .executableTarget(
      name: "awd",
      dependencies: ["Commands", "ServiceKit"]
        + plugins.compactMap(\.last).map { .byName(name: $0.name) })
  ]

let tests: [Target] = [
  // What the tests of several targets need.
  .target(
    name: "TestSupport",
    dependencies: [
      "CSpawn", "Cryptography", "Formats", "HTTPProtocol", "HTTPServer", "Platform", "Routing",
      "Storage", "XMLSecurity",
    ],
    path: "Tests/TestSupport",
    exclude: ["account_chain.py", "web_push.py"]),
  // What the sanitizers are to leave out; linked into the one program that all tests are.
  .target(name: "Sanitizers", path: "Tests/Sanitizers"),
  // An HTTP/2 server that answers what a test says, and push services made of it.
  .target(
    name: "HTTP2StandIn",
    dependencies: ["CNghttp2", "COpenSSL", "Platform", "TestSupport"],
    path: "Tests/HTTP2StandIn"),
  // Serves the routes that protocol probes, load and fault tests ask for; no part of the product.
  .executableTarget(
    name: "probe-server",
    dependencies: ["Cryptography", "Formats", "HTTPProtocol", "HTTPServer", "Storage"],
    path: "Tests/ProbeServer"),
  // What a suite for WebSocket clients drives.
  .executableTarget(
    name: "echo-client", dependencies: ["HTTPClient", "HTTPProtocol"], path: "Tests/EchoClient"),
  .executableTarget(
    name: "apptimist-benchmark",
    dependencies: ["ApptimistProtocol", "Cryptography", "HTTPProtocol", "Platform", "Storage"],
    path: "Tests/Benchmarks/Apptimist"),
  .executableTarget(
    name: "store-benchmark", dependencies: ["Storage"], path: "Tests/Benchmarks/Store"),
  .executableTarget(
    name: "message-benchmark",
    dependencies: ["Msgr", "Platform", "Storage"],
    path: "Tests/Benchmarks/Messages"),
  .executableTarget(
    name: "mixed-load",
    dependencies: [
      "ApptimistProtocol", "Cryptography", "HTTPClient", "HTTPProtocol", "Platform",
      "WalletClient",
    ],
    path: "Tests/Benchmarks/MixedLoad"),
  .testTarget(
    name: "ApptimistProtocolTests",
    dependencies: ["ApptimistProtocol", "Cryptography", "Formats"],
    exclude: ["Vectors"]),
  .testTarget(
    name: "ApptimistTests",
    dependencies: [
      "Apptimist", "ApptimistProtocol", "ApptimistResources", "Cluster", "Commands",
      "Configuration", "Cryptography", "Ethereum", "Formats", "HTTPClient", "HTTPProtocol",
      "HTTPServer", "Observability", "Platform", "Push", "Routing", "ServiceKit", "Storage",
      "TestSupport", "WalletClient", "WebApps", "awd",
    ],
    exclude: ["JavaScript", "Python"]),
  .testTarget(
    name: "BudgetsTests", dependencies: ["Budgets", "Formats", "Platform", "TestSupport"]),
  .testTarget(
    name: "ClusterTests",
    dependencies: [
      "Cluster", "Cryptography", "Observability", "Platform", "Storage", "TestSupport",
    ]),
  .testTarget(
    name: "CommandsTests",
    dependencies: [
      "Commands", "Configuration", "Cryptography", "Formats", "HTTPProtocol",
      "HTTPServer", "Observability", "Platform", "Routing", "ServiceKit", "Storage",
      "TestSupport", "XMLSecurity", "awd",
    ]),
  .testTarget(
    name: "ConfigurationTests",
    dependencies: ["Configuration", "Formats", "Observability", "TestSupport"]),
  .testTarget(
    name: "CryptographyTests",
    dependencies: ["COpenSSL", "Cryptography", "Platform", "TestSupport"]),
  .testTarget(
    name: "EthereumTests",
    dependencies: [
      "Configuration", "Cryptography", "Ethereum", "Formats", "HTTPProtocol", "HTTPServer",
      "Platform", "TestSupport",
    ],
    exclude: ["SignIn"]),
  .testTarget(
    name: "FormatsTests",
    dependencies: ["CBrotli", "CZlib", "Formats", "Platform", "TestSupport"],
    linkerSettings: [.linkedLibrary("brotlidec")]),
  .testTarget(
    name: "HTTPClientTests",
    dependencies: [
      "HTTP2StandIn", "HTTPClient", "HTTPProtocol", "HTTPServer", "Platform", "TestSupport",
    ]),
  .testTarget(name: "HTTPProtocolTests", dependencies: ["HTTPProtocol", "TestSupport"]),
  .testTarget(
    name: "HTTPServerTests",
    dependencies: [
      "Budgets", "CNghttp2", "COpenSSL", "Cryptography", "Formats", "HTTPProtocol", "HTTPServer",
      "Platform", "TestSupport", "Transport", "probe-server",
    ]),
  .testTarget(
    name: "IntegrationTests",
    dependencies: [
      "ApptimistProtocol", "Cryptography", "Ethereum", "HTTPClient", "HTTPProtocol",
      "Observability", "Platform", "TestSupport", "WalletClient", "XMLSecurity", "awd",
    ]),
  .testTarget(
    name: "MsgrTests",
    dependencies: [
      "Budgets", "COpenSSL", "Cluster", "Configuration", "Cryptography", "Ethereum", "Formats",
      "HTTP2StandIn", "HTTPClient", "HTTPProtocol", "HTTPServer", "Msgr", "MsgrResources",
      "Observability", "Platform", "Push", "Routing", "ServiceKit", "Storage", "TestSupport",
      "WebApps", "awd",
    ],
    exclude: ["JavaScript"]),
  .testTarget(
    name: "ObservabilityTests", dependencies: ["Observability", "Platform", "TestSupport"]),
  .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"]),
  .testTarget(
    name: "PushServerTests",
    dependencies: [
      "Configuration", "Cryptography", "HTTP2StandIn", "HTTPClient", "HTTPProtocol",
      "Observability", "Platform", "Push", "PushServer", "Routing", "ServiceKit", "Storage",
      "TestSupport", "awd",
    ]),
  .testTarget(
    name: "PushTests",
    dependencies: [
      "Configuration", "Cryptography", "Formats", "HTTP2StandIn", "Observability", "Platform",
      "Push", "Storage", "TestSupport",
    ]),
  .testTarget(
    name: "RoutingTests",
    dependencies: [
      "Budgets", "Configuration", "Formats", "HTTPProtocol", "HTTPServer", "Observability",
      "Platform", "Routing", "ServiceKit", "Storage", "TestSupport",
    ]),
  .testTarget(
    name: "ServiceKitTests",
    dependencies: [
      "Configuration", "Observability", "Platform", "Routing", "ServiceKit", "TestSupport",
    ]),
  .testTarget(
    name: "StorageTests",
    dependencies: ["Observability", "Platform", "Sanitizers", "Storage", "TestSupport"]),
  .testTarget(
    name: "TokenScriptRepoTests",
    dependencies: [
      "Configuration", "Cryptography", "Ethereum", "Formats", "HTTPClient", "HTTPProtocol",
      "HTTPServer", "Observability", "Platform", "Routing", "ServiceKit", "Storage",
      "TestSupport", "TokenScriptRepo", "WalletClient", "WebApps", "XMLSecurity", "awd",
    ],
    exclude: ["Python"]),
  .testTarget(name: "TransportTests", dependencies: ["Platform", "TestSupport", "Transport"]),
  .testTarget(
    name: "WalletClientTests",
    dependencies: [
      "Apptimist", "ApptimistProtocol", "Configuration", "Cryptography", "Ethereum", "Formats",
      "HTTPClient", "HTTPProtocol", "HTTPServer", "Msgr", "Observability", "Platform", "Routing",
      "ServiceKit", "Storage", "TestSupport", "TokenScriptRepo", "WalletClient", "XMLSecurity",
    ]),
  .testTarget(
    name: "WebAppsTests",
    dependencies: [
      "Cryptography", "Formats", "HTTPProtocol", "Platform", "TestSupport", "WebApps",
    ]),
  .testTarget(
    name: "XMLSecurityTests",
    dependencies: ["Cryptography", "Platform", "TestSupport", "XMLSecurity"],
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
  fuzzer("ForwardedFor", ["Formats", "HTTPProtocol", "Routing"]),
  fuzzer("GraphReply", ["Apptimist", "Platform"]),
  fuzzer("HTTP2Head", ["HTTPProtocol"]),
  fuzzer("HTTPParser", ["HTTPProtocol"]),
  fuzzer("IDToken", ["Apptimist", "Cryptography"]),
  fuzzer("Msgr", ["Formats", "HTTPProtocol", "Msgr", "Push"]),
  fuzzer("MultipartForm", ["HTTPProtocol"]),
  fuzzer("PDU", ["ApptimistProtocol", "Formats"]),
  fuzzer("ReturnData", ["Cryptography", "Ethereum"]),
  fuzzer("Session", ["Apptimist", "ApptimistProtocol", "Cluster", "Cryptography", "HTTPProtocol"]),
  fuzzer("TokenLink", ["Cryptography", "Ethereum", "WalletClient"]),
  fuzzer("TokenScript", ["Cryptography", "Platform", "TokenScriptRepo", "XMLSecurity"]),
  fuzzer(
    "Version2", ["Apptimist", "ApptimistProtocol", "Cluster", "Cryptography", "HTTPProtocol"]),
  fuzzer("WebLink", ["WalletClient"]),
  fuzzer("WebSocket", ["HTTPProtocol"]),
  .testTarget(name: "FuzzerTests", dependencies: ["TestSupport"]),
]

let package = Package(
  name: "awd",
  products: [
    .executable(name: "awd", targets: ["awd"]),
    // What an app needs to speak to the three services.
    .library(name: "WalletClient", targets: ["WalletClient", "HTTPClient"]),
  ],
  targets: systemLibraries + libraries.flatMap { $0 } + plugins.flatMap { $0 } + programs + tests
    + fuzzers,
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c17,
  cxxLanguageStandard: .cxx17
)

let inC = ["CICU", "CLibFuzzer", "CMemory", "CResources", "CSpawn", "CTOML", "Sanitizers"]
for target in package.targets
where target.type != .system && !inC.contains(target.name)
  && !target.name.hasSuffix("Resources")
{
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
