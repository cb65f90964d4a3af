internal import Configuration
internal import Cryptography
internal import Glibc
package import Push
package import Platform

extension PushMode {
  /// The longest file of certificates, in bytes.
  private static let sizeLimit = 1 << 20

  /// Returns the findings of `awd check` on the push services of a service, and on the keys and certificates that they need;
  /// blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: the section of the push services.
  ///   - hasWeb: whether browsers are pushed to.
  ///   - isExposed: whether other machines reach the server.
  ///   - now: the time, for certificates.
  package func findings(
    _ configuration: PushConfiguration, hasWeb: Bool, isExposed: Bool, at now: Timestamp
  ) -> [ContentFinding] {
    let web = hasWeb ? Self.check(webKey: configuration.webKey) : []
    let grade = isExposed ? ContentFinding.Grade.doubtful : .good
    switch self {
    case .off:
      let finding = "nothing is pushed, and phones get messages only while they ask or stream"
      return [ContentFinding(grade, "push: off; \(finding)")] + web
    case .log:
      let finding =
        configuration.showsPayloads
        ? "push: log with log_payloads writes every payload into the log"
        : "push: log notes pushes in the log, without contents"
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
