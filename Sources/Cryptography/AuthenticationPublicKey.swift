internal import CSodium

/// An Ed25519 public key (RFC 8032): 32 bytes.
public struct AuthenticationPublicKey: FixedBytes {
  private var words = FourWords()

  /// Makes a key of 32 zero bytes, which is of low order.
  public init() {}

  /// True if the point is of low order; no signature is valid under such a key.
  public var isLowOrder: Bool { Self.lowOrder.contains(words.point) }

  /// The Y of the points whose order divides 8, and the other ways to write two of them.
  private static let lowOrder = FourWords.lowOrder(
    and: "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")

  /// Returns whether a signature was made over a message with this key's secret half.
  ///
  /// - Parameters:
  ///   - signature: detached, 64 bytes.
  ///   - message: any number of bytes.
  public func verifies(_ signature: Signature, over message: [UInt8]) -> Bool {
    unsafe verifies(signature, over: message, count: message.count)
  }

  /// Returns whether a signature was made over a value's bytes with this key's secret half.
  public func verifies(_ signature: Signature, over value: some FixedBytes) -> Bool {
    unsafe value.withPointer {
      unsafe verifies(signature, over: $0, count: type(of: value).byteCount)
    }
  }

  private func verifies(
    _ signature: Signature, over message: UnsafePointer<UInt8>, count: Int
  ) -> Bool {
    unsafe signature.withPointer { signature in
      unsafe withPointer { key in
        unsafe crypto_sign_verify_detached(signature, message, UInt64(count), key) == 0
      }
    }
  }
}
