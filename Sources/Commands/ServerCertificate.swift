internal import Time
internal import Cryptography
internal import Configuration
internal import HTTPProtocol
internal import HTTPServer
internal import ServiceKit

/// The certificate and key of `[server] tls`, read from their files.
struct ServerCertificate: Sendable {
  /// How long before its end a certificate is worth a word.
  private static let notice = Duration.seconds(14 * 86_400)
  /// The longest file, in bytes.
  private static let limit = 1 << 20

  /// Why the files can't be used, in words that name the one at fault.
  struct Failure: Error {
    let message: String
  }

  let credentials: TLSCredentials
  private let path: String
  private let now: Timestamp

  /// Reads both files; that the certificate isn't valid now is no reason to refuse it.
  ///
  /// - Throws: ``Failure`` that names the file and what is wrong with it.
  init(_ tls: ServerConfiguration.TLS) throws(Failure) {
    path = tls.certificate
    now = .now()
    let certificate = try Self.read(tls.certificate, "certificate")
    let key = try Self.read(tls.key, "key")
    do throws(TLSError) {
      credentials = try TLSCredentials(certificate: certificate, key: key)
    } catch {
      let file = error.concernsKey ? "key \(tls.key)" : "certificate \(tls.certificate)"
      throw Failure(message: "TLS \(file): \(error)")
    }
  }

  private static func read(_ path: String, _ kind: String) throws(Failure) -> [UInt8] {
    do throws(FileError) {
      return try contents(ofFile: path, limit: limit)
    } catch {
      throw Failure(message: "TLS \(kind) \(path): \(error.message)")
    }
  }

  /// Has it take an older one's place, if it is valid now.
  func use(_ body: (TLSCredentials) throws(TLSError) -> Void) throws(Failure) {
    guard credentials.isValid(at: now) else { throw Failure(message: finding.message) }
    do throws(TLSError) {
      try body(credentials)
    } catch {
      throw Failure(message: "TLS certificate \(path): \(error)")
    }
  }

  /// Until when it is valid, in words.
  var finding: ContentFinding {
    let end = credentials.notAfter
    let remaining = now.duration(to: end)
    let days = remaining.components.seconds / 86_400
    return if now < credentials.notBefore {
      ContentFinding(
        .wrong,
        "TLS certificate \(path): not valid before \(HTTPDate(credentials.notBefore.seconds).text)")
    } else if now > end {
      ContentFinding(.wrong, "TLS certificate \(path): expired on \(HTTPDate(end.seconds).text)")
    } else if remaining < Self.notice {
      ContentFinding(
        .doubtful,
        "TLS certificate \(path): expires in \(days) days, on \(HTTPDate(end.seconds).text)")
    } else {
      ContentFinding(
        .good,
        "TLS certificate \(path): valid for \(days) days, until \(HTTPDate(end.seconds).text)")
    }
  }

  /// Looks at both files, for `awd check`.
  static func check(_ tls: ServerConfiguration.TLS) -> [ContentFinding] {
    var findings: [ContentFinding] = []
    do throws(Failure) {
      findings.append(try ServerCertificate(tls).finding)
    } catch {
      findings.append(ContentFinding(.wrong, error.message))
    }
    return findings + [ContentFinding.readersOfKey("TLS key", tls.key)].compactMap(\.self)
  }
}
