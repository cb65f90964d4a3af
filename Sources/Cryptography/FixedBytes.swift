/// A value of a fixed number of bytes that lie inline, such as a public key, a signature, a nonce or a digest.
///
/// A conforming type is a struct of nothing but integers without padding. Its bytes in memory are the bytes of the
/// value, in the order in which they are written. Keys of dictionaries and arguments of C functions are then made
/// without memory from the heap.
public protocol FixedBytes: BitwiseCopyable, Hashable, Sendable {
  init()
}

extension FixedBytes {
  /// The number of bytes of a value.
  @inlinable public static var byteCount: Int { MemoryLayout<Self>.size }

  /// Makes a value from its bytes.
  ///
  /// - Parameter bytes: ``byteCount`` bytes.
  /// - Returns: the value, or nil for any other number of bytes.
  @inlinable public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init()
    unsafe withUnsafeMutableBytes(of: &self) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Reads a value as hexadecimal digits of either case.
  ///
  /// - Parameter text: two digits for each byte.
  /// - Returns: the value, or nil for anything else.
  public init?(hex text: some StringProtocol) {
    guard text.utf8.count == 2 * Self.byteCount, let bytes = Hex.decode(text.utf8) else {
      return nil
    }
    self.init(bytes)
  }

  /// The bytes, in the order in which they are written.
  public var bytes: [UInt8] { unsafe Swift.withUnsafeBytes(of: self) { unsafe [UInt8]($0) } }

  /// The bytes as hexadecimal digits in lower case.
  public var hex: String { unsafe Swift.withUnsafeBytes(of: self) { unsafe Hex.encode($0) } }

  /// True if every byte is zero.
  @inlinable public var isZero: Bool { self == Self() }

  /// Appends the bytes to an array.
  @inlinable public func append(to array: inout [UInt8]) {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe array.append(contentsOf: $0) }
  }

  /// Calls a C function with the bytes.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe withUnsafePointer(to: self) { value in
      unsafe value.withMemoryRebound(to: UInt8.self, capacity: Self.byteCount, body)
    }
  }

  /// Calls a C function with room for the bytes.
  mutating func withMutablePointer<Result>(
    _ body: (UnsafeMutablePointer<UInt8>) -> Result
  ) -> Result {
    unsafe withUnsafeMutablePointer(to: &self) { value in
      unsafe value.withMemoryRebound(to: UInt8.self, capacity: Self.byteCount, body)
    }
  }
}
