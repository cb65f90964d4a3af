public import Cryptography
internal import FoundationEssentials
public import HTTPClient
internal import HTTPProtocol

/// A link between a device that has an account and a new one that is to get it. Both leave boxes at the service, which reads
/// neither; six digits, typed at the old device, keep out anybody who has only seen the code.
public struct DeviceLink: Sendable {
  /// The parts that the devices leave for each other.
  public enum Part: Int, Sendable {
    /// The new device's key and name.
    case request = 1
    /// The account.
    case answer
  }

  private static let mark = "/app/#link="

  private let site: String
  /// The random bytes that the code shows.
  private let secret: [UInt8]
  private let end = ContinuousClock.now + .seconds(600)

  /// Makes a link at a service, for ten minutes.
  public init(at service: WebSocketURL) {
    site = service.site
    secret = SecureRandom.bytes(32)
  }

  /// Reads a code.
  ///
  /// - Parameter code: the address that the old device shows.
  /// - Returns: nil for anything else.
  public init?(_ code: String) {
    guard let mark = code.firstRange(of: Self.mark), code.hasPrefix("http") else { return nil }
    let base64 = code[mark.upperBound...].replacing("-", with: "+").replacing("_", with: "/")
    guard let secret = Data(base64Encoded: base64 + "=") else { return nil }
    site = String(code[..<mark.lowerBound])
    self.secret = Array(secret)
    // Bits of the last sign that belong to no byte would make more codes of one.
    guard secret.count == 32, self.code == code else { return nil }
  }

  /// The address that the old device shows and the new one opens: anybody who sees it may try.
  public var code: String {
    let base64 = Data(secret).base64EncodedString().dropLast()
    return site + Self.mark + base64.replacing("+", with: "-").replacing("/", with: "_")
  }

  /// True once the ten minutes are over, in which the code is good.
  public var isOver: Bool { end < .now }

  /// The name of the place where the parts lie.
  var slot: String { Hex.encode(SHA512.hash(purpose("link slot") + secret).bytes.prefix(16)) }

  /// Returns the digits that the new device shows, and the old one requests.
  ///
  /// - Parameter device: the new device's key.
  public func digits(of device: EncryptionPublicKey) -> String {
    let digest = SHA512.hash(purpose("link digits") + secret + device.bytes).bytes
    return String(String(digest[..<8].number % 1_000_000 + 1_000_000).dropFirst())
  }

  /// Returns the new device's part.
  ///
  /// - Parameters:
  ///   - pair: a pair that is used for nothing else.
  ///   - name: the device's name, 1 to 64 bytes.
  public func request(from pair: EncryptionKeyPair, name: String) -> [UInt8] {
    pair.publicKey.bytes + (key("link request", keys: pair.publicKey)?.seal(Array(name.utf8)) ?? [])
  }

  /// Opens the new device's part, at the old one.
  ///
  /// - Returns: the key, and the name that the device gives itself; nil if the part is for another link.
  public func device(in part: [UInt8]) -> (key: EncryptionPublicKey, name: String)? {
    guard let device = EncryptionPublicKey(part.prefix(32)),
      let name = key("link request", keys: device)?.open(part[32...]), (1...64).contains(name.count)
    else { return nil }
    return String(validating: name, as: UTF8.self).map { (device, $0) }
  }

  /// Returns the old device's part, once its user has typed the right digits.
  ///
  /// - Parameters:
  ///   - account: the account.
  ///   - device: the new device's key.
  ///   - fresh: a pair that is used for nothing else, which only tests give.
  /// - Returns: nil if the key is of low order.
  public func answer(
    _ account: AccountSecrets, to device: EncryptionPublicKey,
    fresh: EncryptionKeyPair = .generate(for: .session)
  ) -> [UInt8]? {
    let old = fresh.publicKey
    let key = key("link", .agreement(fresh, device), keys: old, device)
    return key.map { old.bytes + $0.seal(CanonicalJSON.encode(account)) }
  }

  /// Opens the old device's part, at the new one.
  ///
  /// - Returns: the account; nil if the part is for another link or device.
  public func account(in part: [UInt8], for pair: EncryptionKeyPair) -> AccountSecrets? {
    guard let old = EncryptionPublicKey(part.prefix(32)) else { return nil }
    let key = key("link", .agreement(pair, old), keys: old, pair.publicKey)
    return key?.open(part[32...]).flatMap { CanonicalJSON.decode(AccountSecrets.self, $0) }
  }

  private func key(
    _ name: String, _ agreement: SecretDigest.Part = .bytes([]), keys: EncryptionPublicKey...
  ) -> SecretDigest? {
    SecretDigest(of: [
      .bytes(purpose(name)), agreement, .secret(secret), .bytes(keys.flatMap(\.bytes)),
    ])
  }

  /// Leaves a part at the service.
  ///
  /// - Throws: `HTTPClientError`; ``DeviceError``, `.linkRefused`.
  public func put(_ content: [UInt8], as part: Part, by client: WebClient) async throws {
    let status = try await client.send(OutgoingRequest(.put, url(part), body: content)).status
    guard status == .created else { throw DeviceError.linkRefused(status.code) }
  }

  /// Waits for the other device's part, which is gone once it was read.
  ///
  /// - Throws: `.timedOut` after ten minutes; `.cancelled`.
  public func wait(for part: Part, by client: WebClient) async throws(DeviceError) -> [UInt8] {
    while !isOver {
      let response = try? await client.send(OutgoingRequest(.get, url(part)))
      if let response, response.status == .ok { return response.body }
      guard (try? await Task.sleep(for: .seconds(1))) != nil else { throw .cancelled }
    }
    throw .timedOut
  }

  private func url(_ part: Part) -> String { "\(site)/link/\(slot)/\(part.rawValue)" }
}
