internal import CQREncode

/// A QR code (ISO/IEC 18004): a square of dark and light modules.
package struct QRCode: Sendable {
  /// The number of modules of a side, without the quiet zone of four modules around the code.
  package let size: Int
  private let isDark: [Bool]

  /// Encodes text, with error correction of level M.
  ///
  /// - Parameter text: at most 2,331 bytes of UTF-8 without NUL.
  /// - Returns: nil for longer text.
  package init?(_ text: String) {
    guard text.utf8.count <= 2331,
      let code = unsafe QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M)
    else { return nil }
    defer { unsafe QRcode_free(code) }
    let size = Int(unsafe code.pointee.width)
    self.size = size
    // The lowest bit of a module is its colour.
    isDark = unsafe UnsafeBufferPointer(start: code.pointee.data, count: size * size)
      .map { $0 & 1 == 1 }
  }

  /// The code for a terminal, two modules a character, with light modules drawn; a line feed ends each line but the last.
  package var text: String {
    func isLight(_ row: Int, _ column: Int) -> Bool {
      guard (0..<size).contains(row), (0..<size).contains(column) else { return true }
      return !isDark[row * size + column]
    }
    return stride(from: -2, to: size + 2, by: 2).map { row in
      (-2..<size + 2).map { column in
        switch (isLight(row, column), isLight(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }.joined()
    }.joined(separator: "\n")
  }

  /// The code as an SVG element, black on white with its quiet zone.
  ///
  /// - Parameter label: the text for people who don't see it, escaped for HTML.
  package func svg(label: String) -> String {
    var path = ""
    for row in 0..<size {
      var column = 0
      while column < size {
        let start = column
        while column < size, isDark[row * size + column] { column += 1 }
        if column > start { path += "M\(start) \(row)h\(column - start)v1H\(start)z" }
        column += 1
      }
    }
    let side = size + 8
    return """
      <svg class="code" xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 \(side) \(side)" role="img" \
      aria-label="\(label)" shape-rendering="crispEdges">\
      <path fill="#fff" d="M-4 -4h\(side)v\(side)h-\(side)z"/><path d="\(path)"/></svg>
      """
  }
}
