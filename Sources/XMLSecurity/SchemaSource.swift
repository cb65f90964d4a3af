internal import CXML
internal import Glibc

/// The source of the schemas that a schema imports: files in the folder of the importing schema or in the folder `common`
/// beside it, by the last part of the address. libxml2 opens nothing else.
enum SchemaSource {
  /// The folder of the schema that is compiled on this thread, or nil.
  @TaskLocal static var folder: String?

  // Real schemas have about 100 KB.
  private static let maximumSize = 4 << 20

  /// Opens an external entity for libxml2, or returns nil if it is no such file.
  static func open(
    _ address: UnsafePointer<CChar>?, for context: xmlParserCtxtPtr?
  ) -> xmlParserInputPtr? {
    guard let folder, let address = unsafe address,
      let name = unsafe String(cString: address).split(separator: "/").last, name != "..",
      let bytes = read("\(folder)/\(name)") ?? read("\(folder)/../common/\(name)"),
      let buffer = unsafe bytes.withUnsafeBytes({ content in
        unsafe xmlParserInputBufferCreateMem(
          content.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(content.count),
          XML_CHAR_ENCODING_NONE)
      })
    else { return nil }
    guard let input = unsafe xmlNewIOInputStream(context, buffer, XML_CHAR_ENCODING_NONE) else {
      unsafe xmlFreeParserInputBuffer(buffer)
      return nil
    }
    // The input owns its name, by which libxml2 identifies the schema.
    if let copy = unsafe xmlCharStrdup(address) {
      unsafe input.pointee.filename = UnsafeRawPointer(copy).assumingMemoryBound(to: CChar.self)
    }
    return unsafe input
  }

  /// Reads a file, or returns nil if it can't be read or is too large.
  static func read(_ path: String) -> [UInt8]? {
    let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      guard count >= 0, bytes.count + count <= maximumSize else { return nil }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
