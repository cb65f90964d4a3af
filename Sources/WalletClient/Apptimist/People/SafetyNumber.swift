internal import ApptimistProtocol
public import Cryptography

/// The number that two users compare in person: if both see the same, each has the other's keys, and both the same service.
public struct SafetyNumber: Sendable, Hashable {
  /// The keys of a user: the one that the user is known by, and the one of signatures.
  public typealias Keys = (user: EncryptionPublicKey, authentication: AuthenticationPublicKey)

  /// The number: twelve groups of five digits.
  public let text: String

  /// Computes the number of two users, which is the same for both.
  ///
  /// - Parameters:
  ///   - one: the keys of one of them.
  ///   - other: the keys of the other.
  ///   - service: the service's encryption key.
  public init(_ one: Keys, _ other: Keys, at service: EncryptionPublicKey) {
    let halves = [one, other].map { keys in
      let keys = keys.user.bytes + keys.authentication.bytes
      var digest = SHA512.hash(purpose("safety number") + service.bytes + keys)
      for _ in 1..<5_200 { digest = SHA512.hash(digest.bytes + keys) }
      let numbers = stride(from: 0, to: 30, by: 5).map {
        digest.bytes[$0..<$0 + 5].number % 100_000
      }
      return numbers.map { String($0 + 100_000).dropFirst() }.joined(separator: " ")
    }
    text = halves.sorted().joined(separator: " ")
  }
}

extension Device {
  /// Returns the number that the user compares with another, for the keys that the service names; nil for a user who signs nothing.
  public nonisolated func safetyNumber(with other: DeviceUser) -> SafetyNumber? {
    let own = participant.keys.authentication.publicKey
    return other.authenticationKey.map {
      SafetyNumber((user, own), (other.key, $0), at: service.encryptionKey)
    }
  }

  /// Accepts the key of a user's signatures instead of the one seen first, once its user has compared the number.
  public func accept(_ key: AuthenticationPublicKey, of user: EncryptionPublicKey) {
    remember(known.accept(key, of: user))
  }
}

/// Returns the bytes that begin every message hashed for one purpose.
func purpose(_ name: String) -> [UInt8] { Array("apptimist.2 \(name)\0".utf8) }

extension ArraySlice<UInt8> {
  /// The big-endian number of at most eight bytes.
  var number: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
