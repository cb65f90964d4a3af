internal import XMLSecurity

/// Reads a file that a command was told to work on.
enum TokenScriptBytes {
  /// The content; blocks on the disk.
  ///
  /// - Parameter path: the file; a link is followed.
  /// - Throws: ``Refusal`` that says why it can't be read.
  static func read(_ path: String) throws(Refusal) -> [UInt8] {
    do throws(SystemError) {
      // One byte more than may be, so that what is too large is seen to be so.
      return try Descriptor.contents(ofFile: path, limit: XMLLimits.standard.bytes + 1)
    } catch { throw Refusal(reason: "it can't be read", detail: "\(error)") }
  }
}
