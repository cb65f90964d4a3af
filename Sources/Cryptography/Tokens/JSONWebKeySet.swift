internal import FoundationEssentials

/// The public keys of an issuer that verify signatures (RFC 7517 section 5).
public struct JSONWebKeySet: Sendable, Hashable {
  /// A document is no set of keys.
  public struct Malformed: Error {}

  /// The usable keys, in the order of the document.
  public let keys: [JSONWebKey]

  /// The most keys of a document that are looked at.
  private static let limit = 64

  /// Reads a set, and passes over keys that verify no signature of a known algorithm.
  ///
  /// - Parameter json: the document.
  /// - Throws: ``Malformed``.
  public init(parsing json: [UInt8]) throws(Malformed) {
    guard let document = try? JSONDecoder().decode(Document.self, from: Data(json)) else {
      throw Malformed()
    }
    keys = document.keys.prefix(Self.limit).compactMap { $0.key.flatMap(JSONWebKey.init) }
  }

  /// The key that a token names, if the key is of the token's algorithm.
  ///
  /// - Parameters:
  ///   - id: the identifier, or nil for the only key of the algorithm.
  ///   - algorithm: the token's algorithm.
  public func key(_ id: String?, for algorithm: SignatureAlgorithm) -> JSONWebKey? {
    let candidates = keys.filter { $0.algorithm == algorithm }
    guard let id else { return candidates.count == 1 ? candidates[0] : nil }
    return candidates.first { $0.id == id }
  }

  /// Returns whether there is a key with an identifier, whatever its algorithm.
  public func has(_ id: String) -> Bool { keys.contains { $0.id == id } }

  private struct Document: Decodable { let keys: [Element] }

  /// A key of the document, or nil if its members have other types than a key's.
  private struct Element: Decodable {
    let key: PublishedKey?

    init(from decoder: any Decoder) { key = try? PublishedKey(from: decoder) }
  }
}
