public import CResources

/// A file that is built into the program.
public struct Resource: Sendable {
  /// The file's content.
  public let bytes: [UInt8]

  /// Copies a file out of the program.
  public init(_ resource: awd_resource) {
    bytes = unsafe Array(UnsafeBufferPointer(start: resource.bytes, count: resource.count))
  }

  /// The file's content as UTF-8.
  public var text: String { String(decoding: bytes, as: UTF8.self) }
}
