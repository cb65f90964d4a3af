internal import Configuration
package import Cryptography
internal import HTTPProtocol
package import Platform

/// A certificate chain and its private key, read from two PEM files and checked for the operator.
package struct CertificateFiles: Sendable {
  /// An expiry within this time is worth a warning.
  private static let notice = Duration.seconds(14 * 86_400)
  /// The longest file, in bytes.
  private static let sizeLimit = 1 << 20

  /// The certificate and its key, which belong together.
  package let credentials: TLSCredentials
  /// The certificate's name in messages, such as “TLS certificate cert.pem”.
  private let name: String

  /// Reads both files. A certificate that isn't valid now is taken too.
  ///
  /// - Parameters:
  ///   - use: the use of the certificate, such as “TLS”, with which messages begin.
  ///   - certificate: the path of the PEM file of the certificate, followed by those that lead to its root.
  ///   - key: the path of the PEM file of the key.
  /// - Throws: ``CommandError`` if a file can't be read, or the two don't belong together.
  package init(for use: String, certificate: String, key: String) throws(CommandError) {
    name = "\(use) certificate \(certificate)"
    let chain = try Self.read(name, certificate)
    let secret = try Self.read("\(use) key \(key)", key)
    do throws(TLSError) {
      credentials = try TLSCredentials(certificate: chain, key: secret)
    } catch { throw .refused("\(error.concernsKey ? "\(use) key \(key)" : name): \(error)") }
  }

  private static func read(_ name: String, _ path: String) throws(CommandError) -> [UInt8] {
    do throws(FileError) { return try contents(ofFile: path, limit: sizeLimit) } catch {
      throw .refused("\(name): \(error.message)")
    }
  }

  /// Tells whether the certificate is valid, and until when.
  ///
  /// - Parameter now: the present time.
  /// - Returns: a doubt if the certificate expires within two weeks.
  package func validity(at now: Timestamp) -> ContentFinding {
    let start = credentials.notBefore
    let end = credentials.notAfter
    let rest = now.duration(to: end)
    let days = rest.milliseconds / 86_400_000
    if now < start { return .wrong("\(name): not valid before \(HTTPDate(start.seconds).text)") }
    let date = HTTPDate(end.seconds).text
    return if rest < .zero {
      .wrong("\(name): expired on \(date)")
    } else if rest < Self.notice {
      .doubtful("\(name): expires in \(days) days, on \(date)")
    } else { .good("\(name): valid for \(days) days, until \(date)") }
  }

  /// Checks both files, for `awd check`.
  ///
  /// - Parameters:
  ///   - use: the use of the certificate, as for ``init(for:certificate:key:)``.
  ///   - certificate: the path of the certificate's file.
  ///   - key: the path of the key's file.
  ///   - now: the present time.
  /// - Returns: the certificate's validity or what is wrong with the files, and a doubt if others may read the key.
  package static func findings(
    for use: String, certificate: String, key: String, at now: Timestamp
  ) -> [ContentFinding] {
    let finding: ContentFinding
    do throws(CommandError) {
      finding = try CertificateFiles(for: use, certificate: certificate, key: key).validity(at: now)
    } catch { finding = .wrong(error.description) }
    return [finding, ContentFinding.readersOfKey("\(use) key", key)].compactMap(\.self)
  }
}
