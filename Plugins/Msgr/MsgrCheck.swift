internal import Cryptography
internal import Configuration
internal import Observability
internal import ServiceKit
internal import Time

/// What `awd check` tells of Msgr: where it pushes, and whether it has what it needs for that.
struct MsgrCheck {
  /// The longest file of certificates, in bytes.
  private static let sizeLimit = 1 << 20

  /// What there is to tell.
  private(set) var findings: [ContentFinding] = []

  /// Looks, and changes nothing; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: what is checked.
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
