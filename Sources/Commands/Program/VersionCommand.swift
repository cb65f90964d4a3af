internal import CBrotli
internal import CCJose
internal import CCurl
internal import CICU
internal import CJansson
internal import CNettle
internal import CNghttp2
internal import COpenSSL
internal import CPostgreSQL
internal import CQREncode
internal import CSQLite
internal import CSodium
internal import CUV
internal import CXML
internal import CXMLSec
internal import CZlib
internal import ServiceKit

/// `awd version`.
struct VersionCommand: Command {
  static let name = "version"
  static let summary = "Print the version, and the commit that the program was built from"
  static let parameters: [CommandParameter] = [
    .flag("verbose", "print the compiler and the versions of the libraries too"), .json,
  ]

  private struct Report: Encodable {
    let name = Product.name
    let version = Product.version
    let commit = Product.commit
    let date = Product.date
    let compiler: String?
    let libraries: [Library]?
  }

  private struct Library: Encodable {
    let name: String
    let version: String
  }

  static func run(_ context: CommandContext) async throws {
    let isVerbose = context.arguments.has("verbose")
    let libraries = libraries()
    let report = Report(
      compiler: isVerbose ? Product.compiler : nil, libraries: isVerbose ? libraries : nil)
    try context.print(json: report) {
      context.print(Product.description)
      guard isVerbose else { return }
      context.print("compiler    \(Product.compiler)")
      for library in libraries {
        let padding = String(repeating: " ", count: max(0, 12 - library.name.count))
        context.print("\(library.name)\(padding)\(library.version)")
      }
    }
  }

  /// The libraries that the program runs with, which may be newer than those that it was built with. libxml2, xmlsec1 and
  /// ICU don't tell that: theirs are the versions of the build.
  private static func libraries() -> [Library] {
    let postgreSQL = PQlibVersion()
    let brotli = BrotliEncoderVersion()
    let nghttp2 = unsafe nghttp2_version(0)
    return unsafe [
      Library(name: "SQLite", version: String(cString: sqlite3_libversion())),
      Library(name: "libpq", version: "\(postgreSQL / 10_000).\(postgreSQL % 10_000)"),
      Library(name: "OpenSSL", version: String(cString: OpenSSL_version(OPENSSL_VERSION))),
      Library(name: "libsodium", version: String(cString: sodium_version_string())),
      Library(name: "libxml2", version: LIBXML_DOTTED_VERSION),
      Library(name: "xmlsec1", version: XMLSEC_VERSION),
      Library(name: "libuv", version: String(cString: uv_version_string())),
      Library(
        name: "nghttp2",
        version: nghttp2.map { unsafe String(cString: $0.pointee.version_str) } ?? ""),
      Library(name: "curl", version: String(cString: curl_version())),
      Library(name: "cjose", version: String(cString: cjose_version())),
      Library(name: "jansson", version: String(cString: jansson_version_str())),
      Library(name: "nettle", version: "\(nettle_version_major()).\(nettle_version_minor())"),
      Library(name: "ICU", version: String(cString: cicu_version())),
      Library(
        name: "brotli", version: "\(brotli >> 24).\(brotli >> 12 & 0xfff).\(brotli & 0xfff)"),
      Library(name: "zlib", version: String(cString: zlibVersion())),
      Library(name: "qrencode", version: String(cString: QRcode_APIVersionString())),
    ]
  }
}
