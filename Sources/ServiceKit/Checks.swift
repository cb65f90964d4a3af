package import Cryptography
package import Platform
package import Push

internal import Configuration
internal import Glibc
internal import HTTPProtocol

/// A configuration whose content can be checked before it is served.
package protocol Checking: ServiceConfiguration {
  /// Checks the content that the service would work with, for `awd check`, and changes nothing.
  ///
  /// - Parameter isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: the good and the bad about the content.
  func findings(isExposed: Bool) async -> [ContentFinding]

  /// Returns what an operator should know about the configuration at each start, such as that anybody may make accounts.
  /// It is logged, and `awd check` prints it.
  ///
  /// - Parameter isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: doubts; none if all is as it should be.
  func warnings(isExposed: Bool) -> [ContentFinding]

  /// Returns the digests of what all nodes that share a store must have, by the keys of the section that name them. The
  /// running service records the same in ``NodeContents``.
  func contentDigests() async -> [String: [UInt8]]
}

extension Checking {
  /// Warns of nothing.
  package func warnings(isExposed: Bool) -> [ContentFinding] { [] }
  /// Nothing of the kind.
  package func contentDigests() async -> [String: [UInt8]] { [:] }
}

/// A result of a check, good or bad, for the operator.
package struct ContentFinding: Sendable, Equatable {
  /// The seriousness of a finding.
  package enum Grade: String, Sendable, Encodable {
    /// All is as it should be.
    case good
    /// It works, but perhaps not as intended.
    case doubtful
    /// Something will not be served, or the service will not start.
    case wrong
  }

  /// The seriousness.
  package let grade: Grade
  /// The thing and its state, in one line.
  package let message: String

  package init(_ grade: Grade, _ message: String) {
    self.grade = grade
    self.message = message
  }

  /// Finds that something is as it should be.
  package static func good(_ message: String) -> Self { Self(.good, message) }
  /// Finds something that an operator should think about.
  package static func doubtful(_ message: String) -> Self { Self(.doubtful, message) }
  /// Finds something that doesn't work.
  package static func wrong(_ message: String) -> Self { Self(.wrong, message) }

  /// Doubts a private key's file if others than its owner may read it.
  ///
  /// - Parameter kind: the kind of key, such as “TLS key”.
  /// - Returns: the doubt, or nil if there is none or no such file.
  package static func readersOfKey(_ kind: String, _ path: String) -> ContentFinding? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
    return .doubtful("\(kind) \(path): other users may read it; chmod 600")
  }
}

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

  /// Checks whether the certificate is valid, and until when.
  ///
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
      .doubtful("\(name): expires in \(quantity(days, "day")), on \(date)")
    } else { .good("\(name): valid for \(quantity(days, "day")), until \(date)") }
  }

  /// Checks both files, for `awd check`.
  ///
  /// - Parameter use: the use of the certificate, as for ``init(for:certificate:key:)``.
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

extension PushMode {
  /// The longest file of certificates, in bytes.
  private static let sizeLimit = 1 << 20

  /// Returns the findings of `awd check` on the push services of a service, and on the keys and certificates that they need;
  /// blocks on the disk.
  ///
  /// - Parameters:
  ///   - hasWeb: whether browsers are pushed to.
  ///   - isExposed: whether other machines reach the server.
  package func findings(
    _ configuration: PushConfiguration, hasWeb: Bool, isExposed: Bool, at now: Timestamp
  ) -> [ContentFinding] {
    let doubt = configuration.contactDoubt(whilePushing: self == .on)
      .map { ContentFinding(.doubtful, $0) }
    let web = hasWeb ? Self.check(webKey: configuration.webKey) + [doubt].compactMap(\.self) : []
    let grade = isExposed ? ContentFinding.Grade.doubtful : .good
    switch self {
    case .off:
      let phones = "apps on phones get messages only while they are open"
      guard !hasWeb else {
        return [.good("push: off: browsers are pushed to; \(phones)")] + web
      }
      return [ContentFinding(grade, "push: off: nothing is pushed; \(phones)")]
    case .log:
      let finding =
        configuration.showsPayloads
        ? "push: log with log_payloads writes every payload into the log"
        : "push: log writes pushes into the log, without contents"
      return [ContentFinding(grade, "\(finding), and reaches no phone; for development")] + web
    case .on:
      let kinds = configuration.kinds.filter { hasWeb || $0 != .web }
      let names = kinds.sorted { $0.rawValue < $1.rawValue }.map(\.name).joined(separator: ", ")
      var findings = [ContentFinding(.good, "push: on, for \(names)")]
      if let apns = configuration.apns { findings += Self.findings(on: apns, at: now) }
      if let fcm = configuration.fcm { findings += Self.findings(on: fcm) }
      for roots in Set([configuration.apns?.roots, configuration.fcm?.roots].compactMap(\.self))
      where !roots.isEmpty { findings.append(Self.check(roots: roots)) }
      return findings + web
    }
  }

  private static func findings(on apns: APNsConfiguration, at now: Timestamp) -> [ContentFinding] {
    let findings = [ContentFinding(.good, "push: apns, to \(apns.url) for \(apns.topic)")]
    switch apns.credentials {
    case .token(let key, _, _): return findings + check("push key", key)
    case .certificate(let certificate, let key):
      return findings
        + CertificateFiles.findings(for: "push", certificate: certificate, key: key, at: now)
    }
  }

  private static func findings(on fcm: FCMConfiguration) -> [ContentFinding] {
    do throws(PushSetupError) {
      let account = try ServiceAccount(fcm)
      let names = "for project \(account.project) as \(account.email)"
      let good = ContentFinding(.good, "push: fcm, to \(fcm.url) \(names)")
      let readers = ContentFinding.readersOfKey("push credentials", fcm.credentials)
      return [good, readers].compactMap(\.self)
    } catch {
      return [ContentFinding(.wrong, "push credentials \(error); the service does not start")]
    }
  }

  private static func check(webKey path: String) -> [ContentFinding] {
    // The first start makes it.
    unsafe access(path, F_OK) == 0 ? check("web push key", path) : []
  }

  private static func check(_ name: String, _ path: String) -> [ContentFinding] {
    do throws(PushSetupError) {
      _ = try P256KeyPair.read(from: path)
      let good = ContentFinding(.good, "\(name) \(path): a key on P-256")
      return [good, ContentFinding.readersOfKey(name, path)].compactMap(\.self)
    } catch { return [ContentFinding(.wrong, "\(name) \(error); the service does not start")] }
  }

  private static func check(roots path: String) -> ContentFinding {
    do throws(FileError) {
      _ = try contents(ofFile: path, limit: sizeLimit)
      return ContentFinding(.good, "push roots \(path): instead of the system's")
    } catch { return ContentFinding(.wrong, "push roots \(path): \(error.message)") }
  }
}
