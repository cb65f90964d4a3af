internal import Configuration
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Time

/// The findings of `awd check` on Msgr: the push service, and the keys and certificates that pushes need.
struct MsgrCheck {
  /// The longest file of certificates, in bytes.
  private static let sizeLimit = 1 << 20

  /// The findings.
  private(set) var findings: [ContentFinding] = []

  /// Checks a configuration without changing anything; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: the configuration of pushes.
  ///   - isExposed: whether other machines reach the server.
  ///   - now: the time, for certificates.
  init(_ configuration: PushConfiguration, isExposed: Bool, now: Timestamp) {
    switch configuration.provider {
    case .log:
      findings = [
        isExposed
          ? ContentFinding(
            .doubtful,
            #"push: log writes every message into the log and reaches no phone; "apns" does"#)
          : ContentFinding(.good, "push: log, for development")
      ]
    case .apns:
      guard let apns = configuration.apns else { return }
      tell(.good, "push: apns, to \(apns.url) for \(apns.topic)")
      switch apns.credentials {
      case .token(let key, _, _): check(tokenKey: key)
      case .certificate(let certificate, let key):
        findings += CertificateFiles.findings(
          for: "push", certificate: certificate, key: key, at: now)
      }
      if !apns.roots.isEmpty { check(roots: apns.roots) }
    }
  }

  private mutating func tell(_ grade: ContentFinding.Grade, _ message: String) {
    findings.append(ContentFinding(grade, message))
  }

  private mutating func check(tokenKey path: String) {
    do throws(PushSetupError) {
      _ = try ES256Key(file: path)
      tell(.good, "push key \(path): a key on P-256")
    } catch {
      tell(.wrong, "push key \(error); the service does not start")
    }
    findings += [ContentFinding.readersOfKey("push key", path)].compactMap(\.self)
  }

  private mutating func check(roots path: String) {
    do throws(FileError) {
      _ = try contents(ofFile: path, limit: Self.sizeLimit)
      tell(.good, "push roots \(path): instead of the system's")
    } catch {
      tell(.wrong, "push roots \(path): \(error.message)")
    }
  }
}
