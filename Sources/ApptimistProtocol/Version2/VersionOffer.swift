extension Version2 {
  /// The versions that a device offers as WebSocket subprotocols `apptimist.n`, in its order.
  public struct VersionOffer: Hashable, Sendable {
    /// The most versions that are taken.
    public static let most = 16

    /// The versions, each from 2 to 255.
    public let versions: [UInt8]

    /// An offer of this version alone.
    public static let version2 = VersionOffer(unchecked: [Version2.number])

    /// Takes versions.
    ///
    /// - Returns: nil if there are more than ``most``, or one of them is below 2.
    public init?(_ versions: [UInt8]) {
      guard versions.count <= Self.most, versions.allSatisfy({ $0 >= 2 }) else { return nil }
      self.init(unchecked: versions)
    }

    /// Finds the versions among subprotocols, and passes over all others.
    ///
    /// - Parameter subprotocols: the subprotocols that the device offers, in its order.
    /// - Returns: nil if there are more than ``most`` versions among them.
    public init?(subprotocols: [Substring]) { self.init(subprotocols.compactMap(Self.version)) }

    private init(unchecked versions: [UInt8]) { self.versions = versions }

    /// The version of a subprotocol, whose number is decimal and has no leading zero; nil for any other.
    private static func version(of subprotocol: Substring) -> UInt8? {
      let prefix = "apptimist."
      guard subprotocol.hasPrefix(prefix) else { return nil }
      let digits = subprotocol.dropFirst(prefix.count)
      guard let version = UInt8(digits), version >= 2, digits == String(version) else { return nil }
      return version
    }
  }
}
