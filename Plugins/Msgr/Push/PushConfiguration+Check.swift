internal import Configuration
internal import Cryptography
internal import ServiceKit
internal import Time

extension PushConfiguration {
  /// The longest file of certificates, in bytes.
  private static let sizeLimit = 1 << 20

  /// Returns the findings of `awd check` on the push service, and on the keys and certificates that it needs; blocks on
  /// the disk.
  ///
  /// - Parameters:
  ///   - isExposed: whether other machines reach the server.
  ///   - now: the time, for certificates.
  func findings(isExposed: Bool, at now: Timestamp) -> [ContentFinding] {
    switch provider {
    case .off:
      return [
        ContentFinding(
          isExposed ? .doubtful : .good,
          "push: off; nothing is pushed, and phones get messages only while they ask or stream")
      ]
    case .log:
      let finding =
        showsPushes
        ? "push: log with debug_pushes writes every message into the log"
        : "push: log notes pushes in the log, without contents"
      return [
        ContentFinding(
          isExposed ? .doubtful : .good, "\(finding), and reaches no phone; for development")
      ]
    case .on, .apns:
      var findings = apns.map { Self.findings(on: $0, at: now) } ?? []
      if let fcm { findings += fcm.findings }
      for roots in [apns?.roots, fcm?.roots] {
        if let roots, !roots.isEmpty { findings.append(Self.check(roots: roots)) }
      }
      return findings
    }
  }

  private static func findings(on apns: APNsConfiguration, at now: Timestamp) -> [ContentFinding] {
    var findings = [ContentFinding(.good, "push: apns, to \(apns.url) for \(apns.topic)")]
    switch apns.credentials {
    case .token(let key, _, _):
      findings.append(check(tokenKey: key))
      if let finding = ContentFinding.readersOfKey("push key", key) { findings.append(finding) }
    case .certificate(let certificate, let key):
      findings += CertificateFiles.findings(
        for: "push", certificate: certificate, key: key, at: now)
    }
    return findings
  }

  private static func check(tokenKey path: String) -> ContentFinding {
    do throws(PushSetupError) {
      _ = try P256KeyPair.read(from: path)
      return ContentFinding(.good, "push key \(path): a key on P-256")
    } catch {
      return ContentFinding(.wrong, "push key \(error); the service does not start")
    }
  }

  private static func check(roots path: String) -> ContentFinding {
    do throws(FileError) {
      _ = try contents(ofFile: path, limit: sizeLimit)
      return ContentFinding(.good, "push roots \(path): instead of the system's")
    } catch {
      return ContentFinding(.wrong, "push roots \(path): \(error.message)")
    }
  }
}
