internal import Cryptography
internal import Configuration
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time

/// What `awd check` tells of Msgr: where it pushes, and whether it has what it needs for that.
struct MsgrCheck {
  /// How long before its end a certificate is worth a word.
  private static let notice = Duration.seconds(14 * 86_400)
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
        check(certificate: certificate, key: key, now: now)
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

  private mutating func check(certificate: String, key: String, now: Timestamp) {
    guard let first = read("push certificate", certificate), let second = read("push key", key)
    else { return }
    do throws(TLSError) {
      let credentials = try TLSCredentials(certificate: first, key: second)
      let isSoonOver = now.duration(to: credentials.notAfter) < Self.notice
      let end = HTTPDate(credentials.notAfter.seconds).text
      if !credentials.isValid(at: now) {
        let start = HTTPDate(credentials.notBefore.seconds).text
        tell(.wrong, "push certificate \(certificate): only valid from \(start) to \(end)")
      } else {
        tell(isSoonOver ? .doubtful : .good, "push certificate \(certificate): valid until \(end)")
      }
    } catch {
      tell(
        .wrong, "push \(error.concernsKey ? "key \(key)" : "certificate \(certificate)"): \(error)")
    }
    findings += [ContentFinding.readersOfKey("push key", key)].compactMap(\.self)
  }

  private mutating func check(roots path: String) {
    guard read("push roots", path) != nil else { return }
    tell(.good, "push roots \(path): instead of the system's")
  }

  private mutating func read(_ kind: String, _ path: String) -> [UInt8]? {
    do throws(FileError) {
      return try contents(ofFile: path, limit: Self.sizeLimit)
    } catch {
      tell(.wrong, "\(kind) \(path): \(error.message)")
      return nil
    }
  }
}
