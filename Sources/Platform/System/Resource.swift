package import CResources

/// A file that is built into the program.
package struct Resource: Sendable {
  /// The file's content.
  package let bytes: [UInt8]

  /// Copies a file out of the program.
  package init(_ resource: awd_resource) {
    bytes = unsafe Array(UnsafeBufferPointer(start: resource.bytes, count: resource.count))
  }

  /// The file's content as UTF-8.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}
