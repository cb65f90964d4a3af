/// A value of a fixed number of bytes that is kept inline: a public key, a signature, a nonce.
///
/// Whoever conforms is a struct of nothing but integers without padding; its bytes in memory are the
/// bytes of the value, in the order in which they are written. Keys of dictionaries and arguments of
/// C functions are then made without memory from the heap.
public protocol FixedBytes: BitwiseCopyable, Hashable, Sendable {
  /// All bytes zero.
  init()
}

extension FixedBytes {
  /// How many bytes a value has.
  @inlinable public static var byteCount: Int { MemoryLayout<Self>.size }

  /// Takes the bytes of a value.
  ///
  /// - Parameter bytes: exactly ``byteCount`` bytes; nil for any other number.
  @inlinable public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init()
    unsafe withUnsafeMutableBytes(of: &self) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Reads a value as hexadecimal digits of either case.
  ///
  /// - Parameter text: exactly two digits a byte; nil for anything else.
  public init?(hex text: some StringProtocol) {
    guard text.utf8.count == 2 * Self.byteCount, let bytes = Hex.decode(text.utf8) else {
      return nil
    }
    self.init(bytes)
  }

  /// The bytes, in the order in which they are written.
  public var bytes: [UInt8] {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe [UInt8]($0) }
  }

  /// The bytes as hexadecimal digits in lower case.
  public var hex: String {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe Hex.encode($0) }
  }

  /// Whether every byte is zero.
  @inlinable public var isZero: Bool { self == Self() }

  /// Appends the bytes to an array.
  @inlinable public func append(to array: inout [UInt8]) {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe array.append(contentsOf: $0) }
  }

  /// Lends the bytes to a C function.
  func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe withUnsafePointer(to: self) { value in
      unsafe value.withMemoryRebound(to: UInt8.self, capacity: Self.byteCount, body)
    }
  }

  /// Lends room for the bytes to a C function.
  mutating func withMutablePointer<Result>(
    _ body: (UnsafeMutablePointer<UInt8>) -> Result
  ) -> Result {
    unsafe withUnsafeMutablePointer(to: &self) { value in
      unsafe value.withMemoryRebound(to: UInt8.self, capacity: Self.byteCount, body)
    }
  }
}
