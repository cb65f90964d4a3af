internal import Formats
internal import TestSupport
internal import Testing

struct QRCodeTests {
  /// Draws the code, and has zbar read it.
  @Test(arguments: [
    "https://repo.example/2024/01/chain/1/0x6B175474E89094C44Da98b954EedeAC495271d0F"
  ])
  func zbarReadsTheText(_ text: String) throws {
    let folder = TemporaryFolder()
    let svg = try #require(QRCode(text)).svg(label: "x")
    // A bitmap of the path's runs, eight pixels a module.
    let size = try #require(QRCode(text)).size + 8
    var pixels = [[UInt8]](repeating: [UInt8](repeating: 255, count: size), count: size)
    for run in svg.matches(of: /M(\d+) (\d+)h(\d+)v1H/) {
      let (column, row, count) = (
        try #require(Int(run.1)), try #require(Int(run.2)), try #require(Int(run.3))
      )
      for place in column..<column + count { pixels[row + 4][place + 4] = 0 }
    }
    let image = pixels.flatMap { row in
      let wide = row.flatMap { [UInt8](repeating: $0, count: 8) }
      return (0..<8).flatMap { _ in wide }
    }
    let path = try folder.write("code.pgm", Array("P5 \(size * 8) \(size * 8) 255\n".utf8) + image)
    let outcome = try ChildProcess.run(
      "zbarimg", ["--quiet", "--raw", path], in: folder.path, home: folder.path)
    #expect(outcome.output == "\(text)\n", "\(outcome.errors)")
  }

  @Test func whatIsTooLongHasNoCode() {
    #expect(QRCode(String(repeating: "x", count: 2331)) != nil)
    #expect(QRCode(String(repeating: "x", count: 2332)) == nil)
  }
}
