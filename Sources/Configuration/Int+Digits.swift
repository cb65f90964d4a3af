extension Int {
  /// Parses a number in decimal digits without a sign. Anything else gives nil.
  init?(digits text: some StringProtocol) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.utf8.allSatisfy(digits.contains) else { return nil }
    self.init(text)
  }
}
